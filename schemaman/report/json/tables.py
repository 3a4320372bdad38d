"""Builds the JSON documents of `tables`, `history`, `show` and `names`.

Law: every document carries `schema_version` and is valid against its JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from schemaman.debezium.observation import Note
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.epochs import Epoch, EventSchema
from schemaman.history.summary import TableSummary
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


def build_tables(
    summaries: Iterable[TableSummary],
    rejected: Mapping[TableId, int] | None = None,
    list_shared: Callable[[TableSummary], Sequence[str]] = lambda _: (),
) -> Document:
    """The document of `tables`: one short entry a table.

    `rejected` counts the records in the topics of a table's rows that could not be decoded. `list_shared`
    lists the topics of a table that other tables have, too.
    """
    counts = rejected or {}
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [
            _build_summary(s)
            | {
                "rejects": counts.get(s.table, 0),
                "topics": list(s.topics),
                "shared_topics": list(list_shared(s)),
            }
            for s in summaries
        ],
    }


def build_history(found: TableHistory, whole: TableHistory | None = None) -> Document:
    """The document of `history TABLE`, without the notes.

    `whole` is the whole history if `found` has only its last versions. `records` of the table is the sum of
    its versions' `records` and its own `shared`. Each version counts the records that it shares, so that the
    sum of the versions' `shared` may be larger.
    """
    every = whole or found
    repeats = every.find_repeats()
    return {
        "schema_version": SCHEMA_VERSION,
        "table": _build_table(found) | {"records": every.records, "shared": every.shared_records},
        "aliases": [_build_alias(a) for a in found.aliases],
        "versions": [_build_version(v, repeats.get(v.number)) for v in found.versions],
        "events": [_build_event(e) for e in found.events],
        "epochs": [_build_epoch(e) for e in found.epochs],
        "keys": [_build_key(k) for k in found.keys],
        "disagreements": [_build_disagreement(d) for d in found.disagreements],
    }


def build_show(
    ref: str,
    structure: TableSchema,
    table: TableId | None = None,
    version: SchemaVersion | None = None,
    revision: int | None = None,
    wire: Coordinates | None = None,
) -> Document:
    """The document of `show REF`; `table`, `version` and `revision` are set for a REF of the history.

    `wire` is the event with the structure, if the structure is an event schema.
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
        "record": _build_optional(wire),
        "unconfirmed": [] if version is None else list(version.unconfirmed),
        **_build_structure(structure),
    }


def build_coordinates(found: Coordinates) -> Document:
    """The coordinates of a record; times in epoch milliseconds."""
    return {
        "position": build_position(found.position),
        "ts_ms": found.ts_ms,
        "read_ms": found.read_ms,
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
    }


def build_note(found: Note) -> Document:
    """A note about a record."""
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


def build_position(found: Position) -> Document:
    """A source position, its value as the connector prints it."""
    document: Document = {"kind": found.kind, "value": found.value}
    return document if found.commit is None else document | {"commit": found.commit}


def build_column(found: Column) -> Document:
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


def build_candidate(found: RenameCandidate) -> Document:
    """A pair of columns that may be one, with grade and evidence."""
    return {"old": found.old, "new": found.new, "grade": found.grade, "evidence": list(found.evidence)}


def _build_optional(found: Coordinates | None) -> Json:
    return None if found is None else build_coordinates(found)


def _build_structure(structure: TableSchema) -> Document:
    return {
        "columns": [build_column(c) for c in structure.columns],
        "key": list(structure.key),
        "comment": structure.comment,
    }


def _build_table(found: TableHistory | TableSummary) -> Document:
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
        "dropped": found.is_dropped,
        "renamed_to": None if found.end is None or found.end.other is None else str(found.end.other),
    }


def _build_summary(found: TableSummary) -> Document:
    return _build_table(found) | {
        "versions": found.versions,
        "latest": {
            "version": found.number,
            "id": found.id,
            "revision": found.revision,
            "status": found.status,
            "columns": found.columns,
            "key": list(found.key),
            "unconfirmed": list(found.unconfirmed),
            "from": build_interval(found.after, found.at),
        },
        "records": found.records,
        "last_seen": build_coordinates(found.last_record),
        "disagreements": found.disagreements,
    }


def _build_version(found: SchemaVersion, repeated: SchemaVersion | None) -> Document:
    return {
        "version": found.number,
        "id": found.id,
        "revision": found.revision,
        "incarnation": found.incarnation,
        "status": found.status,
        "repeats": None if repeated is None else repeated.number,
        **_build_structure(found.schema),
        "unconfirmed": list(found.unconfirmed),
        "proven": _build_optional(found.proven_from),
        "late": [
            {"fact": p.fact, "revision": p.revision, "proven": _build_optional(p.at)} for p in found.proofs
        ],
        "from": build_interval(found.after, found.at),
        "until": _build_optional(found.until),
        "records": found.records,
        "shared": found.shared_records,
        "evidence": [_build_evidence(e) for e in found.evidence],
        "revisions": [_build_revision(r) for r in found.revisions],
        "candidates": [build_candidate(c) for c in found.candidates],
        "carried": [_build_event_schema(f) for f in found.event_schemas],
    }


def build_interval(after: Coordinates | None, at: Coordinates) -> Document:
    """The interval of a beginning: after `after` (None: no earlier record) and no later than `at`."""
    return {"after": _build_optional(after), "at": build_coordinates(at)}


def _build_revision(found: Revision) -> Document:
    after = _build_optional(found.after)
    return {
        "revision": found.number,
        "after": after,
        "at": build_coordinates(found.at),
        **_build_structure(found.schema),
    }


def _build_evidence(found: Evidence) -> Document:
    return {
        "kind": found.kind,
        "records": found.records,
        "shared": found.shared_records,
        "first": build_coordinates(found.first),
        "last": build_coordinates(found.last),
    }


def _build_alias(found: Alias) -> Document:
    return {
        "kind": found.kind,
        "name": found.name,
        "from": _build_optional(found.first),
        "until": _build_optional(found.until),
    }


def _build_epoch(found: Epoch) -> Document:
    return {
        "epoch": found.number,
        "connector": found.connector,
        "connector_version": found.connector_version,
        "from": build_interval(found.after, found.at),
        "changes": list(found.changes),
    }


def _build_key(found: KeySpan) -> Document:
    return {
        "columns": list(found.columns),
        "told": found.evidence,
        "origins": list(found.origins),
        "confirmed": found.is_confirmed,
        "proven": _build_optional(found.certain_from),
        "from": {"after": _build_optional(found.after), "at": build_coordinates(found.at)},
        "until": _build_optional(found.until),
    }


def _build_event_schema(found: EventSchema) -> Document:
    fields: list[Json] = [
        {"column": f.column, "name": f.name, "type": None if f.type is None else format_type(f.type)}
        for f in found.fields
    ]
    return {"epoch": found.epoch, "at": build_coordinates(found.at), "fields": fields}


def _build_event(found: TableEvent) -> Document:
    return {
        "kind": found.kind,
        "incarnation": found.incarnation,
        "at": build_coordinates(found.at),
        "other": None if found.other is None else str(found.other),
    }


def _build_disagreement(found: Disagreement) -> Document:
    return {
        "kind": found.kind,
        "versions": list(found.versions),
        "message": found.message,
        "evidence": [_format_record(m) for m in found.coordinates],
    }


def _format_record(found: Coordinates) -> str:
    return f"{found.topic}[{found.partition}]@{found.offset}"
