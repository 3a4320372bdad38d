"""Avro's verdict on two structures of a table: on the schemas of its rows and of its keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from schemaman.compat.avro.levels import list_reasons
from schemaman.compat.avro.resolution import Incompatibility, check_resolution, list_leaf_causes
from schemaman.compat.avro.schema import AvroSchema, parse_schema
from schemaman.debezium.converters.avro_schema import (
    Avro,
    key_to_avro,
    make_field_name,
    to_avro,
    type_to_avro,
)
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type

_KEPT_SCHEMAS = 64
"""The number of schemas that are kept: the rules of a transition ask for the same two again."""


@dataclass(frozen=True, slots=True)
class ColumnCause:
    """Why Avro cannot read: in rows or keys, the column of the reader (None for none), and Java's words."""

    part: str
    column: str | None
    words: str


def list_column_causes(reader: TableSchema, writer: TableSchema) -> tuple[ColumnCause, ...]:
    """List why a reader with one structure cannot read rows and keys of the other; empty if it can.

    The key is compared where both structures have one. Columns whose names collide count once.
    """
    causes = list(_list_causes("row", make_row_schema(reader), make_row_schema(writer), reader.columns))
    keys = [make_key_schema(schema) for schema in (reader, writer)]
    if keys[0] is not None and keys[1] is not None:
        columns = tuple(c for name in reader.key if (c := reader.column(name)) is not None)
        causes += _list_causes("key", keys[0], keys[1], columns)
    return tuple(causes)


def is_filled(column: Column, writer: TableSchema) -> bool:
    """Whether a reader that has the column finds a value or a default for it in rows of the writer."""
    return not check_resolution(make_row_schema(TableSchema((column,))), make_row_schema(writer))


def list_unfilled_keys(reader: TableSchema, writer: TableSchema) -> frozenset[str]:
    """List the key columns of the reader that keys of the writer cannot fill; empty without a key."""
    keys = [make_key_schema(schema) for schema in (reader, writer)]
    if keys[0] is None or keys[1] is None:
        return frozenset()
    columns = tuple(c for name in reader.key if (c := reader.column(name)) is not None)
    causes = _list_causes("key", keys[0], keys[1], columns)
    return frozenset(cause.column for cause in causes if cause.column is not None)


def can_read_type(reader: Type, writer: Type) -> bool:
    """Whether a reader of one type can read required values of another."""
    schemas = [_parse(type_to_avro(type, False, "Value")) for type in (reader, writer)]
    return not check_resolution(*schemas)


def _list_causes(
    part: str, reader: AvroSchema, writer: AvroSchema, columns: tuple[Column, ...]
) -> Iterator[ColumnCause]:
    if not list_reasons(reader, writer):
        return
    by_field = {make_field_name(column): column.name for column in reversed(columns)}
    names = [str(field.name) for field in getattr(reader.root, "fields", ())]
    for cause in list_leaf_causes(reader, writer):
        position = _find_position(cause)
        column = None if position is None else by_field.get(names[position])
        yield ColumnCause(part, column, str(cause))


def _find_position(cause: Incompatibility) -> int | None:
    words = cause.location.split("/")
    return int(words[2]) if words[1:2] == ["fields"] else None


def make_row_schema(schema: TableSchema) -> AvroSchema:
    """Make the schema of the rows of a table."""
    return _keep_row_schema(schema, tuple(type(column.default) for column in schema.columns))


@lru_cache(_KEPT_SCHEMAS)
def _keep_row_schema(schema: TableSchema, kinds: tuple[type, ...]) -> AvroSchema:
    # the default 1 equals True and 1.0, but Avro takes no two of them for one type
    return _parse(to_avro(schema, "Value"))


def make_key_schema(schema: TableSchema) -> AvroSchema | None:
    """Make the schema of the keys of a table; None without a key."""
    key = key_to_avro(schema, "Key")
    return None if key is None else _parse(key)


def _parse(schema: Avro) -> AvroSchema:
    return parse_schema(_drop_collisions({"type": schema} if isinstance(schema, str) else schema))


def _drop_collisions(schema: Any) -> Any:
    """Drop fields that have the name of an earlier field of their record: no schema with both is valid."""
    if isinstance(schema, list):
        return [_drop_collisions(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {m: _drop_collisions(schema[m]) for m in ("items", "values") if m in schema}
    if "fields" in schema:
        first = {field["name"]: field for field in reversed(schema["fields"])}
        kept = [field for field in schema["fields"] if first[field["name"]] is field]
        inner["fields"] = [field | {"type": _drop_collisions(field["type"])} for field in kept]
    return schema | inner
