"""Writes the Connect schema of a table's rows, as JsonConverter prints it for Debezium's default modes."""

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
    """Writes a struct with one field a column, under the names in the events."""

    name = "connect"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns every type that a connector writes with a schema; refuses others."""
        return _wire.hold_type(type, str)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses columns without a name, and those that would have one field name."""
        return _wire.refuse_columns(schema, _field_name)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes JSON over several lines: AvroData's result for the Avro schema, with unadjusted names."""
        columns = schema.columns
        plain = TableSchema(tuple(replace(c, name=f"c{n}", emitted_name=None) for n, c in enumerate(columns)))
        node = avro.to_connect(json.dumps(to_avro(plain, "row")))
        fields = _name_fields(node, columns, [_field_name(c) for c in columns])
        return json.dumps({**node, "name": name, "fields": fields}, indent=2, ensure_ascii=False)

    def read(self, text: str) -> TableSchema:
        """Reads the columns; the schema has neither the key nor the table's comment."""
        return TableSchema(connect.read_columns(json.loads(text)))


LANGUAGE = ConnectLanguage()


def _field_name(column: Column) -> str:
    return column.emitted_name or column.name


def _name_fields(node: Node, columns: Sequence[Column | Field], names: Sequence[str]) -> list[Node]:
    return [
        _restore_names(field, column.type) | {"field": name}
        for field, column, name in zip(node["fields"], columns, names, strict=True)
    ]


def _restore_names(node: Node, type: Type) -> Node:
    """Restores the unadjusted names of nested fields; their structs have no name."""
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
