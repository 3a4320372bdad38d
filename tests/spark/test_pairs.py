"""Made-up pairs of structures on real tables: what a plan promises comes true, old rows read as before."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from schemaman.migration.plan import MigrationSource, Policy, count_outcomes
from schemaman.migration.planner import make_plan
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableSchema
from schemaman.spark.executor import SparkExecutor
from tests.spark.formats import both
from tests.spark.rows import literal
from tests.support import chain
from tests.support.chain import TARGETS
from tests.support.checkout import PROOF
from tests.support.random_histories import lives

pytestmark = pytest.mark.spark
PAIRS = 60 if PROOF else 4
NUMBERS = itertools.count()
Values = Mapping[int | None, object]
"""The values of one row by the ids of their columns."""


def read(spark, name: str, columns: Sequence[str]) -> tuple[object, ...]:
    listed = ", ".join(map(quote_name, columns))
    # By Arrow: a key of a map that is an array is none of a Python dict.
    (row,) = spark.sql(f"SELECT {listed} FROM {name}").toArrow().to_pylist()
    return tuple(row.values())


def agrees(old: object, new: object) -> bool:
    """Whether a value reads as before: a wider number is the same number, a new member is NULL."""
    match old, new:
        case dict(), dict():
            now = {k.lower(): v for k, v in new.items()}
            kept = all(agrees(value, now.pop(name.lower(), None)) for name, value in old.items())
            return kept and all(value is None for value in now.values())
        case list(), list():
            return len(old) == len(new) and all(map(agrees, old, new))
        case tuple(), tuple():
            return all(map(agrees, old, new))
        case (bool(), _) | (_, bool()):
            return old is new
        case ((int() | float() | Decimal()), (int() | float() | Decimal())):
            return Decimal(str(old)) == Decimal(str(new))
        case date(), datetime() if not isinstance(old, datetime):
            return datetime.combine(old, time()) == new
        case _:
            return old == new


def written(executor: SparkExecutor, name: str, schema: TableSchema) -> None:
    """One row with a value in every column."""
    names = ", ".join(map(quote_name, schema.names))
    executor.run(
        f"INSERT INTO {name} ({names}) VALUES ({', '.join(literal(c.type, 1) for c in schema.columns)})"
    )


@both
def test_a_plan_keeps_its_promise_and_every_row(
    spark, format: str, figure: Callable[[str, object], None]
) -> None:
    executor, seen = SparkExecutor(spark), Counter[str]()

    @settings(
        max_examples=PAIRS,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(life=lives(3), drops=st.sampled_from(["keep", "drop"]))
    def live_through(life: list[MigrationSource], drops) -> None:
        seen.update(lived(spark, executor, format, life, Policy(drops=drops)))

    live_through()
    assert seen["additive"] > 0
    figure(f"pairs of structures on {format}", ", ".join(f"{n} {k}" for k, n in sorted(seen.items())))


def lived(
    spark, executor: SparkExecutor, format: str, life: list[MigrationSource], policy: Policy
) -> Counter[str]:
    """The outcomes of a table's life, each version checked against the one before."""
    number = next(NUMBERS)
    table = f"pairs.t{number}" if format == "delta" else f"ice.pairs.t{number}"
    target, seen = TARGETS[format], Counter[str]()
    name = target.table_name(table)
    before: Values = {}
    for following in life:
        live = executor.inspect(table, format)
        drawn = make_plan(following, live, target, table, policy)
        seen.update(count_outcomes(drawn))
        if not drawn.steps and live is None:
            return seen
        migration = chain.apply(drawn, executor)
        assert (migration.state in ("applied", "unchanged"), migration.differences) == (True, ())
        assert migration.lake_table is not None
        again = make_plan(following, migration.lake_table, target, table, policy)
        assert again.steps == ()
        if live is None:
            written(executor, name, migration.lake_table.schema)
        before = checked(spark, name, following, migration.lake_table.schema, before, bool(drawn.refusals))
        for phase in RecipePlanner(following, target, table, policy).make_plans(migration.lake_table)[:3]:
            seen.update({f"recipe {phase.phase.name}": 1} if phase.phase and phase.steps else {})
    return seen


def checked(
    spark, name: str, following: MigrationSource, schema: TableSchema, before: Values, refused: bool
) -> Values:
    """The values under the ids of the source's columns, compared with those of the version before."""
    values = dict(zip(schema.names, read(spark, name, schema.names), strict=True))
    here = {c.id: values[c.name] for c in following.schema.columns if c.name in values}
    if not refused:
        for id, value in before.items():
            assert id not in here or agrees(value, here[id]), (name, id, value, here[id])
    return here
