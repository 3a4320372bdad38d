"""Helpers for the languages of records on a topic: types and names that these languages do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Map, Struct, Type, Union, Unknown

_OUT = "leave the column out"


def hold_type(type: Type, field_name: Callable[[str], str]) -> LakeType | Refusal:
    """Returns the logical type itself; refuses a type that connectors do not write with a schema."""
    for part in _list_parts(type):
        if isinstance(part, Struct):
            names = [field_name(f.name) for f in part.fields]
            if "" in names or len(set(names)) < len(names):
                return Refusal("", "two nested fields have one name, or a nested field has no name", _OUT)
        if isinstance(part, Unknown):
            return Refusal("", f"the type {part.name!r} is unknown", _OUT)
        if isinstance(part, Union):
            return Refusal("", f"values of several types, {format_type(part)}, have no schema", _OUT)
    return LakeType(type)


def refuse_columns(schema: TableSchema, field_name: Callable[[Column], str]) -> Mapping[str, Refusal]:
    """Finds the columns that would have the same field name as another column, or none.

    Source: Kafka SchemaBuilder.field refuses an empty name; Avro specification, "Names".
    """
    fields: dict[str, list[Column]] = {}
    for column in schema.columns:
        fields.setdefault(field_name(column), []).append(column)
    refused: dict[str, Refusal] = {}
    for name, columns in fields.items():
        if not name:
            refused |= {c.name: Refusal("", "a field needs a name", _OUT) for c in columns}
        elif len(columns) > 1:
            reason = f"another column has the field name {name!r}, too"
            refused |= {c.name: Refusal("", reason, _OUT) for c in columns}
    return refused


def _list_parts(type: Type) -> Iterable[Type]:
    yield type
    match type:
        case Array(element):
            yield from _list_parts(element)
        case Map(key, value):
            yield from _list_parts(key)
            yield from _list_parts(value)
        case Struct(fields):
            for field in fields:
                yield from _list_parts(field.type)
        case _:
            return
