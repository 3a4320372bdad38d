"""A schema-change record: the structures that a connector declares, and what its DDL text states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from schemaman.debezium.ddl.online import BY_DATABASE, is_sentry, swapped_in, swapped_out, worked_on
from schemaman.debezium.ddl.parser import Told, told
from schemaman.debezium.ddl.statement import Subject, subjects, table_statements
from schemaman.debezium.json_fields import Struct, structs, text
from schemaman.debezium.observation import (
    UNORDERED,
    Attribute,
    Note,
    Observation,
    Outcome,
    Run,
    Witness,
    aside,
)
from schemaman.debezium.payload import Body
from schemaman.debezium.records import Mark
from schemaman.debezium.source_block import Origin, origin_of
from schemaman.debezium.table_changes import declared_schema, id_parts, untold
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableId, TableSchema

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
        return (*outcomes(change, never=never), *notes)
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


KIND = "ddl-without-structure"


def outcomes(change: Change, *, never: bool) -> tuple[Outcome, ...]:
    """What is left of a change with empty `tableChanges`; `never`: this connector tells no structures at all.

    DROP TABLE and TRUNCATE say something of a table, but for those with which a snapshot clears the way
    for what it is about to create. Renames, defaults and comments are evidence for the structure that
    events show.
    """
    ddl = change.ddl or ""
    found = table_statements(ddl)
    if found and change.origin.snapshot:
        return (aside(change.run, "snapshot-drop"),)
    said: list[Outcome] = [observation(change, named(change, s.parts), action=s.action) for s in found]
    said += _renamed_tables(change)
    said += _created_tables(change)
    said += _evidence(change)
    notes = [n for subject in subjects(ddl) if (n := _note(change, subject, never)) is not None]
    if not said:
        # each record is counted once among those that are no testimony
        said = [aside(change.run, KIND)]
    return (*said, *notes)


def _renamed_tables(change: Change) -> Iterator[Observation]:
    for old, new in change.told.tables or _bare_pairs(change):
        renamed = observation(change, named(change, new), action="rename")
        yield replace(renamed, previous=named(change, old))


def _created_tables(change: Change) -> Iterator[Observation]:
    """What bears the name of a table that is made anew is another table from there on."""
    for subject in () if change.origin.snapshot else subjects(change.ddl or ""):
        if subject.verb == "CREATE" and subject.kind == "table" and subject.anew and subject.parts:
            yield observation(change, named(change, subject.parts), action="create")


def _bare_pairs(change: Change) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The tables of a RENAME TABLE, which MySQL up to 1.4 publishes without these words: `d.a TO d.b;`."""
    ddl = change.ddl or ""
    if change.origin.connector != "mysql" or not change.touched[0] or subjects(ddl):
        return ()
    pairs = [pair for part in ddl.split(";") if part.strip() for pair in _pair(change, part)]
    return tuple(pairs)


def _pair(change: Change, part: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    found = told(f"RENAME TABLE {part}", change.origin.connector).tables
    return found if all(new[-1] in change.touched for _, new in found) else ()


def _evidence(change: Change) -> Iterator[Observation]:
    """What a single ALTER TABLE states of columns."""
    about = [s for s in subjects(change.ddl or "") if s.kind == "table" and s.verb == "ALTER" and s.parts]
    stated = change.told.stated
    if len(about) == 1 and (change.told.renames or stated):
        said = observation(change, named(change, about[0].parts), action="statement")
        yield replace(said, renames=change.told.renames, stated=stated)


def _note(change: Change, subject: Subject, never: bool) -> Outcome | None:
    match subject:
        case Subject("DROP", "database", parts) if parts and not change.origin.snapshot:
            message = (
                f"DROP DATABASE {parts[-1]}: its tables are gone, and none of them gets a DROP of its own"
            )
            return note(change, "database-dropped", message)
        case Subject("CREATE" | "ALTER" | "RENAME", "table", parts) if parts:
            return _missing(change, parts, _NEVER if never else _NOT_NOW)
        case Subject(_, "index", parts) if parts and not change.origin.snapshot:
            return _missing(change, parts, _INDEX)
        case _:
            return None


_NEVER = "this connector publishes statements without structures; events show what became of it"

_NOT_NOW = (
    "the connector told no structure: the table is outside its filters, or it could not parse the statement"
)

_INDEX = "the connector told no structure; if the index changes the key, only events show it"


def _missing(change: Change, parts: tuple[str, ...], why: str) -> Outcome:
    return note(change, KIND, f"{excerpt(change.ddl or '')}: {why}", named(change, parts))
