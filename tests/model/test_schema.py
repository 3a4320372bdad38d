"""Laws of tables as values: what a fingerprint sees and what it does not, names, paths."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.records import Coordinates, Position
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.schema import Column, TableId, TableSchema, fingerprint, quote_part, walk_fields
from schemaman.model.types import Integer, String, without_labels
from tests.support.strategies import NAMES, TYPES, schemas


@given(st.data(), schemas(ids=True))
def test_a_fingerprint_ignores_order_ids_and_attributes(data: st.DataObject, schema: TableSchema) -> None:
    columns = data.draw(st.permutations(schema.columns))
    bare = tuple(
        Column(c.name, c.type, c.nullable, default=data.draw(st.sampled_from([None, 1])), source_type="other")
        for c in columns
    )
    assert fingerprint(replace(schema, columns=bare, comment="another")) == fingerprint(schema)


@given(st.data(), schemas())
def test_a_fingerprint_sees_every_fact_of_the_shape(data: st.DataObject, schema: TableSchema) -> None:
    if not schema.columns:
        return
    at = data.draw(st.integers(0, len(schema.columns) - 1))
    column = schema.columns[at]
    other = data.draw(TYPES.filter(lambda t: without_labels(t) != without_labels(column.type)))
    fresh = data.draw(NAMES.filter(lambda n: n not in schema.names))

    def with_column(new: Column) -> TableSchema:
        return replace(schema, columns=(*schema.columns[:at], new, *schema.columns[at + 1 :]))

    changed = [
        with_column(replace(column, nullable=not column.nullable)),
        with_column(replace(column, type=other)),
        with_column(replace(column, name=fresh)),
        replace(schema, columns=schema.columns[:at] + schema.columns[at + 1 :]),
        replace(schema, key=(*schema.key, fresh)),
        *([replace(schema, key=tuple(reversed(schema.key)))] if len(schema.key) > 1 else []),
    ]
    assert fingerprint(schema) not in {fingerprint(s) for s in changed}


def test_names_with_odd_characters_do_not_blur_a_fingerprint() -> None:
    one = TableSchema((Column("a", Integer(32)), Column("b", String())))
    two = TableSchema((Column("a' INT\n'b", String()),))
    assert fingerprint(one) != fingerprint(two)


def test_a_fingerprint_stays_what_it_was() -> None:
    """Version ids are printed into plans and snapshots: a new release must not change them."""
    schema = TableSchema(
        (
            Column("id", Integer(32), nullable=False),
            Column("note", parse_type("ARRAY<DECIMAL(10,2) NOT NULL>")),
        ),
        key=("id",),
    )
    assert fingerprint(schema) == "66ccebda72ea"


@given(schemas())
def test_walking_names_every_place_once_parents_first(schema: TableSchema) -> None:
    paths = [path for path, _, _ in walk_fields(schema)]
    assert len(set(paths)) == len(paths)
    assert all(path[:-1] in paths[:i] or len(path) == 1 for i, path in enumerate(paths))
    assert {p[0] for p in paths} == set(schema.names)


@given(NAMES)
def test_a_quoted_part_has_one_reading(part: str) -> None:
    text = quote_part(part)
    if text == part:
        assert all(ch not in part for ch in '."@: ')
    else:
        assert text[1:-1].replace('""', '"') == part


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (TableId("shop", "app", "public", "orders"), "shop.app.public.orders"),
        (TableId("books", "bookshop", "", "a.b"), 'books.bookshop."a.b"'),
        (TableId("shop", "app", "public", "orders", stream="dev"), "dev:shop.app.public.orders"),
    ],
)
def test_a_table_prints_as_users_type_it(table: TableId, text: str) -> None:
    assert str(table) == text


@given(TYPES)
def test_labels_are_no_part_of_a_shape(type) -> None:
    bare = TableSchema((Column("a", without_labels(type)),))
    assert fingerprint(TableSchema((Column("a", type),))) == fingerprint(bare), format_type(type)


@given(schemas())
def test_what_a_schema_keeps_does_not_go_to_another_process(schema: TableSchema) -> None:
    kept = hash(schema), schema.names
    passed = pickle.loads(pickle.dumps(schema))
    # texts have other hashes there
    assert not hasattr(passed, "_hash")
    assert passed == schema
    assert (hash(passed), passed.names) == kept


def test_a_changed_value_keeps_nothing_of_the_one_before() -> None:
    schema = TableSchema((Column("a", Integer(32)),))
    position = Position("lsn", "7")
    assert (schema.names, position.rank) == (("a",), (7, 7))
    renamed = replace(schema, columns=(Column("b", Integer(32)),))
    assert (renamed.names, hash(renamed) == hash(schema)) == (("b",), False)
    mark = Coordinates("orders", 0, 1, replace(position, commit="9"))
    assert mark.position.rank == (9, 7)
