"""Read from the log of a Delta table what SQL does not show: newest version and generated columns.

Source: Delta protocol, "Delta Log Entries", "Checkpoints", "Generated Columns", "Identity Columns".
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from schemaman.errors import StatementFailed
from schemaman.model.ddl import quote_name

Query = Callable[[str], Sequence[Sequence[object]]]
"""Runs a query and gives its rows."""

_COMMIT = re.compile(r"(\d{20})\.json")
_EXPRESSION = "delta.generationExpression"
_IDENTITY = "delta.identity.start"
_FEATURES = frozenset({"generatedColumns", "identityColumns"})
_CATALOG_COMMITS = frozenset({"catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview"})


def find_local_folder(location: str) -> Path | None:
    """The folder of a table that lies on this machine's own disk; None for any other place."""
    place = urlparse(location)
    if place.scheme not in ("", "file"):
        return None
    return Path(unquote(place.path) if place.scheme else location)


def find_newest_version(location: str, features: Iterable[str]) -> int | None:
    """The newest commit by the names in a log that can be listed here; None where it cannot."""
    folder = find_local_folder(location)
    if folder is None or _CATALOG_COMMITS & set(features):
        return None
    try:
        names = [path.name for path in (folder / "_delta_log").iterdir()]
    except OSError:
        return None
    return max((int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))), default=None)


def find_generated_columns(location: str, features: Iterable[str], query: Query) -> dict[str, str]:
    """Each generated column and its expression; an identity column has an empty one.

    Spark shows a table without them, so the log is read, and only where the table may have some.
    Raises `StatementFailed`, also where no log entry tells a structure.
    """
    if not _FEATURES & set(features):
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
        raise StatementFailed(f"{log} tells no structure of the table")
    return _read_generated(json.loads(max(schemas)[1]))


def clear_unfinished(folder: str) -> bool:
    """Remove a local folder in which a Delta table was begun and no commit was ever made.

    Delta takes such a folder for a table when it is to make one, and for none when it is to read it.
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


def _read_generated(schema: Mapping[str, list[dict[str, dict[str, str]]]]) -> dict[str, str]:
    metadata_by_name = {str(f["name"]): f.get("metadata", {}) for f in schema["fields"]}
    return {
        name: str(metadata.get(_EXPRESSION, ""))
        for name, metadata in metadata_by_name.items()
        if _EXPRESSION in metadata or _IDENTITY in metadata
    }
