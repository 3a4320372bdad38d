"""Plans for tables that somebody else made: what an accepted plan promises, whatever the table is like.

Every statement of a plan runs. Then the table equals `wanted`, each row reads as it was written, another row
with values in every column can be written and read, and planning again finds nothing to do. Where a plan has
refusals, its other steps are made in part, under the same law.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from schemaman.errors import SchemamanError
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.model.schema import TableSchema
from schemaman.spark.executor import SparkExecutor
from tests.spark.existing_tables import Draw
from tests.spark.formats import both
from tests.spark.rows import Rows
from tests.spark.test_differential import unread
from tests.support.chain import TARGETS
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal
from tests.support.random_histories import history

pytestmark = pytest.mark.spark

COUNT = {"delta": 60, "iceberg": 60} if PROOF else {"delta": 2, "iceberg": 5}
"""A table of Delta costs three times as much as one of Iceberg."""
CHANGES = 2 if PROOF else 1
"""How often the source of a table changes."""


class _Law(Exception):
    """What a plan promised and the table does not show."""


def _plan(following: MigrationSource, live: LakeTable | None, format: str, table: str, drops: bool) -> Plan:
    policy = Policy(drops="drop" if drops else "keep")
    return make_plan(following, live, TARGETS[format], table, policy)


def _inspect(executor: SparkExecutor, table: str, format: str) -> LakeTable:
    live = executor.inspect(table, format)
    assert live is not None
    return live


def _keep(schema: TableSchema, live: LakeTable) -> TableSchema:
    """The columns that a writer fills: the table computes the others itself."""
    return TableSchema(tuple(c for c in schema.columns if c.name not in live.generated))


def _follow(
    executor: SparkExecutor, following: MigrationSource, format: str, table: str, rows: Rows, drops: bool
) -> str:
    """Bring a table to its source and look at everything; the outcome."""
    live = _inspect(executor, table, format)
    drawn = _plan(following, live, format, table, drops)
    if drawn.steps:
        done = apply(
            drawn, executor, MemoryJournal(), lambda: 0, run="r", store="s", partial=True, approved=True
        )
        if done.differences:
            raise _Law(f"differs from the plan: {done.differences}")
    for step in drawn.steps:
        rows.follow(step)
    after = _inspect(executor, table, format)
    rows.insert(_keep(after.schema, after))
    if faults := unread(rows, _keep(after.schema, after)):
        raise _Law(f"reads otherwise: {faults[0]}")
    executor.query(f"SELECT * FROM {rows.table}")
    again = _plan(following, after, format, table, drops)
    if again.steps and not drops:
        raise _Law(f"plans again: {[step.statement for step in again.steps]}")
    if again.refusals and not drawn.refusals:
        raise _Law(f"refuses what it accepted: {again.refusals[0]}")
    return "refused in part" if drawn.refusals else "changed" if drawn.steps else "left as it is"


def prove(executor: SparkExecutor, format: str, number: int) -> tuple[list[str], str]:
    """One table from its making by others to the second version of its source: outcomes, or the fault."""
    table = f"existing.t{number}" if format == "delta" else f"ice.existing.t{number}"
    draw = Draw(format, TARGETS[format].table_name(table), random.Random(f"{format} {number}"))
    first = draw.source()
    made = draw.table(first)
    second = draw.changed(first, 20)
    third, drops = draw.changed(second, 30), draw.chance(0.3)
    for statement in made.statements:
        executor.run(statement)
    rows, outcomes = Rows(executor, draw.name, []), list[str]()
    live = _inspect(executor, table, format)
    rows.insert(_keep(live.schema, live))
    for told in ([first], [first, second], [first, second, third])[: CHANGES + 1]:
        following = migration_source(history(told))
        try:
            outcomes.append(_follow(executor, following, format, table, rows, drops))
        except (SchemamanError, _Law) as error:
            where = "\n  ".join((f"table {number} on {format}, version {len(told)}", *draw.what))
            cause = getattr(error, "message", str(error))
            return outcomes, f"{where}\n  {type(error).__name__}: {cause}"
        for statement in made.later if len(told) == 1 else ():
            executor.run(statement)
    return outcomes, ""


@both
def test_a_table_of_other_hands_follows_its_source_or_says_why_not(spark, format: str, figure) -> None:
    executor, began = SparkExecutor(spark), time.monotonic()
    executor.run(f"CREATE NAMESPACE IF NOT EXISTS {'ice.' if format == 'iceberg' else ''}existing")
    found: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(COUNT[format]):
        outcomes, fault = prove(executor, format, number)
        found.update(outcomes)
        faults += [fault] if fault else []
    assert faults == [], "\n\n".join(faults)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items()))
    figure(f"existing tables on {format}", f"{COUNT[format]}: {counts}; {time.monotonic() - began:.0f} s")
