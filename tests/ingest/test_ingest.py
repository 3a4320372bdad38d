"""Ingest: what enters is a function of the records, not of how often or in how many pieces they were read."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput, UsageError
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import KnownOffsets, UnreadableItem, build_reading, merge_parts, read_chunks
from schemaman.ingest.ingest import NO_PARTITION, Intake, Summary, ingest
from schemaman.io import schema_registry
from schemaman.registry import Registry
from schemaman.report.views.listings import select_notes
from schemaman.store.edge_hashes import EdgeHashes, EdgesOnDemand
from schemaman.store.log import Entry, ObservationEntry
from schemaman.store.memory import MemoryStore
from schemaman.store.offsets import GAPS
from tests.support.recordings import recorded
from tests.support.recordings import registry as schemas

RUNS = ("postgres/shop-json", "postgres/shop-avro", "postgres/shop-crash", "db2/shop-3.4.1-json",
        "mariadb/bookshop-mariadb-3.5.0-json")  # fmt: skip
Item = Record | UnreadableItem


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
def whole(run: str) -> Desk:
    desk = Desk()
    desk.ingest(recorded(run), run)
    return desk


@pytest.mark.parametrize("run", RUNS)
def test_a_recording_is_understood_and_entered_once(run):
    desk = Desk()
    summary = desk.ingest(recorded(run), run)
    assert (summary.read, summary.new, summary.rejects) == (len(recorded(run)), len(recorded(run)), 0)
    asides = sum(count for _, count in summary.skipped)
    observed = [e.observation for e in desk.log if isinstance(e, ObservationEntry)]
    assert summary.observations == len(observed)
    declared = [o for o in observed if o.evidence == "declared"]
    assert asides + sum(o.count for o in observed if o not in declared) + len(
        {(o.first.topic, o.first.offset) for o in declared}
    ) == len(recorded(run))
    assert summary.tables == tuple(sorted({o.table for o in observed}))
    log = desk.log
    again = desk.ingest(recorded(run), run)
    assert (again.read, again.known, again.new, again.observations) == (len(recorded(run)),) * 2 + (0, 0)
    assert desk.log == log


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
    assert summary.first_rejects == (reject,)
    assert (reject.topic, reject.partition, reject.offset) == (bad.topic, bad.partition, bad.offset)
    assert reject.reason == "not JSON: Expecting value at character 0"
    assert reject.sha256 == hashlib.sha256(b"not json").hexdigest()
    assert reject.payload == payload
    assert len(desk.histories) == len(whole(run).histories)


def test_an_id_that_the_registry_does_not_know():
    run = "postgres/shop-avro"
    lost = int.from_bytes((recorded(run)[200].value or b"")[1:5], "big")
    less = schema_registry.RegistryExport({i: t for i, t in schemas(run).schemas.items() if i != lost})
    desk = Desk()
    summary = ingest(recorded(run), desk.registry, "main", less)
    assert {r.reason for r in desk.registry.rejects()} == {f"registry does not know schema id {lost}"}
    assert 0 < summary.rejects < 200
    assert summary.observations > 50


def test_lines_that_are_no_records_are_told_each_time_and_kept_once():
    run = "postgres/shop-json"
    torn = UnreadableItem("dump.jsonl", 3, "not JSON", "ab" * 32)
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
    with pytest.raises(UsageError, match="differs from the known record") as error:
        desk.ingest(mine, run)
    assert "--stream" in (error.value.hint or "")
    assert desk.log == log
    assert ingest(mine, desk.registry, "dev", schemas(run)).new == len(mine)


@cache
def edges_of_runs(run: str, size: int) -> tuple[Desk, tuple[int, ...]]:
    """A recording that was read, and the places in it of the records at edges of what was observed."""
    desk = Desk()
    desk.ingest(recorded(run), run, size=size)
    said = [entry.observation for entry in desk.log if isinstance(entry, ObservationEntry)]
    edges = {(m.topic, m.partition, m.offset) for o in said for m in (o.first, o.last)}
    places = (n for n, r in enumerate(recorded(run)) if (r.topic, r.partition, r.offset) in edges)
    return desk, tuple(places)


@given(st.sampled_from(RUNS), st.sampled_from([60, 50_000]), st.data())
def test_other_bytes_at_the_edge_of_any_run_are_noticed(run, size, data):
    desk, places = edges_of_runs(run, size)
    at = data.draw(st.sampled_from(places))
    altered = recorded(run)[at]
    other = [*recorded(run)]
    other[at] = replace(altered, value=(altered.value or b"") + b" ")
    log = desk.log
    with pytest.raises(UsageError, match=rf"@{altered.offset}: differs from the known record"):
        desk.ingest(other, run)
    assert desk.ingest(recorded(run), run).new == 0
    assert desk.log == log


@given(st.sampled_from(RUNS), st.sampled_from([60, 50_000]), st.data())
def test_what_travels_with_a_part_of_a_stream_tells_all_that_its_records_meet(run, size, data):
    desk, _ = edges_of_runs(run, size)
    ends = [data.draw(st.integers(0, len(recorded(run)) - 1)) for _ in range(2)]
    part = recorded(run)[min(ends) : max(ends) + 1]
    extents: dict[tuple[str, int], tuple[int, int]] = {}
    for record in part:
        first, _ = extents.get((record.topic, record.partition), (record.offset, 0))
        extents[record.topic, record.partition] = (first, record.offset)
    known = KnownOffsets(*desk.registry.known_offsets("main"))
    taken = pickle.loads(pickle.dumps(known.restrict_to(extents)))
    for record in part:
        place = (record.topic, record.partition)
        assert taken.ranges[place] == known.ranges[place]
        wanted = known.edges.hash(*place, record.offset)
        assert taken.edges.hash(*place, record.offset) == wanted
    assert set(taken.edges.places) <= set(taken.ranges) <= set(extents)


def test_records_that_meet_none_that_is_known_ask_the_store_for_no_hash():
    def unasked() -> EdgeHashes:
        raise AssertionError("the store was asked")

    known = KnownOffsets({("t", 0): ((0, 9), (20, 29)), ("u", 0): ((0, 9),)}, EdgesOnDemand(unasked))
    between = {("t", 0): (10, 19), ("u", 1): (0, 9), ("v", 0): (0, 9)}
    assert known.restrict_to(between) == KnownOffsets({("t", 0): ((0, 9), (20, 29))}, EdgeHashes())
    with pytest.raises(AssertionError):
        known.restrict_to({("t", 0): (9, 19)})


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
        (o.first.offset, o.last.offset)
        for e in desk.log
        if isinstance(e, ObservationEntry)
        for o in [e.observation]
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
    assert (total.read, total.skipped, total.tables) == (summary.read, summary.skipped, summary.tables)


SHOP_JSON, SHOP_AVRO = "postgres/shop-json", "postgres/shop-avro"


@pytest.mark.parametrize("run", [SHOP_JSON, SHOP_AVRO])
def test_offsets_that_a_dump_left_out_are_read_later(run):
    records = recorded(run)
    edges = {r.topic: r for r in reversed(records)} | {(r.topic, 1): r for r in records}
    desk = Desk()
    desk.ingest([r for r in records if r in edges.values()], run)
    rest = desk.ingest(records, run)
    assert rest.new == len(records) - len(set(edges.values()))
    assert desk.histories == whole(run).histories


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("by", "size"), [(2, 16), (3, 700), (5, 90)])
def test_sieves_lose_nothing_together(run, by, size):
    desk = Desk()
    summaries = [
        desk.ingest([r for r in recorded(run) if r.offset % by == rest], run, size=size) for rest in range(by)
    ]
    assert sum(s.new for s in summaries) == len(recorded(run))
    assert desk.histories == whole(run).histories
    assert desk.registry.offsets("main") == whole(run).registry.offsets("main")


@pytest.mark.parametrize("run", RUNS)
def test_what_is_read_between_known_offsets_finds_its_place(run):
    """Holes in the offsets change nothing, and what fills them is as if it had been read with the others."""
    apart = [replace(r, offset=3 * r.offset + r.offset % 2) for r in recorded(run)]
    between = [replace(r, offset=3 * r.offset + 2) for r in recorded(run)]
    desk, once = Desk(), Desk()
    assert desk.ingest(apart, run).new == len(apart)
    assert shapes(desk) == shapes(whole(run))
    assert desk.ingest(apart, run).new == 0
    assert desk.ingest(between, run).new == len(between)
    once.ingest([r for pair in zip(apart, between, strict=True) for r in pair], run)
    assert desk.histories == once.histories


def shapes(desk: Desk) -> list[object]:
    """What does not hang on the numbers of offsets."""
    return [
        (h.table, v.records, v.number, v.id, v.incarnation, v.schema)
        for h in desk.histories
        for v in h.versions
    ]


@pytest.mark.parametrize("size", [500, 5_000])
def test_a_topic_that_is_full_of_holes_costs_no_more_for_each_of_them(size):
    run = "postgres/shop-json"
    row = next(r for r in recorded(run) if r.topic.endswith("orders") and r.value)
    desk = Desk()
    count = 20 * GAPS
    desk.ingest([replace(row, offset=2 * n) for n in range(count)], run, size=size)
    observed = [e.observation for e in desk.log if isinstance(e, ObservationEntry)]
    assert sum(o.count for o in observed) == count
    assert len(observed) <= GAPS + 1 + count // size
    assert desk.ingest([replace(row, offset=2 * n + 2 * count) for n in range(count)], run).new == count
    assert len(desk.log) - len(observed) <= 4 + count // size


def test_what_fills_one_of_too_many_gaps_is_told():
    run = "postgres/shop-json"
    row = next(r for r in recorded(run) if r.topic.endswith("orders") and r.value)
    desk = Desk()
    desk.ingest([replace(row, offset=2 * n + 2) for n in range(GAPS + 3)], run)
    desk.ingest([replace(row, offset=n) for n in (0, 1, 2 * GAPS + 7)], run)
    assert desk.registry.notes() == ()
    for offset in (3, 9):
        desk.ingest([replace(row, offset=offset)], run)
    (note,) = desk.registry.notes()
    assert (note.kind, note.topic, note.offset, note.count) == ("gaps-filled-late", row.topic, 3, 2)
    (history,) = desk.registry.tables()
    assert select_notes(history, [note]) == (note,)
    assert select_notes(history, [replace(note, topic="another")]) == ()


def long_partition() -> list[Record]:
    """One partition of two tables whose structures change now and then."""
    rows = [r for r in recorded("postgres/shop-json") if r.value and r.key][::40]
    picked = [rows[(n // 50) % len(rows)] if n % 7 else rows[0] for n in range(3 * GAPS)]
    return [replace(r, topic="all", partition=0) for r in picked]


@given(
    st.sampled_from([*RUNS, "long"]),
    st.lists(st.integers(0, 3 * GAPS), max_size=5),
    st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=3),
    st.lists(st.integers(1, 5), min_size=1, max_size=9),
)
def test_the_takes_of_parts_are_together_the_take_of_the_whole(run, cuts, before, steps):
    reached: Counter[tuple[str, int]] = Counter()
    records: list[Record] = []
    for number, record in enumerate(long_partition() if run == "long" else recorded(run)):
        # some partitions have more holes than runs end at
        step = steps[number % len(steps)] if number % 9 else 1
        reached[record.topic, record.partition] += step
        records.append(replace(record, offset=reached[record.topic, record.partition]))
    desk = Desk()
    for start, length in before:
        desk.ingest(records[start : start + length], run)
    known = KnownOffsets(desk.registry.offsets("main"), desk.registry.edges("main"))
    reading = build_reading(schemas(run))
    ((_, whole_take),) = read_chunks(records, known, reading)
    edges = [0, *sorted({c for c in cuts if 0 < c < len(records)}), len(records)]
    parts = [
        taken
        for first, last in pairwise(edges)
        for _, taken in read_chunks(records[first:last], known, reading, start=first)
    ]
    assert merge_parts(parts, reading) == whole_take


def schemas_without(run: str, *places: int) -> schema_registry.RegistryExport:
    """A registry that does not know the schemas of the records at some places."""
    lost = {int.from_bytes((recorded(run)[p].value or b"")[1:5], "big") for p in places}
    return schema_registry.RegistryExport({i: t for i, t in schemas(run).schemas.items() if i not in lost})


@given(st.integers(5, 700), st.integers(0, 570))
def test_records_come_in_when_the_registry_knows_their_schema(size, place):
    less = schemas_without(
        SHOP_AVRO, place if (recorded(SHOP_AVRO)[place].value or b"")[:1] == b"\0" else 200
    )
    desk = Desk()
    first = ingest(recorded(SHOP_AVRO), desk.registry, "main", less, size=size)
    log, rejects = desk.log, desk.registry.rejects()
    assert len(rejects) == first.rejects > 0
    assert first.new == len(recorded(SHOP_AVRO))
    again = ingest(recorded(SHOP_AVRO), desk.registry, "main", less)
    assert (again.new, again.rejects, desk.log) == (0, first.rejects, log)
    later = desk.ingest(recorded(SHOP_AVRO), SHOP_AVRO)
    assert desk.log[: len(log)] == log
    assert (later.new, later.rejects) == (first.rejects, 0)
    assert desk.histories == whole(SHOP_AVRO).histories
    assert desk.registry.rejects() == ()
    assert desk.ingest(recorded(SHOP_AVRO), SHOP_AVRO).new == 0


def test_a_key_may_wait_for_its_schema_too():
    framed = b"\0" + (9_999).to_bytes(4, "big")
    record = Record("t", 0, 4, None, framed, b'{"a":1}')
    desk = Desk()
    assert desk.ingest([record], "none").rejects == 1
    (reject,) = desk.registry.rejects()
    assert reject.reason.startswith("key: registry does not know schema id 9999: no schema registry is set")
    assert desk.registry.offsets("main") == {}
    known = schema_registry.RegistryExport({9_999: '"int"'})
    ingest([record], desk.registry, "main", known)
    assert [r.reason[:4] for r in desk.registry.rejects()] == ["JSON"]
    assert desk.registry.offsets("main") == {("t", 0): ((4, 4),)}


def test_two_that_read_the_same_at_once_count_each_record_once():
    run = SHOP_JSON
    desk = Desk()
    torn = broken(recorded(run), 300, b"not json")
    one, other = (Intake(desk.registry, "main", schemas(run)) for _ in range(2))
    for intake in (one, other):
        for _, taken in read_chunks(torn, intake.known, build_reading(schemas(run))):
            intake.enter(taken)
    assert (one.summary.new, one.summary.rejects) == (len(torn), 1)
    assert one.summary.skipped
    assert (other.summary.new, other.summary.known) == (0, len(torn))
    assert (other.summary.rejects, other.summary.skipped) == (0, ())
