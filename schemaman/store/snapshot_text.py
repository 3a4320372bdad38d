"""The accepted structure of a table as a text for git: one line a column.

A store keeps the digest of the text of each newest version, so that a check need not read unchanged tables.
A change of the text therefore needs a new layout of the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from schemaman.debezium.records import Coordinates
from schemaman.history.step_facts import count_occurrences
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.store.schema_json import column_to_json, coordinates_to_json, table_to_json

LAYOUT = 1
"""The layout number in `schemaman_snapshot`; a reader refuses every other one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The accepted structure of a table.

    `version` is the id of the version, `at` the coordinates of its beginning: together they find the version
    in a history with other numbers. Both are empty if the structure comes from a file or a lake table.
    The columns have no ids, because another store assigns other ids. `occurrences` counts what had happened
    to the table and shows in no structure, as a truncation; None in files that do not count it.
    """

    table: TableId
    schema: TableSchema
    version: str = ""
    at: Coordinates | None = None
    occurrences: int | None = None


def take_snapshot(history: TableHistory, version: SchemaVersion, revision: int | None = None) -> Snapshot:
    """Takes the snapshot of a version with the attributes of one of its revisions, or of the last."""
    found = next((r for r in version.revisions if r.number == revision), version.revisions[-1])
    occurrences = count_occurrences(history, version, found.number)
    return Snapshot(history.table, remove_ids(found.schema), version.id, version.at, occurrences)


def remove_ids(schema: TableSchema) -> TableSchema:
    """Returns the structure without column ids."""
    return replace(schema, columns=tuple([c.with_identity(None, c.emitted_name) for c in schema.columns]))


def to_text(snapshot: Snapshot) -> str:
    """Formats the snapshot as JSON, one line a column."""
    schema = snapshot.schema
    parts: list[tuple[str, str]] = [
        ("schemaman_snapshot", str(LAYOUT)),
        ("table", _format_json(table_to_json(snapshot.table))),
        ("version", _format_json(snapshot.version)),
        ("at", _format_json(None if snapshot.at is None else coordinates_to_json(snapshot.at))),
        *([] if snapshot.occurrences is None else [("occurrences", str(snapshot.occurrences))]),
        ("columns", _format_rows(_format_column(c) for c in remove_ids(schema).columns)),
        ("key", _format_json(list(schema.key))),
        ("comment", _format_json(schema.comment)),
    ]
    body = ",\n".join(f'  "{name}": {value}' for name, value in parts)
    return f"{{\n{body}\n}}\n"


def digest_text(text: str) -> str:
    """Return the digest by which a snapshot's text is compared: SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_format_json = json.JSONEncoder(ensure_ascii=False).encode


def _format_column(column: Column) -> str:
    """Format a column; versions and tables share many."""
    # The defaults 1, 1.0 and true are equal and not the same.
    plain = column.default is None or isinstance(column.default, str)
    return _format_known_column(column) if plain else _format_json(column_to_json(column))


@lru_cache(1 << 12)
def _format_known_column(column: Column) -> str:
    return _format_json(column_to_json(column))


def _format_rows(values: Iterable[str]) -> str:
    rows = ",\n".join(f"    {value}" for value in values)
    return f"[\n{rows}\n  ]" if rows else "[]"
