"""Statements run one after the other, while what the catalogue says after each is written down.

A streamed record carries the number of its transaction: the truth of its moment is the step of that number.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from tests.live.catalogue import tables_of
from tests.truth.truth import PostgresTruth, Step

SCHEMA = "shop"
_TRANSACTION = 2**32
"""`source.txId` has the low 32 bits of what `txid_current()` gives."""


class Narrator:
    """One connection to the source database, and what it said of itself."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self.truth = PostgresTruth((), ())

    def tell(self, *statements: str) -> int:
        """Run statements in one transaction and write down what is true after each; gives the transaction."""
        with self._connection.transaction():
            transaction = int(self._ask("SELECT txid_current()")) % _TRANSACTION
            for sql in statements:
                self._connection.execute(sql.encode())
                self._add(sql, tables_of(self._connection, SCHEMA), transaction)
        return transaction

    def snapshot(self) -> None:
        """From here on the connector reads: its snapshot shows the tables as they are now."""
        self.truth.start = len(self.truth.steps)
        self._add("connector start", tables_of(self._connection, SCHEMA), None)

    def end(self) -> int:
        """Where the log of the server ends by now; more stands behind it before long, though nobody writes.

        Source: a transaction that has a number leaves a record of its end, though it changed nothing.
        """
        end = int(self._ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
        self._ask("SELECT txid_current()")
        return end

    def sender(self, slot: str) -> int:
        """The process of the server that decodes its log for a slot; the slot has to be in use."""
        return int(self._ask(f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{slot}'"))

    def sent(self, slot: str) -> int:
        """How far the server has decoded its log for such a slot, and sent what it says."""
        where = f"FROM pg_stat_replication WHERE pid = {self.sender(slot)}"
        return int(self._ask(f"SELECT sent_lsn - '0/0'::pg_lsn {where}"))

    def _add(self, text: str, tables, transaction: int | None) -> None:
        end = int(self._ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
        if transaction is not None:
            self.truth.transactions.setdefault(transaction, []).append(len(self.truth.steps))
        self.truth.steps += (Step(len(self.truth.steps), text, tables),)
        self.truth.ends += (end,)

    def _ask(self, sql: str) -> Any:
        row = self._connection.execute(sql.encode()).fetchone()
        return row[0] if row else None
