"""Every story on real tables: the plan's promise holds, and rows written earlier still read right."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.ddl import format_type
from schemaman.plan import Live
from schemaman.schema import TableSchema
from schemaman.spark.lake import SparkExecutor
from schemaman.types import Array, Decimal, Integer, Timestamp, Type
from tests import chain
from tests.spark.rows import Rows
from tests.spark.second_reader import delta_columns, iceberg_columns, iceberg_table
from tests.story import TARGETS, Story, plan_for, plans, stories, target_table, versions

pytestmark = pytest.mark.spark


def delta_words(type: Type) -> str:
    """A type as the Delta log spells it. Source: Delta protocol, "Schema Serialization Format"."""
    match type:
        case Integer(bits):
            return {8: "byte", 16: "short", 32: "integer", 64: "long"}[bits]
        case Array(element):
            return f"array<{delta_words(element)}>"
        case Timestamp(_, zoned):
            return "timestamp" if zoned else "timestamp_ntz"
        case _:
            return format_type(type).lower()


def iceberg_words(type: Type) -> str:
    """A type as Iceberg's metadata spells it. Source: Iceberg table spec, "Primitive Types"."""
    match type:
        case Integer(bits):
            return "long" if bits == 64 else "int"
        case Decimal(precision, scale):
            return f"decimal({precision}, {scale})"
        case Array(element):
            return f"list<{iceberg_words(element)}>"
        case Timestamp(_, zoned):
            return "timestamptz" if zoned else "timestamp"
        case _:
            return format_type(type).lower()


WORDS = {"delta": delta_words, "iceberg": iceberg_words}


def structure(schema: TableSchema) -> list[tuple[object, ...]]:
    """What a lake can tell: names in order, types, nullability, comments, key."""
    return [*((c.name, c.type, c.nullable, c.comment) for c in schema.columns), (schema.key,)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("story", stories(), ids=lambda s: s.name)
def test_a_story_really_happens(spark, warehouse: Path, story: Story, target: str) -> None:
    executor = SparkExecutor(spark)
    name = target_table(story, target)
    rows = Rows(executor, chain.TARGETS[target].table_name(name), [])
    live: Live | None = None
    for version, foretold in zip(versions(story), plans(story, target), strict=True):
        plan = plan_for(story, version, live, target)
        assert [s.statement for s in plan.steps] == [s.statement for s in foretold.steps]
        chain.apply(plan, executor)
        for step in plan.steps:
            rows.follow(step)
        live = executor.inspect(name, target)
        assert live is not None
        assert structure(live.schema) == structure(plan.wanted)
        assert rows.unread(live.schema) == []
        rows.insert(live.schema)
        again = plan_for(story, version, live, target)
        assert again.steps == ()
    assert live is not None
    assert rows.unread(live.schema) == []
    other = (delta_columns if target == "delta" else iceberg_columns)(warehouse, name)
    assert other == [(c.name, WORDS[target](c.type), c.nullable) for c in live.schema.columns]
    if target == "iceberg":
        assert iceberg_table(warehouse, name).scan().count() == len(rows.written)
