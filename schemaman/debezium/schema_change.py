"""Schema-change records: the table schemas that a connector declares, and the facts in its DDL text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from schemaman.debezium.ddl.event_facts import DdlFacts, read_ddl
from schemaman.debezium.ddl.event_subjects import Subject, find_subjects, find_table_statements
from schemaman.debezium.ddl.online import (
    find_ghost_original,
    is_sentry,
    is_swapped_in,
    is_swapped_out,
)
from schemaman.debezium.json_fields import Struct, read_structs, read_text
from schemaman.debezium.observation import (
    DDL_WITHOUT_STRUCTURE,
    UNORDERED,
    Attribute,
    EvidenceKind,
    Note,
    Observation,
    Outcome,
    SchemaRun,
    skip_run,
)
from schemaman.debezium.payload import Body
from schemaman.debezium.records import Coordinates
from schemaman.debezium.source_block import Origin, read_origin, require_known_connector
from schemaman.debezium.table_changes import list_unstated_attributes, read_declared_schema, split_table_id
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableId, TableSchema

_RENAMES = re.compile(r"\b(RENAME|CHANGE)\b", re.IGNORECASE)


def observe_changes(run: SchemaRun, stream: str, value: Body) -> tuple[Outcome, ...]:
    """Observe every table that the record declares, drops or renames, and note what cannot be observed.

    Source: Debezium ConnectTableChangeSerializer; SchemaChangeEvent of each connector, which goes to
    partition 0 however many partitions the topic has.

    Raises:
        UnreadableInput: the record does not have the known form.
    """
    payload = value.payload
    origin = read_origin(payload)
    require_known_connector(origin)
    change = read_change(
        run,
        stream,
        origin,
        read_text(payload, "databaseName"),
        read_text(payload, "ddl"),
        "declared",
    )
    found = read_structs(payload, "tableChanges")
    notes = () if run.first.partition == 0 else (_note_unordered(change),)
    if not found:
        never = "tableChanges" not in payload or not change.origin.connector_plugin.sends_structures
        return (*observe_statements(change, never=never), *notes)
    if len(found) > 1:
        # column names do not say which of several tables a statement describes
        change = replace(change, ddl_facts=replace(change.ddl_facts, stated_attributes=()))
    return (*(o for entry in found for o in observe_entry(change, entry)), *_note_unparsed(change), *notes)


def observe_entry(change: SchemaChange, entry: Struct) -> tuple[Outcome, ...]:
    """Observe one entry of `tableChanges`.

    Raises:
        UnreadableInput: the entry does not have the known form.
    """
    table = identify_table(change, read_text(entry, "id") or "")
    match entry.get("type"):
        case "DROP" if change.origin.snapshot and change.ddl is not None:
            return (skip_run(change.run, "snapshot-drop"),)
        case "DROP" if _find_copied_table(change, table) is not None:
            return (skip_run(change.run, "shadow-table"),)
        case "DROP":
            return (make_observation(change, table, action="drop"),)
        case "CREATE":
            return _observe_declared(change, table, entry, altered=False)
        case "ALTER":
            return _observe_declared(change, table, entry, altered=True)
        case other:
            raise UnreadableInput(f"tableChanges has {other!r}, which is none of CREATE, ALTER and DROP")


def identify_table(change: SchemaChange, id: str) -> TableId:
    """Identify the table of an id.

    Two parts are database and table for MySQL and MariaDB, schema and table for others. The database of the
    others comes from the source block, since Db2 has no `databaseName` while streaming.

    Raises:
        UnreadableInput: the id cannot be read.
    """
    origin = change.origin
    match split_table_id(id):
        case (table,):
            database, schema = origin.database or change.database, ""
        case (first, table):
            has_schemas = origin.connector_plugin.has_schemas
            database, schema = (origin.database, first) if has_schemas else (first, "")
        case (database, schema, table):
            pass
        case _:
            raise UnreadableInput(f"the table id {id!r} cannot be read")
    return TableId(origin.server, database, schema, table, change.stream)


def _observe_declared(
    change: SchemaChange, table: TableId, entry: Struct, *, altered: bool
) -> tuple[Outcome, ...]:
    image: Any = entry.get("table")
    if not isinstance(image, dict):
        raise UnreadableInput(f"tableChanges declares {table} without its structure")
    schema = read_declared_schema(image, read_text(entry, "comment"), change.origin.connector_plugin)
    observed = replace(
        make_observation(change, table, schema=schema),
        stated_attributes=change.ddl_facts.stated_attributes,
        unstated_attributes=_list_unstated(
            change, list_unstated_attributes(image, schema), keyed=bool(schema.key)
        ),
    )
    if altered:
        return _observe_altered(change, replace(observed, renames=change.ddl_facts.renames), entry)
    if is_sentry(change.ddl):
        return (skip_run(change.run, "shadow-table"),)
    original = _find_copied_table(change, table)
    if original is not None:
        return (skip_run(change.run, "shadow-table"), _note_working_copy(change, table, original))
    return (replace(observed, action="create") if _is_created(change) else observed,)


def _find_copied_table(change: SchemaChange, table: TableId) -> str | None:
    return find_ghost_original(table.table) if change.origin.connector_plugin.has_online_copies else None


def _list_unstated(
    change: SchemaChange, untold: tuple[Attribute, ...], *, keyed: bool
) -> tuple[Attribute, ...]:
    """List the attributes that the structure does not have.

    A structure without comments certainly lacks them only if the statement could be read. Db2 asks for a
    unique index in a snapshot, and for the primary key alone while streaming.
    """
    silent = tuple(a for a in untold if a == "default" or change.ddl_facts.parsed)
    origin = change.origin
    unasked = origin.connector_plugin.streams_only_primary_keys and not origin.snapshot and not keyed
    return (*silent, "key") if unasked else silent


def _observe_altered(change: SchemaChange, observed: Observation, entry: Struct) -> tuple[Outcome, ...]:
    table = observed.table
    previous = _find_previous(change, table, entry)
    if previous is None:
        original = _find_copied_table(change, table)
        if original is None:
            return (observed,)
        # the table will get the schema of the copy; the tool copies values between columns of equal names
        kept = tuple(fact for fact in observed.stated_attributes if fact[1] != "anew")
        original_table = replace(table, table=original)
        stated = replace(
            observed, table=original_table, action="statement", schema=None, stated_attributes=kept
        )
        return (stated,) if observed.renames else (skip_run(change.run, "shadow-table"),)
    swap = (previous.table, table.table, change.touched_tables)
    has_copies = change.origin.connector_plugin.has_online_copies
    keyed = observed.schema is not None and bool(observed.schema.key)
    if has_copies and is_swapped_out(*swap, keyed=keyed):
        return (skip_run(change.run, "shadow-table"),)
    if has_copies and is_swapped_in(*swap, keyed=keyed):
        shadow = _find_copied_table(change, previous) is not None
        put = replace(
            observed, previous=None if shadow else previous, renames=(), stated_attributes=(), ddl=None
        )
        message = f"an online schema change replaced {table.table} by its copy {previous.table}"
        return (put, make_note(change, "online-migration", f"{message}: one new version", table))
    return (replace(observed, action="rename", previous=previous),)


def _find_previous(change: SchemaChange, table: TableId, entry: Struct) -> TableId | None:
    """Find the table's previous identity in the statement, or in `previousId` of the schema history.

    Every ALTER of Oracle has a previous id, mostly an equal one. Source: Debezium JsonTableChangeSerializer,
    OracleDdlParserListener.
    """
    stated = find_previous_table(change, table)
    if stated is not None:
        return stated
    id = read_text(entry, "previousId")
    previous = None if id is None else identify_table(change, id)
    return None if previous == table else previous


def _is_created(change: SchemaChange) -> bool:
    """Return whether a streamed statement creates the table, even if another one had its name."""
    streamed = () if change.origin.snapshot else find_subjects(change.ddl or "")
    return any(s.verb == "CREATE" and s.kind == "table" and s.anew for s in streamed)


def _note_working_copy(change: SchemaChange, table: TableId, original: str) -> Note:
    message = f"{table.table} is the working copy of an online schema change of {original}"
    return make_note(change, "shadow-table", f"{message}: it has no history", replace(table, table=original))


def _note_unparsed(change: SchemaChange) -> tuple[Note, ...]:
    """Note a statement whose renames cannot be read: the history can only suspect them from the structure."""
    found = change.ddl_facts
    if change.ddl is None or found.parsed or found.renames or found.tables or not _RENAMES.search(change.ddl):
        return ()
    message = f"{shorten_ddl(change.ddl)}: the statement cannot be read, so that its renames are unknown"
    return (make_note(change, "ddl-not-parsed", message),)


def _note_unordered(change: SchemaChange) -> Note:
    message = (
        "schema changes are in several partitions, but connectors write only to the first one: only "
        "their source positions give their order"
    )
    return make_note(change, UNORDERED, message)


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A record of the schema-change topic, or of a connector's own schema history (`internal`).

    `ddl` is None if the record has no statement. `touched_tables` are the names of all tables after the whole
    statement, of which this record may be a part, as `source.table` lists them.
    """

    run: SchemaRun
    stream: str
    origin: Origin
    database: str
    ddl: str | None
    ddl_facts: DdlFacts
    touched_tables: tuple[str, ...] = ()
    evidence: EvidenceKind = "declared"


def read_change(
    run: SchemaRun, stream: str, origin: Origin, database: str | None, ddl: str | None, evidence: EvidenceKind
) -> SchemaChange:
    """Read the schema change of a record.

    Db2, SQL Server and Informix write "N/A" or "n/a" for a statement while streaming, and null in a
    snapshot. Source: Debezium Db2SchemaChangeEventEmitter and its like; SourceInfo of MySQL, `table`.
    """
    text = ddl if ddl is not None and ddl.strip().upper() != "N/A" else None
    return SchemaChange(
        run=run,
        stream=stream,
        origin=origin,
        database=database or "",
        ddl=text,
        ddl_facts=DdlFacts() if text is None else read_ddl(text, origin.connector),
        touched_tables=tuple(origin.table.split(",")),
        evidence=evidence,
    )


def make_observation(
    change: SchemaChange, table: TableId, action: Any = "image", schema: TableSchema | None = None
) -> Observation:
    """Make the observation of one table from a schema change."""
    return Observation(
        table=table,
        evidence=change.evidence,
        action=action,
        connector=change.origin.connector,
        connector_version=change.origin.version,
        first=_add_read_time(change.run.first),
        last=_add_read_time(change.run.last),
        count=change.run.count,
        snapshot=change.origin.snapshot,
        schema=schema,
        ddl=change.ddl,
        interrupted=change.run.interrupted,
    )


def _add_read_time(coordinates: Coordinates) -> Coordinates:
    """Add the time of processing, which releases before 2.0 have in the source block alone (0: unknown).

    Source: Debezium HistoryRecord `ts_ms` since 2.0; SourceInfo `ts_ms`.
    """
    return (
        coordinates
        if coordinates.read_ms is not None or not coordinates.ts_ms
        else replace(coordinates, read_ms=coordinates.ts_ms)
    )


def make_note(change: SchemaChange, kind: str, message: str, table: TableId | None = None) -> Note:
    """Make a note about the record, with its topic, partition and offset."""
    first = change.run.first
    return Note(
        change.stream, first.topic, first.partition, first.offset, kind, message, table, change.run.count
    )


def find_previous_table(change: SchemaChange, table: TableId) -> TableId | None:
    """Find the previous identity of a table that the statement renames; None if it does not."""
    for old, new in change.ddl_facts.tables:
        if resolve_table(change, new) == table:
            return resolve_table(change, old)
    return None


def resolve_table(change: SchemaChange, parts: tuple[str, ...]) -> TableId:
    """Resolve a table name of a statement; a name without database or schema gets those of the record."""
    origin = change.origin
    qualifier = parts[-2] if len(parts) > 1 else ""
    if not origin.connector_plugin.has_schemas:
        return TableId(origin.server, qualifier or change.database, "", parts[-1], change.stream)
    database = origin.database or change.database
    return TableId(origin.server, database, qualifier or origin.schema, parts[-1], change.stream)


def shorten_ddl(ddl: str) -> str:
    """Shorten a statement for a message."""
    words = " ".join(ddl.split())
    return words if len(words) <= 120 else words[:119] + "…"


def observe_statements(change: SchemaChange, *, never: bool) -> tuple[Outcome, ...]:
    """Observe a change with empty `tableChanges`; `never`: this connector never publishes structures.

    DROP TABLE and TRUNCATE are actions on a table, except the drops that precede the creations of a snapshot.
    DROP DATABASE is an action on all tables of the database.
    Renames, defaults and comments are evidence for the structure in events.
    """
    ddl = change.ddl or ""
    found = find_table_statements(ddl)
    if found and change.origin.snapshot:
        return (skip_run(change.run, "snapshot-drop"),)
    observed: list[Outcome] = [
        make_observation(change, resolve_table(change, s.parts), action=s.action) for s in found
    ]
    observed += _observe_dropped_databases(change)
    observed += _observe_table_renames(change)
    observed += _observe_creations(change)
    observed += _observe_column_statements(change)
    notes = [n for subject in find_subjects(ddl) if (n := _note_subject(change, subject, never)) is not None]
    if not observed:
        # each record counts once among the skipped ones
        observed = [skip_run(change.run, DDL_WITHOUT_STRUCTURE)]
    return (*observed, *notes)


def _observe_table_renames(change: SchemaChange) -> Iterator[Observation]:
    for old, new in change.ddl_facts.tables or _find_bare_renames(change):
        renamed = make_observation(change, resolve_table(change, new), action="rename")
        yield replace(renamed, previous=resolve_table(change, old))


def _observe_dropped_databases(change: SchemaChange) -> Iterator[Observation]:
    """Observe the databases that a streamed statement drops, each as a table without a name.

    A snapshot writes such statements in front of its structures; they end nothing.
    """
    if change.origin.snapshot or change.origin.connector_plugin.has_schemas:
        return
    for subject in find_subjects(change.ddl or ""):
        if _drops_database(subject):
            database = subject.parts[-1] if subject.parts else change.database
            table = TableId(change.origin.server, database, "", "", change.stream)
            yield make_observation(change, table, action="drop")


def _drops_database(subject: Subject) -> bool:
    return subject.kind == "database" and (subject.verb == "DROP" or subject.anew)


def _observe_creations(change: SchemaChange) -> Iterator[Observation]:
    """Observe the tables that a streamed statement creates; from there on, the name means another table."""
    for subject in () if change.origin.snapshot else find_subjects(change.ddl or ""):
        if subject.verb == "CREATE" and subject.kind == "table" and subject.anew and subject.parts:
            yield make_observation(change, resolve_table(change, subject.parts), action="create")


def _find_bare_renames(change: SchemaChange) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Find the tables of a RENAME TABLE, which MySQL up to 1.4 publishes as `d.a TO d.b;` alone."""
    ddl = change.ddl or ""
    if not change.origin.connector_plugin.sends_bare_renames:
        return ()
    if not change.touched_tables[0] or find_subjects(ddl):
        return ()
    pairs = [pair for part in ddl.split(";") if part.strip() for pair in _parse_bare_rename(change, part)]
    return tuple(pairs)


def _parse_bare_rename(
    change: SchemaChange, part: str
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    found = read_ddl(f"RENAME TABLE {part}", change.origin.connector).tables
    return found if all(new[-1] in change.touched_tables for _, new in found) else ()


def _observe_column_statements(change: SchemaChange) -> Iterator[Observation]:
    """Observe the column facts of a single ALTER TABLE."""
    about = [
        s for s in find_subjects(change.ddl or "") if s.kind == "table" and s.verb == "ALTER" and s.parts
    ]
    stated = change.ddl_facts.stated_attributes
    if len(about) == 1 and (change.ddl_facts.renames or stated):
        observed = make_observation(change, resolve_table(change, about[0].parts), action="statement")
        yield replace(observed, renames=change.ddl_facts.renames, stated_attributes=stated)


def _note_subject(change: SchemaChange, subject: Subject, never: bool) -> Outcome | None:
    match subject:
        case Subject(_, "database", parts) if _drops_database(subject) and not change.origin.snapshot:
            name = parts[-1] if parts else change.database
            message = f"{subject.verb} DATABASE {name}: its tables are dropped, without a DROP of their own"
            return make_note(change, "database-dropped", message)
        case Subject("CREATE" | "ALTER" | "RENAME", "table", parts) if parts:
            return _note_missing_structure(change, parts, _NEVER if never else _NOT_NOW)
        case Subject(_, "index", parts) if parts and not change.origin.snapshot:
            return _note_missing_structure(change, parts, _INDEX)
        case _:
            return None


_NEVER = "this connector publishes statements without structures; only events have the new structure"

_NOT_NOW = (
    "the connector published no structure: its filters exclude the table, or it could not parse the statement"
)

_INDEX = "the connector published no structure; if the index changes the key, only events have the new key"


def _note_missing_structure(change: SchemaChange, parts: tuple[str, ...], why: str) -> Outcome:
    return make_note(
        change, DDL_WITHOUT_STRUCTURE, f"{shorten_ddl(change.ddl or '')}: {why}", resolve_table(change, parts)
    )
