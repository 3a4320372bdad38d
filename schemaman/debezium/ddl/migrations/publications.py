"""Which tables the publications of PostgreSQL hold back from the connector after the statements of scripts.

Law: a statement that takes a table out of a publication marks the table, and one that puts it back removes
the mark. The tables of a publication are known only if a statement lists them; others may be in it.
Source: PostgreSQL documentation, CREATE, ALTER and DROP PUBLICATION; ALTER TABLE, SET LOGGED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.debezium.ddl.migrations.token_reader import Parts, TokenReader


@dataclass(frozen=True, slots=True)
class TableList:
    """The tables that a statement lists: by name, by schema, or all of them."""

    tables: tuple[Parts, ...] = ()
    schemas: tuple[str, ...] = ()
    is_all: bool = False


Publications = Mapping[str, TableList]
"""The tables of each publication that a statement listed wholly, by its name."""


@dataclass(frozen=True, slots=True)
class PublicationChange:
    """A statement about publications: their names, what it does, the tables that it lists, and its words.

    `verb` is `create`, `add`, `set`, `drop` (tables out of it), `remove` (the publication itself) or `narrow`
    (fewer kinds of changes).
    """

    names: tuple[str, ...]
    verb: str
    tables: TableList
    words: str


_OPERATIONS = frozenset({"insert", "update", "delete"})


def read_publication(reader: TokenReader) -> PublicationChange | None:
    """Read a statement about publications; None if it is another statement, or changes no table in one.

    Raises:
        StatementNotRead: a part of it is not read.
    """
    first = reader.accept_any("CREATE", "ALTER", "DROP") if reader.peek(1).is_word("PUBLICATION") else ""
    if not first:
        return None
    reader.accept("PUBLICATION")
    if first == "DROP":
        reader.accept("IF", "EXISTS")
        names = [reader.read_name()]
        while reader.accept(","):
            names.append(reader.read_name())
        reader.accept_any("CASCADE", "RESTRICT")
        return PublicationChange(tuple(names), "remove", TableList(), "DROP PUBLICATION")
    name = reader.read_name()
    if first == "CREATE":
        tables = _read_tables(reader) if reader.accept("FOR") else TableList()
        # one with fewer kinds of changes takes nothing out of others, and brings nothing back wholly
        is_narrow = bool(_read_operations(reader))
        return None if is_narrow else PublicationChange((name,), "create", tables, "CREATE PUBLICATION")
    if reader.is_next("SET", "("):
        reader.accept("SET")
        narrow = _read_operations(reader)
        return PublicationChange((name,), "narrow", TableList(), f"SET {narrow}") if narrow else None
    verb = reader.accept_any("ADD", "SET", "DROP")
    if not verb:
        reader.skip_until(";")
        return None
    return PublicationChange((name,), verb.lower(), _read_tables(reader), f"ALTER PUBLICATION {verb} TABLE")


def _read_tables(reader: TokenReader) -> TableList:
    """Read a list of tables and schemas; lists of columns and filters of rows are skipped."""
    if reader.accept("ALL"):
        reader.skip_until("WITH", ";")
        return TableList(is_all=True)
    tables: list[Parts] = []
    schemas: list[str] = []
    are_schemas = False
    while True:
        if reader.accept("TABLES", "IN", "SCHEMA"):
            are_schemas = True
        elif reader.accept("TABLE"):
            are_schemas = False
        reader.accept("ONLY")
        parts = reader.read_parts()
        if are_schemas:
            schemas.append(parts[-1])
        else:
            tables.append(parts)
        reader.skip_until(",", "WITH", ";")
        if not reader.accept(","):
            return TableList(tuple(tables), tuple(schemas))


def _read_operations(reader: TokenReader) -> str:
    """Read parameters in brackets; return `publish` if it leaves out inserts, updates or deletes."""
    reader.accept("WITH")
    found = ""
    for token in reader.skip_until(";"):
        if token.kind in ("word", "sign"):
            continue
        operations = {word.strip() for word in token.text.split(",")}
        if operations <= _OPERATIONS | {"truncate"} and not operations >= _OPERATIONS:
            found = f"publish = {token.text!r}"
    return found
