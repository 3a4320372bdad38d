"""A schema-change record: the structures that a connector declares, and what its DDL text states."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from schemaman.decode import unstructured
from schemaman.decode.body import Body
from schemaman.decode.change import Change, by_database, change_of, excerpt, former, note, observation
from schemaman.decode.declared import declared_schema, id_parts, untold
from schemaman.decode.members import Struct, structs, text
from schemaman.decode.origin import origin_of
from schemaman.decode.outcomes import aside
from schemaman.decode.shadow import is_sentry, swapped_in, swapped_out, worked_on
from schemaman.decode.statement import subjects
from schemaman.errors import UnreadableInput
from schemaman.evidence import UNORDERED, Attribute, Note, Observation, Outcome, Run
from schemaman.schema import TableId

_RENAMES = re.compile(r"\b(RENAME|CHANGE)\b", re.IGNORECASE)


def observe_changes(run: Run, stream: str, value: Body) -> tuple[Outcome, ...]:
    """An observation for every table that the record declares, drops or renames, and what is to know of it.

    Source: Debezium ConnectTableChangeSerializer; SchemaChangeEvent of each connector, which is sent to
    partition 0 whatever the topic has.

    Raises:
        UnreadableInput: the record is not of the known form.
    """
    payload = value.payload
    change = change_of(
        run, stream, origin_of(payload), text(payload, "databaseName"), text(payload, "ddl"), "declared"
    )
    found = structs(payload, "tableChanges")
    notes = () if run.first.partition == 0 else (_unordered(change),)
    if not found:
        never = "tableChanges" not in payload or change.origin.connector == "vitess"
        return (*unstructured.outcomes(change, never=never), *notes)
    if len(found) > 1:
        # which of the tables a statement describes cannot be told from names of columns
        change = replace(change, told=replace(change.told, stated=()))
    return (*(o for entry in found for o in entry_outcomes(change, entry)), *_unread(change), *notes)


def entry_outcomes(change: Change, entry: Struct) -> tuple[Outcome, ...]:
    """What one entry of `tableChanges` says.

    Raises:
        UnreadableInput: it is not of the known form.
    """
    table = table_of(change, text(entry, "id") or "")
    match entry.get("type"):
        case "DROP" if change.origin.snapshot and change.ddl is not None:
            return (aside(change.run, "snapshot-drop"),)
        case "DROP" if _worked_on(change, table) is not None:
            return (aside(change.run, "shadow-table"),)
        case "DROP":
            return (observation(change, table, action="drop"),)
        case "CREATE":
            return _declared(change, table, entry, altered=False)
        case "ALTER":
            return _declared(change, table, entry, altered=True)
        case other:
            raise UnreadableInput(f"tableChanges knows CREATE, ALTER and DROP; this is {other!r}")


def table_of(change: Change, id: str) -> TableId:
    """The table of an id.

    Two parts are database and table for MySQL and MariaDB, schema and table for others; their database is
    that of the source block, since Db2 tells no `databaseName` while streaming.

    Raises:
        UnreadableInput: the id cannot be read, or nothing tells the database.
    """
    origin = change.origin
    match id_parts(id):
        case (table,):
            database, schema = origin.database or change.database, ""
        case (first, table):
            database, schema = (first, "") if by_database(origin) else (origin.database, first)
        case (database, schema, table):
            pass
        case _:
            raise UnreadableInput(f"the table id {id!r} cannot be read")
    return TableId(origin.server, database, schema, table, change.stream)


def _declared(change: Change, table: TableId, entry: Struct, *, altered: bool) -> tuple[Outcome, ...]:
    image: Any = entry.get("table")
    if not isinstance(image, dict):
        raise UnreadableInput(f"tableChanges declares {table} without its structure")
    schema = declared_schema(image, text(entry, "comment"), change.origin.dialect)
    said = replace(
        observation(change, table, schema=schema),
        stated=change.told.stated,
        silent=_silent(change, untold(image, schema), keyed=bool(schema.key)),
    )
    if altered:
        return _altered(change, replace(said, renames=change.told.renames), entry)
    if is_sentry(change.ddl):
        return (aside(change.run, "shadow-table"),)
    worked = _worked_on(change, table)
    if worked is not None:
        return (aside(change.run, "shadow-table"), _shadow(change, table, worked))
    return (replace(said, action="create") if _anew(change) else said,)


def _worked_on(change: Change, table: TableId) -> str | None:
    return worked_on(table.table) if by_database(change.origin) else None


def _silent(change: Change, untold: tuple[Attribute, ...], *, keyed: bool) -> tuple[Attribute, ...]:
    """The attributes that the structure cannot tell.

    One without comments is only known to be silent on them where the statement could be read. Db2 asks for a
    unique index in a snapshot, and while streaming for the primary key alone. Source: Debezium
    JdbcConnection.readTableColumns, Db2Connection.getTableSchemaFromTable.
    """
    silent = tuple(a for a in untold if a == "default" or change.told.parsed)
    unasked = change.origin.connector == "db2" and not change.origin.snapshot and not keyed
    return (*silent, "key") if unasked else silent


def _altered(change: Change, said: Observation, entry: Struct) -> tuple[Outcome, ...]:
    table = said.table
    previous = _previous(change, table, entry)
    if previous is None:
        worked = _worked_on(change, table)
        if worked is None:
            return (said,)
        # what the copy is made into, the table will be; a tool copies the values of equal names
        kept = tuple(fact for fact in said.stated if fact[1] != "anew")
        worked_on_it = replace(table, table=worked)
        stated = replace(said, table=worked_on_it, action="statement", schema=None, stated=kept)
        return (stated,) if said.renames else (aside(change.run, "shadow-table"),)
    if by_database(change.origin) and swapped_out(previous.table, table.table, change.touched):
        return (aside(change.run, "shadow-table"),)
    if by_database(change.origin) and swapped_in(previous.table, table.table, change.touched):
        shadow = _worked_on(change, previous) is not None
        put = replace(said, previous=None if shadow else previous, renames=(), stated=(), ddl=None)
        told = f"an online schema change put the copy {previous.table} in the place of {table.table}"
        return (put, note(change, "online-migration", f"{told}: one new version", table))
    return (replace(said, action="rename", previous=previous),)


def _previous(change: Change, table: TableId, entry: Struct) -> TableId | None:
    """What the table was called before: as the statement says, or the internal history's `previousId`.

    Oracle gives every ALTER a previous id, mostly the same. Source: Debezium JsonTableChangeSerializer,
    OracleDdlParserListener.
    """
    stated = former(change, table)
    if stated is not None:
        return stated
    id = text(entry, "previousId")
    previous = None if id is None else table_of(change, id)
    return None if previous == table else previous


def _anew(change: Change) -> bool:
    """Whether a streamed statement creates the table, whatever was there under its name."""
    streamed = () if change.origin.snapshot else subjects(change.ddl or "")
    return any(s.verb == "CREATE" and s.kind == "table" and s.anew for s in streamed)


def _shadow(change: Change, table: TableId, worked: str) -> Note:
    told = f"{table.table} is the working copy of an online schema change of {worked}"
    return note(change, "shadow-table", f"{told}: it has no history", replace(table, table=worked))


def _unread(change: Change) -> tuple[Note, ...]:
    """A statement of which not even renames could be read: they are only suspected from the structure."""
    found = change.told
    if change.ddl is None or found.parsed or found.renames or found.tables or not _RENAMES.search(change.ddl):
        return ()
    message = f"{excerpt(change.ddl)}: the statement cannot be read, so that its renames are unknown"
    return (note(change, "ddl-not-parsed", message),)


def _unordered(change: Change) -> Note:
    told = (
        "schema changes lie in more than one partition, where connectors write to the first alone: "
        "their order is lost but for the positions that they tell"
    )
    return note(change, UNORDERED, told)
