"""A record about structures on its way to being read: who speaks, of what, with which statement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from schemaman.decode.origin import Origin
from schemaman.decode.shadow import BY_DATABASE
from schemaman.decode.stated import Told, told
from schemaman.evidence import Mark, Note, Observation, Run, Witness
from schemaman.schema import TableId, TableSchema


@dataclass(frozen=True, slots=True)
class Change:
    """A record of the schema-change topic, or of a connector's own schema history (`internal`).

    `ddl` is None where no statement was told; `touched` are the names of all tables that the whole
    statement of which this record may be a part has left behind, as `source.table` lists them.
    """

    run: Run
    stream: str
    origin: Origin
    database: str
    ddl: str | None
    told: Told
    touched: tuple[str, ...] = ()
    witness: Witness = "declared"


def change_of(
    run: Run, stream: str, origin: Origin, database: str | None, ddl: str | None, witness: Witness
) -> Change:
    """The change that a record tells.

    Db2, SQL Server and Informix write "N/A" or "n/a" for a statement while streaming, and null in a
    snapshot. Source: Debezium Db2SchemaChangeEventEmitter and its like; SourceInfo of MySQL, `table`.
    """
    text = ddl if ddl is not None and ddl.strip().upper() != "N/A" else None
    return Change(
        run=run,
        stream=stream,
        origin=origin,
        database=database or "",
        ddl=text,
        told=Told() if text is None else told(text, origin.connector),
        touched=tuple(origin.table.split(",")),
        witness=witness,
    )


def observation(
    change: Change, table: TableId, action: Any = "image", schema: TableSchema | None = None
) -> Observation:
    """What the change says of one table."""
    return Observation(
        table=table,
        witness=change.witness,
        action=action,
        connector=change.origin.connector,
        connector_version=change.origin.version,
        first=_processed(change.run.first),
        last=_processed(change.run.last),
        count=change.run.count,
        snapshot=change.origin.snapshot,
        schema=schema,
        ddl=change.ddl,
        interrupted=change.run.interrupted,
    )


def _processed(mark: Mark) -> Mark:
    """Releases before 2.0 tell no time of processing but in the source block, and 0 there if they know none.

    Source: Debezium HistoryRecord `ts_ms` since 2.0; SourceInfo `ts_ms`.
    """
    return mark if mark.read_ms is not None or not mark.ts_ms else replace(mark, read_ms=mark.ts_ms)


def note(change: Change, kind: str, message: str, table: TableId | None = None) -> Note:
    """Something to know of the record, at its place."""
    first = change.run.first
    return Note(
        change.stream, first.topic, first.partition, first.offset, kind, message, table, change.run.count
    )


def former(change: Change, table: TableId) -> TableId | None:
    """What the table was called before, if the statement renames it."""
    for old, new in change.told.tables:
        if named(change, new) == table:
            return named(change, old)
    return None


def named(change: Change, parts: tuple[str, ...]) -> TableId:
    """The table of a name in a statement, in the record's database (or schema) where the name tells none."""
    origin = change.origin
    qualifier = parts[-2] if len(parts) > 1 else ""
    if by_database(origin):
        return TableId(origin.server, qualifier or change.database, "", parts[-1], change.stream)
    database = origin.database or change.database
    return TableId(origin.server, database, qualifier or origin.schema, parts[-1], change.stream)


def by_database(origin: Origin) -> bool:
    """Whether a table's name has a database in front, and no schema."""
    return origin.connector in BY_DATABASE


def excerpt(ddl: str) -> str:
    """A statement short enough for a message."""
    words = " ".join(ddl.split())
    return words if len(words) <= 120 else words[:119] + "…"
