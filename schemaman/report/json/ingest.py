"""Builds the JSON documents of `ingest` and `rejects`."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence

from schemaman.debezium.observation import Note, Reject
from schemaman.report.json.tables import SCHEMA_VERSION, Document, build_note
from schemaman.store.log import RenumberingEntry


def build_ingest(
    *,
    stream: str,
    engine: str,
    sources: Sequence[str],
    read: int,
    new: int,
    known: int,
    skipped: Mapping[str, int],
    rejects: int,
    notes: int,
    shifts: Iterable[RenumberingEntry],
    tables: Mapping[str, int],
    unchanged: Mapping[str, int | None],
) -> Document:
    """The summary at the end of `ingest`.

    Of `read` records, `new` were read for the first time and `known` had been read before. `skipped` counts
    skipped records by kind, `notes` the new notes. `shifts` are the renumbered versions. `tables` maps each
    table of the records to its current number of versions. `unchanged` has the number of
    `files` that were not read again, and as `since_ms` (epoch ms) when the last of them was read.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "stream": stream,
        "engine": engine,
        "sources": list(sources),
        "records": {"read": read, "new": new, "known": known, "rejected": rejects},
        "unchanged": dict(unchanged),
        "asides": dict(sorted(skipped.items())),
        "notes": notes,
        "renumbered": [
            {"table": str(shift.table), "id": one.id, "was": one.was, "now": one.now}
            for shift in shifts
            for one in shift.moves
        ],
        "tables": [{"table": name, "versions": count} for name, count in sorted(tables.items())],
    }


def build_rejects(found: Iterable[Reject], notes: Iterable[Note]) -> Document:
    """The document of `rejects`; bytes in base64, where they were kept."""
    return {
        "schema_version": SCHEMA_VERSION,
        "rejects": [_build_reject(r) for r in found],
        "notes": [build_note(n) for n in notes],
    }


def _build_reject(found: Reject) -> Document:
    return {
        "stream": found.stream,
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
        "count": found.count,
        "reason": found.reason,
        "sha256": found.sha256,
        "payload": None if found.payload is None else base64.b64encode(found.payload).decode(),
    }
