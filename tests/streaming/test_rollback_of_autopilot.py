"""What autopilot did is taken back run by run, newest first, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import LEASE_MS, StoreJournal, apply
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.rollback import plan_rollback
from schemaman.registry import Registry
from tests.streaming.test_autopilot import lake, told
from tests.support.killed_sink import Moments, attach
from tests.support.memory_lake import Crash, MemoryTable
from tests.support.memory_sink import MemorySink

__all__ = ["lake"]

FIRST = [told(0, {"id": 1, "a": 5, "b": 1}), told(1, {"id": 2, "a": 6, "b": 2})]
KINDS: dict[str, list[list[Record]]] = {
    "added column": [[told(2, {"id": 1, "a": 5, "b": 1, "q": 3}, "u")]],
    "split column": [[told(2, {"id": 1, "a": "five", "b": 1}, "u")]],
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
