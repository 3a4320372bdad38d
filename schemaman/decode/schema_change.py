"""A schema-change record: the structures that a connector declares, and what its DDL text states."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from schemaman.ddl import format_type, parse_type
from schemaman.decode.body import Body
from schemaman.decode.members import Struct, needed, number, structs, text, texts
from schemaman.decode.origin import Origin, origin_of
from schemaman.decode.outcomes import aside
from schemaman.decode.statement import table_statements
from schemaman.dialects._spelling import spell
from schemaman.errors import SchemamanError, UnreadableInput
from schemaman.evidence import DeclaredColumn, Dialect, Observation, Outcome, Run
from schemaman.renames import stated, stated_tables
from schemaman.schema import Column, TableId, TableSchema
from schemaman.types import Type, Unknown

_PART = r'(?:"(?:[^"]|"")*"|[^".]+)'
_ID = re.compile(rf"{_PART}(?:\.{_PART})*")


@dataclass(frozen=True, slots=True)
class Change:
    """A record on its way to being read: who speaks, of what, with which statement."""

    run: Run
    stream: str
    origin: Origin
    database: str
    ddl: str | None


def observe_changes(run: Run, stream: str, value: Body) -> tuple[Outcome, ...]:
    """An observation for every table that the record declares, drops or renames.

    Without a structure only DROP TABLE and TRUNCATE say something of a table; the statements with
    which a snapshot clears the way for what it is about to create say nothing.
    Source: Debezium ConnectTableChangeSerializer; SchemaChangeEvent of each connector.

    Raises:
        UnreadableInput: the record is not of the known form.
    """
    payload = value.payload
    ddl = text(payload, "ddl")
    change = Change(
        run=run,
        stream=stream,
        origin=origin_of(payload),
        database=text(payload, "databaseName") or "",
        # Db2, SQL Server and Informix write "N/A" or "n/a" while streaming, null in a snapshot
        ddl=ddl if ddl is not None and ddl.upper() != "N/A" else None,
    )
    entries = structs(payload, "tableChanges")
    if not entries:
        return _without_structure(change)
    return tuple(_entry(change, entry) for entry in entries)


def _entry(change: Change, entry: Struct) -> Outcome:
    table = _table_id(change, text(entry, "id") or "")
    match entry.get("type"):
        case "DROP" if change.origin.snapshot and change.ddl is not None:
            return aside(change.run, "snapshot-drop")
        case "DROP":
            return _observation(change, table, action="drop")
        case "CREATE" | "ALTER" as kind:
            return _declared(change, table, entry.get("table"), altered=kind == "ALTER")
        case other:
            raise UnreadableInput(f"tableChanges knows CREATE, ALTER and DROP; this is {other!r}")


def _declared(change: Change, table: TableId, image: Any, altered: bool) -> Observation:
    if not isinstance(image, dict):
        raise UnreadableInput(f"tableChanges declares {table} without its structure")
    schema = _image(image, change.origin.dialect)
    if not altered or change.ddl is None:
        return _observation(change, table, schema=schema)
    previous = _former(change, table)
    return replace(
        _observation(change, table, schema=schema),
        action="rename" if previous is not None else "image",
        previous=previous,
        renames=stated(change.ddl, change.origin.connector),
    )


def _observation(
    change: Change, table: TableId, action: Any = "image", schema: TableSchema | None = None
) -> Observation:
    return Observation(
        table=table,
        witness="declared",
        action=action,
        connector=change.origin.connector,
        connector_version=change.origin.version,
        first=change.run.first,
        last=change.run.last,
        count=change.run.count,
        snapshot=change.origin.snapshot,
        schema=schema,
        ddl=change.ddl,
        interrupted=change.run.interrupted,
    )


def _former(change: Change, table: TableId) -> TableId | None:
    """What the table was called before, if the statement renames it."""
    if change.ddl is None:
        return None
    for old, new in stated_tables(change.ddl, change.origin.connector):
        if _named(change, new) == table:
            return _named(change, old)
    return None


def _named(change: Change, parts: tuple[str, ...]) -> TableId:
    """The table of a name in a statement, in the record's database where the name tells none."""
    database = parts[-2] if len(parts) > 1 else change.database
    return TableId(change.origin.server, database, "", parts[-1], change.stream)


def _without_structure(change: Change) -> tuple[Outcome, ...]:
    found = table_statements(change.ddl or "")
    if not found:
        return (aside(change.run, "ddl-without-structure"),)
    if change.origin.snapshot:
        return (aside(change.run, "snapshot-drop"),)
    return tuple(_observation(change, _named(change, s.parts), action=s.action) for s in found)


def _table_id(change: Change, id: str) -> TableId:
    """The table of an id such as `"db"."t"`, whose parts are quoted and quotes inside doubled.

    Two parts are database and table for MySQL and MariaDB, schema and table for others; their
    database is that of the source block, since Db2 tells no `databaseName` while streaming.
    Source: Debezium TableId.toDoubleQuotedString.
    """
    if not _ID.fullmatch(id):
        raise UnreadableInput(f"the table id {id!r} cannot be read")
    parts = [_unquoted(part) for part in re.findall(_PART, id)]
    origin, by_database = change.origin, change.origin.connector in ("mysql", "mariadb")
    match parts:
        case [table]:
            database, schema = origin.database or change.database, ""
        case [first, table]:
            database, schema = (first, "") if by_database else (origin.database, first)
        case [database, schema, table]:
            pass
        case _:
            raise UnreadableInput(f"the table id {id!r} has more than three parts")
    return TableId(origin.server, database, schema, table, change.stream)


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def _image(image: Struct, dialect: Dialect) -> TableSchema:
    columns = [_declared_column(c) for c in structs(image, "columns")]
    if not columns:
        raise UnreadableInput("tableChanges declares a table without columns")
    return TableSchema(
        columns=tuple(_column(c, dialect) for c in sorted(columns, key=lambda c: c.position)),
        key=texts(image, "primaryKeyColumnNames"),
        comment=text(image, "comment"),
    )


def _declared_column(column: Struct) -> DeclaredColumn:
    return DeclaredColumn(
        name=needed(text(column, "name"), "name"),
        jdbc_type=needed(number(column, "jdbcType"), "jdbcType"),
        type_name=needed(text(column, "typeName"), "typeName"),
        type_expression=text(column, "typeExpression"),
        length=_bound(column, "length"),
        scale=_bound(column, "scale"),
        position=needed(number(column, "position"), "position"),
        nullable=column.get("optional") is not False,
        comment=text(column, "comment"),
        default=text(column, "defaultValueExpression"),
        # none come as null or as an empty list
        enum_values=tuple(label(v) for v in texts(column, "enumValues")) or None,
    )


def _bound(column: Struct, name: str) -> int | None:
    """A length or a scale; -1 is none. Source: Debezium Column.UNSET_INT_VALUE; lengths are Java integers."""
    value = number(column, name)
    if value is None or (name == "length" and value == -1):
        return None
    if not (0 if name == "length" else -16384) <= value < 2**31:
        raise UnreadableInput(f"a column with a {name} of {value}")
    return value


def label(value: str) -> str:
    """A label, which comes as the statement wrote it, in quotes."""
    quoted = len(value) > 1 and value[0] == value[-1] == "'"
    return value[1:-1].replace("''", "'") if quoted else value


def _type(column: DeclaredColumn, dialect: Dialect) -> Type:
    """The type; unknown where its numbers are none that such a type can have."""
    type = dialect.declared_type(column)
    try:
        sound = parse_type(format_type(type)) == type
    except SchemamanError:
        sound = False
    return type if sound else Unknown(column.type_name)


def _column(column: DeclaredColumn, dialect: Dialect) -> Column:
    return Column(
        name=column.name,
        type=_type(column, dialect),
        nullable=column.nullable,
        default=column.default,
        comment=column.comment,
        source_type=spell(column.type_name, column.length, column.scale, column.enum_values),
    )
