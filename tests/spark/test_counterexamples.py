"""Witnesses of breaks on real readers: Spark reads files, and tables of both formats refuse the type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import types as spark_types

from schemaman.compat.counterexample import BrokenDatum, find_broken_datum
from schemaman.compat.judge import Reader
from schemaman.languages.language import SCHEMA_LANGUAGES
from schemaman.migration.target import LakeType
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type
from tests.compat.test_counterexample import BREAKS
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark

SAME_COLUMN = {
    "bit-length-changed", "interval-encoding-changed", "temporal-encoding-changed", "temporal-unit-changed",
}  # fmt: skip
"""Rules about values that a lake column may hold alike: the witness is the number or text in the event.

Spark has no type for a time of day, and holds it as text.
"""

IN_EVENTS = {"decimal-scale-changed", "zone-awareness-changed"}
"""Rules about events alone: a file has the scale of its decimals, and sessions in UTC hide a zone."""


@dataclass(frozen=True)
class Case:
    """A value of a type that is read or stored with another type; `rule` is the finding's."""

    rule: str
    value: object
    written: Any
    read: Any


def hold(language: str, type: Type) -> Any:
    """The type of a Spark column for a logical type; None if there is none."""
    held = SCHEMA_LANGUAGES.get(language).hold_type(type)
    if not isinstance(held, LakeType):
        return None
    text = SCHEMA_LANGUAGES.get("spark").write(TableSchema((Column("c", held.type),)), "t")
    return spark_types.StructType.fromJson(json.loads(text))["c"].dataType


def list_cases(reader: Reader, language: str) -> tuple[list[Case], set[str]]:
    """The cases of a reader with two types, each once, and the rules whose types are one in the lake."""
    found: dict[str, Case] = {}
    same: set[str] = set()
    for transition, finding, broken in BREAKS:
        witness = find_broken_datum(transition, finding, reader)
        if broken != reader or not isinstance(witness, BrokenDatum):
            continue
        assert transition.old is not None
        assert transition.new is not None
        (name,) = witness.datum
        old, new = transition.old.column(name), transition.new.column(name)
        if old is None or new is None or old.type == new.type:
            continue
        pair = (old, new) if witness.written == "old" else (new, old)
        written, read = (hold(language, column.type) for column in pair)
        if written is None or read is None:
            continue
        if written == read or finding.rule in IN_EVENTS:
            same.add(finding.rule)
        else:
            case = Case(finding.rule, convert(witness.datum[name], written), written, read)
            found[f"{written.json()} {read.json()}"] = case
    return list(found.values()), same


def convert(value: Any, type: Any) -> Any:
    """A witness's value as Spark's Python type."""
    match type:
        case spark_types.ArrayType():
            return [
                convert(item, type.elementType) for item in (value if isinstance(value, list) else [value])
            ]
        case spark_types.MapType():
            return {convert(k, type.keyType): convert(v, type.valueType) for k, v in value.items()}
        case spark_types.StructType():
            members = value if isinstance(value, dict) else {}
            return tuple(convert(members.get(f.name), f.dataType) for f in type.fields)
        case _ if value is None:
            return None
        case spark_types.DecimalType():
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-type.scale))
        case spark_types.DateType():
            return date(2024, 1, 1)
        case spark_types.TimestampType():
            return datetime(2024, 1, 1, 12, tzinfo=UTC)
        case spark_types.TimestampNTZType():
            return datetime(2024, 1, 1, 12)  # noqa: DTZ001 a local time has no zone
        case spark_types.IntegralType():
            bits = {"tinyint": 8, "smallint": 16, "int": 32}.get(type.simpleString(), 64)
            return min(value, 2 ** (bits - 1) - 1) if isinstance(value, int) else 43_200_000
        case spark_types.FractionalType():
            return float(value)
        case spark_types.BinaryType():
            return value if isinstance(value, bytes) else str(value).encode()
        case spark_types.BooleanType():
            return bool(value)
        case _:
            return value if isinstance(value, str) else str(value)


def test_spark_reads_no_witness_as_before(spark: Any, tmp_path: Path) -> None:
    cases, same = list_cases("spark", "spark")
    assert same == SAME_COLUMN | IN_EVENTS
    assert len(cases) > 20
    names = [f"c{number}" for number in range(len(cases))]
    schema = spark_types.StructType(
        [spark_types.StructField(name, case.written) for name, case in zip(names, cases, strict=True)]
    )
    path = str(tmp_path / "rows")
    spark.createDataFrame([tuple(case.value for case in cases)], schema).write.parquet(path)
    (before,) = spark.read.schema(schema).parquet(path).collect()
    for name, case in [*zip(names, cases, strict=True)][:: 1 if PROOF else 3]:
        other = spark_types.StructType([spark_types.StructField(name, case.read)])
        try:
            (after,) = spark.read.schema(other).parquet(path).collect()
        except (PySparkException, Py4JJavaError, OverflowError):
            continue  # Python has no time so late as a number that is read as one
        assert after[name] != before[name], case
    absent = spark_types.StructType([spark_types.StructField("gone", spark_types.StringType())])
    assert spark.read.schema(absent).parquet(path).collect()[0]["gone"] is None


@pytest.mark.parametrize(("reader", "table"), [("delta", "default.w"), ("iceberg", "ice.w.w")])
def test_no_column_of_a_table_becomes_one_of_the_type_of_a_witness(
    spark: Any, reader: Reader, table: str
) -> None:
    cases = list_cases(reader, reader)[0][:: 1 if PROOF else 4]
    assert len(cases) > 5
    columns = ", ".join(f"c{n} {case.read.simpleString()}" for n, case in enumerate(cases))
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.w")
    spark.sql(f"CREATE TABLE {table} ({columns}) USING {reader}")
    taken = [
        case
        for number, case in enumerate(cases)
        if is_done(spark, f"ALTER TABLE {table} ALTER COLUMN c{number} TYPE {case.written.simpleString()}")
    ]
    spark.sql(f"DROP TABLE {table}")
    assert taken == []


def is_done(spark: Any, statement: str) -> bool:
    """Whether the engine accepts a statement."""
    try:
        spark.sql(statement)
    except (PySparkException, Py4JJavaError):
        return False
    return True
