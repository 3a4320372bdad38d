"""Reads and writes Spark's schema JSON, which is also Delta's: StructType as `DataType.json` prints it.

Source: Spark `DataType.json`; Delta protocol, "Schema Serialization Format"; VARCHAR and CHAR are metadata
`__CHAR_VARCHAR_TYPE_STRING` (Spark `CharVarcharUtils`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from schemaman.errors import UnreadableInput
from schemaman.languages.exporters import _lake
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.targets import delta
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
    Timestamp,
    Type,
)

_INTEGERS = {8: "byte", 16: "short", 32: "integer", 64: "long"}


class StructLanguage:
    """A language of Spark's schema JSON, with the types that a plan uses to create a Delta table.

    The text has no name for the rows, no key and no comment of the table.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns Spark's type for a logical type."""
        return _lake.hold_type(delta.TARGET, type, lengths=True)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses names that Spark cannot distinguish or misreads."""
        return _lake.refuse_columns(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes JSON over several lines."""
        return write_struct(schema)

    def read(self, text: str) -> TableSchema:
        """Reads the columns."""
        return read_struct(text)


def write_struct(schema: TableSchema) -> str:
    """Writes the JSON of a structure whose types Spark has."""
    return json.dumps(_build_struct(schema.columns), indent=2, ensure_ascii=False)


def read_struct(text: str) -> TableSchema:
    """Reads the structure from such a JSON; raises `UnreadableInput`."""
    try:
        return TableSchema(sql.read_columns(text))
    except (KeyError, TypeError, AttributeError, AssertionError) as fault:
        raise UnreadableInput(f"not a Spark schema: {fault!r}") from fault


def _build_struct(columns: Sequence[Column | Field]) -> dict[str, object]:
    return {"type": "struct", "fields": [_build_field(column) for column in columns]}


def _build_field(column: Column | Field) -> dict[str, object]:
    metadata: dict[str, object] = {"comment": column.comment} if column.comment else {}
    if isinstance(column.type, String) and column.type.length is not None:
        metadata["__CHAR_VARCHAR_TYPE_STRING"] = sql.type_name(column.type).lower()
    return {
        "name": column.name,
        "type": _build_type(column.type),
        "nullable": column.nullable,
        "metadata": metadata,
    }


def _build_type(type: Type) -> object:
    match type:
        case Boolean():
            return "boolean"
        case Integer(bits, True):
            return _INTEGERS[bits]
        case Floating(bits):
            return "float" if bits == 32 else "double"
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case String():
            return "string"
        case Binary():
            return "binary"
        case Date():
            return "date"
        case Timestamp(_, zoned):
            return "timestamp" if zoned else "timestamp_ntz"
        case Array(element, nullable):
            return {"type": "array", "elementType": _build_type(element), "containsNull": nullable}
        case Map(key, value, nullable):
            return {
                "type": "map",
                "keyType": _build_type(key),
                "valueType": _build_type(value),
                "valueContainsNull": nullable,
            }
        case Struct(fields):
            return _build_struct(fields)
        case _:
            raise ValueError(f"no Spark type for {type!r}")
