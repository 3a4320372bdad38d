"""Writes the schema of an Iceberg table as its metadata file keeps it, in types of format version 2.

Source: Iceberg spec, "Appendix C: JSON serialization", Schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from schemaman.errors import UnreadableInput
from schemaman.languages.exporters import _lake
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.targets import iceberg
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
)

_PLAIN: dict[str, Type] = {
    "boolean": Boolean(),
    "int": Integer(32),
    "long": Integer(64),
    "float": Floating(32),
    "double": Floating(64),
    "date": Date(),
    "time": Time(6),
    "timestamp": Timestamp(6, zoned=False),
    "timestamptz": Timestamp(6),
    "timestamp_ns": Timestamp(9, zoned=False),
    "timestamptz_ns": Timestamp(9),
    "string": String(),
    "uuid": Uuid(),
    "binary": Binary(),
}
_WORDS = {type: word for word, type in _PLAIN.items()}
_NO_IDENTIFIER = (Floating, Array, Map, Struct)


class IcebergLanguage:
    """Writes a schema whose field ids are the column ids of the history, if there is one."""

    name = "iceberg"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns Iceberg's type for a logical type."""
        return _lake.hold_type(iceberg.TARGET, type, lengths=False)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses names that Spark or Iceberg cannot distinguish."""
        return _lake.refuse_columns(iceberg.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes JSON over several lines; it has the key if each key column may be an identifier."""
        ids = _choose_ids(schema.columns)
        inner = count(max(ids.values()) + 1)
        fields = [_build_field(c, ids[c.name], inner) for c in schema.columns]
        document: dict[str, object] = {"type": "struct", "schema-id": 0, "fields": fields}
        if schema.key and all(_is_identifier(schema.column(name)) for name in schema.key):
            document["identifier-field-ids"] = [ids[name] for name in schema.key]
        return json.dumps(document, indent=2, ensure_ascii=False)

    def read(self, text: str) -> TableSchema:
        """Reads the structure; Iceberg's field ids are dropped."""
        document = json.loads(text)
        try:
            names_by_id = {f["id"]: f["name"] for f in document["fields"]}
            columns = tuple(
                Column(f.name, f.type, f.nullable, comment=f.comment) for f in _read_fields(document)
            )
            return TableSchema(
                columns, tuple(names_by_id[id] for id in document.get("identifier-field-ids", ()))
            )
        except (KeyError, TypeError, AttributeError) as fault:
            raise UnreadableInput(f"not an Iceberg schema: {fault!r}") from fault


LANGUAGE = IcebergLanguage()


def _choose_ids(columns: Sequence[Column]) -> dict[str, int]:
    ids = {c.name: c.id for c in columns if c.id is not None}
    if len(ids) == len(columns) and len(set(ids.values())) == len(columns):
        return ids
    return {c.name: number for number, c in enumerate(columns, 1)}


def _is_identifier(column: Column | None) -> bool:
    """Source: Iceberg spec, "Identifier Field IDs": required, primitive, no float."""
    return column is not None and not column.nullable and not isinstance(column.type, _NO_IDENTIFIER)


def _build_field(column: Column | Field, id: int, inner: Iterator[int]) -> dict[str, object]:
    field = {
        "id": id,
        "name": column.name,
        "required": not column.nullable,
        "type": _build_type(column.type, inner),
    }
    return field | ({"doc": column.comment} if column.comment else {})


def _build_type(type: Type, inner: Iterator[int]) -> object:
    match type:
        case Decimal(precision, scale):
            return f"decimal({precision}, {scale})"
        case Array(element, nullable):
            id = next(inner)
            return {
                "type": "list",
                "element-id": id,
                "element": _build_type(element, inner),
                "element-required": not nullable,
            }
        case Map(key, value, nullable):
            key_id, value_id = next(inner), next(inner)
            return {
                "type": "map",
                "key-id": key_id,
                "key": _build_type(key, inner),
                "value-id": value_id,
                "value": _build_type(value, inner),
                "value-required": not nullable,
            }
        case Struct(fields):
            ids = [next(inner) for _ in fields]
            nested = [_build_field(f, id, inner) for f, id in zip(fields, ids, strict=True)]
            return {"type": "struct", "fields": nested}
        case _ if type in _WORDS:
            return _WORDS[type]
        case _:
            raise ValueError(f"no Iceberg type for {type!r}")


def _read_fields(struct: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(f["name"], _read_type(f["type"]), not f["required"], f.get("doc") or None)
        for f in struct["fields"]
    )


def _read_type(node: Any) -> Type:
    if isinstance(node, str):
        if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", node):
            return Decimal(int(decimal[1]), int(decimal[2]))
        if fixed := re.fullmatch(r"fixed\[(\d+)\]", node):
            return Binary(int(fixed[1]))
        return _PLAIN.get(node, Unknown(node))
    match node["type"]:
        case "struct":
            return Struct(_read_fields(node))
        case "list":
            return Array(_read_type(node["element"]), not node["element-required"])
        case "map":
            return Map(_read_type(node["key"]), _read_type(node["value"]), not node["value-required"])
        case other:
            return Unknown(str(other))
