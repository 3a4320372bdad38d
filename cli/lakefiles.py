"""Reads the columns of a lake table from its metadata files without Spark, as a second reader for the demo.

Sources: Delta protocol, "Change Metadata" and "Schema Serialization Format"; Iceberg table spec,
"Table Metadata Fields" and "Schemas and Data Types".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schemaman.errors import UnreadableInput

_DELTA = {
    "byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT", "timestamp": "TIMESTAMP(6)",
    "timestamp_ntz": "TIMESTAMP_NTZ(6)",
}  # fmt: skip
_ICEBERG = {"int": "INT", "long": "BIGINT", "timestamptz": "TIMESTAMP(6)", "timestamp": "TIMESTAMP_NTZ(6)"}


def delta_columns(folder: Path) -> tuple[tuple[str, str], ...]:
    """Read name and type text of each column from the newest metadata in the table's log."""
    found: Any = None
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        for line in commit.read_text(encoding="utf-8").splitlines():
            found = json.loads(line).get("metaData", found)
    if found is None:
        raise UnreadableInput(f"{folder} contains no Delta table")
    fields = json.loads(found["schemaString"])["fields"]
    return tuple((f["name"], _format_type(_DELTA, f["type"])) for f in fields)


def iceberg_columns(metadata: Path) -> tuple[tuple[str, str], ...]:
    """Read name and type text of each column from a metadata file."""
    document = json.loads(metadata.read_text(encoding="utf-8"))
    schema = next(s for s in document["schemas"] if s["schema-id"] == document["current-schema-id"])
    return tuple((f["name"], _format_type(_ICEBERG, f["type"])) for f in schema["fields"])


def _format_type(known: dict[str, str], type: str) -> str:
    return known.get(type, type.upper().replace(" ", ""))
