"""Ingest: what enters is a function of the records, not of how often or in how many pieces they were read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.adapters import files, schema_registry
from schemaman.errors import UnreadableInput, UsageError
from schemaman.evidence import Record
from schemaman.ingest import NO_PARTITION, Summary, ingest
from schemaman.log import Entry, Observed
from schemaman.reading import Unread
from schemaman.registry import Registry
from schemaman.stores.memory import MemoryStore
from schemaman.versions import TableHistory
from tests.house import CAPTURES

RUNS = ("postgres/shop-json", "postgres/shop-avro", "postgres/shop-crash", "db2/shop-3.4.1-json",
        "mariadb/bookshop-mariadb-3.5.0-json")  # fmt: skip
Item = Record | Unread


class Desk:
    """A registry in memory, and the ways of a test to look at it."""

    def __init__(self) -> None:
        self.store = MemoryStore(lambda: 0)
        self.registry = Registry(self.store, lambda: 0)

    def ingest(self, items: Iterable[Item], run: str, **how: Any) -> Summary:
        return ingest(items, self.registry, "main", schemas(run), **how)

    @property
    def log(self) -> list[Entry]:
        return [stamped.entry for stamped in self.store.read()]

    @property
    def histories(self) -> tuple[TableHistory, ...]:
        return self.registry.tables()


@cache
def recorded(run: str) -> tuple[Record, ...]:
    found = files.records(files.find(str(CAPTURES / run)))
    return tuple(r for r in found if isinstance(r, Record))


@cache
def schemas(run: str) -> schema_registry.Export:
    path = CAPTURES / run / "registry.json"
    return schema_registry.load(str(path)) if path.exists() else schema_registry.NO_REGISTRY


@cache
def whole(run: str) -> Desk:
    desk = Desk()
    desk.ingest(recorded(run), run)
    return desk


@pytest.mark.parametrize("run", RUNS)
def test_a_recording_is_understood_and_entered_once(run):
    desk = Desk()
    summary = desk.ingest(recorded(run), run)
    assert (summary.read, summary.new, summary.rejects) == (len(recorded(run)), len(recorded(run)), 0)
    asides = sum(count for _, count in summary.asides)
    observed = [e.observation for e in desk.log if isinstance(e, Observed)]
    assert summary.observations == len(observed)
    declared = [o for o in observed if o.witness == "declared"]
    assert asides + sum(o.count for o in observed if o not in declared) + len(
        {(o.first.topic, o.first.offset) for o in declared}
    ) == len(recorded(run))
    assert summary.tables == tuple(sorted({o.table for o in observed}))
    log = desk.log
    again = desk.ingest(recorded(run), run)
    assert (again.read, again.known, again.new, again.observations) == (len(recorded(run)),) * 2 + (0, 0)
    assert desk.log == log


@given(st.sampled_from(RUNS), st.integers(7, 700))
def test_chunks_do_not_change_the_history(run, size):
    desk = Desk()
    summary = desk.ingest(recorded(run), run, size=size)
    assert desk.histories == whole(run).histories
    assert summary.new == len(recorded(run))


@given(st.sampled_from(RUNS), st.lists(st.tuples(st.integers(0, 600), st.integers(1, 300)), max_size=4))
def test_pieces_read_in_any_order_give_the_same_history(run, pieces):
    desk = Desk()
    for start, length in pieces:
        desk.ingest(recorded(run)[start : start + length], run)
    summary = desk.ingest(recorded(run), run)
    assert desk.histories == whole(run).histories
    assert summary.known == len(recorded(run)) - summary.new
    assert desk.ingest(recorded(run), run).new == 0


@given(st.sampled_from(RUNS), st.integers(20, 200), st.integers(1, 5))
def test_a_crash_between_chunks_loses_nothing_and_repeats_nothing(run, size, crash):
    unharmed, desk = Desk(), Desk()
    unharmed.ingest(recorded(run), run, size=size)

    class Crash(Exception):
        pass

    def after(summary: Summary) -> None:
        if summary.read >= crash * size:
            raise Crash

    with suppress(Crash):
        desk.ingest(recorded(run), run, size=size, progress=after)
    desk.ingest(recorded(run), run, size=size)
    assert desk.log == unharmed.log


def broken(records: Sequence[Record], at: int, value: bytes) -> list[Record]:
    return [replace(r, value=value) if i == at else r for i, r in enumerate(records)]


@pytest.mark.parametrize(("keep", "payload"), [(False, None), (True, b"not json")])
def test_a_record_that_is_not_understood_is_set_aside(keep, payload):
    run = "postgres/shop-json"
    bad = recorded(run)[300]
    desk = Desk()
    summary = desk.ingest(broken(recorded(run), 300, b"not json"), run, keep_payload=keep)
    (reject,) = desk.registry.rejects()
    assert summary.rejects == 1
    assert summary.shown == (reject,)
    assert (reject.topic, reject.partition, reject.offset) == (bad.topic, bad.partition, bad.offset)
    assert reject.reason == "not JSON: Expecting value at character 0"
    assert reject.sha256 == hashlib.sha256(b"not json").hexdigest()
    assert reject.payload == payload
    assert len(desk.histories) == len(whole(run).histories)


def test_an_id_that_the_registry_does_not_know():
    run = "postgres/shop-avro"
    lost = int.from_bytes((recorded(run)[200].value or b"")[1:5], "big")
    less = schema_registry.Export({i: t for i, t in schemas(run).schemas.items() if i != lost})
    desk = Desk()
    summary = ingest(recorded(run), desk.registry, "main", less)
    assert {r.reason for r in desk.registry.rejects()} == {f"registry does not know schema id {lost}"}
    assert 0 < summary.rejects < 200
    assert summary.observations > 50


def test_lines_that_are_no_records_are_told_each_time_and_kept_once():
    run = "postgres/shop-json"
    torn = Unread("dump.jsonl", 3, "not JSON", "ab" * 32)
    items: list[Item] = [*recorded(run)[:2], torn, *recorded(run)[2:]]
    desk = Desk()
    for _ in range(2):
        summary = desk.ingest(items, run)
        assert summary.rejects == 1
        (reject,) = desk.registry.rejects()
        assert (reject.topic, reject.partition, reject.offset) == ("dump.jsonl", NO_PARTITION, 3)
    assert desk.histories == whole(run).histories


@pytest.mark.parametrize("edge", [0, -1])
def test_other_bytes_at_a_known_offset_are_another_stream(edge):
    run = "db2/shop-3.4.1-json"
    topic = recorded(run)[0].topic
    mine = [r for r in recorded(run) if r.topic == topic]
    desk = Desk()
    desk.ingest(mine, run)
    log = desk.log
    mine[edge] = replace(mine[edge], value=b"other")
    with pytest.raises(UsageError, match="other bytes") as error:
        desk.ingest(mine, run)
    assert "--stream" in (error.value.hint or "")
    assert desk.log == log
    assert ingest(mine, desk.registry, "dev", schemas(run)).new == len(mine)


def test_null_and_empty_are_other_bytes():
    desk = Desk()
    desk.ingest([Record("t", 0, 0, None, None, None)], "none")
    with pytest.raises(UsageError):
        desk.ingest([Record("t", 0, 0, None, None, b"")], "none")


@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("back", [0, 1])
def test_offsets_that_go_back_are_refused(size, back):
    mine = [Record("t", 0, i, None, None, None) for i in range(15)]
    desk = Desk()
    with pytest.raises(UnreadableInput, match=r"t\[0\]: offset \d+ comes after 14"):
        desk.ingest([*mine, mine[14 - back]], "none", size=size)


def test_records_between_known_ranges_form_runs_of_their_own():
    run = "postgres/shop-json"
    counts: dict[tuple[str, int], list[Record]] = {}
    for record in recorded(run):
        counts.setdefault((record.topic, record.partition), []).append(record)
    longest = max(counts.values(), key=len)
    third = len(longest) // 3
    desk = Desk()
    desk.ingest(longest[third : 2 * third], run)
    desk.ingest(longest, run)
    once = Desk()
    once.ingest(longest, run)
    assert desk.histories == once.histories
    spans = [
        (o.first.offset, o.last.offset) for e in desk.log if isinstance(e, Observed) for o in [e.observation]
    ]
    inside = range(longest[third].offset, longest[2 * third - 1].offset + 1)
    assert all((first in inside) == (last in inside) for first, last in spans)


def test_nothing_is_nothing():
    desk = Desk()
    assert desk.ingest([], "none") == Summary()
    assert desk.log == []


def test_summaries_add_up():
    run = "mariadb/bookshop-mariadb-3.5.0-json"
    first, second, one = Desk(), Desk(), Desk()
    summary = one.ingest(recorded(run), run)
    parts = [first.ingest(recorded(run)[:40], run), second.ingest(recorded(run)[40:], run)]
    total = parts[0] + parts[1]
    assert (total.read, total.asides, total.tables) == (summary.read, summary.asides, summary.tables)
