"""Reads generated columns and the ids of columns from the log of a Delta table: SQL does not show them.

Source: Delta protocol, "Delta Log Entries", "Checkpoints", "Generated Columns", "Identity Columns".
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from schemaman.errors import StatementFailed
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Path as SchemaPath

Query = Callable[[str], Sequence[Sequence[object]]]
"""Runs a query and returns its rows."""

_EXPRESSION = "delta.generationExpression"
_IDENTITY = "delta.identity.start"
_FIELD_ID = "delta.columnMapping.id"
_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_GENERATING = frozenset({"generatedColumns", "identityColumns"})
LOGGED_FEATURES = _GENERATING | {"columnMapping"}
"""The table features which the schema in the log describes."""


def find_local_folder(location: str) -> Path | None:
    """Return the folder of a table on a local disk; None for any other location."""
    address = urlparse(location)
    if address.scheme not in ("", "file"):
        return None
    return Path(unquote(address.path) if address.scheme else location)


def find_generated_columns(location: str, features: Iterable[str], query: Query) -> dict[str, str]:
    """Find the generated columns with their expressions; the expression of an identity column is empty.

    Spark does not show them, so this function reads the log, and only if the table may have some.
    Raises `StatementFailed`, also if no log entry contains a schema.
    """
    if not _GENERATING & set(features):
        return {}
    log = f"{location.rstrip('/')}/_delta_log"
    commits = quote_name(f"{log}/*.json")
    checkpoints = quote_name(f"{log}/*.checkpoint*.parquet")
    found = query(
        "SELECT _metadata.file_name, get_json_object(value, '$.metaData.schemaString') "
        f"FROM text.{commits} WHERE value LIKE '{{\"metaData\":%'"
    )
    try:
        found = [
            *found,
            *query(f"SELECT _metadata.file_name, metaData.schemaString FROM parquet.{checkpoints}"),
        ]
    except StatementFailed as error:
        if "PATH_NOT_FOUND" not in error.message:
            raise
    schemas = [(str(name), str(schema)) for name, schema in found if schema is not None]
    if not schemas:
        raise StatementFailed(f"{log} contains no schema of the table")
    return read_generated_columns(max(schemas)[1])


def read_generated_columns(schema: str) -> dict[str, str]:
    """Read the generated columns with their expressions from a schema of the log."""
    metadata_by_name = {str(f["name"]): f.get("metadata", {}) for f in json.loads(schema)["fields"]}
    return {
        name: str(metadata.get(_EXPRESSION, ""))
        for name, metadata in metadata_by_name.items()
        if _EXPRESSION in metadata or _IDENTITY in metadata
    }


def read_field_ids(schema: str) -> dict[SchemaPath, str]:
    """Read id and physical name of each column and nested field from a schema with column mapping.

    Both together are kept by a rename. An id alone is not enough: to switch column mapping off and on numbers
    all columns anew. Source: Delta protocol, "Column Mapping".
    """
    return dict(_list_field_ids(json.loads(schema), ()))


def clear_unfinished(folder: str) -> bool:
    """Remove a local folder with a begun Delta table without any commit.

    Delta treats such a folder as a table when it creates one, and as no table when it reads it.
    """
    path = find_local_folder(folder)
    if path is None:
        return False
    log = path / "_delta_log"
    if not log.is_dir() or [p.name for p in path.iterdir()] != [log.name]:
        return False
    if any(file.is_file() and not file.name.startswith(".") for file in log.rglob("*")):
        return False
    shutil.rmtree(path)
    return True


def _list_field_ids(type: Any, above: SchemaPath) -> Iterator[tuple[SchemaPath, str]]:
    if isinstance(type, str):
        return
    for field in type.get("fields", ()):
        here, metadata = (*above, str(field["name"])), field.get("metadata", {})
        if _FIELD_ID in metadata:
            yield here, f"{metadata[_FIELD_ID]} {metadata.get(_PHYSICAL_NAME, '')}"
        yield from _list_field_ids(field["type"], here)
    for part, key in (("element", "elementType"), ("key", "keyType"), ("value", "valueType")):
        yield from _list_field_ids(type.get(key, ""), (*above, part))
