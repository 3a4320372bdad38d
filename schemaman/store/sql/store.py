"""The log in a SQL database: one file of SQLite by default, a schema of PostgreSQL for a team.

Law: after any number of appends, and of kills in between, the log is a prefix of what was
appended, whole transactions only, and the projections are its fold.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection, Row, Select, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from schemaman.debezium.observation import Observation
from schemaman.errors import Conflict, SchemamanError, StoreUnavailable
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.plugins import defer
from schemaman.store import entry_json as codec
from schemaman.store.derived import Clock, Fold, make_not_empty_error, wall_clock
from schemaman.store.file_proofs import FileProof
from schemaman.store.folding import fold
from schemaman.store.hash_chain import GENESIS, SealedEntry, check_chain, seal_entries
from schemaman.store.log import CoveredRange, Entry, Lease, LogEntry, RegistrationEntry, RenumberingEntry
from schemaman.store.observation_cache import ObservationCache
from schemaman.store.sql import file_proofs as _file_proofs
from schemaman.store.sql import leases as _leases
from schemaman.store.sql import names as _names
from schemaman.store.sql.group_commit import GroupCommit
from schemaman.store.sql.histories import SEALED_COLUMNS, StoredHistories, read_entry, read_sealed_entry
from schemaman.store.sql.kept_subjects import KeptSubjects, change_revision, read_revision
from schemaman.store.sql.quick_statements import QuickStatement
from schemaman.store.sql.sqlite import SqliteFile
from schemaman.store.sql.tables import (
    COVERED,
    LAYOUT,
    LOG,
    META,
    METADATA,
    add_ranges,
    list_index_columns,
    make_damaged_error,
    read_identity,
    read_log_end,
    read_meta,
    read_ranges,
    read_topic_ranges,
    set_meta,
)
from schemaman.store.sql.upgrades import read_layout, refuse_layout, upgrade_store
from schemaman.store.sql.verify import find_chain_faults, require_sound_end
from schemaman.store.urls import POSTGRESQL_SCHEMES

if TYPE_CHECKING:  # few stores are on a server, and few commands read subjects
    from schemaman.store.sql.database import Database
    from schemaman.store.sql.postgresql import open_schema
    from schemaman.store.sql.subject_faults import find_subject_faults
    from schemaman.store.subjects import SubjectRows
    from schemaman.store.summary_json import StoredSummary
else:
    open_schema = defer("schemaman.store.sql.postgresql:open_schema")
    find_subject_faults = defer("schemaman.store.sql.subject_faults:find_subject_faults")

_PAGE = 1000
_ADD_ENTRY = QuickStatement(insert(LOG))
_FIRST_STEP = "`schemaman ingest SOURCE` creates one, and so does schemaman.open(…, create=True)"


class SqlStore:
    """The log, its projections and the leases in one database; safe for several processes at once.

    `where` names the store in messages. Every method raises `StoreUnavailable` when the database
    cannot be read or written.
    """

    def __init__(self, database: Database, clock: Clock = wall_clock, fold: Fold = fold) -> None:
        self.where = database.where
        self._database = database
        self._clock = clock
        self._histories = StoredHistories(database.where, fold)
        self._is_closed = False
        self._subject_writers = GroupCommit(self._begin_subjects)
        self._kept_subjects = KeptSubjects()
        self._revision: tuple[object, str] | None = None
        self._former_revision: str | None = None
        self.last_subject_change = object()
        self.upgraded_from: int | None = None
        """The layout that the store had before it was opened, if that was an older one."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = False,
        clock: Clock = wall_clock,
        fold: Fold = fold,
        busy_ms: int = 60_000,
    ) -> Self:
        """Open the store at `sqlite:///PATH`, a path, or `postgresql://…?schema=NAME`; `create` makes it.

        A store with an older layout is upgraded on opening.

        A writer waits up to `busy_ms` for another one, which may be folding thousands of tables.

        Raises:
            StoreUnavailable: the store is missing, damaged, in use, or has another layout; or the file is
                another kind of file, whose bytes then stay unchanged.
            UsageError: the URL is not that of a store.
            EngineUnavailable: the driver of PostgreSQL is not installed.
        """
        if url.partition("://")[0] in POSTGRESQL_SCHEMES:
            database: Database = open_schema(url, busy_ms)
        else:
            database = SqliteFile.open_file(url, create, busy_ms)
        store = cls(database, clock, fold)
        try:
            store._prepare_store(create)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Give back all connections; every later call raises `StoreUnavailable`."""
        self._is_closed = True
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def id(self) -> str:
        """The identity of this store, given when it was made."""
        with self._reading() as connection:
            return read_identity(connection)

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append all entries, and fold the tables that they touch, in one transaction; the new end.

        Raises:
            Conflict: the log does not end at `expect`, or a range is covered already.
        """
        with self._writing() as connection:
            end = read_log_end(connection)
            if end != expect:
                raise Conflict(
                    f"{self.where}: the log ends at {end}, not at {expect}",
                    hint="another process has written meanwhile: run the command again",
                )
            require_sound_end(connection, self.where, end)
            at_ms = self._clock()
            new = [LogEntry(n, at_ms, entry) for n, entry in enumerate(entries, end + 1)]
            observations, shifts = self._add_entries(connection, new, end)
            renumberings = [LogEntry(n, at_ms, shift) for n, shift in enumerate(shifts, end + len(new) + 1)]
            end = self._write(connection, renumberings, end + len(new))
        self._histories.cache.join(observations)
        return end

    def restore(self, log: Iterable[SealedEntry], identity: str = "") -> int:
        """Put a whole log into this empty store as it is, and take on its identity; the new end.

        Raises:
            UsageError: the store is not empty.
            UnreadableInput: the log is not whole.
        """
        with self._writing() as connection:
            if read_log_end(connection):
                raise make_not_empty_error(self.where)
            end, rest = 0, check_chain(log)
            while page := tuple(islice(rest, _PAGE)):
                opened = [(s, read_entry(self.where, s.sequence, s.body)) for s in page]
                end = self._insert_entries(connection, opened, end)
            if identity:
                set_meta(connection, id=identity)
            self._histories.rebuild(connection)
            return end

    def sealed(self) -> Iterator[SealedEntry]:
        """The entries of the log with their hashes, up to its current end."""
        end = self.end()
        query = select(LOG.c.sequence, LOG.c.at_ms, LOG.c.body, LOG.c.chain).where(LOG.c.sequence <= end)
        for row in self._read_rows(query, 0):
            yield SealedEntry(row.sequence, row.at_ms, row.body, row.chain)

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
        """The entries after `after` in order, of the given kinds or all, including those added meanwhile."""
        words = [codec.find_kind(kind) for kind in kinds]
        query = select(*SEALED_COLUMNS)
        if words:
            query = query.where(LOG.c.kind.in_(words))
        for row in self._read_rows(query, after):
            yield LogEntry(row.sequence, row.at_ms, read_sealed_entry(self.where, row))

    def _read_rows(self, query: Select[Any], after: int) -> Iterator[Row[Any]]:
        """Rows of the log after `after` in order, page by page, so that writers do not wait for readers."""
        while True:
            with self._reading() as connection:
                page = query.where(LOG.c.sequence > after).order_by(LOG.c.sequence).limit(_PAGE)
                rows = connection.execute(page).all()
            for row in rows:
                if row.sequence <= after:  # a damaged index may go round in circles
                    raise make_damaged_error(f"log entry {row.sequence} follows entry {after}")
                after = row.sequence
                yield row
            if len(rows) < _PAGE:
                return

    def find_position(self, since_ms: int) -> int:
        """The sequence of the last entry before the first one that was written at or after a time."""
        query = select(func.min(LOG.c.sequence)).where(LOG.c.at_ms >= since_ms)
        with self._reading() as connection:
            first = connection.execute(query).scalar()
        return self.end() if first is None else int(first) - 1

    def load(self, table: TableId) -> Sequence[Observation]:
        """All observations of a table (also as the old name of a rename), in log order."""
        with self._reading() as connection:
            return self._histories.load(connection, table)

    def end(self) -> int:
        """The sequence of the last entry; 0 for an empty log."""
        with self._reading() as connection:
            return read_log_end(connection)

    def tables(self) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        with self._reading() as connection:
            return self._histories.tables(connection)

    def find_by_name(self, last: str) -> tuple[TableId, ...]:
        """The tables that have a history and whose name ends with that part, in order."""
        with self._reading() as connection:
            return _names.find_tables(connection, "table", last)

    def find_by_alias(self, name: str) -> tuple[TableId, ...]:
        """The tables that have that alias, in order."""
        with self._reading() as connection:
            return _names.find_tables(connection, "alias", name)

    def history(self, table: TableId) -> TableHistory | None:
        """The folded history of a table; None if no observation has a schema."""
        with self._reading() as connection:
            read_history = self._histories.read_histories(connection, [table])
        return read_history(table)

    def read_histories(self, tables: Iterable[TableId]) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are now, each read from its JSON when it is asked for."""
        with self._reading() as connection:
            return self._histories.read_histories(connection, tables)

    def read_summaries(self, tables: Iterable[TableId] | None = None) -> tuple[StoredSummary, ...]:
        """The summaries of all histories, or of those of some tables, in order of their tables."""
        with self._reading() as connection:
            return self._histories.read_summaries(connection, tables)

    def read_ranges(self, stream: str, topics: Iterable[str] | None = None) -> tuple[CoveredRange, ...]:
        """What has been read of a stream, or of some topics of it, in as few ranges as possible, in order."""
        with self._reading() as connection:
            if topics is None:
                return read_ranges(connection, COVERED.c.stream == stream)
            return read_topic_ranges(connection, stream, topics)

    def find_file_proofs(self, keys: Iterable[str]) -> Mapping[str, FileProof]:
        """The proofs of read files with these keys, by key."""
        with self._reading() as connection:
            return _file_proofs.find_proofs(connection, keys)

    def put_file_proofs(self, proofs: Iterable[FileProof]) -> None:
        """Keep proofs of read files, each instead of an earlier one with its key."""
        with self._writing() as connection:
            _file_proofs.put_proofs(connection, proofs)

    def acquire(self, target: str, owner: str, now_ms: int, ttl_ms: int) -> str:
        """A token for the target until `now_ms + ttl_ms`. Raises `Locked`: who holds it, until when."""
        with self._writing() as connection:
            return _leases.acquire(connection, target, owner, now_ms, ttl_ms)

    def renew(self, target: str, token: str, now_ms: int, ttl_ms: int) -> None:
        """Extend the lease until `now_ms + ttl_ms`. Raises `Locked` if the token is no longer valid."""
        with self._writing() as connection:
            _leases.renew(connection, target, token, now_ms + ttl_ms)

    def release(self, target: str, token: str) -> None:
        """Release the lease; no effect if the token is no longer valid."""
        with self._writing() as connection:
            _leases.release(connection, target, token)

    def leases(self) -> tuple[Lease, ...]:
        """The leases that were taken and not given back, also those that have ended, by target."""
        with self._reading() as connection:
            return _leases.read_leases(connection)

    def now_ms(self) -> int:
        """The time in epoch milliseconds, the same one for all who share the store."""
        if not self._database.has_clock:
            self._require_open()
            return self._clock()
        with self._reading() as connection:
            return self._read_clock(connection)

    @property
    def is_local(self) -> bool:
        """Whether a read waits neither for a network nor for a writer."""
        return not self._database.has_clock

    def find_revision(self) -> object | None:
        """What all subjects have another of after each change, also by others; None if that takes a wait."""
        self._require_open()
        change = self._database.find_change()
        if change is None:
            return None
        kept = self._revision
        if kept is None or kept[0] != change:
            kept = self._revision = change, self.read_revision()
        return kept[1]

    def read_revision(self) -> str:
        """Read the revision of all subjects; empty before the first change."""
        self._require_open()
        with self._explained(), self._database.begin_question() as connection:
            return read_revision(connection)

    @contextmanager
    def reading_subjects(self) -> Iterator[SubjectRows]:
        """Begin a transaction over the subjects of a schema registry that sees one moment."""
        self._require_open()
        with self._explained(), self._database.begin_reading() as connection:
            clock = partial(self._read_clock, connection)
            yield self._database.make_rows(connection, clock, self._kept_subjects)

    @contextmanager
    def writing_subjects(self) -> Iterator[SubjectRows]:
        """Begin a transaction that writes subjects; other writers of subjects wait.

        Threads that write at the same time share a commit.
        """
        self._require_open()
        with self._explained(), self._subject_writers.join() as connection:
            clock = partial(self._read_clock, connection)
            append = partial(self._append_registrations, connection)
            # Only the first writer of a transaction finds the subjects as they were before it.
            former, self._former_revision = self._former_revision, None
            rows = self._database.make_rows(connection, clock, append=append, former=former)
            yield rows
            rows.send()
        self.last_subject_change = object()

    @contextmanager
    def _begin_subjects(self) -> Iterator[Connection]:
        with self._database.begin_writing() as connection:
            self._former_revision = read_revision(connection) if self.is_local else None
            change_revision(connection)
            yield connection

    def _append_registrations(self, connection: Connection, entries: Sequence[RegistrationEntry]) -> bool:
        """Append registrations in a transaction of subjects; False if another writer has the log.

        A log that is damaged takes none either: nothing has been written when that is found.
        """
        if not self._database.try_lock(connection):
            return False
        try:
            end = read_log_end(connection)
            require_sound_end(connection, self.where, end)
        except SchemamanError:
            return False
        at_ms = self._clock()
        self._write(connection, [LogEntry(n, at_ms, entry) for n, entry in enumerate(entries, end + 1)], end)
        return True

    def _read_clock(self, connection: Connection) -> int:
        return self._database.now_ms(connection) if self._database.has_clock else self._clock()

    def check(self) -> tuple[str, ...]:
        """List the faults of the store: its file, its hash chain, its subjects, its projections."""
        with self._reading() as connection:
            found = [
                *self._collect_faults(self._database.find_faults, connection),
                *self._collect_faults(_check_identity, connection),
                *self._collect_faults(partial(find_chain_faults, where=self.where), connection),
                *self._collect_faults(find_subject_faults, connection),
            ]
            # A fold of altered entries proves nothing, and may fail in any way.
            written = partial(find_chain_faults, where=self.where, filing=False)
            if not found or not any(self._collect_faults(written, connection)):
                found += self._collect_faults(self._histories.find_faults, connection)
            return tuple(found)

    def _collect_faults(
        self, part: Callable[[Connection], Iterable[str]], connection: Connection
    ) -> Iterator[str]:
        """Collect the faults that a part of the check finds; unreadable data is a fault, too."""
        try:
            with self._explained():
                yield from part(connection)
        except SchemamanError as error:
            yield error.message

    def rebuild(self) -> None:
        """Rebuild all histories from the log, which does not change.

        Raises:
            StoreUnavailable: the log is damaged; altered entries are not folded.
        """
        with self._writing() as connection:
            fault = next(find_chain_faults(connection, self.where, filing=False), None)
            if fault is not None:
                raise make_damaged_error(f"{self.where}: {fault}")
            self._histories.rebuild(connection)

    def _prepare_store(self, create: bool) -> None:
        if create and not self._has_tables():
            self._create_tables()
        if not self._has_tables():
            raise StoreUnavailable(f"{self.where} is not a store", hint=_FIRST_STEP)
        with self._reading() as connection:
            layout = read_layout(connection)
        refuse_layout(layout, self.where)
        if layout != LAYOUT:
            self._upgrade(layout)
        if create:
            with self._explained():
                self._database.settle()

    def _upgrade(self, layout: int) -> None:
        try:
            with self._writing(making=True) as connection:
                self._database.lock(connection, making=False)
                before = upgrade_store(connection, self._histories)
        except StoreUnavailable as error:
            raise StoreUnavailable(
                f"{self.where} has layout {layout} and was not upgraded to {LAYOUT}: {error.message}",
                hint=error.hint,
            ) from error
        self.upgraded_from = None if before == LAYOUT else before

    def _has_tables(self) -> bool:
        with self._reading() as connection:
            return self._database.has_tables(connection)

    def _create_tables(self) -> None:
        with self._writing(making=True) as connection:
            if self._database.has_tables(connection):
                return
            self._database.claim(connection)
            METADATA.create_all(connection)
            made = {"layout": str(LAYOUT), "id": str(uuid.uuid4()), "end": "0", "head": GENESIS}
            rows = [{"name": name, "value": value} for name, value in made.items()]
            connection.execute(insert(META), rows)

    def _add_entries(
        self, connection: Connection, new: Sequence[LogEntry], end: int
    ) -> tuple[ObservationCache, tuple[RenumberingEntry, ...]]:
        self._write(connection, new, end)
        entries = [stamped.entry for stamped in new]
        add_ranges(connection, (e for e in entries if isinstance(e, CoveredRange)))
        return self._histories.refold_tables(connection, new)

    def _write(self, connection: Connection, log: Sequence[LogEntry], end: int) -> int:
        if not log:
            return end
        sealed = seal_entries(log, read_meta(connection, "head"))
        return self._insert_entries(
            connection, [(s, stamped.entry) for s, stamped in zip(sealed, log, strict=True)], end
        )

    def _insert_entries(
        self, connection: Connection, log: Sequence[tuple[SealedEntry, Entry]], end: int
    ) -> int:
        """Put entries at the end of the log as they are; the new end."""
        if not log:
            return end
        rows = [
            {
                "sequence": s.sequence,
                "at_ms": s.at_ms,
                "body": s.body,
                "chain": s.hash,
                **list_index_columns(entry),
            }
            for s, entry in log
        ]
        _ADD_ENTRY.write_rows(connection, rows)
        last, _ = log[-1]
        set_meta(connection, end=str(last.sequence), head=last.hash)
        return last.sequence

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._require_open()
        with self._explained(), self._database.reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def _writing(self, making: bool = False) -> Iterator[Connection]:
        self._require_open()
        with self._explained(), self._database.writer.connect() as connection, connection.begin():
            self._database.lock(connection, making)
            yield connection

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(f"{self.where} was closed", hint="open it again")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise self._database.explain_error(error) from error
        except UnicodeDecodeError as error:
            raise make_damaged_error(
                f"{self.where} contains text that is not UTF-8: {error.reason}"
            ) from error


def _check_identity(connection: Connection) -> tuple[str, ...]:
    """Return no fault: a wrong identity raises its own error."""
    read_identity(connection)
    return ()
