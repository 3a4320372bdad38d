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
    """A statement with named values; rows are tuples, as the driver returns them."""

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self.statement = statement
        self._texts: dict[tuple[str, str | None], tuple[str, tuple[str, ...] | None]] = {}

    def list_rows(self, connection: Connection, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Run a query, and list its rows. Raises as `Connection.execute`."""
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
        return int(self._run(connection, rows, lambda cursor: cursor.rowcount))

    def _run(
        self, connection: Connection, rows: Iterable[Mapping[str, object]], read: Callable[[Any], Any]
    ) -> Any:
        key = connection.dialect.name, _find_schema(connection)
        text, names = self._texts.get(key) or self._compile(connection, key)
        ordered = [values if names is None else [values[name] for name in names] for values in rows]
        cursor: Any = connection.connection.cursor()
        try:
            if len(ordered) == 1:
                cursor.execute(text, ordered[0])
            else:
                cursor.executemany(text, ordered)
            return read(cursor)  # a damaged row is found only here
        except connection.dialect.loaded_dbapi.Error as error:
            raise _make_error(connection, text, ordered[0], error) from error

    def _compile(
        self, connection: Connection, key: tuple[str, str | None]
    ) -> tuple[str, tuple[str, ...] | None]:
        schema = key[1]
        named = {"schema_translate_map": {None: schema}, "render_schema_translate": True}
        statement: Any = self.statement
        compiled = statement.compile(dialect=connection.dialect, **({} if schema is None else named))
        found = str(compiled), tuple(compiled.positiontup) if connection.dialect.positional else None
        self._texts[key] = found
        return found


def run_text(connection: Connection, text: str) -> None:
    """Run a text without values and without rows. Raises as `Connection.execute`."""
    raw: Any = connection.connection.driver_connection
    try:
        raw.execute(text)
    except connection.dialect.loaded_dbapi.Error as error:
        raise _make_error(connection, text, (), error) from error


def list_rows_together(
    connection: Connection, statements: Sequence[tuple[str, Mapping[str, object]]]
) -> list[Sequence[Sequence[Any]]]:
    """Run statements of PostgreSQL, with `{schema}` for that of the store, and wait once; the rows of each.

    A statement that writes has no rows. Raises as `Connection.execute`.
    Source: psycopg.org/psycopg3/docs/advanced/pipeline.html.
    """
    schema = connection.dialect.identifier_preparer.quote_schema(_find_schema(connection) or "public")
    raw: Any = connection.connection.driver_connection
    try:
        with raw.pipeline():
            cursors = [
                raw.cursor().execute(text.format(schema=schema), values) for text, values in statements
            ]
        return [cursor.fetchall() if cursor.description else () for cursor in cursors]
    except connection.dialect.loaded_dbapi.Error as error:
        text, values = statements[0]
        raise _make_error(connection, text, values, error) from error


def _find_schema(connection: Connection) -> str | None:
    """The schema of the store's tables; None where there is none."""
    translated = connection.get_execution_options().get("schema_translate_map")
    return None if translated is None else translated[None]


def _make_error(connection: Connection, text: str, values: Any, error: Exception) -> BaseException:
    """Make the error that SQLAlchemy raises for one of the driver; a lost connection is used no more."""
    used: Any = connection.dialect
    is_lost = bool(used.is_disconnect(error, connection.connection.dbapi_connection, None))
    made = DBAPIError.instance(
        text, values, error, used.loaded_dbapi.Error, connection_invalidated=is_lost, dialect=used
    )
    if is_lost:
        connection.invalidate(error)
    return made
