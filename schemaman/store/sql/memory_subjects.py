"""Subjects in the memory of this process: a private database of SQLite that ends with its owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from sqlalchemy import StaticPool, create_engine

from schemaman.store.derived import Clock, wall_clock
from schemaman.store.sql.subject_tables import SUBJECT_TABLES
from schemaman.store.sql.subjects import SqlSubjectRows
from schemaman.store.sql.tables import METADATA
from schemaman.store.subjects import SubjectRows


class MemorySubjects:
    """A store of subjects for tests and jobs; threads take turns."""

    is_local = False

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._lock = RLock()
        self.last_subject_change = object()
        self._engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
        METADATA.create_all(self._engine, tables=SUBJECT_TABLES)

    def find_revision(self) -> object | None:
        """The last change: only this process writes here."""
        return self.last_subject_change

    def read_revision(self) -> object:
        """The last change."""
        return self.last_subject_change

    @contextmanager
    def reading_subjects(self) -> Iterator[SubjectRows]:
        """Begin a transaction that sees one moment."""
        with self._lock, self._engine.begin() as connection:
            yield SqlSubjectRows(connection, self._clock)

    @contextmanager
    def writing_subjects(self) -> Iterator[SubjectRows]:
        """Begin a transaction that writes."""
        with self._lock, self._engine.begin() as connection:
            yield SqlSubjectRows(connection, self._clock)
        self.last_subject_change = object()

    def close(self) -> None:
        """Forget everything."""
        self._engine.dispose()
