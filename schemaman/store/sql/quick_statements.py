"""Statements of each request to the schema registry: SQLAlchemy writes them once, the driver runs them.

For a row that a file answers in five microseconds, the path through SQLAlchemy takes fifty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import Select


class QuickStatement:
    """A statement with named values. Rows are tuples in the order of its columns, as the driver returns them.

    A driver whose values have names, such as that of PostgreSQL, waits for a network: there SQLAlchemy runs
    the statement, since it also puts the schema of the store into it.
    """

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self.statement = statement
        self._texts: dict[str, tuple[str, tuple[str, ...]]] = {}

    def list_rows(self, connection: Connection, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Run a query, and list its rows. Raises as `Connection.execute`."""
        if not connection.dialect.positional:
            return connection.execute(self.statement, dict(values)).all()
        rows: list[Sequence[Any]] = self._run(connection, (values,), lambda cursor: cursor.fetchall())
        return rows

    def find_value(self, connection: Connection, values: Mapping[str, object]) -> Any:
        """Find the first value of the first row; None without a row. Raises as `Connection.execute`."""
        rows = self.list_rows(connection, values)
        return rows[0][0] if rows else None

    def write_rows(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> int:
        """Run a statement that writes, once for each row; the number of rows that it has touched.

        Raises as `Connection.execute`.
        """
        if not connection.dialect.positional:
            return connection.execute(self.statement, [dict(values) for values in rows]).rowcount
        return int(self._run(connection, rows, lambda cursor: cursor.rowcount))

    def _run(
        self, connection: Connection, rows: Iterable[Mapping[str, object]], read: Callable[[Any], Any]
    ) -> Any:
        text, names = self._texts.get(connection.dialect.name) or self._compile(connection)
        ordered = [[values[name] for name in names] for values in rows]
        cursor: Any = connection.connection.cursor()
        try:
            if len(ordered) == 1:
                cursor.execute(text, ordered[0])
            else:
                cursor.executemany(text, ordered)
            return read(cursor)  # a damaged row is found only here
        except connection.dialect.loaded_dbapi.Error as error:
            raise _make_error(connection, text, ordered[0], error) from error

    def _compile(self, connection: Connection) -> tuple[str, tuple[str, ...]]:
        compiled: Any = self.statement.compile(dialect=connection.dialect)
        found = str(compiled), tuple(compiled.positiontup)
        self._texts[connection.dialect.name] = found
        return found


def _make_error(connection: Connection, text: str, values: list[object], error: Exception) -> BaseException:
    """Make the error that SQLAlchemy raises for one of the driver."""
    used: Any = connection.dialect
    return DBAPIError.instance(text, values, error, used.loaded_dbapi.Error, dialect=used)
