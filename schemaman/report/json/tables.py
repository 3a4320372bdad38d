"""Histories as the JSON that scripts read: `tables`, `history`, `show`, `names`.

Law: every document carries `schema_version` and is valid against its JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schemaman.debezium.observation import Note
from schemaman.debezium.records import Mark, Position
from schemaman.history.epochs import Epoch, WireFace
from schemaman.history.versions import (
    Alias,
    Disagreement,
    Evidence,
    KeySpan,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
)
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, Scalar, TableId, TableSchema

Json = Scalar | Sequence["Json"] | dict[str, "Json"]
Document = dict[str, Json]

SCHEMA_VERSION = 1


def tables(histories: Iterable[TableHistory], rejected: Mapping[TableId, int] | None = None) -> Document:
    """The document of `tables`: one short entry a table.

    `rejected` counts the records in the topics of a table's rows that could not be understood.
    """
    counts = rejected or {}
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [_summary(h) | {"rejects": counts.get(h.table, 0)} for h in histories],
    }


def history(found: TableHistory, whole: TableHistory | None = None) -> Document:
    """The document of `history TABLE`, but for the notes.

    `whole` is all that is known, where `found` has the last versions alone. The records of all versions and
    `shared` of the table make its `records`; those that versions share are told by each of them, so that
    their sum may be more.
    """
    every = whole or found
    return {
        "schema_version": SCHEMA_VERSION,
        "table": _table(found) | {"records": every.records, "shared": every.shared},
        "aliases": [_alias(a) for a in found.aliases],
        "versions": [_version(v) for v in found.versions],
        "events": [_event(e) for e in found.events],
        "epochs": [_epoch(e) for e in found.epochs],
        "keys": [_key(k) for k in found.keys],
        "disagreements": [_disagreement(d) for d in found.disagreements],
    }


def show(
    ref: str,
    structure: TableSchema,
    table: TableId | None = None,
    version: SchemaVersion | None = None,
    revision: int | None = None,
    wire: Mark | None = None,
) -> Document:
    """The document of `show REF`; `table`, `version` and `revision` where the REF is one of the history.

    `wire` is the event that carried the structure, where that is its wire face.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "ref": ref,
        "table": None if table is None else str(table),
        "version": None if version is None else version.number,
        "revision": revision,
        "id": None if version is None else version.id,
        "status": None if version is None else version.status,
        "face": "source" if wire is None else "wire",
        "record": _optional(wire),
        "unconfirmed": [] if version is None else list(version.unconfirmed),
        **_structure(structure),
    }


def mark(found: Mark) -> Document:
    """Where and when a record stands; times in epoch milliseconds."""
    return {
        "position": position(found.position),
        "ts_ms": found.ts_ms,
        "read_ms": found.read_ms,
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
    }


def note(found: Note) -> Document:
    """Something to know of a record that is no structure."""
    return {
        "stream": found.stream,
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
        "count": found.count,
        "kind": found.kind,
        "message": found.message,
        "table": None if found.table is None else str(found.table),
    }


def position(found: Position) -> Document:
    """A source position, its value as the connector prints it."""
    document: Document = {"kind": found.kind, "value": found.value}
    return document if found.commit is None else document | {"commit": found.commit}


def column(found: Column) -> Document:
    """A column, its type in words."""
    return {
        "id": found.id,
        "name": found.name,
        "emitted_name": found.emitted_name,
        "type": format_type(found.type),
        "nullable": found.nullable,
        "default": found.default,
        "comment": found.comment,
        "source_type": found.source_type,
    }


def candidate(found: RenameCandidate) -> Document:
    """A pair of columns that may be one, with grade and evidence."""
    return {"old": found.old, "new": found.new, "grade": found.grade, "evidence": list(found.evidence)}


def _optional(found: Mark | None) -> Json:
    return None if found is None else mark(found)


def _structure(structure: TableSchema) -> Document:
    return {
        "columns": [column(c) for c in structure.columns],
        "key": list(structure.key),
        "comment": structure.comment,
    }


def _table(found: TableHistory) -> Document:
    table = found.table
    return {
        "id": str(table),
        "stream": table.stream,
        "connector": found.connector,
        "server": table.server,
        "database": table.database,
        "schema": table.schema,
        "name": table.table,
        "identity": found.identity,
        "dropped": found.dropped,
    }


def _summary(found: TableHistory) -> Document:
    latest = found.latest
    return _table(found) | {
        "versions": len(found.versions),
        "latest": {
            "version": latest.number,
            "id": latest.id,
            "revision": latest.revision,
            "status": latest.status,
            "columns": len(latest.schema.columns),
            "key": list(latest.schema.key),
            "unconfirmed": list(latest.unconfirmed),
            "from": interval(latest.after, latest.at),
        },
        "records": found.records,
        "last_seen": mark(found.last_seen),
        "disagreements": len(found.disagreements),
    }


def _version(found: SchemaVersion) -> Document:
    return {
        "version": found.number,
        "id": found.id,
        "revision": found.revision,
        "incarnation": found.incarnation,
        "status": found.status,
        **_structure(found.schema),
        "unconfirmed": list(found.unconfirmed),
        "proven": _optional(found.proven),
        "late": [{"fact": p.fact, "revision": p.revision, "proven": _optional(p.at)} for p in found.proofs],
        "from": interval(found.after, found.at),
        "until": _optional(found.until),
        "records": found.records,
        "shared": found.shared,
        "evidence": [_evidence(e) for e in found.evidence],
        "revisions": [_revision(r) for r in found.revisions],
        "candidates": [candidate(c) for c in found.candidates],
        "carried": [_face(f) for f in found.carried],
    }


def interval(after: Mark | None, at: Mark) -> Document:
    """Where something began: behind `after` (None: nothing earlier is known) and no later than `at`."""
    return {"after": _optional(after), "at": mark(at)}


def _revision(found: Revision) -> Document:
    after = _optional(found.after)
    return {"revision": found.number, "after": after, "at": mark(found.at), **_structure(found.schema)}


def _evidence(found: Evidence) -> Document:
    return {
        "kind": found.witness,
        "records": found.records,
        "shared": found.shared,
        "first": mark(found.first),
        "last": mark(found.last),
    }


def _alias(found: Alias) -> Document:
    return {
        "kind": found.kind,
        "name": found.name,
        "from": _optional(found.first),
        "until": _optional(found.until),
    }


def _epoch(found: Epoch) -> Document:
    return {
        "epoch": found.number,
        "connector": found.connector,
        "connector_version": found.connector_version,
        "from": interval(found.after, found.at),
        "changes": list(found.changes),
    }


def _key(found: KeySpan) -> Document:
    return {
        "columns": list(found.columns),
        "told": found.told,
        "origins": list(found.origins),
        "confirmed": found.confirmed,
        "proven": _optional(found.certain_from),
        "from": {"after": _optional(found.after), "at": mark(found.at)},
        "until": _optional(found.until),
    }


def _face(found: WireFace) -> Document:
    fields: list[Json] = [
        {"column": f.column, "name": f.name, "type": None if f.type is None else format_type(f.type)}
        for f in found.fields
    ]
    return {"epoch": found.epoch, "at": mark(found.at), "fields": fields}


def _event(found: TableEvent) -> Document:
    return {
        "kind": found.kind,
        "incarnation": found.incarnation,
        "at": mark(found.at),
        "other": None if found.other is None else str(found.other),
    }


def _disagreement(found: Disagreement) -> Document:
    return {
        "kind": found.kind,
        "versions": list(found.versions),
        "message": found.message,
        "evidence": [_place(m) for m in found.marks],
    }


def _place(found: Mark) -> str:
    return f"{found.topic}[{found.partition}]@{found.offset}"
