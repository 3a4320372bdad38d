"""Builds the JSON document of `init`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.report.json.tables import SCHEMA_VERSION, Document

FileState = Literal["written", "same", "differs"]
"""`same`: a file with these settings was there. `differs`: another file was there, and was not changed."""


@dataclass(frozen=True, slots=True)
class Initialized:
    """What `init` found and wrote.

    `tables` are pairs of a source table and its connector. `catalogs` are pairs of a catalogue and the number
    of its tables. `differences` are the lines of a unified diff. `following` are the commands to run next.
    """

    file: str
    state: FileState
    settings: str
    records: int = 0
    rejected: int = 0
    topics: int = 0
    tables: tuple[tuple[str, str], ...] = ()
    catalogs: tuple[tuple[str, int], ...] = ()
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    following: tuple[str, ...] = ()


def build_init(done: Initialized) -> Document:
    """The document of `init`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "file": done.file,
        "state": done.state,
        "settings": done.settings,
        "found": {
            "records": done.records,
            "rejected": done.rejected,
            "topics": done.topics,
            "tables": [{"table": table, "connector": connector} for table, connector in done.tables],
            "catalogs": [{"name": name, "tables": count} for name, count in done.catalogs],
        },
        "differences": list(done.differences),
        "notes": list(done.notes),
        "next": list(done.following),
    }


def list_connectors(tables: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """List the connectors of tables, each once."""
    return tuple(dict.fromkeys(connector for _, connector in tables))
