"""The registry: nothing is lost or counted twice, whoever records, and names mean one table."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    Reject,
    Skipped,
)
from schemaman.errors import AmbiguousName, BadReference, Conflict, Locked, NoHistory, UsageError
from schemaman.history.references import TableRef, name_distinctly, parse
from schemaman.model.schema import SCHEMES, TableId, TableSchema
from schemaman.model.table_patterns import is_matched
from schemaman.registry import RecordResult, Registry
from schemaman.report.views.overview import shorten_names
from schemaman.store.log import CoveredRange, MigrationEntry, ObservationEntry, RenumberingEntry, VersionMove
from schemaman.store.memory import MemoryStore
from schemaman.store.offsets import GAPS, find_holes, find_missing
from schemaman.store.renumbering import find_moves
from schemaman.store.sql.store import SqlStore
from tests.live.database import schema_of_its_own
from tests.store.test_entry_json import TABLES
from tests.support import log_entries as orders
from tests.support.checkout import PROOF, ROOT
from tests.support.log_entries import DEV_ORDERS, ITEMS, ORDERS, covered, mark, said, schema

A, AB, ABC = schema("id", "a"), schema("id", "a", "b"), schema("id", "a", "b", "c")
TOPIC = "shop.public.orders"


def memory() -> Registry:
    return Registry(MemoryStore(lambda: 0, orders.fold), lambda: 0)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Registry]:
    clock = itertools.count(1_700_000_000_000).__next__
    if request.param == "memory":
        yield Registry(MemoryStore(clock, orders.fold), clock)
        return
    url = str(tmp_path / "store.db")
    if request.param == "postgresql":
        url = schema_of_its_own(request.getfixturevalue("database"))
    with SqlStore.open(url, create=True, clock=clock, fold=orders.fold) as store:
        yield Registry(store, clock)


def reject(offset: int, **more: object) -> Reject:
    return replace(Reject("main", TOPIC, 0, offset, 1, "not JSON", f"{offset:064x}"), **more)  # type: ignore[arg-type]


# Recording


def test_what_is_recorded_is_told(registry: Registry):
    first = registry.record([said(A, 0, 4), reject(5), Skipped("tombstone", mark(6), 1)], [covered(0, 6)])
    assert (first.observations, first.rejects, first.known_outcomes, first.end) == (1, 1, 0, 3)
    (table,) = first.tables
    assert (table.table, table.before) == (ORDERS, None)
    assert [v.number for v in table.new] == [1]
    second = registry.record([said(AB, 7, 9)], [covered(7, 9)])
    (table,) = second.tables
    assert [v.schema.names for v in table.new] == [("id", "a", "b")]
    assert (table.changed, table.removed) == ((), ())
    assert table.after == registry.history(ORDERS)
    assert registry.offsets("main") == {(TOPIC, 0): ((0, 9),)}
    known = {offset: registry.edges("main").hash(TOPIC, 0, offset) for offset in range(11)}
    assert {offset: hash for offset, hash in known.items() if hash} == {0: "h0", 6: "h6", 7: "h7", 9: "h9"}
    assert registry.rejects() == (reject(5),)
    assert registry.rejects("dev") == ()
    assert [h.table for h in registry.tables()] == [ORDERS]


def test_recording_twice_adds_nothing(registry: Registry):
    outcomes: list[Outcome] = [said(A, 0, 4), reject(5), said(AB, 6, 9)]
    end = registry.record(outcomes, [covered(0, 9)]).end
    history = registry.history(ORDERS)
    again = registry.record(outcomes, [covered(0, 9)])
    assert again == RecordResult(end, known_outcomes=3)
    inside = registry.record([said(A, 2, 3)], [covered(2, 3)])
    assert inside == RecordResult(end, known_outcomes=1)
    assert registry.history(ORDERS) == history


def test_the_same_offsets_in_another_stream_are_other_records(registry: Registry):
    registry.record([said(A, 0, 4)], [covered(0, 4)])
    dev = covered(0, 4, DEV_ORDERS, first_hash="other", last_hash="bytes")
    registry.record([said(AB, 0, 4, table=DEV_ORDERS)], [dev])
    assert registry.history(ORDERS).latest.schema.names == A.names
    assert registry.history(DEV_ORDERS).latest.schema.names == AB.names


@pytest.mark.parametrize("known", [covered(5, 9), covered(0, 4), covered(3, 6)])
def test_a_range_that_is_known_in_part_has_to_be_read_again(registry: Registry, known: CoveredRange):
    registry.record([said(A, known.first, known.last)], [known])
    before = registry.history(ORDERS)
    with pytest.raises(
        Conflict, match="another process has read a part of it meanwhile; still missing: "
    ) as caught:
        registry.record([said(A, 0, 9)], [covered(0, 9)])
    assert caught.value.hint
    assert registry.history(ORDERS) == before


def test_a_run_over_a_gap_that_was_known_enters_whole_or_not_at_all(registry: Registry):
    registry.record([said(A, 4, 5)], [covered(4, 5)])
    around = [covered(0, 3), covered(6, 9)]
    assert registry.record([said(A, 0, 9)], around).observations == 1
    assert registry.record([said(A, 0, 9)], around).known_outcomes == 1
    registry.record([], [covered(10, 12)])
    with pytest.raises(Conflict, match=r"\[0\]@10..15: another process has read a part of it"):
        registry.record([said(A, 10, 15)], [covered(10, 12), covered(13, 15)])
    assert registry.offsets("main") == {(TOPIC, 0): ((0, 12),)}


@pytest.mark.parametrize(
    "other",
    [
        covered(0, 9, first_hash="other"),
        covered(0, 9, last_hash="other"),
        covered(9, 15, first_hash="other"),
        covered(0, 0, first_hash="h0", last_hash="other"),
    ],
)
def test_other_bytes_at_a_known_offset_are_another_stream(registry: Registry, other: CoveredRange):
    registry.record([said(A, 0, 9)], [covered(0, 9)])
    with pytest.raises(UsageError, match="differs from the record at this offset in stream 'main'") as caught:
        registry.record([], [other])
    assert "--stream" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "other",
    [
        covered(5, 9, first_hash="other"),
        covered(3, 4, last_hash="other"),
        covered(6, 7, last_hash="other"),
        covered(6, 9, edges=((7, "other"),)),
    ],
)
def test_edges_inside_of_what_was_joined_are_not_forgotten(registry: Registry, other: CoveredRange):
    registry.record([said(A, 7, 9)], [covered(5, 9, edges=((7, "h7"),))])
    registry.record([said(A, 0, 4)], [covered(0, 4)])
    assert registry.offsets("main") == {(TOPIC, 0): ((0, 9),)}
    assert registry.record([], [covered(6, 9, edges=((7, "h7"),))]).known_outcomes == 0
    with pytest.raises(UsageError, match="differs from the record at this offset in stream 'main'"):
        registry.record([], [other])


def test_an_observation_outside_of_what_was_read_is_a_fault_of_the_caller(registry: Registry):
    with pytest.raises(ValueError, match="is outside of the read ranges"):
        registry.record([said(A, 0)], [covered(1, 9)])
    with pytest.raises(ValueError, match="overlap"):
        registry.record([], [covered(0, 5), covered(5, 9)])
    assert registry.tables() == ()


def test_a_torn_line_enters_once(registry: Registry):
    torn = reject(17, topic="dump.jsonl", partition=-1)
    assert registry.record([torn, said(A, 0)], [covered(0, 0)]).rejects == 1
    again = registry.record([torn, said(A, 0)], [covered(0, 0)])
    assert (again.rejects, again.known_outcomes) == (0, 2)
    assert registry.record([replace(torn, sha256="f" * 64)], []).rejects == 1
    assert len(registry.rejects()) == 2


def test_what_is_to_know_is_kept_once_and_found_by_its_table(registry: Registry):
    note = Note("main", TOPIC, 0, 1, "ddl-not-parsed", "why", ORDERS)
    other = replace(note, offset=2, table=None)
    for _ in range(2):
        registry.record([said(A, 0), note, other], [covered(0, 3)])
    assert registry.notes() == registry.notes("main") == (note, other)
    assert registry.notes(table=ORDERS) == (note,)
    assert registry.notes("dev") == ()


def test_a_rename_is_told_of_both_tables(registry: Registry):
    registry.record([said(A, 0)], [covered(0, 0)])
    rename = orders.renamed(ORDERS, ITEMS, A, 1)
    found = registry.record([rename], [covered(1, 1, ITEMS)])
    assert [t.table for t in found.tables] == [ITEMS, ORDERS]
    assert registry.history(ORDERS).is_dropped


def test_late_evidence_is_told_as_what_it_is(registry: Registry):
    registry.record([said(A, 0), said(ABC, 9)], [covered(0, 0), covered(9, 9)])
    ids = [v.id for v in registry.history(ORDERS).versions]
    recorded = registry.record([said(AB, 5)], [covered(5, 5)])
    (table,) = recorded.tables
    assert [v.number for v in table.new] == [2]
    assert table.new[0].schema.names == AB.names
    assert table.removed == ()
    assert [v.number for v in registry.history(ORDERS).versions] == [1, 2, 3]
    shift = RenumberingEntry(ORDERS, (VersionMove(ids[1], 2, 3),))
    assert recorded.shifts == (shift,)
    assert [told for _, told in registry.renumberings(ORDERS)] == [shift]
    assert registry.renumberings(ITEMS) == ()
    assert [v.id for v in registry.history(ORDERS).versions] == [ids[0], table.new[0].id, ids[1]]
    assert registry.record([said(A, 12)], [covered(12, 12)]).shifts == ()


def open_beginnings(registry: Registry) -> list[tuple[int, int, int, bool]]:
    found = find_holes(registry.history(ORDERS), registry.offsets("main"))
    return [(hole.version, hole.first, hole.last, hole.head) for hole in found]


def test_where_nobody_read_the_beginning_of_a_version_is_open():
    registry = memory()
    registry.record([said(A, 20, 24)], [covered(20, 24)])
    assert open_beginnings(registry) == [(1, 0, 19, True)]
    registry.record([said(AB, 30, 32)], [covered(30, 32)])
    assert open_beginnings(registry) == [(1, 0, 19, True), (2, 25, 29, False)]
    registry.record([], [covered(25, 27)])
    assert open_beginnings(registry) == [(1, 0, 19, True), (2, 28, 29, False)]
    registry.record([said(AB, 29, 29)], [covered(28, 29)])
    registry.record([said(A, 0, 3), said(A, 9, 19)], [covered(0, 3), covered(9, 19)])
    assert open_beginnings(registry) == []


def test_of_a_topic_that_is_full_of_holes_nothing_is_said():
    registry = memory()
    offsets = range(0, 2 * (GAPS + 2), 2)
    read = [covered(offset, offset) for offset in offsets]
    registry.record([*(said(A, o) for o in offsets[:-1]), said(AB, offsets[-1])], read)
    assert open_beginnings(registry) == []


IDS = st.lists(st.sampled_from("abcdef"), max_size=9)


@given(IDS, IDS)
def test_who_noted_a_number_finds_which_one_it_is_now(before: list[str], after: list[str]):
    told = {one.was: one for one in find_moves(before, after)}
    for number, id in enumerate(before, 1):
        now = told[number].now if number in told else number
        assert now is None or after[now - 1] == id
    stays = [told[n].now if n in told else n for n in range(1, len(before) + 1)]
    kept = [n for n in stays if n is not None]
    assert kept == sorted(set(kept))
    assert all(one.id == before[one.was - 1] and one.now != one.was for one in told.values())


@given(IDS, IDS)
def test_a_history_that_grows_moves_nothing(before: list[str], more: list[str]):
    assert find_moves(before, [*before, *more]) == ()


def test_a_new_revision_is_a_change(registry: Registry):
    declared = replace(said(A, 0), evidence="declared")
    registry.record([declared], [covered(0, 0)])
    commented = replace(said(replace(A, comment="ordered"), 1), evidence="declared")
    (table,) = registry.record([commented], [covered(1, 1)]).tables
    assert [(v.number, v.revision) for v in table.changed] == [(1, 1)]
    assert table.new == ()


def test_the_order_of_the_log_is_that_of_the_records():
    told: list[Outcome] = [said(A, 0, 3), reject(4), said(AB, 5), said(A, 0, 1, table=ITEMS)]
    read = [covered(0, 5), covered(0, 1, ITEMS)]
    logs = set()
    for outcomes in itertools.permutations(told):
        store = MemoryStore(lambda: 0, orders.fold)
        Registry(store, lambda: 0).record(outcomes, reversed(read))
        logs.add(tuple(s.entry for s in store.read()))
    assert len(logs) == 1


STRUCTURES = (A, AB, ABC)
TRUTH = st.lists(st.sampled_from(STRUCTURES), min_size=1, max_size=24)


def runs(truth: list[TableSchema], first: int, last: int) -> Iterator[Observation]:
    """The records from `first` to `last`, each stretch of one structure as one observation."""
    for structure, offsets in itertools.groupby(range(first, last + 1), key=truth.__getitem__):
        stretch = list(offsets)
        yield said(structure, stretch[0], stretch[-1])


def read(
    truth: list[TableSchema], registry: Registry, first: int, last: int
) -> tuple[list[Outcome], list[CoveredRange]]:
    """What an ingest reads of a part: only what the registry lacks."""
    lacking = find_missing(first, last, registry.offsets("main").get((TOPIC, 0), ()))
    outcomes: list[Outcome] = [o for span in lacking for o in runs(truth, *span)]
    return outcomes, [covered(*span) for span in lacking]


@given(TRUTH, st.data())
def test_any_crowd_of_readers_adds_up_to_one(truth: list[TableSchema], data: st.DataObject):
    end = len(truth) - 1
    alone = memory()
    alone.record(runs(truth, 0, end), [covered(0, end)])

    store = MemoryStore(lambda: 0, orders.fold)
    crowd = Registry(store, lambda: 0)
    spans = st.tuples(st.integers(0, end), st.integers(0, end)).map(lambda s: (min(s), max(s)))
    jobs = [*data.draw(st.lists(spans, max_size=6)), (0, end)]
    pending = [(span, read(truth, crowd, *span)) for span in jobs]
    while pending:
        span, job = pending.pop(data.draw(st.integers(0, len(pending) - 1)))
        try:
            crowd.record(*job)
        except Conflict:
            pending.append((span, read(truth, crowd, *span)))
    assert crowd.offsets("main") == {(TOPIC, 0): ((0, end),)}
    assert sum(o.count for o in store.load(ORDERS)) == len(truth)
    assert crowd.history(ORDERS) == alone.history(ORDERS)


def test_two_processes_at_once_lose_and_repeat_nothing(tmp_path: Path):
    path = tmp_path / "store.db"
    SqlStore.open(str(path), create=True).close()
    count = 400 if PROOF else 60
    orders_of_reading = (("0", str(count), "1"), (str(count - 1), "-1", "-1"))
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.record_topic", str(path), *order],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in orders_of_reading
    ]
    assert [child.stdout.readline() for child in children if child.stdout] == ["begun\n", "begun\n"]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    added = [int(child.communicate(timeout=120)[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sum(added) == count
    assert min(added) > 0
    with SqlStore.open(str(path), fold=orders.fold) as store:
        assert store.check() == ()
        assert sorted(o.first.offset for o in store.load(ORDERS)) == list(range(count))
        assert store.read_ranges("main") == (covered(0, count - 1),)


# Journal and leases


def test_the_journal_is_read_by_run_plan_and_target(registry: Registry):
    lines = [
        MigrationEntry("r1", "p1", "ice", None, "started"),
        MigrationEntry("r1", "p1", "ice", 0, "done", "ALTER TABLE a", "8"),
        MigrationEntry("r2", "p1", "delta", None, "started"),
    ]
    assert registry.note(*lines[:2]) == 2
    registry.record([said(A, 0)], [covered(0, 0)])
    registry.note(lines[2])
    assert registry.journal() == tuple(lines)
    assert registry.journal(run="r1") == tuple(lines[:2])
    assert registry.journal(plan="p1", target="delta") == (lines[2],)
    assert registry.journal(run="r3") == ()
    assert [line for _, line in registry.dated_journal()] == lines
    assert all(at_ms >= 1_700_000_000_000 or at_ms == 0 for at_ms, _ in registry.dated_journal())


def test_a_lease_is_counted_by_the_clock(registry: Registry):
    token = registry.acquire("ice", "anna@host:1", ttl_ms=60_000)
    with pytest.raises(Locked, match="held by anna@host:1"):
        registry.acquire("ice", "ben@host:2", ttl_ms=60_000)
    registry.renew("ice", token, ttl_ms=60_000)
    registry.release("ice", token)
    registry.acquire("ice", "ben@host:2", ttl_ms=60_000)


# Names


def known(*tables: TableId) -> Registry:
    store = MemoryStore(lambda: 0, orders.fold)
    store.append([ObservationEntry(said(A, 0, table=table)) for table in tables], 0)
    return Registry(store, lambda: 0)


SALES = TableId("shop", "app", "sales", "orders")
MYSQL = TableId("books", "shop", "", "orders")
ODD = TableId("shop", "app", "a.b", "c@d")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("items", ITEMS),
        ("public.orders", ORDERS),
        ("shop.app.public.orders", ORDERS),
        ("main:public.orders", ORDERS),
        ("dev:orders", DEV_ORDERS),
        ("dev:shop.app.public.orders", DEV_ORDERS),
        ("sales.orders", SALES),
        ("books.shop.orders", MYSQL),
        ("shop.orders", MYSQL),
        ('"c@d"', ODD),
        ('"a.b"."c@d"', ODD),
        ("shop.public.items", ITEMS),
        ("only", TableId("x", "y", "z", "only", "dev")),
    ],
)
def test_a_table_is_found_by_any_name_that_is_its_own(name: str, table: TableId):
    registry = known(ORDERS, DEV_ORDERS, SALES, MYSQL, ITEMS, ODD, TableId("x", "y", "z", "only", "dev"))
    assert registry.find(name) == table


NAMED = TABLES | st.builds(
    TableId,
    *[st.sampled_from(["a", "b", "a.b", "file", "main"])] * 4,
    stream=st.sampled_from(["main", "b", *SCHEMES]),
)


@given(st.lists(NAMED, min_size=1, max_size=6, unique_by=lambda t: (t.stream, t.parts)))
def test_every_table_is_found_by_its_printed_name(tables: list[TableId]):
    registry = known(*tables)
    for table in tables:
        assert registry.find(str(table)) == table
        reference = parse(f"{table}@1")
        assert isinstance(reference, TableRef)
        assert registry.find(reference.name) == table


@given(st.lists(TABLES, min_size=1, max_size=6, unique=True))
def test_every_table_has_a_name_that_tells_it_apart(tables: list[TableId]):
    registry = known(*tables)
    for table, name in name_distinctly(tables).items():
        assert registry.find(str(name)) == table


@given(st.lists(NAMED, min_size=1, max_size=6, unique=True), st.data())
def test_a_table_that_a_store_finds_by_name_is_the_one_that_a_pattern_matches(
    tables: list[TableId], data: st.DataObject
):
    registry = known(*tables)
    names = [".".join(t.parts[i:]) for t in tables for i in range(len(t.parts))]
    patterns = data.draw(st.lists(st.sampled_from([*names, *map(str, tables), "z", "a*"]), min_size=1))
    found, near = registry.select_summaries(*patterns)
    every = registry.summaries()
    assert found == tuple(s for s in every if any(is_matched(s.summary.table, p) for p in patterns))
    topics = {topic for s in found for topic in s.summary.current_topics}
    assert {s.summary.table for s in every if topics.intersection(s.summary.current_topics)} <= {
        s.summary.table for s in near
    }


def test_a_word_that_is_a_database_here_and_a_schema_there_names_two_tables():
    """A record without `source.db` beside one that has it, or of another connector."""
    schema, database = TableId("shop", "", "app", "orders"), TableId("shop", "app", "", "orders")
    registry = known(schema, database)
    assert str(schema) == str(database)
    with pytest.raises(AmbiguousName) as caught:
        registry.find("shop.app.orders")
    assert caught.value.message == (
        'shop.app.orders may be any of: main:shop."".app.orders, main:shop.app."".orders'
    )
    assert registry.find('shop."".app.orders') == schema
    assert registry.find('app."".orders') == database
    assert shorten_names([schema, database]) == {
        schema: 'main:shop."".app.orders',
        database: 'main:shop.app."".orders',
    }


def test_a_name_of_several_tables_lists_them():
    registry = known(ORDERS, SALES, DEV_ORDERS)
    with pytest.raises(AmbiguousName) as caught:
        registry.find("orders")
    assert caught.value.message == (
        "orders may be any of: main:shop.app.public.orders, main:shop.app.sales.orders"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ordrs", "similar names: shop.app.public.orders"),
        ("public.itmes", "similar names: shop.app.public.items"),
        ("zzz", "`schemaman tables` lists the 2 known tables"),
        ("dev:orders", "similar names: shop.app.public.orders"),
        ("app.orders", "similar names: shop.app.public.orders"),
    ],
)
def test_an_unknown_name_gets_the_nearest(name: str, hint: str):
    with pytest.raises(NoHistory, match="there is no table") as caught:
        known(ORDERS, ITEMS).find(name)
    assert hint in (caught.value.hint or "")


def test_an_empty_history_says_what_to_do():
    with pytest.raises(NoHistory) as caught:
        memory().find("orders")
    assert "schemaman ingest" in (caught.value.hint or "")
    with pytest.raises(NoHistory, match=r"shop\.app\.public\.orders has no history"):
        memory().history(ORDERS)
    with pytest.raises(BadReference):
        memory().find("a..b")
