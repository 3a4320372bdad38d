"""Laws of column lists: what is written is read back, and what cannot be read says where."""

from __future__ import annotations

import pytest
from hypothesis import given

from schemaman.errors import BadReference
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Decimal, Field, Integer, String, Struct
from tests.support.strategies import schemas


@given(schemas())
def test_a_table_is_read_as_it_was_written(schema: TableSchema) -> None:
    assert parse_columns(format_columns(schema)) == schema


@given(schemas(ids=True))
def test_ids_are_kept(schema: TableSchema) -> None:
    assert parse_columns(format_columns(schema)) == schema


def test_a_column_list_as_people_write_it() -> None:
    text = (
        "id INT NOT NULL DEFAULT 5 COMMENT 'x', `a b` string, d DECIMAL(10, 2) DEFAULT -1.5, primary key (id)"
    )
    assert parse_columns(text) == TableSchema(
        (
            Column("id", Integer(32), False, 5, "x"),
            Column("a b", String()),
            Column("d", Decimal(10, 2), default=-1.5),
        ),
        ("id",),
    )


def test_nested_types_unsigned_numbers_and_emitted_names() -> None:
    text = "n BIGINT UNSIGNED EMITTED 'n_', s STRUCT<a: ARRAY<INT NOT NULL>, `b>`: INT> NOT NULL"
    struct = Struct((Field("a", Array(Integer(32), False)), Field("b>", Integer(32))))
    assert parse_columns(text) == TableSchema(
        (Column("n", Integer(64, signed=False), emitted_name="n_"), Column("s", struct, False))
    )


def test_nothing_is_a_table_without_columns() -> None:
    assert parse_columns(" \n ") == TableSchema(())
    assert format_columns(TableSchema(())) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id", "a type"),
        ("id INT,", "a column"),
        ("id INT x", "a comma or the end"),
        ("id INT DEFAULT", "a number"),
        ("id INT DEFAULT now", "a number"),
        ("id INT NOT", "'NULL'"),
        ("id INT COMMENT x", "single quotes"),
        ("id INT, id INT", "twice"),
        ("id INT, PRIMARY KEY (b)", "no column"),
        ("id INT, PRIMARY KEY ()", "a name"),
        ("a-b INT", "a type"),
        ("1a INT", "a name"),
        ("id STRUCT<a: INT", "a type"),
        ("id INT ID x", "a comma or the end"),
    ],
)
def test_what_is_no_column_list_is_refused_with_the_place(text: str, told: str) -> None:
    with pytest.raises(BadReference, match=told):
        parse_columns(text)


def test_the_parts_of_an_interval_belong_to_its_type() -> None:
    text = "a INTERVAL DAY TO SECOND NOT NULL, b INTERVAL, c ARRAY<INTERVAL YEAR TO MONTH>"
    assert format_columns(parse_columns(text)) == text
    with pytest.raises(BadReference, match="expected 'TO'"):
        parse_columns("a INTERVAL YEAR NOT NULL")
