"""What autopilot did is taken back run by run, newest first, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import LEASE_MS, StoreJournal, apply
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.plan import Plan, Refusal
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.policy import PROFILES, ChangeKind, Policy, PolicyRule, ProjectionRule
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import INT, TEXT, lake, told
from tests.streaming.test_levels_of_kinds import HISTORIES
from tests.streaming.test_taken_columns import ID, NOTE, PRICE, Shop
from tests.support.killed_sink import Moments, attach
from tests.support.memory_lake import Crash, MemoryTable
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

__all__ = ["lake"]

FIRST = [told(0, {"id": 1, "a": 5, "b": 1}), told(1, {"id": 2, "a": 6, "b": 2})]
KINDS: dict[str, list[list[Record]]] = {
    "added column": [[told(2, {"id": 1, "a": 5, "b": 1, "q": 3}, "u")]],
    "split column": [[told(2, {"id": 1, "a": "five", "b": 1}, "u")]],
    "split column whose part gives up its name": [
        [told(2, {"id": 1, "a": "five", "b": 1}, "u")],
        [told(3, {"id": 1, "a": "six", "b": 1, "a__2": 7}, "u")],
    ],
    "another key": [
        [
            told(2, {"id": 2, "a": 6, "b": 2}, "u", key=("id", "b")),
            told(3, {"id": 2, "a": 7, "b": 2}, "u", key=("id", "b")),
        ]
    ],
    "kept columns of a suspected rename": [[told(2, {"id": 1, "a": 5, "c": 3}, "u")]],
    "name used again": [
        [told(2, {"id": 1, "a": 5}, "u")],
        [told(3, {"id": 1, "a": 5, "b": "x"}, "u")],
    ],
}  # fmt: skip


def shape(table: MemoryTable) -> tuple[Any, ...]:
    """Columns with their types and values' places, and the key."""
    assert table.live is not None
    schema = table.live.schema
    return tuple((c.name, c.type, table.fields[c.name]) for c in schema.columns), schema.key


def list_runs(sink: MemorySink) -> list[str]:
    found = Registry(sink.store, lambda: 0).digest_after(0, 0).runs
    return [run.run for run in found if run.way_back is not None]


def take_back(sink: MemorySink, table: MemoryTable, run: str) -> Plan:
    """Plan the rollback of a run, and apply it as a person who approves it."""
    registry = Registry(sink.store, lambda: 0)
    (text, *_) = [line.statement for line in registry.journal(run=run) if line.state == "started"]
    done = from_text(text)
    lines = registry.journal(plan=plan_hash(done))
    back = plan_rollback(done, table.live, count_progress(lines)[0])
    assert not back.refusals
    journal, name, store = StoreJournal(sink.store), f"back-{run}", sink.store.id
    applied = apply(back, table, journal, lambda: 0, run=name, approved=True, store=store)
    assert (applied.state, applied.differences) == ("applied", ()), [s.statement for s in back.steps]
    return back


@pytest.mark.parametrize("kind", KINDS)
def test_each_automatic_kind_is_taken_back(lake: MemorySink, kind: str) -> None:
    lake.approve = lambda _: True
    lake.take(FIRST)
    (table,) = lake.tables.values()
    before, runs = shape(table), len(list_runs(lake))
    for batch in KINDS[kind]:
        lake.take(batch)
    changed = list_runs(lake)[runs:]
    assert changed, kind
    assert shape(table) != before, lake.withheld()
    for run in reversed(changed):
        take_back(lake, table, run)
    assert shape(table) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_taken_back_whose_first_job_was_killed_behind_its_statement(
    lake: MemorySink, kind: str
) -> None:
    """The worst moment: the table has changed, and the journal does not know it yet."""
    lake.approve = lambda _: True
    lake.take(FIRST)
    (table,) = lake.tables.values()
    before, runs, killed = shape(table), len(list_runs(lake)), False

    def kill(statement: str) -> None:
        if shape(table) != before:
            raise Crash(statement)

    for batch in KINDS[kind]:
        first = attach(lake, lake.store, Moments(), 0)
        first.after = kill if not killed else first.after
        try:
            first.take(batch)
        except Crash:
            killed = True
            lake = attach(lake, lake.store, Moments(), 2 * LEASE_MS)
            lake.take(batch)
    assert killed
    assert shape(table) != before
    plans = set()
    for run in reversed(list_runs(lake)[runs:]):
        # The second job has taken the plan of the first one up: a rollback of either takes back the plan.
        plan = Registry(lake.store, lambda: 0).journal(run=run)[0].plan
        if plan not in plans:
            take_back(lake, table, run)
        plans.add(plan)
    assert shape(table) == before


MADE = {"the plan created the table, and its rows may be needed"}
STAYS: dict[ChangeKind, str] = {
    "widen": "stays BIGINT",
    "integer-to-decimal": "stays DECIMAL(12,2)",
    "integer-to-double": "stays DOUBLE",
    "upgrade": "stay enabled",
    "drop-not-null": "may hold NULL",
}
"""What no statement undoes and loses nothing, as the rollback says it."""
REFUSED: dict[ChangeKind, set[str]] = {
    # No table is dropped by a rollback; what led rows into a successor is taken back.
    "new-table": MADE, "on-key-changed": MADE, "on-key-lost": MADE, "untyped-json": MADE,
    "drop-table": MADE | {"ice.raw.`shop..t` was created after the plan was made"},
}  # fmt: skip
NO_STEP: set[ChangeKind] = {"change-default", "change-representation"}
"""They change how values are read or nothing at all, and no table."""
AUTOMATIC = [
    (kind, HISTORIES[kind].formats[-1]) for kind, level in PROFILES["autopilot"].items() if level == "auto"
]


@pytest.mark.parametrize(("kind", "format"), AUTOMATIC)
def test_each_kind_that_autopilot_makes_has_a_way_back_or_a_reason(
    store: SqlStore, kind: ChangeKind, format: str
) -> None:
    history = HISTORIES[kind]
    rules = tuple(PolicyRule(level, (name,)) for name, level in (history.rules or {}).items())
    policy = Policy(profile="autopilot", rules=rules, projections=history.projections)
    sink = MemorySink(store, lambda _: None, format, policy, lambda _: True)
    before: list[str] = []
    names: dict[str, object] = {}
    for number, batch in enumerate(history.batches):
        if number == history.at:
            history.prepare(sink)
            before, names = list_runs(sink), read_names(sink)
        sink.decisions = batch.decide(store)
        sink.take(batch.records)
    refused: set[str] = set()
    notes: list[str] = []
    runs = [run for run in list_runs(sink) if run not in before]
    for run in reversed(runs):
        back = take_back_if_able(sink, format, run)
        refused |= {refusal.reason for refusal in back.refusals}
        notes += back.notes
    assert bool(runs) == (kind not in NO_STEP)
    assert refused == REFUSED.get(kind, set())
    assert STAYS.get(kind, "") in "; ".join(notes)
    if not refused and kind not in STAYS:
        assert read_names(sink) == names


def read_names(sink: MemorySink) -> dict[str, object]:
    """The columns and the key of each table."""
    return {a: (t.live.schema.names, t.live.schema.key) for a, t in sink.tables.items() if t.live is not None}


def take_back_if_able(sink: MemorySink, format: str, run: str) -> Plan:
    """Plan the rollback of a run, and apply it if nothing of it is refused."""
    registry, lake = Registry(sink.store, lambda: 0), sink.open_lake()
    (text, *_) = [line.statement for line in registry.journal(run=run) if line.state == "started"]
    done = from_text(text)
    lines = registry.journal(plan=plan_hash(done))
    back = plan_rollback(done, lake.inspect(done.table, format), count_progress(lines)[0])
    if not back.refusals:
        journal, name = StoreJournal(sink.store), f"back-{run}"
        try:
            applied = apply(back, lake, journal, lambda: 0, run=name, approved=True, store=sink.store.id)
        except StalePlan as error:
            return replace(back, refusals=(Refusal(back.table, error.message, ""),))
        assert applied.state in ("applied", "unchanged")
        assert applied.differences == ()
    return back


def test_a_key_is_not_taken_back_once_rows_share_the_former_one(lake: MemorySink) -> None:
    lake.take(FIRST)
    (table,) = lake.tables.values()
    keyed = [{"id": 2, "a": 6, "b": 9}, {"id": 2, "a": 6, "b": 8}]
    lake.take([told(2 + number, row, key=("id", "b")) for number, row in enumerate(keyed)])
    lake.take([])
    with pytest.raises(StalePlan, match="not ready"):
        take_back(lake, table, list_runs(lake)[-1])


def test_a_run_is_not_taken_back_before_later_ones(lake: MemorySink) -> None:
    lake.take(FIRST)
    (table,) = lake.tables.values()
    lake.take([told(2, {"id": 1, "a": 5, "b": 1, "q": 3}, "u")])
    first = list_runs(lake)[-1]
    lake.take([told(3, {"id": 1, "a": 5, "b": 1, "q": 3, "r": 4}, "u")])
    with pytest.raises(StalePlan, match="not as the plan left it"):
        take_back(lake, table, first)
    runs = {run.run: run for run in Registry(lake.store, lambda: 0).digest_after(0, 0).runs}
    way = runs[first].way_back
    assert way is not None
    assert way.after == (list_runs(lake)[-1],)


def test_a_run_that_made_a_table_is_refused_with_its_reason_also_where_a_wider_type_stayed(
    lake: MemorySink,
) -> None:
    lake.take(FIRST)
    (table,) = lake.tables.values()
    made = list_runs(lake)[-1]
    wide = {"id": INT, "a": node("int64"), "b": INT}
    lake.take([row_event(wide, "u", {"id": 1, "a": 2**40, "b": 1}, offset=9)])
    take_back(lake, table, list_runs(lake)[-1])
    lines = Registry(lake.store, lambda: 0).journal(run=made)
    plan = next(from_text(line.statement) for line in lines if line.state == "started")
    with pytest.raises(StalePlan, match="not as the plan left it"):
        plan_rollback(plan, table.live, len(plan.steps))
    back = plan_rollback(plan, table.live, len(plan.steps), may_hold_more=True)
    assert (back.steps, {refusal.reason for refusal in back.refusals}) == ((), MADE)


@pytest.mark.parametrize("deleted", ["", "gone"], ids=["own columns", "a metadata column beside"])
def test_a_truncate_is_taken_back_with_the_values_of_its_rows_alone(lake: MemorySink, deleted: str) -> None:
    roles = (("metadata", (("deleted", deleted),)),) if deleted else ()
    lake.policy = Policy(profile="autopilot", projections=(ProjectionRule(roles),) if roles else ())
    lake.take([*FIRST, told(2, {"id": 3, "a": 7, "b": 3}), told(3, {"id": 3, "a": 7, "b": 3}, "d")])
    (table,) = lake.tables.values()
    before = read_living(table)
    lake.take([row_event({"id": INT}, "t", None, offset=20), told(30, {"id": 2, "a": 8, "b": 2})])
    assert [row["id"] for row in read_living(table)] == [2]
    back = take_back(lake, table, list_runs(lake)[-1])
    assert (back.approvals_needed, back.refusals) == ((), ())
    assert read_living(table) == [before[0], {**before[1], "a": 8}]
    # Its batch comes again, and newer rows go on.
    lake.take([row_event({"id": INT}, "t", None, offset=20), told(31, {"id": 1, "a": 9, "b": 1}, "u")])
    assert [(row["id"], row["a"]) for row in read_living(table)] == [(1, 9), (2, 8)]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_truncate_is_taken_back_where_its_table_was_made_anew_in_the_same_batch(
    store: SqlStore, format: str
) -> None:
    """A plan for the new structure has steps that no statement undoes; the run of the TRUNCATE has none."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    lake.take(FIRST)
    (table,) = lake.tables.values()
    made = {"b": node("float"), "note": TEXT, "label": TEXT, "tag": TEXT}
    row = {"b": 0.5, "note": "x", "label": "y", "tag": "z"}
    anew = [row_event(made, "c", row, offset=offset, keyed=False) for offset in (30, 31)]
    lake.take([row_event({"id": INT, "a": INT, "b": INT}, "t", None, offset=20), *anew])
    assert read_living(table) == []
    (run,) = [each for each in list_runs(lake) if "UPDATE" in read_statements(lake, each)]
    take_back(lake, table, run)
    assert [row["id"] for row in read_living(table)] == [1, 2]


def test_a_truncate_empties_the_newest_lake_table_alone_and_is_taken_back_there(lake: MemorySink) -> None:
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})])
    lake.take([told(n, {"id": n, "n": n}, key=("n",)) for n in (3, 4)])
    lake.take([row_event({"id": INT, "n": INT}, "t", None, offset=20)])
    first, second = (table for table in lake.tables.values() if table.live is not None)
    assert (len(read_living(first)), read_living(second)) == (2, [])
    take_back(lake, second, list_runs(lake)[-1])
    assert (len(read_living(first)), len(read_living(second))) == (2, 2)


def read_living(table: MemoryTable) -> list[dict[str, Any]]:
    """The rows without their order that a reader who skips soft deletes sees, by their keys."""
    alive = (row for row in table.read() if not row[DELETED])
    return sorted(({n: v for n, v in row.items() if n != ORDER} for row in alive), key=lambda row: row["id"])


def test_rows_that_were_taken_go_back_but_for_those_that_were_written_since(store: SqlStore) -> None:
    shop = Shop(store)
    shop.change("a", ID, PRICE, NOTE)
    for id in (1, 2):
        shop.write("a", id=id, price="dear", note=f"n{id}")
    shop.change("a", ID, PRICE, ddl="ALTER TABLE a DROP note")
    shop.write("a", id=4, price="dear")
    shop.change("b", ID, PRICE, former="a")
    shop.write("b", id=3, price="new")
    shop.take(1)
    shop.connector.records.clear()
    shop.write("b", "u", id=2, price="now")
    shop.take(1)
    assert set(shop.read("b")) == {1, 2, 3, 4}
    runs = list_runs(shop.lake)
    run = next(each for each in runs if "INSERT INTO" in read_statements(shop.lake, each))
    with pytest.raises(StalePlan, match="not as the plan left it"):
        take_back_if_able(shop.lake, "delta", run)
    for later in reversed(runs[runs.index(run) + 1 :]):
        assert not take_back_if_able(shop.lake, "delta", later).refusals
    back = take_back_if_able(shop.lake, "delta", run)
    assert (back.refusals, [step.kind for step in back.steps][1]) == ((), "backfill")
    assert shop.read("b") == {2: {"price": "now"}, 3: {"price": "new"}}
    assert set(shop.read("a")) == {1, 2, 4}


def read_statements(sink: MemorySink, run: str) -> str:
    lines = Registry(sink.store, lambda: 0).journal(run=run)
    plans = [from_text(line.statement) for line in lines if line.state == "started"]
    return "; ".join(step.statement for plan in plans for step in plan.steps)
