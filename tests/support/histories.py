"""Histories told in column lists, for tests that need one and no records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemaman.debezium.records import Coordinates, Position
from schemaman.history.fold.column_ids import identify_columns
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import (
    Evidence,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
)
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableId, TableSchema, fingerprint

ORDERS = TableId("shop", "app", "public", "orders")


def mark(number: int) -> Coordinates:
    """The record number `number` of the table's only partition."""
    lsn = str(1000 + number)
    return Coordinates(
        "shop.public.orders", 0, number, Position("lsn", lsn, lsn), ts_ms=number, read_ms=number
    )


def told(
    *structures: str | None,
    table: TableId = ORDERS,
    stated: Mapping[str, str] | None = None,
    unconfirmed: tuple[str, ...] = (),
) -> TableHistory:
    """A history of a table that appends columns, one record for each structure; None is a drop.

    A structure of the shape of the one before is a revision. `unconfirmed` holds for every version.
    """
    versions: list[SchemaVersion] = []
    events: list[TableEvent] = []
    known: TableSchema | None = None
    incarnation, next_id = 1, 1
    for number, text in enumerate(structures):
        if text is None:
            events.append(TableEvent("dropped", mark(number), incarnation))
            incarnation, known = incarnation + 1, None
            continue
        schema = identify_columns(known, parse_columns(text), (stated or {}).items(), True, next_id)
        next_id = max([next_id, *((c.id or 0) + 1 for c in schema.columns)])
        same = known is not None and {c.id for c in known.columns} == {c.id for c in schema.columns}
        if same and fingerprint(schema) == versions[-1].id:
            last = versions[-1]
            versions[-1] = _revised(last, Revision(last.revision + 1, schema, mark(number)))
        else:
            suspects = find_rename_candidates(known, schema, append_only=True) if known is not None else ()
            versions.append(
                _version(len(versions) + 1, schema, incarnation, mark(number), unconfirmed, suspects)
            )
        known = schema
    return TableHistory(table, "postgresql", tuple(versions), events=tuple(events))


def _revised(version: SchemaVersion, revision: Revision) -> SchemaVersion:
    return replace(version, revisions=(*version.revisions, revision))


def _version(
    number: int,
    schema: TableSchema,
    incarnation: int,
    at: Coordinates,
    unconfirmed: tuple[str, ...],
    suspects: tuple[RenameCandidate, ...],
) -> SchemaVersion:
    return SchemaVersion(
        number=number,
        id=fingerprint(schema),
        incarnation=incarnation,
        status="provisional" if unconfirmed else "confirmed",
        revisions=(Revision(0, schema, at),),
        after=None,
        at=at,
        until=None,
        records=1,
        evidence=(Evidence("emitted", 1, at, at),),
        unconfirmed=unconfirmed,
        candidates=suspects,
    )
