"""One life of a lake table for every catalogue: create, add, widen, rename, drop, comment, and accidents.

`lived` runs it through plans and their application, with a row that must read right at the end; the structure
and the rows that it gives back are for a second reader to confirm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pytest

from schemaman.errors import PartlyApplied, StalePlan, StatementFailed
from schemaman.migration.apply.apply import Migration, apply, find_drift, find_expected_structure
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.plan import (
    MigrationSource,
    Plan,
    Policy,
    describe_change,
)
from schemaman.migration.planner import make_plan
from schemaman.migration.target import Executor, LakeTable
from schemaman.model.column_list import parse_columns
from tests.support.chain import TARGETS
from tests.support.memory_lake import MemoryJournal
from tests.support.random_histories import source

_TOLD = (
    """id INT NOT NULL ID 1, name VARCHAR(20) COMMENT 'who' ID 2, price DECIMAL(8,2) ID 3, gone STRING ID 4,
    s STRUCT<x: INT> ID 5, PRIMARY KEY (id), COMMENT 'it''s all'""",
    """id BIGINT NOT NULL ID 1, customer VARCHAR(20) COMMENT 'who buys' ID 2, price DECIMAL(12,2) ID 3,
    s STRUCT<x: BIGINT, y: DATE> ID 5, added DATE ID 6, PRIMARY KEY (id), COMMENT 'it''s all'""",
)
ROWS = (
    {"id": 1, "customer": "Ada", "price": Decimal("12.25"), "s": {"x": 7, "y": None}, "added": None},
    {
        "id": 2**40,
        "customer": "Bob",
        "price": Decimal("9999999999.99"),
        "s": {"x": 2**40, "y": date(2024, 2, 3)},
        "added": date(2024, 2, 29),
    },
)
"""What every reader finds in the end."""
NAMES = ("id", "customer", "price", "s", "added")
ICEBERG_COLUMNS = [
    ("id", "long", False),
    ("customer", "string", True),
    ("price", "decimal(12, 2)", True),
    ("s", "struct<6: x: optional long, 8: y: optional date>", True),
    ("added", "date", True),
]
DELTA_COLUMNS = [
    ("id", "long", False),
    ("customer", "string", True),
    ("price", "decimal(12,2)", True),
    ("s", "struct<x: long, y: date>", True),
    ("added", "date", True),
]
"""How a second reader spells the columns in the end."""


def sources() -> list[MigrationSource]:
    """The two versions of the source."""
    schemas = [parse_columns(text.replace("''", "\\'")) for text in _TOLD]
    return [source(schemas[: n + 1]) for n in range(len(schemas))]


@dataclass
class Interrupted:
    """An engine whose line breaks: from that statement on, or once after it."""

    executor: Executor
    at: int
    after: bool
    ran: int = 0

    def inspect(self, table: str, format: str) -> LakeTable | None:
        return self.executor.inspect(table, format)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        return self.executor.query(statement)

    def run(self, statement: str) -> None:
        self.ran += 1
        if self.ran >= self.at and not self.after:
            raise StatementFailed("the line is down")
        self.executor.run(statement)
        if self.ran == self.at:
            raise KeyboardInterrupt


def lived(executor: Executor, format: str, table: str) -> LakeTable:
    """The table at the end of its life, everything on the way as it should be."""
    first, second = sources()
    target, name, journal = TARGETS[format], TARGETS[format].table_name(table), MemoryJournal()

    def plan(following: MigrationSource, live: LakeTable | None) -> Plan:
        return make_plan(following, live, target, table, Policy(drops="drop"))

    def run(plan: Plan, by: Executor = executor, approved: bool = True) -> Migration:
        return apply(plan, by, journal, lambda: 0, run="r", approved=approved)

    assert executor.inspect(table, format) is None
    created = run(plan(first, None))
    assert (created.state, created.differences) == ("applied", ())
    executor.run(f"INSERT INTO {name} VALUES (1, 'Ada', 12.25, 'x', named_struct('x', 7))")
    live = executor.inspect(table, format)
    drawn = plan(second, live)
    assert drawn.refusals == ()
    assert drawn.approvals_needed != ()
    assert run(drawn, approved=False).state == "refused"
    with pytest.raises(PartlyApplied):
        run(drawn, Interrupted(executor, 2, after=False))
    with pytest.raises(KeyboardInterrupt):
        run(drawn, Interrupted(executor, 2, after=True))
    done = run(drawn)
    assert (done.state, done.differences) == ("applied", ())
    ran = {line.step for line in journal.lines if line.state == "done" and line.plan == done.plan}
    assert ran | {o.number for o in done.outcomes} == set(range(len(drawn.steps)))
    found = done.lake_table
    assert found is not None
    assert fingerprint_structure(found.schema) == fingerprint_structure(drawn.wanted)
    assert (found.schema.key, found.schema.comment) == (("id",), "it's all")
    assert plan(second, found).steps == ()
    executor.run(
        f"INSERT INTO {name} VALUES ({2**40}, 'Bob', 9999999999.99, "
        f"named_struct('x', {2**40}, 'y', DATE'2024-02-03'), DATE'2024-02-29')"
    )
    expected = [tuple(_value(row[column]) for column in NAMES) for row in ROWS]
    assert [tuple(map(_value, row)) for row in _rows(executor, name)] == expected
    _drifted(executor, format, table, plan(second, live), run, journal)
    last = executor.inspect(table, format)
    assert last is not None
    return last


def _drifted(executor: Executor, format: str, table: str, old: Plan, run, journal: MemoryJournal) -> None:
    """Somebody else alters the table: it is told, and a plan that was made before is refused."""
    name = TARGETS[format].table_name(table)
    executor.run(f"ALTER TABLE {name} ADD COLUMNS (stray INT)")
    moved = executor.inspect(table, format)
    expected = find_expected_structure(journal.lines, format, table)
    assert moved is not None
    assert expected is not None
    assert [describe_change(change) for change in find_drift(moved, expected)] == ["add `stray` INT"]
    with pytest.raises(StalePlan):
        run(old)
    executor.run(f"ALTER TABLE {name} DROP COLUMN stray")
    back = executor.inspect(table, format)
    assert back is not None
    assert find_drift(back, expected) == ()


def _rows(executor: Executor, name: str) -> Sequence[Sequence[object]]:
    return executor.query(f"SELECT {', '.join(NAMES)} FROM {name} ORDER BY id")


def _value(value: object) -> object:
    """A struct as its values, whoever read it."""
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, tuple) else value
