"""Builds the JSON document of `blame`: the origin of each fact of a table."""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.history.blame import Fact
from schemaman.history.versions import SchemaVersion
from schemaman.model.schema import TableId
from schemaman.report.json.tables import SCHEMA_VERSION, Document, Json, build_coordinates, build_interval


def build_blame(
    ref: str, table: TableId, version: SchemaVersion, revision: int, facts: Iterable[Fact]
) -> Document:
    """The document of `blame TABLE`: the facts of each column in order, then those of the table."""
    return {
        "schema_version": SCHEMA_VERSION,
        "ref": ref,
        "table": str(table),
        "version": version.number,
        "revision": revision,
        "id": version.id,
        "status": version.status,
        "facts": [_build_fact(f) for f in facts],
    }


def _build_fact(found: Fact) -> Document:
    value: Json = list(found.value) if isinstance(found.value, tuple) else found.value
    return {
        "fact": found.kind,
        "column": found.column,
        "column_id": found.column_id,
        "value": value,
        "status": "provisional" if found.is_provisional else "confirmed",
        "since": {
            "version": found.version.number,
            "revision": found.revision,
            "id": found.version.id,
            "incarnation": found.version.incarnation,
        },
        "from": build_interval(found.after, found.at),
        "proven": None if found.proven_from is None else build_coordinates(found.proven_from),
        "witness": found.evidence,
        "others": [{"kind": kind, "first": build_coordinates(first)} for kind, first in found.other_evidence],
        "statement": found.statement,
    }
