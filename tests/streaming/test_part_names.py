"""The source calls a column as a part of a split one is called: both have all their values."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.plan_file import from_text
from schemaman.migration.policy import Policy
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.split_plans import plan_split
from schemaman.migration.target import TARGETS
from schemaman.model.types import Type
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import alive, lake, told
from tests.support.memory_lake import Crash
from tests.support.memory_sink import MemorySink

__all__ = ["lake"]


def of(id: int, **row: Any) -> Record:
    return told(id, {"id": id, **row})


PLAIN, SPLIT = [of(1, p=5)], [of(2, p="two")]
STREAMS: dict[str, tuple[list[list[Record]], dict[int, dict[str, Any]]]] = {
    "the part was there first": (
        [PLAIN, SPLIT, [of(3, p="c", p__2=7)]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "p__2": 7}},
    ),
    "in another case": (
        [PLAIN, SPLIT, [of(3, p="c", P__2=7)]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "P__2": 7}},
    ),
    "the column was there first": (
        [[of(1, p=5, p__2=6)], [of(2, p="two", p__2=7)]],
        {1: {"p": 5, "p__2": 6}, 2: {"p__3": "two", "p__2": 7}},
    ),
    "it came and went in one batch": (
        [PLAIN, [*SPLIT, of(3, p="c", p__2=7), of(4, p="d")]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "p__2": 7}, 4: {"p__3": "d"}},
    ),
    "it came and went in a later batch": (
        [PLAIN, SPLIT, [of(3, p="c", p__2=7), of(4, p="d")]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "p__2": 7}, 4: {"p__3": "d"}},
    ),
    "the column is split, too": (
        [PLAIN, SPLIT, [of(3, p="c", p__2=7)], [of(4, p="d", p__2="four")]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "p__2": 7}, 4: {"p__3": "d", "p__2__2": "four"}},
    ),
    "its next type": (
        [PLAIN, SPLIT, [of(3, p="c", p__2=7)], [of(4, p=2.5, p__2=8)]],
        {2: {"p__3": "two"}, 3: {"p__3": "c", "p__2": 7}, 4: {"p__4": 2.5, "p__2": 8}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS)
def test_a_part_gives_its_name_to_a_column_of_the_source(lake: MemorySink, stream: str) -> None:
    batches, expected = STREAMS[stream]
    for batch in batches:
        lake.take(batch)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    rows = {row.pop("id"): row for row in alive(lake)}
    assert rows == {1: {"p": 5}, **expected}


@pytest.mark.parametrize("stream", STREAMS)
def test_no_view_reads_the_column_that_gets_the_name_of_a_part(store: SqlStore, stream: str) -> None:
    """Meanwhile, the view cannot be read; no value is absent from it."""
    policy, made = Policy(profile="autopilot"), dict[str, dict[str, Type]]()
    lake = MemorySink(store, lambda _: None, "iceberg", policy, view="ice.read.{table}")
    faults: list[str] = []

    def check(statement: str) -> None:
        for view, text in lake.views.items():
            live = [table.live for table in lake.tables.values() if table.live is not None]
            types = {c.name: c.type for table in live for c in table.schema.columns}
            read = {n: t for n, t in types.items() if f"`{n}`" in text.partition(" AS SELECT ")[2]}
            known = made.setdefault(text, read)
            faults.extend(f"{view} reads {n} after {statement}" for n, t in read.items() if known.get(n) != t)

    lake.after = check
    for batch in STREAMS[stream][0]:
        lake.take(batch)
    assert faults == []
    assert made


@pytest.mark.parametrize("statement", ["SET TBLPROPERTIES", "RENAME COLUMN"])
def test_a_killed_run_leaves_a_table_that_shows_which_part_gets_which_name(
    store: SqlStore, statement: str
) -> None:
    """The journal knows the rest of the plan; without it the table alone has to tell."""
    policy = Policy(profile="autopilot")
    lake = MemorySink(store, lambda _: None, "iceberg", policy)
    for batch in (PLAIN, SPLIT):
        lake.take(batch)
    (table,) = lake.tables.values()

    def kill(run: str) -> None:
        assert table.live is not None
        if statement in run and "p__3" in read_record(table.live.properties).split:
            raise Crash(run)

    lake.after = kill
    with pytest.raises(Crash):
        lake.take([of(3, p="c", p__2=7)])
    history = store.history(next(iter(store.tables())))
    assert history is not None
    begun = [line for line in Registry(store, lambda: 0).journal() if line.state == "started"][-1]
    planner = RecipePlanner(from_text(begun.statement).source, TARGETS.get("iceberg"), table.table, policy)
    assert table.live is not None
    plan = plan_split(planner, history, table.live)
    assert plan is not None
    for step in plan.steps:
        table.run(step.statement)
    assert table.live.schema.names[:2] == ("id", "p")
    assert "p__2" not in table.live.schema.names
    assert tuple(read_record(table.live.properties).split) == ("p__3",)
    assert plan_split(planner, history, table.live) is None
