"""The Connect schema of a table's rows, as JsonConverter prints it for Debezium's default modes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemaman.debezium.converters import avro, connect
from schemaman.debezium.converters.avro_schema import to_avro
from schemaman.languages.exporters import _wire
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Array, Field, Map, Struct, Type

Node = dict[str, Any]


class ConnectLanguage:
    """A struct with a field a column, under the names on the wire."""

    name = "connect"

    def hold(self, type: Type) -> LakeType | Refusal:
        """Every type that a connector writes with a schema."""
        return _wire.hold_type(type, str)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Columns without a name, and those that would be one field."""
        return _wire.refuse_columns(schema, _field_name)

    def write(self, schema: TableSchema, name: str) -> str:
        """JSON over several lines: what AvroData makes of the Avro schema, under the names as they are."""
        columns = schema.columns
        plain = TableSchema(tuple(replace(c, name=f"c{n}", emitted_name=None) for n, c in enumerate(columns)))
        node = avro.to_connect(json.dumps(to_avro(plain, "row")))
        fields = _name_fields(node, columns, [_field_name(c) for c in columns])
        return json.dumps({**node, "name": name, "fields": fields}, indent=2, ensure_ascii=False)

    def read(self, text: str) -> TableSchema:
        """The columns; the key has a schema of its own, and a table's comment has no place."""
        return TableSchema(connect.read_columns(json.loads(text)))


LANGUAGE = ConnectLanguage()


def _field_name(column: Column) -> str:
    return column.emitted_name or column.name


def _name_fields(node: Node, members: Sequence[Column | Field], names: Sequence[str]) -> list[Node]:
    return [
        _restore_names(field, member.type) | {"field": name}
        for field, member, name in zip(node["fields"], members, names, strict=True)
    ]


def _restore_names(node: Node, type: Type) -> Node:
    """The node with the members of its structs named as they are; such structs have no name themselves."""
    match type:
        case Struct(fields):
            named = _name_fields(node, fields, [f.name for f in fields])
            return {k: v for k, v in node.items() if k != "name"} | {"fields": named}
        case Array(element):
            return {**node, "items": _restore_names(node["items"], element)}
        case Map(key, value):
            return {
                **node,
                "keys": _restore_names(node["keys"], key),
                "values": _restore_names(node["values"], value),
            }
        case _:
            return node
