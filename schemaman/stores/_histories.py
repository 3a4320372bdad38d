"""The folded histories of a SQL store: read, written with the entries that they follow from, folded again.

Law: whatever was appended, in one piece or in many, the rows are those that a fold of the whole log gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, insert, or_, select, update

from schemaman import codec, history_codec, structure_codec
from schemaman.coverage import merge
from schemaman.errors import Conflict, StoreUnavailable
from schemaman.evidence import Observation
from schemaman.log import Covered, Entry, Observed, Stamped, tables_of
from schemaman.schema import TableId
from schemaman.stores._layout import (
    COVERED,
    HISTORY,
    LOG,
    batches,
    covered_row,
    filed,
    ranges,
    table_key,
    table_of,
)
from schemaman.stores._projections import Fold
from schemaman.stores._said import Said, Sayings
from schemaman.versions import TableHistory

TABLES = 100
"""How many are folded at once: what was said about them is in memory together."""


@dataclass(frozen=True, slots=True)
class Histories:
    """What is folded, in the transaction of whoever asks; `where` names the store in messages."""

    where: str
    fold: Fold
    known: Sayings = field(default_factory=Sayings)

    def tables(self, connection: Connection) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        return tuple(sorted(table_of(key) for key in connection.scalars(select(HISTORY.c.table_key))))

    def held(
        self, connection: Connection, tables: Iterable[TableId]
    ) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are in this transaction, each read when it is asked for."""
        bodies: dict[str, str] = {}
        query = select(HISTORY.c.table_key, HISTORY.c.body)
        for keys in batches(map(table_key, tables)):
            for key, body in connection.execute(query.where(HISTORY.c.table_key.in_(keys))):
                bodies[key] = body

        def history(table: TableId) -> TableHistory | None:
            body = bodies.get(table_key(table))
            where = f"{self.where}: history of {table}"
            return None if body is None else history_codec.from_bytes(body, where)

        return history

    def load(self, connection: Connection, table: TableId) -> tuple[Observation, ...]:
        """All observations that speak of a table, in log order."""
        return self._read(connection, {table: Said()})[table].observations

    def refold(self, connection: Connection, new: Sequence[Stamped]) -> Sayings:
        """Fold the tables that the last entries of the log speak of, and write what comes out.

        What was said about them is for `known`, once it is committed.
        """
        fresh: dict[TableId, list[tuple[int, Observation]]] = {}
        for stamped in new:
            if isinstance(stamped.entry, Observed):
                for table in tables_of(stamped.entry):
                    fresh.setdefault(table, []).append((stamped.sequence, stamped.entry.observation))
        told = Sayings()
        for tables in batches(sorted(fresh), TABLES):
            known = {table: self.known.get(table) for table in tables}
            before = self._read(connection, known, new[0].sequence - 1)
            said = {table: before[table].then(fresh[table]) for table in tables}
            self._write(connection, {t: self.fold(s.observations, t) for t, s in said.items()})
            told.keep(said)
        return told

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
        for some in batches(sorted(tables), TABLES):
            said = self._read(connection, dict.fromkeys(some, Said()))
            self._write(connection, {t: self.fold(s.observations, t) for t, s in said.items()})

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

    def _read(
        self, connection: Connection, known: Mapping[TableId, Said], until: int | None = None
    ) -> Mapping[TableId, Said]:
        """What is known to have been said about tables, and what stands behind it, up to `until`."""
        c = LOG.c
        keys = {table_key(table): table for table in known}
        query = select(c.sequence, c.table_key, c.previous_key, c.body).order_by(c.sequence)
        query = query.where(or_(c.table_key.in_(keys), c.previous_key.in_(keys)))
        query = query.where(c.sequence > min(said.until for said in known.values()))
        if until is not None:
            query = query.where(c.sequence <= until)
        found: dict[TableId, list[tuple[int, Observation]]] = {table: [] for table in known}
        for row in connection.execute(query):
            tables = {keys[key] for key in (row.table_key, row.previous_key) if key in keys}
            after = [table for table in tables if row.sequence > known[table].until]
            entry = read_entry(self.where, row.sequence, row.body) if after else None
            if isinstance(entry, Observed):
                for table in after:
                    found[table].append((row.sequence, entry.observation))
        return {table: said.then(found[table]) for table, said in known.items()}

    def _write(self, connection: Connection, folded: Mapping[TableId, TableHistory | None]) -> None:
        keys = [table_key(table) for table in folded]
        connection.execute(delete(HISTORY).where(HISTORY.c.table_key.in_(keys)))
        rows = [{"table_key": table_key(t), "body": _body(h)} for t, h in folded.items() if h is not None]
        if rows:
            connection.execute(insert(HISTORY), rows)


def read_entry(where: str, sequence: int, body: str) -> Entry:
    """A log entry from its row. Raises `StoreUnavailable`, with the place."""
    return codec.from_bytes(body, f"{where}: log entry {sequence}")


def _body(folded: TableHistory | None) -> str | None:
    return None if folded is None else structure_codec.canonical(history_codec.to_json(folded)).decode()
