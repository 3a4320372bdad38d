"""The folded histories of a SQL store: read, written with the entries that they follow from, folded again.

Law: whatever was appended, in one piece or in many, the rows are those that a fold of the whole log gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, or_, select, update

from schemaman import codec, history_codec, structure_codec
from schemaman.coverage import merge
from schemaman.errors import Conflict, StoreUnavailable
from schemaman.evidence import Observation
from schemaman.log import Covered, Entry, Observed, tables_of
from schemaman.schema import TableId
from schemaman.stores._layout import (
    COVERED,
    HISTORY,
    LOG,
    covered_row,
    filed,
    ranges,
    table_key,
    table_of,
)
from schemaman.stores._projections import Fold
from schemaman.versions import TableHistory


@dataclass(frozen=True, slots=True)
class Histories:
    """What is folded, in the transaction of whoever asks; `where` names the store in messages."""

    where: str
    fold: Fold

    def tables(self, connection: Connection) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        return tuple(sorted(table_of(key) for key in connection.scalars(select(HISTORY.c.table_key))))

    def get(self, connection: Connection, table: TableId) -> TableHistory | None:
        """The folded history of a table; None if nothing gives it a structure."""
        query = select(HISTORY.c.body).where(HISTORY.c.table_key == table_key(table))
        body = connection.scalar(query)
        where = f"{self.where}: history of {table}"
        return None if body is None else history_codec.from_bytes(body, where)

    def load(self, connection: Connection, table: TableId) -> list[Observation]:
        """All observations that speak of a table, in log order."""
        key = table_key(table)
        query = select(LOG.c.sequence, LOG.c.body).order_by(LOG.c.sequence)
        query = query.where(or_(LOG.c.table_key == key, LOG.c.previous_key == key))
        entries = [read_entry(self.where, sequence, body) for sequence, body in connection.execute(query)]
        return [e.observation for e in entries if isinstance(e, Observed)]

    def refold(self, connection: Connection, tables: Iterable[TableId]) -> None:
        """Fold these tables from the log, and put the results in the place of what was there."""
        for table in tables:
            folded = self.fold(self.load(connection, table), table)
            connection.execute(delete(HISTORY).where(HISTORY.c.table_key == table_key(table)))
            if folded is not None:
                connection.execute(insert(HISTORY).values(table_key=table_key(table), body=_body(folded)))

    def rebuild(self, connection: Connection) -> None:
        """Fold everything again from the log, which stays as it is."""
        tables: set[TableId] = set()
        covered: list[Covered] = []
        for row in connection.execute(select(LOG).order_by(LOG.c.sequence)).all():
            entry = read_entry(self.where, row.sequence, row.body)
            tables.update(tables_of(entry))
            if isinstance(entry, Covered):
                covered.append(entry)
            index = filed(entry)
            if any(getattr(row, name) != value for name, value in index.items()):
                connection.execute(update(LOG).where(LOG.c.sequence == row.sequence).values(index))
        connection.execute(delete(COVERED))
        connection.execute(delete(HISTORY))
        for one in merge(covered):
            connection.execute(insert(COVERED).values(covered_row(one)))
        self.refold(connection, sorted(tables))

    def faults(self, connection: Connection) -> Iterator[str]:
        """Where what is folded is not the fold of the log."""
        tables: set[TableId] = set()
        covered: list[Covered] = []
        try:
            for sequence, body in connection.execute(select(LOG.c.sequence, LOG.c.body)):
                entry = read_entry(self.where, sequence, body)
                tables.update(tables_of(entry))
                if isinstance(entry, Covered):
                    covered.append(entry)
            if merge(covered) != ranges(connection):
                yield "the offsets that count as read are not those of the log"
        except (StoreUnavailable, Conflict) as error:
            yield error.message
            return
        held = {row.table_key: row.body for row in connection.execute(select(HISTORY))}
        for table in sorted(tables):
            folded = self.fold(self.load(connection, table), table)
            if held.pop(table_key(table), None) != _body(folded):
                yield f"the history of {table} is not the fold of the log"
        for key in held:
            yield f"the log says nothing of {table_of(key)}, which has a history"


def read_entry(where: str, sequence: int, body: str) -> Entry:
    """A log entry from its row. Raises `StoreUnavailable`, with the place."""
    return codec.from_bytes(body, f"{where}: log entry {sequence}")


def _body(folded: TableHistory | None) -> str | None:
    return None if folded is None else structure_codec.canonical(history_codec.to_json(folded)).decode()
