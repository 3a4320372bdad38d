"""What a plan promises against what the engine does: the whole matrix of types, and all kinds of changes.

Every plan runs on a real table. Then the table equals `wanted`, each row reads as it was written, another row
with values in every column can be written and read, and planning again finds nothing to do; or the plan
had refused. No statement is rejected.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest

from schemaman.history.versions import NestedFieldAnswer
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import Target
from schemaman.migration.targets import delta, iceberg
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Map, Struct
from schemaman.spark.executor import SparkExecutor
from tests.spark.pairs import Pair, pairs, tables
from tests.spark.rows import Rows
from tests.support.checkout import PROOF
from tests.support.random_histories import history

pytestmark = pytest.mark.spark

COUNT, BATCH = (2001, 87) if PROOF else (16, 16)
FORMATS: dict[str, Target] = {"delta": delta.TARGET, "iceberg": iceberg.TARGET}


def outcome(pair: Pair, before: TableSchema, drawn: Plan) -> str:
    """What became of a pair: refused, left as it is, or changed."""
    if any(pair.mark in f"{r.change} {r.reason} {r.instead}" for r in drawn.refusals):
        return "refused"
    mine = [[c for c in s.columns if c.name.startswith(pair.mark)] for s in (before, drawn.wanted)]
    return "left as it is" if mine[0] == mine[1] else "changed"


def prove(format: str, name: str, batch: list[Pair], executor: SparkExecutor, drops: str) -> Counter[str]:
    """Bring a table from before to after, and look at everything."""
    target = FORMATS[format]
    policy = Policy(drops="drop" if drops == "drop" else "keep", upgrades=True)
    old, new = tables(batch)
    answers = [NestedFieldAnswer(a, b, same=True) for pair in batch for a, b in pair.members]
    first, second = migration_source(history([old])), migration_source(history([old, new], answers))
    created = make_plan(first, None, target, name, policy)
    for step in created.steps:
        executor.run(step.statement)
    before = executor.inspect(name, format)
    assert before is not None
    assert before.schema == created.wanted
    rows = Rows(executor, target.table_name(name), [])
    rows.insert(before.schema)
    executor.run(f"INSERT INTO {rows.table} (id) VALUES (1000)")
    rows.written.append({"id": "1000"})
    drawn = make_plan(second, before, target, name, policy)
    for step in drawn.steps:
        executor.run(step.statement)
        rows.follow(step)
    after = executor.inspect(name, format)
    assert after is not None
    assert after.schema == drawn.wanted
    rows.insert(after.schema)
    assert unread(rows, after.schema) == []
    # A retired column that gave its name away is dropped by the next plan, where drops are wanted.
    again = make_plan(second, after, target, name, policy).steps
    assert [step.kind for step in again] == ["drop-columns"] * (drops == "drop" and len(again) > 0)
    return Counter(outcome(pair, before.schema, drawn) for pair in batch)


def unread(rows: Rows, schema: TableSchema) -> list[str]:
    """What does not read as it was written; parts of a value that came later are NULL, as JSON leaves out."""
    tests = [" AND ".join(_reads(c, row.get(c.name, "NULL")) for c in schema.columns) for row in rows.written]
    counts = ", ".join(["COUNT(*)", *(f"COUNT_IF({test})" for test in tests)])
    found, *matches = rows.executor.query(f"SELECT {counts} FROM {rows.table}")[0]
    faults = [] if found == len(tests) else [f"{found} rows instead of {len(tests)}"]
    return faults + [f"no row is {row}" for row, n in zip(rows.written, matches, strict=True) if n == 0]


def _reads(column: Column, value: str) -> str:
    name = quote_name(column.name)
    if value == "NULL":
        return f"{name} IS NULL"
    if isinstance(column.type, Array | Map | Struct):
        # Read with the type of today: a member that was widened says 1.00 where it was written as 1.
        today = sql.literal(sql.type_name(column.type))
        return f"TO_JSON({name}) <=> TO_JSON(FROM_JSON(TO_JSON({value}), {today}))"
    return f"{name} <=> {value}"


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_planned_is_what_the_engine_makes_of_it(spark, format: str, figure) -> None:
    executor, began = SparkExecutor(spark), time.monotonic()
    told = list(pairs(7, COUNT))
    found: Counter[str] = Counter()
    for number, start in enumerate(range(0, COUNT, BATCH)):
        table = f"differential.t{number}" if format == "delta" else f"ice.differential.t{number}"
        drops = "drop" if number % 2 else "keep"
        found += prove(format, table, told[start : start + BATCH], executor, drops)
    assert found.total() == COUNT
    assert all(found[outcome] for outcome in ("changed", "refused", "left as it is"))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items()))
    figure(f"pairs of schemas on {format}", f"{COUNT}: {counts}; {time.monotonic() - began:.0f} s")
    print(f"{format}: {COUNT} pairs: {counts}; {time.monotonic() - began:.0f} s")  # noqa: T201 - shown by `-s`
