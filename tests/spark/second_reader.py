"""Lake tables through other eyes than Spark's: pyiceberg for Iceberg, the transaction log for Delta."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import NestedField

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
    fields: tuple[NestedField, ...] = iceberg_table(warehouse, name).schema().fields
    return [(f.name, str(f.field_type), not f.required) for f in fields]


def delta_columns(warehouse: Path, name: str) -> Columns:
    """The columns as the newest metadata in the Delta log has them."""
    schema, table = name.split(".")
    log = warehouse / "spark" / f"{schema}.db" / table / "_delta_log"
    told: list[dict[str, Any]] = []
    for commit in sorted(log.glob("*.json")):
        actions = (json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines())
        told += (action["metaData"] for action in actions if "metaData" in action)
    fields = json.loads(told[-1]["schemaString"])["fields"]
    return [(f["name"], _words(f["type"]), f["nullable"]) for f in fields]


def _words(type: Any) -> str:
    if isinstance(type, str):
        return type
    match type["type"]:
        case "array":
            return f"array<{_words(type['elementType'])}>"
        case "map":
            return f"map<{_words(type['keyType'])}, {_words(type['valueType'])}>"
        case _:
            return f"struct<{', '.join(_words(f['type']) for f in type['fields'])}>"
