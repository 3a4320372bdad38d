"""What differs between the databases that a SQL store may lie in."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from schemaman.errors import SchemamanError


class Database(Protocol):
    """A place for a store. `where` names it in messages, without any secret."""

    @property
    def where(self) -> str:
        """The place, for people."""

    @property
    def reader(self) -> Engine:
        """Connections whose transactions see one moment, and wait for no writer."""

    @property
    def writer(self) -> Engine:
        """Connections of which, after `lock`, one at a time writes."""

    def has_tables(self, connection: Connection) -> bool:
        """Whether there are tables of a store."""

    def lock(self, connection: Connection, making: bool) -> None:
        """Wait for other writers, or for those who make the same store; held to the transaction's end."""

    def claim(self, connection: Connection) -> None:
        """Make room for the tables, and mark whose it is. Raises `StoreUnavailable`: it is another's."""

    def settle(self) -> None:
        """What can only be done once the tables are there."""

    def find_faults(self, connection: Connection) -> tuple[str, ...]:
        """What the database itself finds wrong."""

    def now_ms(self, connection: Connection) -> int | None:
        """The time of the database's own clock (epoch ms); None where that is the clock of this machine."""

    def explain_error(self, error: SQLAlchemyError) -> SchemamanError:
        """What a fault of the database means, and what to do now."""

    def close(self) -> None:
        """Give back all connections."""
