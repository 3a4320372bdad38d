"""The port for the databases of SQL stores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from schemaman.errors import SchemamanError
from schemaman.store.sql.kept_subjects import KeptSubjects
from schemaman.store.sql.subjects import AppendRegistrations, SqlSubjectRows


class Database(Protocol):
    """A database for a store. `where` names it in messages, without secrets."""

    @property
    def where(self) -> str:
        """The name of the database in messages."""

    @property
    def reader(self) -> Engine:
        """Connections whose transactions see one moment, and wait for no writer."""

    @property
    def writer(self) -> Engine:
        """Make connections; after `lock`, only one at a time writes."""

    def has_tables(self, connection: Connection) -> bool:
        """Whether there are tables of a store."""

    def lock(self, connection: Connection, making: bool) -> None:
        """Wait for other writers, or for those who make the same store; held to the transaction's end."""

    def begin_reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction over subjects that sees one moment."""

    def begin_question(self) -> AbstractContextManager[Connection]:
        """Begin as `begin_reading` for one question, without a transaction if that is cheaper."""

    def begin_writing(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that waits for other writers of subjects, not for those of the log.

        At the end of the block, it is durable.
        """

    def try_lock(self, connection: Connection) -> bool:
        """Lock the log to the transaction's end, unless another writer has it; does not wait."""

    def make_rows(
        self,
        connection: Connection,
        now_ms: Callable[[], int],
        kept: KeptSubjects | None = None,
        append: AppendRegistrations | None = None,
        former: str | None = None,
    ) -> SqlSubjectRows:
        """Make the subjects of a transaction."""

    def claim(self, connection: Connection) -> None:
        """Prepare the database and mark it. Raises `StoreUnavailable` if it belongs to another program."""

    def settle(self) -> None:
        """What can only be done once the tables are there."""

    def find_faults(self, connection: Connection) -> tuple[str, ...]:
        """What the database itself finds wrong."""

    def find_change(self) -> object | None:
        """Stands for the last commit of any connection; None if to know it takes a wait."""

    @property
    def has_clock(self) -> bool:
        """Whether the database has a clock of its own; a file has the one of this machine."""

    def now_ms(self, connection: Connection) -> int:
        """The time of the database's own clock (epoch ms)."""

    def explain_error(self, error: SQLAlchemyError) -> SchemamanError:
        """What a fault of the database means, and what to do now."""

    def close(self) -> None:
        """Give back all connections."""
