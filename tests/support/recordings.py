"""Recordings as schemaman reads them: their records, and the registry beside them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from schemaman.debezium.records import Record
from schemaman.io import files
from schemaman.io.schema_registry import NO_REGISTRY, RegistryExport, load_export
from tests.support.checkout import CAPTURES


@cache
def recorded(run: str, captures: Path = CAPTURES) -> tuple[Record, ...]:
    """The records of a recording, in the order in which they came."""
    found = files.read_records(files.find_file(str(captures / run)))
    return tuple(r for r in found if isinstance(r, Record))


@cache
def registry(run: str, captures: Path = CAPTURES) -> RegistryExport:
    """The registry of a recording; an empty one where it needs none."""
    path = captures / run / "registry.json"
    return load_export(str(path)) if path.exists() else NO_REGISTRY
