"""Snapshots hold the accepted structure of a table as a file for git, one file a table.

Law: `from_text(to_text(s)) == s`. Equal snapshots have equal bytes, and a changed column is one
changed line, so that a review shows what is accepted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from schemaman.errors import BadConfiguration, SchemamanError
from schemaman.model.schema import DEFAULT_STREAM, Column, TableId, TableSchema
from schemaman.store.schema_json import column_from_json, coordinates_from_json, table_from_json
from schemaman.store.snapshot_text import LAYOUT as LAYOUT
from schemaman.store.snapshot_text import Snapshot as Snapshot
from schemaman.store.snapshot_text import remove_ids as remove_ids
from schemaman.store.snapshot_text import take_snapshot as take_snapshot
from schemaman.store.snapshot_text import to_text as to_text

SUFFIX = ".json"
_LONGEST = 180
"""The largest file name in bytes, without its suffix. File systems allow 255; a temporary file needs some."""

_SAFE = re.compile(r"[A-Za-z0-9_-]")


def build_file_name(table: TableId) -> str:
    """Builds the path of a table's snapshot inside the folder of snapshots, with `/`.

    Tables of another stream than `main` are in a folder with the stream's name. Characters that file systems
    may change are percent-encoded. A name that is too long ends in `~` and a part of its SHA-256.
    """
    name = ".".join(
        _encode_name(part) for part in (table.server, table.database, table.schema, table.table) if part
    )
    folder = "" if table.stream == DEFAULT_STREAM else f"{_shorten_name(_encode_name(table.stream))}/"
    return f"{folder}{_shorten_name(name)}{SUFFIX}"


def _shorten_name(name: str) -> str:
    """Cuts a name that is too long; the result is unique, because `~` is encoded in other names."""
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode("ascii")).hexdigest()[:16]
    return f"{name[: _LONGEST - len(digest) - 1]}~{digest}"


def _encode_name(part: str) -> str:
    letters = (chr(byte) for byte in part.encode("utf-8", "surrogatepass"))
    return "".join(ch if _SAFE.match(ch) else f"%{ord(ch):02X}" for ch in letters)


def from_text(text: str, where: str = "snapshot") -> Snapshot:
    """Reads a snapshot that `to_text` wrote; `where` names the file in errors.

    Raises:
        BadConfiguration: the text is no snapshot, has another layout, or a JSON member is missing or wrong.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _build_error(where, f"not JSON: {error}") from error
    if not is_snapshot(document):
        raise _build_error(where, "no snapshot of schemaman")
    if document["schemaman_snapshot"] != LAYOUT:
        raise _build_error(where, f"layout {document['schemaman_snapshot']!r}, not {LAYOUT}")
    try:
        return _read_snapshot(document)
    except KeyError as error:
        raise _build_error(where, f"the field {error} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise _build_error(where, str(error)) from error
    except SchemamanError as error:
        raise _build_error(where, error.message) from error


def is_snapshot(document: object) -> bool:
    """Returns whether a JSON value is marked as a snapshot."""
    return isinstance(document, dict) and "schemaman_snapshot" in document


def is_snapshot_text(text: str) -> bool:
    """Return whether a text is the JSON of a snapshot, of whatever layout."""
    try:
        return is_snapshot(json.loads(text)) if text.lstrip().startswith("{") else False
    except (ValueError, RecursionError):
        return False


def _read_snapshot(document: Mapping[str, Any]) -> Snapshot:
    columns = tuple(_read_column(c) for c in document["columns"])
    key, comment, version = tuple(document["key"]), document["comment"], document["version"]
    names = [c.name for c in columns]
    if len(set(names)) < len(names) or not set(key) <= set(names):
        raise ValueError("a column occurs twice, or the key has a column that does not exist")
    if not isinstance(version, str) or not isinstance(comment, str | None):
        raise ValueError("version or comment is not text")
    at = None if document["at"] is None else coordinates_from_json(document["at"])
    occurrences = document.get("occurrences")
    if not isinstance(occurrences, int | None):
        raise ValueError("occurrences is no number")
    schema = TableSchema(columns, key, comment)
    return Snapshot(table_from_json(document["table"]), schema, version, at, occurrences)


def _read_column(document: Mapping[str, Any]) -> Column:
    column = column_from_json(document)
    if not isinstance(column.name, str) or not isinstance(column.nullable, bool):
        raise ValueError(f"column {column.name!r}: name must be text, and nullable true or false")
    return column


def _build_error(where: str, what: str) -> BadConfiguration:
    hint = "write it again with `schemaman snapshot`, or restore it from git"
    return BadConfiguration(f"{where}: {what}", hint=hint)
