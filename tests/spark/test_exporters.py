"""What `show --as` writes for the lake, read by Spark itself and by Iceberg's Java library."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from pyspark.sql.types import StructType

from schemaman.errors import UsageError
from schemaman.languages.language import SCHEMA_LANGUAGES, write_schema
from schemaman.migration.spark_sql import type_name
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableSchema
from schemaman.model.types import Array, Field, Map, Struct, Type
from tests.support.all_schemas import written_in
from tests.support.strategies import schemas

pytestmark = pytest.mark.spark


def test_spark_reads_the_ddl(spark: Any) -> None:
    ddl, count = SCHEMA_LANGUAGES.get("ddl"), 0
    for where, _, done in written_in("ddl"):
        found = json.loads(StructType.fromDDL(done.text).json())
        told = ddl.read(done.text)
        assert [f["name"] for f in found["fields"]] == list(told.names), where
        for field, column in zip(found["fields"], told.columns, strict=True):
            assert field["nullable"] == column.nullable, where
            assert (field["metadata"].get("comment") or None) == column.comment, where
            assert as_told(field["type"]) == words(column.type), where
        count += 1
    assert count > 50


def as_told(type: Any) -> str:
    """A type of Spark's JSON in the words of DDL; whether parts of it may be null cannot be said there."""
    match type:
        case {"type": "array", "elementType": element}:
            return f"ARRAY<{as_told(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"MAP<{as_told(key)}, {as_told(value)}>"
        case {"type": "struct", "fields": fields}:
            return f"STRUCT<{', '.join(member(f) for f in fields)}>"
        case _:
            return _WORDS.get(type, str(type)).upper()


def member(field: Any) -> str:
    null = "" if field["nullable"] else " NOT NULL"
    return f"{quote_name(field['name'])}: {as_told(field['type'])}{null}"


_WORDS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def words(type: Type) -> str:
    """A type in the words of DDL, comments of members left out."""
    match type:
        case Struct(fields):
            return f"STRUCT<{', '.join(_member(f) for f in fields)}>"
        case Array(element):
            return f"ARRAY<{words(element)}>"
        case Map(key, value):
            return f"MAP<{words(key)}, {words(value)}>"
        case _:
            return type_name(type)


def _member(field: Field) -> str:
    return f"{quote_name(field.name)}: {words(field.type)}{'' if field.nullable else ' NOT NULL'}"


def test_spark_reads_the_json(spark: Any) -> None:
    types = spark._jvm.org.apache.spark.sql.types.DataType
    for language in ("spark", "delta"):
        for where, _, done in written_in(language):
            notation = SCHEMA_LANGUAGES.get(language)
            assert notation.read(types.fromJson(done.text).json()) == notation.read(done.text), where


def test_iceberg_reads_the_json(spark: Any) -> None:
    parser = spark._jvm.org.apache.iceberg.SchemaParser
    iceberg = SCHEMA_LANGUAGES.get("iceberg")
    for where, _, done in written_in("iceberg"):
        assert iceberg.read(parser.toJson(parser.fromJson(done.text))) == iceberg.read(done.text), where


@given(schemas(ids=True))
def test_odd_structures_are_read_as_they_are_written(spark: Any, schema: TableSchema) -> None:
    jvm = spark._jvm
    for language in ("ddl", "spark", "iceberg"):
        notation = SCHEMA_LANGUAGES.get(language)
        try:
            done = write_schema(notation, schema, "t", "t@1", partial=True)
        except UsageError:
            continue
        told = notation.read(done.text)
        if language == "ddl":
            found: Any = StructType.fromDDL(done.text)
            assert found.names == list(told.names)
            assert [f.nullable for f in found.fields] == [c.nullable for c in told.columns]
            comments = [f.metadata.get("comment") or None for f in found.fields]
            assert comments == [c.comment for c in told.columns]
        elif language == "spark":
            text = jvm.org.apache.spark.sql.types.DataType.fromJson(done.text).json()
            assert notation.read(text) == told
        else:
            parser = jvm.org.apache.iceberg.SchemaParser
            assert notation.read(parser.toJson(parser.fromJson(done.text))) == told
