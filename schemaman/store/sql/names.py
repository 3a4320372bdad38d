"""The names by which a SQL store finds tables, so that asking for one does not read them all.

Law: the rows are those that the histories give: the last part of each table's name, and its aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import Connection, bindparam, delete, insert, select

from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.sql.tables import NAMED, format_table_key, parse_table_key, split_batches

Row = tuple[str, str, str]
"""Kind of name (`table` or `alias`), name, key of the table."""


def find_tables(connection: Connection, kind: str, name: str) -> tuple[TableId, ...]:
    """The tables of that name, in order."""
    query = select(NAMED.c.table_key).where(NAMED.c.kind == kind, NAMED.c.name == name)
    return tuple(sorted(parse_table_key(key) for key in connection.scalars(query)))


def write_names(connection: Connection, histories: Mapping[TableId, TableHistory | None]) -> None:
    """Replace the stored names of these tables."""
    now = {row for table, history in histories.items() for row in _list_rows(table, history)}
    before = set(_read_rows(connection, map(format_table_key, histories)))
    columns = ("kind", "name", "table_key")
    if dropped := before - now:
        here = [NAMED.c[column] == bindparam(f"of_{column}") for column in columns]
        rows = [dict(zip((f"of_{c}" for c in columns), row, strict=True)) for row in sorted(dropped)]
        connection.execute(delete(NAMED).where(*here), rows)
    if added := now - before:
        connection.execute(insert(NAMED), [dict(zip(columns, row, strict=True)) for row in sorted(added)])


def clear_names(connection: Connection) -> None:
    """Forget all of them."""
    connection.execute(delete(NAMED))


def find_faults(connection: Connection, histories: Mapping[TableId, TableHistory | None]) -> Iterator[str]:
    """Which of these tables are found by other names than their histories give."""
    rows: dict[str, set[Row]] = {}
    for row in _read_rows(connection, map(format_table_key, histories)):
        rows.setdefault(row[2], set()).add(row)
    for table, history in histories.items():
        if rows.get(format_table_key(table), set()) != set(_list_rows(table, history)):
            yield f"the names by which {table} is found are not those of its history"


def _read_rows(connection: Connection, keys: Iterable[str]) -> Iterator[Row]:
    c = NAMED.c
    for some in split_batches(keys):
        query = select(c.kind, c.name, c.table_key).where(c.table_key.in_(some))
        yield from ((kind, name, key) for kind, name, key in connection.execute(query))


def _list_rows(table: TableId, history: TableHistory | None) -> Iterator[Row]:
    if history is None:
        return
    key = format_table_key(table)
    for part in table.parts[-1:]:
        yield "table", part, key
    for alias in history.aliases:
        yield "alias", alias.name, key
