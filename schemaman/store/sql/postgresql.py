"""What only PostgreSQL knows: the address, a schema for the store alone, one writer at a time, its faults.

Law: what belongs to others in the same database is never written; no message holds a password.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    create_engine,
    func,
    inspect,
    make_url,
    select,
)
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.schema import CreateSchema

from schemaman.errors import Conflict, EngineUnavailable, SchemamanError, StoreUnavailable, UsageError
from schemaman.plugins import install_hint
from schemaman.store.sql.grouped_subjects import GroupedSubjectRows
from schemaman.store.sql.kept_subjects import KeptSubjects
from schemaman.store.sql.subject_tables import restrict_live_versions
from schemaman.store.sql.subjects import AppendRegistrations
from schemaman.store.sql.tables import BY_HASH, META, METADATA, RESTORE

"""Both begin an address. Source: postgresql.org/docs/current/libpq-connect.html, "Connection URIs"."""

SCHEMA = "schemaman"
"""The schema of the store's tables, unless the address has `?schema=NAME`."""

_FORM = "postgresql://USER@HOST:PORT/DATABASE?schema=NAME"
_CONNECT_SECONDS = 10
_MAKING = 0x73636D61
"""The advisory lock of those who make or upgrade a store: the letters `scma`."""

_SUBJECTS = 0x73636D62
"""The advisory lock of those who write subjects."""

_ALIVE = {"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"}
"""Settings that release the lock of a lost client within a minute; the server's default takes hours."""

_RETRY_HINT = "run the same command again: it continues where it stopped, and records nothing twice"
_REACH_HINT = "check that the server runs, and that host and port are right"
_HINTS_BY_WORDS = (
    ("password", "put the password into PGPASSWORD or ~/.pgpass"),
    ("no pg_hba.conf entry", "the server's pg_hba.conf has to allow this user and this host"),
    ("role", "create this user, or name another one in the address"),
    ("too many", "wait until other connections end, or raise max_connections"),
    ("starting up", "wait a moment, then run again"),
    ("shutting down", "wait until the server is up again, then run again"),
    ("certificate", "set sslmode and sslrootcert in the address"),
)
"""Words of the English messages that select a hint for errors without a code."""

_PARAMETER_ERROR = re.compile(
    r"^bad value for |(^|: )(invalid port number|invalid [\w ]+ value|could not parse network address)"
)
"""Messages of libpq and its driver about a parameter before any connection. Source: libpq, fe-connect.c."""

_HINTS_BY_STATE = (
    ("42501", "for reading, the user needs USAGE on the schema and SELECT on its tables; for writing, INSERT,"
     " UPDATE and DELETE too; to create a store, CREATE on the database, or a schema of its own"),
    ("25006", "this server, database or user can only read: name one that can write"),
    ("53100", "free space on the server's disk, then run again"),
    ("53", "wait until other processes have finished, then run again"),
    ("57014", "the server cancelled it: raise statement_timeout for this user, then run again"),
)  # fmt: skip
"""Hints by SQLSTATE or its class. Source: postgresql.org/docs/current/errcodes-appendix.html."""

_NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
"""Not `now()`, which does not advance inside a transaction."""

_LOST_STATES = ("08", "57P")
_BUSY_STATE = "55P03"
_RACE_STATES = ("40001", "40P01")

# The driver logs a broken pipeline to standard error; the error that broke it already reports this.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class PostgresqlSchema:
    """A schema of a PostgreSQL database; its tables are a store's, and no other's."""

    where: str
    reader: Engine
    single_reader: Engine
    writer: Engine
    schema: str
    busy_ms: int

    def has_tables(self, connection: Connection) -> bool:
        """Whether there are tables of a store."""
        return inspect(connection).has_table(META.name, schema=self.schema)

    def lock(self, connection: Connection, making: bool) -> None:
        """Wait for other writers; a commit returns only when the server has made it durable.

        All settings apply only to this transaction, so that a connection pooler can be used.
        """
        self._make_durable(connection)
        if making:
            connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
        else:
            connection.execute(select(META.c.value).where(META.c.name == "end").with_for_update())

    @contextmanager
    def begin_reading(self) -> Iterator[Connection]:
        """Begin a transaction that sees one moment."""
        with self.reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def begin_question(self) -> Iterator[Connection]:
        """Begin without a transaction."""
        with self.single_reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def begin_writing(self) -> Iterator[Connection]:
        """Wait for other writers of subjects; a commit is durable as after `lock`."""
        with self.writer.connect() as connection, connection.begin():
            self._make_durable(connection, func.pg_advisory_xact_lock(_SUBJECTS))
            yield connection

    def try_lock(self, connection: Connection) -> bool:
        """Lock the log unless another writer has it."""
        query = select(META.c.value).where(META.c.name == "end").with_for_update(skip_locked=True)
        return connection.execute(query).first() is not None

    def make_rows(
        self,
        connection: Connection,
        now_ms: Callable[[], int],
        kept: KeptSubjects | None = None,
        append: AppendRegistrations | None = None,
        former: str | None = None,
    ) -> GroupedSubjectRows:
        """Make the subjects of a transaction: each question waits for the network."""
        return GroupedSubjectRows(connection, now_ms, kept, append)

    def _make_durable(self, connection: Connection, *then: ColumnElement[object]) -> None:
        """Set what a commit needs, and then run functions in the same question."""
        local = {"lock_timeout": str(self.busy_ms), **_ALIVE}
        current = func.current_setting("synchronous_commit")
        durable = func.coalesce(func.nullif(current, "off"), "on")
        settings = [func.set_config(name, value, True) for name, value in local.items()]
        connection.execute(select(*settings, func.set_config("synchronous_commit", durable, True), *then))

    def claim(self, connection: Connection) -> None:
        """Make the schema if it is missing. Raises `StoreUnavailable` if others have tables in it."""
        found = inspect(connection)
        if not found.has_schema(self.schema):
            connection.execute(CreateSchema(self.schema))
            return
        theirs = sorted(set(METADATA.tables).intersection(found.get_table_names(schema=self.schema)))
        if theirs:
            raise StoreUnavailable(
                f"{self.where} contains tables of another program: {', '.join(theirs)}",
                hint=f"name a separate schema for the store: {_FORM}",
            )

    def settle(self) -> None:
        """Nothing: the server's own log is always written ahead."""

    def find_faults(self, connection: Connection) -> tuple[str, ...]:
        """Nothing to check: the server reports a broken page when it reads it."""
        return ()

    def find_change(self) -> object | None:
        """Unknown: only the server knows it."""
        return None

    has_clock = True

    def now_ms(self, connection: Connection) -> int:
        """The server's clock, which all of its clients have in common (epoch ms)."""
        return int(connection.exec_driver_sql(_NOW).scalar_one())

    def explain_error(self, error: SQLAlchemyError) -> SchemamanError:
        """What a fault of the server means, by its SQLSTATE, and what to do now."""
        cause = getattr(error, "orig", None)
        state = getattr(cause, "sqlstate", None) or ""
        message = _read_message(cause or error)
        if not state and _PARAMETER_ERROR.search(message):
            return _make_parameter_error(message)
        if state in _RACE_STATES:
            return Conflict(
                f"{self.where}: {message}", hint=f"another process has written meanwhile; {_RETRY_HINT}"
            )
        if state == _BUSY_STATE:
            return StoreUnavailable(f"{self.where} is in use by another process", hint="wait, then run again")
        if state.startswith(_LOST_STATES) or (
            not state and isinstance(error, OperationalError | InterfaceError)
        ):
            is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
            return self._make_lost_error(message) if is_lost else self._make_unreachable_error(message)
        hint = next((hint for code, hint in _HINTS_BY_STATE if state.startswith(code)), RESTORE)
        return StoreUnavailable(f"{self.where}: {message}", hint=hint)

    def close(self) -> None:
        """Give back all connections."""
        self.reader.dispose()

    def _make_lost_error(self, message: str) -> StoreUnavailable:
        return StoreUnavailable(f"the connection to {self.where} was lost: {message}", hint=_RETRY_HINT)

    def _make_unreachable_error(self, message: str) -> StoreUnavailable:
        if "database" in message and "does not exist" in message:
            hint = "create the database first (createdb), or name another one with --store"
        else:
            hint = next((hint for words, hint in _HINTS_BY_WORDS if words in message), _REACH_HINT)
        return StoreUnavailable(f"{self.where} cannot be reached: {message}", hint=hint)


def _use_hash_indexes() -> None:
    """Tell SQLAlchemy which indexes are hashes."""
    for table in METADATA.tables.values():
        for index in table.indexes:
            if index.info == BY_HASH:
                index.dialect_options["postgresql"]["using"] = "hash"


def open_schema(url: str, busy_ms: int) -> PostgresqlSchema:
    """The schema that `postgresql://…?schema=NAME` names; other parameters are the driver's (libpq's).

    A writer waits up to `busy_ms` for another one.

    Raises:
        UsageError: the address is none, or has a port or a parameter that there is not.
        EngineUnavailable: the driver is not installed.
    """
    address, schema = _parse_address(url)
    _require_unique(address)
    restrict_live_versions()
    try:
        engine = create_engine(
            address,
            # A pooler may give each transaction to another session, where nothing was prepared.
            connect_args={"prepare_threshold": None},
            pool_pre_ping=True,
            execution_options={"schema_translate_map": {None: schema}},
        )
    except ArgumentError:
        raise _make_parameter_error("ports are numbers, one for all hosts or one for each") from None
    except ModuleNotFoundError as error:
        raise EngineUnavailable(
            f"a store in PostgreSQL needs {error.name}", hint=install_hint("postgresql")
        ) from error
    _use_hash_indexes()
    _check_parameters(engine, address)
    reader = engine.execution_options(isolation_level="REPEATABLE READ")
    single_reader = engine.execution_options(isolation_level="AUTOCOMMIT")
    writer = engine.execution_options(isolation_level="READ COMMITTED")
    return PostgresqlSchema(_format_address(address, schema), reader, single_reader, writer, schema, busy_ms)


def _check_parameters(engine: Engine, address: URL) -> None:
    """Check parameters with the driver before a connection; it reports a wrong value only when it connects.

    Raises:
        UsageError: an invalid port, or an unknown parameter.
    """
    driver: Any = engine.dialect.dbapi
    arguments = engine.dialect.create_connect_args(address)[1]
    parameters = {name: value for name, value in arguments.items() if isinstance(value, str | int)}
    try:
        driver.conninfo.make_conninfo(**parameters)
    except driver.Error as error:
        raise _make_parameter_error(_read_message(error)) from None
    ports = [str(address.port)] if address.port is not None else str(arguments.get("port", "")).split(",")
    for port in ports:
        if port and not (port.isascii() and port.isdigit() and 0 < int(port[:9]) < 1 << 16):
            raise _make_parameter_error("ports go from 1 to 65535")


def _require_unique(address: URL) -> None:
    """Raises `UsageError` for a repeated parameter; several hosts are allowed."""
    for name, value in address.query.items():
        if not isinstance(value, str) and name not in ("host", "port"):
            raise _make_parameter_error(f"{name} is said twice")


def _make_parameter_error(message: str) -> UsageError:
    return UsageError(
        f"the address of the store cannot be used: {message}",
        hint=f"{_FORM}; parameters are those of libpq (postgresql.org/docs/current/libpq-connect.html)",
    )


def _parse_address(url: str) -> tuple[URL, str]:
    """Return the address for the driver, and the schema. Errors contain no part of the address."""
    try:
        address = make_url(url)
        if "\0" in unquote(url):
            raise ValueError("names end before a zero byte")
    except (ArgumentError, ValueError):
        raise UsageError("the address of the store cannot be read", hint=f"a store is {_FORM}") from None
    if "@" in (address.host or ""):
        raise UsageError(
            "the address of the store has one @ too many", hint="in a name or password, write %40"
        )
    schema = address.query.get("schema", SCHEMA)
    if not isinstance(schema, str) or not schema or len(schema.encode()) > 63 or schema.startswith("pg_"):
        raise UsageError(
            "PostgreSQL does not accept the name of the store's schema",
            hint=f"use a name of 1 to 63 bytes, not pg_…: {_FORM}",
        )
    fixed = {"client_encoding": "utf8"}
    usual = {"connect_timeout": str(_CONNECT_SECONDS), "application_name": "schemaman"}
    query = {**usual, **address.difference_update_query(["schema"]).query, **fixed}
    return address.set(drivername="postgresql+psycopg", query=query), schema


def _format_address(address: URL, schema: str) -> str:
    """The address for people: no password, no parameter but another schema than the usual one."""
    query = {} if schema == SCHEMA else {"schema": schema}
    shown = URL.create(
        "postgresql", address.username, None, address.host, address.port, address.database, query
    )
    return shown.render_as_string(hide_password=True)


def _read_message(error: BaseException) -> str:
    """Return the message of the server or the driver in one line."""
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return "; ".join(line.strip() for line in str(message).splitlines() if line.strip())
