"""Structures in the schema languages of others: each text is read by the real library of its language.

Spark's DDL and what Java reads are in `tests/spark/test_exporters.py` and `tests/jvm/test_connect.py`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace

import deltalake
import fastavro
import pytest
from fastavro.utils import generate_one
from hypothesis import given
from pyiceberg.schema import Schema as IcebergSchema
from pyspark.sql.types import StructType

from schemaman.errors import UnreadableInput, UsageError
from schemaman.languages.language import SCHEMA_LANGUAGES, extract_key, write_schema
from schemaman.languages.read import read_schema
from schemaman.migration.plan import MigrationSource, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.target import TARGETS, LakeType
from schemaman.model.column_list import format_name, parse_columns
from schemaman.model.schema import TableSchema
from schemaman.model.types import Struct, Union, Unknown
from tests.support.all_schemas import structures, written_in
from tests.support.strategies import schemas

LANGUAGES = SCHEMA_LANGUAGES.names()


def said(language: str, schema: TableSchema) -> tuple[str, tuple[str, ...]]:
    done = write_schema(SCHEMA_LANGUAGES.get(language), schema, "s.t.Value", "t@1")
    return done.text, done.remarks


def by_spark(text: str) -> str:
    return StructType.fromJson(json.loads(text)).json()


def by_delta(text: str) -> str:
    return deltalake.Schema.from_json(text).to_json()


def by_iceberg(text: str) -> str:
    schema = IcebergSchema.model_validate_json(text)
    assert schema.highest_field_id == max(schema._lazy_id_to_name)
    return schema.model_dump_json()


READERS: dict[str, Callable[[str], str]] = {"spark": by_spark, "delta": by_delta, "iceberg": by_iceberg}


@pytest.mark.parametrize("language", READERS)
def test_the_real_library_reads_what_is_written(language: str) -> None:
    count = 0
    for where, _, done in written_in(language):
        notation = SCHEMA_LANGUAGES.get(language)
        assert notation.read(READERS[language](done.text)) == notation.read(done.text), where
        count += 1
    assert count > 50


def test_fastavro_writes_and_reads_rows_with_the_avro_schema() -> None:
    for where, schema, done in written_in("avro"):
        parsed = fastavro.parse_schema(json.loads(done.text))
        row = generate_one(parsed)
        body = io.BytesIO()
        fastavro.schemaless_writer(body, parsed, row)
        body.seek(0)
        read = fastavro.schemaless_reader(body, parsed, None)
        assert isinstance(read, dict)
        assert len(read) == len(schema.columns) - len(done.omitted_columns), where


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_column_of_a_recording_is_lost_in_silence(language: str) -> None:
    for where, schema, done in written_in(language):
        told = SCHEMA_LANGUAGES.get(language).read(done.text)
        kept = [c for c in schema.columns if c.name not in done.omitted_columns]
        assert len(told.columns) == len(kept), where
        for wanted, found in zip(kept, told.columns, strict=True):
            remarks = [r for r in done.remarks if format_name(wanted.name) in r]
            assert wanted.type == found.type or any("written as" in r for r in remarks), where
            assert wanted.nullable == found.nullable or any("NULL" in r for r in remarks), where
            # A language with typed defaults writes the number that the text of a DDL means.
            same = wanted.default == found.default or str(wanted.default) == str(found.default)
            assert same or any("default" in r for r in remarks), where
            assert (wanted.comment or None) == found.comment or any("comment" in r for r in remarks), where


@given(schemas(ids=True))
def test_every_structure_is_written_or_refused(schema: TableSchema) -> None:
    for language in LANGUAGES:
        notation = SCHEMA_LANGUAGES.get(language)
        try:
            done = write_schema(notation, schema, "s.t.Value", "t@1")
        except UsageError:
            assert language != "columns" or not schema.columns
            continue
        told = notation.read(done.text)
        assert [c.type for c in told.columns] == [c.type for c in schema.columns] or done.remarks
        if language in READERS:
            assert notation.read(READERS[language](done.text)) == told
        if language == "avro":
            fastavro.parse_schema(json.loads(done.text))


@given(schemas(ids=True))
def test_the_column_list_says_everything(schema: TableSchema) -> None:
    if schema.columns:
        text, remarks = said("columns", schema)
        assert parse_columns(text) == schema
        assert remarks == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_in_any_language_is_a_structure(language: str) -> None:
    schema = parse_columns(
        "id INT NOT NULL, name STRING COMMENT 'as printed', at TIMESTAMP(6), d DECIMAL(9,2)"
    )
    text, remarks = said(language, schema)
    assert remarks == ()
    found = read_schema(text, f"orders.{language}")
    assert tuple(replace(c, emitted_name=None) for c in found.columns) == schema.columns


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "columns"])
@pytest.mark.parametrize("type", ["UNKNOWN('geometry')", "UNION<INT, STRING>", "STRUCT<a: UNKNOWN('box')>"])
def test_a_type_without_a_word_is_refused(language: str, type: str) -> None:
    schema = parse_columns(f"id INT, shape {type}")
    with pytest.raises(UsageError, match=f"{language} cannot express t@1: shape") as refusal:
        said(language, schema)
    assert refusal.value.hint is not None
    assert "--partial" in refusal.value.hint
    done = write_schema(SCHEMA_LANGUAGES.get(language), schema, "t", "t@1", partial=True)
    assert [c.name for c in SCHEMA_LANGUAGES.get(language).read(done.text).columns] == ["id"]
    assert done.remarks[0].startswith("left out: shape ")
    with pytest.raises(UsageError, match="no column"):
        write_schema(SCHEMA_LANGUAGES.get(language), parse_columns(f"shape {type}"), "t", "t@1", partial=True)


@pytest.mark.parametrize(
    ("language", "columns", "remarks"),
    [
        ("delta", "n INT UNSIGNED", ("written as BIGINT: n INT UNSIGNED",)),
        ("avro", "n BIGINT UNSIGNED, m BIGINT", ("written as BIGINT: n BIGINT UNSIGNED",)),
        ("iceberg", "a UUID, b VARCHAR(9)", ("written as STRING: a UUID, b VARCHAR(9)",)),
        ("ddl", "b VARCHAR(9), c ARRAY<VARCHAR(2)>", ()),
        ("spark", "b CHAR(9), c ARRAY<CHAR(2)>", ("written as ARRAY<STRING>: c ARRAY<CHAR(2)>",)),
        ("ddl", "a ARRAY<INT NOT NULL>", ("written as ARRAY<INT>: a ARRAY<INT NOT NULL>",)),
        ("spark", "a ARRAY<INT NOT NULL>", ()),
        (
            "spark",
            "a INT DEFAULT 3, PRIMARY KEY (a)",
            ("not expressed: the default of a", "not expressed: the key (a)"),
        ),
        ("iceberg", "a INT NOT NULL, PRIMARY KEY (a)", ()),
        ("iceberg", "a INT, PRIMARY KEY (a)", ("not expressed: the key (a)",)),
        ("connect", "`a-b` INT DEFAULT 3", ()),
        ("avro", "`a-b` INT DEFAULT 3", ("`a-b` is called a_b",)),
        ("avro", "m MAP<INT, MAP<INT, MAP<BIGINT, STRUCT<a: INT>>>>", ()),
        ("avro", "e ENUM('a','b,c','d\\\\e')", ()),
        ("delta", "a INT, COMMENT 'all'", ("not expressed: the comment of the table",)),
        (
            "spark",
            "t TIMESTAMP_NTZ(9)",
            (
                "written as TIMESTAMP_NTZ(6) (values with nanoseconds do not fit: table formats hold "
                "microseconds): t TIMESTAMP_NTZ(9)",
            ),
        ),
    ],
)
def test_what_a_language_says_otherwise_is_told(
    language: str, columns: str, remarks: tuple[str, ...]
) -> None:
    assert said(language, parse_columns(columns))[1] == remarks


def test_two_columns_that_would_be_one_field_are_refused() -> None:
    with pytest.raises(UsageError, match=r"`a-b` INT \(another column has the field name 'a_b'"):
        said("avro", parse_columns("`a-b` INT, a_b INT"))
    assert said("connect", parse_columns("`a-b` INT, a_b INT"))[1] == ()


def test_the_key_has_a_structure_of_its_own() -> None:
    schema = parse_columns("a INT, b STRING NOT NULL, PRIMARY KEY (b, a)")
    assert extract_key(schema) == parse_columns("b STRING NOT NULL, a INT, PRIMARY KEY (b, a)")
    with pytest.raises(UsageError, match="no key"):
        extract_key(parse_columns("a INT"))


def test_field_ids_of_iceberg_are_those_of_the_history() -> None:
    text, _ = said("iceberg", parse_columns("a INT ID 4, s STRUCT<x: INT, y: ARRAY<INT>> ID 9"))
    schema = IcebergSchema.model_validate_json(text)
    assert {schema.find_field(name).field_id for name in ("a", "s")} == {4, 9}
    assert sorted(schema._lazy_id_to_name) == [4, 9, 10, 11, 12]


@pytest.mark.parametrize("language", ["spark", "iceberg"])
def test_a_schema_that_is_none_is_refused(language: str) -> None:
    mark = {"spark": "nullable", "iceberg": "required"}[language]
    for field in ({mark: True}, {mark: True, "name": "a", "type": {"items": "int"}}):
        with pytest.raises(UnreadableInput, match=r"^f: not an? "):
            read_schema(json.dumps({"type": "struct", "fields": [field]}), "f")


def test_recordings_have_what_no_language_can_say() -> None:
    types = [c.type for _, schema in structures() for c in schema.columns]
    assert any(isinstance(t, Unknown) for t in types)
    assert any(isinstance(t, Union) for t in types)
    assert any(isinstance(t, Struct) for t in types)


@pytest.mark.parametrize(("language", "table"), [("delta", "/lake/t"), ("iceberg", "ice.raw.t")])
def test_a_plan_makes_the_table_that_is_shown(language: str, table: str) -> None:
    target = TARGETS.get(language)
    for where, schema, done in written_in(language):
        shown = SCHEMA_LANGUAGES.get(language).read(done.text)
        plan = make_plan(MigrationSource("s.t", 1, "a" * 12, 0, schema), None, target, table, Policy())
        assert list(plan.wanted.names) == list(shown.names), where
        held = [target.hold_type(c.type) for c in shown.columns]
        assert [h.type for h in held if isinstance(h, LakeType)] == [c.type for c in plan.wanted.columns], (
            where
        )
