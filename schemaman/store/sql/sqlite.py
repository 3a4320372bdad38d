"""What only SQLite knows: finding the file, refusing what is no store, durability, one writer at a time.

Law: a file that is not a store of ours is never opened for writing and keeps its bytes.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from schemaman.errors import StoreUnavailable, UsageError
from schemaman.plugins import defer
from schemaman.store.sql.kept_connections import KeptConnections
from schemaman.store.sql.kept_subjects import KeptSubjects
from schemaman.store.sql.quick_statements import run_text
from schemaman.store.sql.tables import META, RESTORE
from schemaman.store.urls import has_password, without_password

if TYPE_CHECKING:  # few commands read subjects
    from schemaman.store.sql.subjects import AppendRegistrations, SqlSubjectRows
else:
    SqlSubjectRows = defer("schemaman.store.sql.subjects:SqlSubjectRows")

APPLICATION_ID = 0x73636D61
"""The letters `scma` in the header of every store. Source: sqlite.org/fileformat2.html §1.3, offset 68."""

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_CACHE_KIB = 16 << 10
"""How much a connection keeps of the pages that it has read; 2 MiB, the default, hold few schemas of many.
Source: sqlite.org/pragma.html#pragma_cache_size."""
_CHECKPOINT_PAGES = 4_000
"""After how many pages, of 4 KiB, the write-ahead log goes into the file, which takes further syncs.

A registration writes some fifteen pages, most of them again and again.
Source: sqlite.org/pragma.html#pragma_wal_autocheckpoint.
"""
_BEGIN_READING = "BEGIN"
_BEGIN_WRITING = "BEGIN IMMEDIATE"
"""A writer takes its lock at once: one that has read first could not wait for another writer."""
_FIRST_STEP = "`schemaman ingest SOURCE` creates one, and so does schemaman.open(…, create=True)"
_FORMS = "there are: sqlite:///PATH and postgresql://USER@HOST/DATABASE"
_ANOTHER = "name another file; this one was not changed"


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file that contains only a store."""

    where: str
    reader: Engine
    writer: Engine
    watch: FileWatch
    kept: KeptConnections

    @classmethod
    def open_file(cls, url: str, create: bool, busy_ms: int) -> Self:
        """The file that a URL or a path names; a file that this user cannot write is only read.

        Raises as `parse_path` and `check_file`.
        """
        path = parse_path(url)
        check_file(path, create)
        is_written = create or _is_writable(path)
        opened = OpenedFile(path)
        reader = make_engine(opened, create, busy_ms, None if is_written else _choose_reading(path))
        return cls(
            str(path),
            reader,
            reader.execution_options(writes=True),
            FileWatch(reader, opened),
            KeptConnections(reader, opened.require_same),
        )

    def has_tables(self, connection: Connection) -> bool:
        """Whether there are tables of a store."""
        return inspect(connection).has_table(META.name)

    def lock(self, connection: Connection, making: bool) -> None:
        """Nothing: its transaction has begun with the lock of the file."""

    def begin_reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that sees one moment."""
        return self.kept.begin(_BEGIN_READING)

    def begin_question(self) -> AbstractContextManager[Connection]:
        """Begin as for any reading."""
        return self.kept.begin(_BEGIN_READING)

    def begin_writing(self) -> AbstractContextManager[Connection]:
        """Wait for the lock of the file."""
        return self.kept.begin(_BEGIN_WRITING)

    def try_lock(self, connection: Connection) -> bool:
        """Nothing: its transaction has the lock of the whole file."""
        return True

    def make_rows(
        self,
        connection: Connection,
        now_ms: Callable[[], int],
        kept: KeptSubjects | None = None,
        append: AppendRegistrations | None = None,
        former: str | None = None,
    ) -> SqlSubjectRows:
        """Make the subjects of a transaction."""
        return SqlSubjectRows(connection, now_ms, kept, append, former)

    def claim(self, connection: Connection) -> None:
        """Write into the header whose file this is; part of the transaction that makes the tables."""
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")

    def settle(self) -> None:
        """From now on readers and a writer work at once."""
        use_write_ahead_log(self.reader)

    def find_faults(self, connection: Connection) -> tuple[str, ...]:
        """What SQLite itself finds wrong with the file."""
        return find_faults(connection)

    def find_change(self) -> object | None:
        """The number that SQLite gives to the last commit; None while a writer keeps readers out."""
        return self.watch.find_change()

    has_clock = False

    def now_ms(self, connection: Connection) -> int:
        """A file has no clock."""
        raise NotImplementedError

    def explain_error(self, error: SQLAlchemyError) -> StoreUnavailable:
        """What a fault of the file means, and what to do now."""
        return explain_error(error, self.where)

    def close(self) -> None:
        """Give back all connections."""
        self.watch.close()
        self.kept.close()
        self.reader.dispose()


def parse_path(url: str) -> Path:
    """The file that `sqlite:///PATH` (four slashes for an absolute one) or a plain path names.

    Raises:
        UsageError: a store of another kind, or no path.
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme == "sqlite":
        _refuse_password(url)
    if not found:
        rest = "/" + url
    elif scheme != "sqlite":
        raise UsageError(
            f"no store of kind {without_password(scheme)!r}",
            hint=_FORMS,
        )
    if len(rest) < 2 or not rest.startswith("/") or rest == "/:memory:" or "\0" in rest:
        raise UsageError(f"no path in {url!r}", hint="use a file: sqlite:///schemaman.db")
    return Path(rest[1:])


def _refuse_password(url: str) -> None:
    """An address that lacks a part would become the name of a file, with the password in it."""
    if has_password(url):
        raise UsageError(
            "the address of the store is invalid, and seems to contain a password",
            hint=_FORMS,
        )


def check_file(path: Path, create: bool) -> None:
    """Refuse a file that is not a store before SQLite opens it; reads only the header.

    Raises:
        StoreUnavailable: the file is missing (unless `create`), unreadable, not a database, or another
            program's database.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # reading would wait for a writer
            raise StoreUnavailable(f"{path} is not a store: it is a pipe", hint=_ANOTHER)
        header = _read_header(path)
    except FileNotFoundError:
        if not create:
            raise StoreUnavailable(f"no store at {path}", hint=_FIRST_STEP) from None
        _require_no_orphan(path)
        if not path.absolute().parent.is_dir():
            raise StoreUnavailable(
                f"no store can be created at {path}: no such folder", hint="create the folder first"
            ) from None
        return
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}", hint=_ANOTHER) from error
    if not header:
        # A first run that was killed leaves an empty file: nothing is lost by filling it.
        if not create:
            raise StoreUnavailable(f"{path} is empty", hint=_FIRST_STEP)
    elif not header.startswith(_MAGIC):
        raise StoreUnavailable(f"{path} is not a store: it is not a SQLite database", hint=_ANOTHER)
    elif int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreUnavailable(f"{path} is a database of another program", hint=_ANOTHER)


def _require_no_orphan(path: Path) -> None:
    """Raises `StoreUnavailable` if the write-ahead log of a file is left, and the file is gone."""
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise StoreUnavailable(
            f"no store can be created at {path}: a store was moved or deleted there, but not its {log.name}",
            hint=f"move the file back to read its last records, or delete {log.name} to give them up",
        )


def _is_writable(path: Path) -> bool:
    """Whether this user may write the file, and the files that SQLite makes beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _choose_reading(path: Path) -> str:
    """Choose how to read a file that cannot be written.

    A store has a write-ahead log. To read one, SQLite needs its index, the file `-shm`, or makes it. Without
    a log nothing is missing in the file itself, and `immutable` reads it without an index.
    Source: sqlite.org/wal.html, "Read-Only Databases"; sqlite.org/uri.html, "immutable".
    """
    log = path.with_name(f"{path.name}-wal")
    return "ro" if log.exists() and log.stat().st_size else "immutable"


def make_engine(opened: OpenedFile, create: bool, busy_ms: int, reading: str | None = None) -> Engine:
    """Connections to the file; a writer waits up to `busy_ms` for another one.

    `reading` is `ro` or `immutable` for a file that cannot be written, the second if nobody can. Each
    transaction requires that the path still names the file that was opened first.

    `synchronous=FULL` syncs the write-ahead log at every commit: neither a kill nor a loss of
    power takes back what was committed. Source: sqlite.org/pragma.html#pragma_synchronous.
    """
    name = "file:" + quote(os.fsencode(opened.path))
    mode = "rwc" if create else "rw"
    query = {"mode": mode if reading is None else "ro"} | (
        {"immutable": "1"} if reading == "immutable" else {}
    )
    url = URL.create("sqlite", database=name, query={**query, "uri": "true"})
    made = create_engine(url, connect_args={"timeout": busy_ms / 1000})
    event.listen(made, "connect", _on_connect)
    event.listen(made, "begin", opened.require_same)
    event.listen(made, "begin", _on_begin)
    return made


class OpenedFile:
    """The file that a path named at the first transaction; a later one must find the same file there.

    SQLite goes on writing a file without a name, and those records would be lost at the end of the process.
    Source: sqlite.org/howtocorrupt.html, "Unlinking or renaming a database file while in use".
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.identity: tuple[int, int] | None = None

    def require_same(self, _: Connection | None = None) -> None:
        """Raises `StoreUnavailable` if the file was moved, deleted or replaced."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise StoreUnavailable(
                f"{self.path} was moved or deleted while it was in use; nothing more is written to it",
                hint="move the file back, together with its -wal file, or restore a copy; then run again",
            ) from None
        identity = (found.st_dev, found.st_ino)
        if self.identity is None:
            self.identity = identity
        elif identity != self.identity:
            raise StoreUnavailable(
                f"{self.path} was replaced by another file while it was in use; nothing is written to either",
                hint="run the command again to use the new file, or move the former one back first",
            )


class FileWatch:
    """Tells whether another connection has changed a file, for the price of two system calls.

    Source: sqlite.org/pragma.html#pragma_data_version.
    """

    def __init__(self, engine: Engine, opened: OpenedFile) -> None:
        self._engine = engine
        self._opened = opened
        self._lock = Lock()
        self._connection: Any = None

    def find_change(self) -> int | None:
        """The number of the last commit, for this watch alone; None if it cannot be read now.

        Raises:
            StoreUnavailable: the path names another file.
        """
        self._opened.require_same()
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
            except (sqlite3.Error, SQLAlchemyError):
                return None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        raw = self._engine.raw_connection()
        connection: Any = raw.driver_connection
        raw.detach()
        connection.execute("PRAGMA busy_timeout=0")
        return connection


def use_write_ahead_log(engine: Engine) -> None:
    """Let readers and a writer work at once; kept in the file, so later connections follow.

    Call this only after the tables exist: the switch writes its own header, and a run that is killed before
    the tables exist would leave a database that is not marked as schemaman's.
    """
    raw = engine.raw_connection()
    try:
        if raw.cursor().execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            raw.cursor().execute("PRAGMA journal_mode=WAL").fetchone()
    except engine.dialect.loaded_dbapi.OperationalError:
        # Someone else is at work in it: it is just as safe without, and the next run tries again.
        return
    finally:
        raw.close()


def find_faults(connection: Connection) -> tuple[str, ...]:
    """What SQLite itself finds wrong with the file."""
    rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    return tuple(f"SQLite: {row}" for row in rows if row != "ok")


def explain_error(error: Exception, where: str) -> StoreUnavailable:
    """What a fault of the database means, and what to do now."""
    message = str(getattr(error, "orig", None) or error)
    if "locked" in message or "busy" in message:
        return StoreUnavailable(
            f"{where} is in use by another process", hint="wait for it, then run the command again"
        )
    if "readonly" in message or "unable to open" in message or "attempt to write" in message:
        return StoreUnavailable(
            f"{where} cannot be opened for writing ({message})",
            hint="give this user write permission on the file and its folder; reading alone does not need it",
        )
    if "full" in message or "I/O" in message:
        return StoreUnavailable(f"{where}: {message}", hint="free disk space, then run the command again")
    return StoreUnavailable(f"{where}: {message}", hint=RESTORE)


def _read_header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _on_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # Transactions begin in `_on_begin`; the driver's own rules would begin them too late.
    # Source: docs.sqlalchemy.org, SQLite dialect, "Enabling Non-Legacy SQLite Transactional Modes".
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")


def _on_begin(connection: Connection) -> None:
    raw: Any = connection.connection.driver_connection
    if not raw.in_transaction:  # SQLAlchemy has not seen how a kept connection began
        writes = connection.get_execution_options().get("writes")
        run_text(connection, _BEGIN_WRITING if writes else _BEGIN_READING)
