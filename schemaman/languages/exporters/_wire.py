"""What the languages of records on a topic share: types and names that have no word there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Map, Struct, Type, Union, Unknown

_OUT = "leave the column out"


def hold_type(type: Type, field_name: Callable[[str], str]) -> LakeType | Refusal:
    """A logical type as it is, unless no connector writes values of it with a schema."""
    for part in _list_parts(type):
        if isinstance(part, Struct):
            names = [field_name(f.name) for f in part.fields]
            if "" in names or len(set(names)) < len(names):
                return Refusal("", "two members would be one field, or a member has no name", _OUT)
        if isinstance(part, Unknown):
            return Refusal("", f"nobody knows the type {part.name!r}", _OUT)
        if isinstance(part, Union):
            return Refusal("", f"values of several types, {format_type(part)}, have no schema", _OUT)
    return LakeType(type)


def refuse_columns(schema: TableSchema, field_name: Callable[[Column], str]) -> Mapping[str, Refusal]:
    """The columns that would be one field, and those that would have no name.

    Source: Kafka SchemaBuilder.field refuses an empty name; Avro specification, "Names".
    """
    fields: dict[str, list[Column]] = {}
    for column in schema.columns:
        fields.setdefault(field_name(column), []).append(column)
    refused: dict[str, Refusal] = {}
    for name, several in fields.items():
        if not name:
            refused |= {c.name: Refusal("", "a field needs a name", _OUT) for c in several}
        elif len(several) > 1:
            why = f"it would be called {name!r} as another column is"
            refused |= {c.name: Refusal("", why, _OUT) for c in several}
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
