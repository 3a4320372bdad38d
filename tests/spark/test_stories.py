"""Every story on real tables: the plan's promise holds, and rows written earlier still read right."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from schemaman.migration.target import LakeTable
from schemaman.model.ddl import format_type
from schemaman.model.schema import TableSchema
from schemaman.model.types import Array, Decimal, Integer, Struct, Timestamp, Type
from schemaman.spark.executor import SparkExecutor
from tests.spark.rows import Rows
from tests.spark.second_reader import (
    arrow_value,
    columns_of,
    delta_folder,
    delta_log_columns,
    delta_rows,
    deltalake_columns,
    iceberg_table,
)
from tests.support import chain
from tests.support.checkout import PROOF
from tests.support.story import TARGETS, Story, plan_for, plans, stories, target_table, versions

pytestmark = pytest.mark.spark


def delta_words(type: Type) -> str:
    """A type as the Delta log spells it. Source: Delta protocol, "Schema Serialization Format"."""
    match type:
        case Integer(bits):
            return {8: "byte", 16: "short", 32: "integer", 64: "long"}[bits]
        case Array(element):
            return f"array<{delta_words(element)}>"
        case Struct(fields):
            return f"struct<{', '.join(f'{f.name}: {delta_words(f.type)}' for f in fields)}>"
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
        case Struct(fields):
            return f"struct<{', '.join(f'{f.name}: optional {iceberg_words(f.type)}' for f in fields)}>"
        case Timestamp(_, zoned):
            return "timestamptz" if zoned else "timestamp"
        case _:
            return format_type(type).lower()


def structure(schema: TableSchema) -> list[tuple[object, ...]]:
    """What a lake can tell: names in order, types, nullability, comments, key."""
    return [*((c.name, c.type, c.nullable, c.comment) for c in schema.columns), (schema.key,)]


TOLD = [(story, target) for story in stories() for target in TARGETS]
SOME = [TOLD[2 * n + (n % 8 > 0)] for n in range(len(TOLD) // 2)]
"""Each story once, every eighth on Delta, where a step costs four times as much."""


@pytest.mark.parametrize(
    ("story", "target"), TOLD if PROOF else SOME, ids=lambda one: getattr(one, "name", one)
)
def test_a_story_really_happens(spark, warehouse: Path, story: Story, target: str) -> None:
    executor = SparkExecutor(spark)
    name = target_table(story, target)
    rows = Rows(executor, chain.TARGETS[target].table_name(name), [])
    live: LakeTable | None = None
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
    others = confirmed_delta if target == "delta" else confirmed_iceberg
    others(warehouse, live, [tuple(map(plain, row)) for row in executor.query(f"SELECT * FROM {rows.table}")])


def confirmed_delta(warehouse: Path, live: LakeTable, rows: list[tuple[object, ...]]) -> None:
    """The log and the files that it names, read by nobody's library; and what delta-rs makes of the log."""
    folder = delta_folder(warehouse, live.name)
    columns = [(c.name, delta_words(c.type), c.nullable) for c in live.schema.columns]
    assert delta_log_columns(folder) == columns
    assert deltalake_columns(folder) == columns
    assert sorted(map(repr, map(plain, delta_rows(folder)))) == sorted(map(repr, rows))


def confirmed_iceberg(warehouse: Path, live: LakeTable, rows: list[tuple[object, ...]]) -> None:
    """What pyiceberg reads: columns, identifier fields, and every row."""
    table = iceberg_table(warehouse, live.name)
    found = columns_of(table)
    unnumbered = [(name, re.sub(r"(?<=[< ])\d+: ", "", words), null) for name, words, null in found]
    assert unnumbered == [(c.name, iceberg_words(c.type), c.nullable) for c in live.schema.columns]
    assert sorted(table.schema().identifier_field_names()) == json.loads(live.properties["identifier-fields"])
    types = [field.field_type for field in table.schema().fields]
    read = [
        tuple(plain(arrow_value(value, type)) for value, type in zip(row.values(), types, strict=True))
        for row in table.scan().to_arrow().to_pylist()
    ]
    assert sorted(map(repr, read)) == sorted(map(repr, rows))


def plain(value: object) -> object:
    """A value whoever read it: a map is its pairs, bytes are bytes, a moment is as PySpark tells it."""
    match value:
        case datetime():
            return value.astimezone().replace(tzinfo=None) if value.tzinfo else value
        case bytearray():
            return bytes(value)
        case dict():
            return tuple(plain(pair) for pair in value.items())
        case tuple() | list():
            return tuple(plain(each) for each in value)
        case _:
            return value
