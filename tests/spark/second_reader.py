"""Lake tables through other eyes than Spark's: pyiceberg for Iceberg, the transaction log for Delta."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, time
from decimal import Context, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as parquet
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

Columns = list[tuple[str, str, bool]]
"""Name, type in the format's own words, nullable."""


def iceberg_table(warehouse: Path, name: str) -> Any:
    """A table of the session's Iceberg catalogue, opened by pyiceberg."""
    catalog = SqlCatalog(
        "ice", uri=f"sqlite:///{warehouse / 'ice.db'}", warehouse=f"file://{warehouse / 'ice'}"
    )
    return catalog.load_table(tuple(name.split(".")[1:]))


def iceberg_columns(warehouse: Path, name: str) -> Columns:
    """The columns as Iceberg's metadata has them."""
    return columns_of(iceberg_table(warehouse, name))


def columns_of(table: Any) -> Columns:
    """The columns of a table that pyiceberg has opened."""
    fields: tuple[NestedField, ...] = table.schema().fields
    return [(f.name, str(f.field_type), not f.required) for f in fields]


def arrow_value(value: Any, type: IcebergType) -> Any:
    """A value as Arrow tells it: a struct becomes a tuple, a map a dictionary."""
    match value, type:
        case None, _:
            return None
        case _, StructType():
            return tuple(arrow_value(value[f.name], f.field_type) for f in type.fields)
        case _, ListType():
            return [arrow_value(each, type.element_type) for each in value]
        case _, MapType():
            return {arrow_value(k, type.key_type): arrow_value(v, type.value_type) for k, v in value}
        case _:
            return value


def hadoop_table(folder: Path) -> Any:
    """A table of a catalogue that is but a folder: its newest metadata file is the one that a hint names.

    Source: Iceberg `HadoopTableOperations`.
    """
    version = (folder / "metadata" / "version-hint.text").read_text(encoding="utf-8").strip()
    return static_table(folder / "metadata" / f"v{version}.metadata.json")


def static_table(metadata: Path) -> Any:
    """A table by one metadata file of it."""
    return StaticTable.from_metadata(f"file://{metadata}")


def delta_columns(warehouse: Path, name: str) -> Columns:
    """The columns of a table by name as the newest metadata in the Delta log has them."""
    return delta_log_columns(delta_folder(warehouse, name))


def delta_folder(warehouse: Path, name: str) -> Path:
    """Where a table by name lies."""
    schema, table = name.split(".")
    return warehouse / "spark" / f"{schema}.db" / table


def delta_log_columns(folder: Path) -> Columns:
    """The columns as the newest metadata in the Delta log has them."""
    return [(f["name"], _words(f["type"]), f["nullable"]) for f in _delta_fields(folder)]


def delta_rows(folder: Path) -> list[tuple[Any, ...]]:
    """The rows by the log and the Parquet files that it names, under the newest names and types.

    Only for tables whose whole log is there and whose rows were never deleted one by one. Source: Delta
    protocol, "Action Reconciliation", "Column Mapping", "Type Widening".
    """
    fields, files = (
        _delta_fields(folder),
        dict.fromkeys(unquote(action["add"]["path"]) for action in _delta_actions(folder) if "add" in action),
    )
    for action in _delta_actions(folder):
        if "remove" in action:
            files.pop(unquote(action["remove"]["path"]), None)
    # Spark writes a moment as INT96, which says no zone. Source: Spark `parquet.outputTimestampType`.
    tables = (parquet.read_table(folder / file, coerce_int96_timestamp_unit="us") for file in files)
    rows = (row for table in tables for row in table.to_pylist())
    return [tuple(_member(row, field) for field in fields) for row in rows]


def deltalake_columns(folder: Path) -> Columns:
    """The columns as delta-rs has them; rows of a table with type widening it refuses to read."""
    told = json.loads(DeltaTable(str(folder)).schema().to_json())["fields"]
    return [(f["name"], _words(f["type"]), f["nullable"]) for f in told]


def _delta_actions(folder: Path) -> Iterator[dict[str, Any]]:
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        yield from (json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines())


def _delta_fields(folder: Path) -> list[dict[str, Any]]:
    told = [action["metaData"] for action in _delta_actions(folder) if "metaData" in action]
    fields: list[dict[str, Any]] = json.loads(told[-1]["schemaString"])["fields"]
    return fields


def _member(row: dict[str, Any], field: dict[str, Any]) -> Any:
    physical = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
    return _value(row.get(physical), field["type"])


def _value(value: Any, type: Any) -> Any:
    """A value as it was written, as the type of now has it."""
    if value is None:
        return None
    if isinstance(type, str):
        return _scalar(value, type)
    match type["type"]:
        case "array":
            return [_value(each, type["elementType"]) for each in value]
        case "map":
            return {_value(k, type["keyType"]): _value(v, type["valueType"]) for k, v in value}
        case _:
            return tuple(_member(value, field) for field in type["fields"])


def _scalar(value: Any, type: str) -> Any:
    if type.startswith("decimal"):
        scale = int(type.rstrip(")").rpartition(",")[2])
        return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=Context(prec=38))
    if type == "double":
        return float(value)
    if type == "timestamp" and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    if type == "timestamp_ntz" and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def _words(type: Any) -> str:
    if isinstance(type, str):
        return type
    match type["type"]:
        case "array":
            return f"array<{_words(type['elementType'])}>"
        case "map":
            return f"map<{_words(type['keyType'])}, {_words(type['valueType'])}>"
        case _:
            members = (f"{field['name']}: {_words(field['type'])}" for field in type["fields"])
            return f"struct<{', '.join(members)}>"
