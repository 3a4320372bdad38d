"""The folded histories of a SQL store: read, written with the entries that they follow from, folded again.

Laws: whatever was appended, in one piece or in many, the rows are those that a fold of the whole log gives;
a row that is not as it was written is never told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, insert, or_, select, update

from schemaman.debezium.observation import Observation
from schemaman.errors import Conflict, StoreUnavailable
from schemaman.history.epochs import UNDECIDED, Footprint
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store import entry_json as codec
from schemaman.store import history_json as history_codec
from schemaman.store import schema_json as structure_codec
from schemaman.store.derived import Fold, footprint_of
from schemaman.store.hash_chain import GENESIS, link
from schemaman.store.log import Covered, Entry, Observed, Renumbered, Stamped, tables_of
from schemaman.store.observation_cache import Said, Sayings
from schemaman.store.offsets import merge
from schemaman.store.renumbering import ids_now, renumbered
from schemaman.store.sql import connector_settings as _forms
from schemaman.store.sql import names as _names
from schemaman.store.sql.tables import (
    BATCH,
    COVERED,
    HISTORY,
    LOG,
    NAMED,
    batches,
    covered_row,
    damaged,
    filed,
    table_key,
    table_of,
)

TABLES = 100
"""How many are folded at once: what was said about them is in memory together."""


Numbers = dict[TableId, tuple[tuple[str, ...], tuple[str, ...]]]
"""The ids of the versions of a table, in order, before and after."""


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
            return None if body is None else history_codec.from_bytes(_opened(body, table), where)

        return history

    def load(self, connection: Connection, table: TableId) -> tuple[Observation, ...]:
        """All observations that speak of a table, in log order."""
        return self._read(connection, {table: Said()})[table].observations

    def refold(
        self, connection: Connection, new: Sequence[Stamped]
    ) -> tuple[Sayings, tuple[Renumbered, ...]]:
        """Fold the tables that the last entries of the log speak of, and write what comes out.

        What was said about them is for `known`, once it is committed; what it did to the numbers of their
        versions is for the log.
        """
        fresh: dict[TableId, list[tuple[int, Observation]]] = {}
        for stamped in new:
            if isinstance(stamped.entry, Observed):
                for table in tables_of(stamped.entry):
                    fresh.setdefault(table, []).append((stamped.sequence, stamped.entry.observation))
        told, numbers = Sayings(), Numbers()
        for tables in batches(sorted(fresh), TABLES):
            known = {table: self.known.get(table) for table in tables}
            before = self._read(connection, known, new[0].sequence - 1)
            said = {table: before[table].then(fresh[table]) for table in tables}
            self._fold(connection, said, numbers)
            told.keep(said)
        shifts = (renumbered(table, *ids) for table, ids in sorted(numbers.items()))
        return told, tuple(shift for shift in shifts if shift is not None)

    def rebuild(self, connection: Connection) -> None:
        """Fold everything again from the log, which stays as it is."""
        tables: set[TableId] = set()
        covered: list[Covered] = []
        for row in log_rows(connection):
            entry = read_entry(self.where, row.sequence, row.body)
            tables.update(tables_of(entry))
            if isinstance(entry, Covered):
                covered.append(entry)
            index = filed(entry)
            if any(getattr(row, name) != value for name, value in index.items()):
                connection.execute(update(LOG).where(LOG.c.sequence == row.sequence).values(index))
        connection.execute(delete(COVERED))
        connection.execute(delete(HISTORY))
        _names.clear(connection)
        _forms.clear(connection)
        for some in batches(merge(covered)):
            connection.execute(insert(COVERED), [covered_row(one) for one in some])
        for tables_at_once in batches(sorted(tables), TABLES):
            self._fold(connection, self._read(connection, dict.fromkeys(tables_at_once, Said())))

    def faults(self, connection: Connection) -> Iterator[str]:
        """Where what is folded is not the fold of the log, some tables at a time.

        Which tables the log speaks of is told by its columns: that these are right is asked of the log.
        """
        try:
            bodies = log_rows(connection, LOG.c.kind == codec.kind_of(Covered))
            entries = (read_entry(self.where, row.sequence, row.body) for row in bodies)
            read = merge(e for e in entries if isinstance(e, Covered))
            kept = (row._asdict() for row in connection.execute(select(COVERED)))
            if sorted(map(covered_row, read), key=str) != sorted(kept, key=str):
                yield "the offsets that count as read are not those of the log"
            keys, strange = _named_in(connection, LOG.c.table_key, LOG.c.previous_key)
            if strange:
                yield "the log names a table by what is no text"
            forms = _forms.Kept(connection)
            for some in batches(sorted(keys), TABLES):
                yield from self._faults(connection, [table_of(key) for key in some], forms)
        except (StoreUnavailable, Conflict) as error:
            yield error.message
            return
        for column, what in ((HISTORY.c.table_key, "a history"), (NAMED.c.table_key, "a name")):
            held, strange = _named_in(connection, column)
            if strange:
                yield f"{what} is of a table that is named by what is no text"
            for key in sorted(held.difference(keys)):
                yield f"the log says nothing of {table_of(key)}, which has {what}"
        if not forms.right():
            yield "what is decided about changes of form is not what the histories show"

    def _faults(self, connection: Connection, tables: Sequence[TableId], forms: _forms.Kept) -> Iterator[str]:
        said = self._read(connection, dict.fromkeys(tables, Said()))
        folded = {table: self._checked(said[table].observations, table, forms) for table in tables}
        query = select(HISTORY.c.table_key, HISTORY.c.body)
        rows = connection.execute(query.where(HISTORY.c.table_key.in_([table_key(t) for t in tables])))
        held = {row.table_key: row.body for row in rows}
        for table, history in folded.items():
            if held.get(table_key(table)) != _body(history):
                yield f"the history of {table} is not the fold of the log"
        yield from _names.faults(connection, folded)

    def _checked(
        self, said: Sequence[Observation], table: TableId, forms: _forms.Kept
    ) -> TableHistory | None:
        """The fold with the verdicts that are kept, which are compared in the end."""
        folded = self.fold(said, table, UNDECIDED)
        decided = forms.decided(table, footprint_of(folded))
        return self.fold(said, table, decided) if decided else folded

    def _fold(
        self, connection: Connection, said: Mapping[TableId, Said], numbers: Numbers | None = None
    ) -> None:
        """Fold tables out of what was said about them, then those about which they decide something else.

        What that does to the `numbers` of their versions is kept.
        """
        shown = self._fold_as_decided(connection, said, numbers)
        for some in batches(_forms.settle(connection, shown), TABLES):
            self._fold_as_decided(connection, self._read(connection, dict.fromkeys(some, Said())), numbers)

    def _fold_as_decided(
        self, connection: Connection, said: Mapping[TableId, Said], numbers: Numbers | None
    ) -> dict[TableId, Footprint]:
        decided = _forms.decided(connection, said)
        folded = {t: self.fold(s.observations, t, decided.get(t, UNDECIDED)) for t, s in said.items()}
        if numbers is not None:
            self._number(connection, folded, numbers)
        self._write(connection, folded)
        return {table: footprint_of(history) for table, history in folded.items()}

    def _read(
        self, connection: Connection, known: Mapping[TableId, Said], until: int | None = None
    ) -> Mapping[TableId, Said]:
        """What is known to have been said about tables, and what stands behind it, up to `until`."""
        c = LOG.c
        keys = {table_key(table): table for table in known}
        query: Select[Any] = select(*SEALED, c.table_key, c.previous_key).order_by(c.sequence)
        query = query.where(or_(c.table_key.in_(keys), c.previous_key.in_(keys)))
        query = query.where(c.sequence > min(said.until for said in known.values()))
        if until is not None:
            query = query.where(c.sequence <= until)
        found: dict[TableId, list[tuple[int, Observation]]] = {table: [] for table in known}
        for row in connection.execute(query):
            tables = {keys[key] for key in (row.table_key, row.previous_key) if key in keys}
            after = [table for table in tables if row.sequence > known[table].until]
            entry = written(self.where, row) if after else None
            if isinstance(entry, Observed):
                for table in after:
                    found[table].append((row.sequence, entry.observation))
        return {table: said.then(found[table]) for table, said in known.items()}

    def _number(
        self, connection: Connection, folded: Mapping[TableId, TableHistory | None], numbers: Numbers
    ) -> None:
        """Keep the ids of all versions, as they were before this transaction and as they will be."""
        tables = {table_key(table): table for table in folded}
        query = select(HISTORY.c.table_key, HISTORY.c.body).where(HISTORY.c.table_key.in_(tables))
        before = {
            tables[key]: history_codec.ids_of(_opened(body, tables[key]))
            for key, body in connection.execute(query)
        }
        for table, history in folded.items():
            first, _ = numbers.get(table, (before.get(table, ()), ()))
            numbers[table] = (first, ids_now(first, history.versions if history else ()))

    def _write(self, connection: Connection, folded: Mapping[TableId, TableHistory | None]) -> None:
        _names.write(connection, folded)
        keys = [table_key(table) for table in folded]
        connection.execute(delete(HISTORY).where(HISTORY.c.table_key.in_(keys)))
        rows = [{"table_key": table_key(t), "body": _body(h)} for t, h in folded.items() if h is not None]
        if rows:
            connection.execute(insert(HISTORY), rows)


def log_rows(connection: Connection, *where: ColumnElement[bool]) -> Iterator[Row[Any]]:
    """The rows of the log in order, some at a time; they may be altered meanwhile.

    Raises:
        StoreUnavailable: they do not go on, as those of a damaged index may never do.
    """
    query = select(LOG).where(*where).order_by(LOG.c.sequence).limit(BATCH)
    after = 0
    while rows := connection.execute(query.where(LOG.c.sequence > after)).all():
        for row in rows:
            if not isinstance(row.sequence, int) or row.sequence <= after:
                raise damaged(f"log entry {row.sequence} stands behind {after}")
            after = row.sequence
            yield row


_BEFORE = LOG.alias("before")
SEALED: tuple[ColumnElement[Any], ...] = (
    LOG.c.sequence,
    LOG.c.at_ms,
    LOG.c.body,
    LOG.c.chain,
    # asked row by row: a join would leave it to the database to go through the whole log instead
    select(_BEFORE.c.chain)
    .where(_BEFORE.c.sequence == LOG.c.sequence - 1)
    .correlate(LOG)
    .scalar_subquery()
    .label("before"),
)
"""What tells whether a row of the log is what was written: `before` is the hash that its own one follows."""


def written(where: str, row: Row[Any]) -> Entry:
    """A log entry from its row of `SEALED`. Raises `StoreUnavailable`, with the place, if it was altered."""
    if row.chain != link(row.before or GENESIS, row.sequence, row.at_ms, row.body):
        raise damaged(f"{where}: log entry {row.sequence} is not what was written: its hash does not follow")
    return read_entry(where, row.sequence, row.body)


def read_entry(where: str, sequence: int, body: str) -> Entry:
    """A log entry from its row. Raises `StoreUnavailable`, with the place."""
    return codec.from_bytes(body, f"{where}: log entry {sequence}")


def _body(folded: TableHistory | None) -> str | None:
    if folded is None:
        return None
    text = structure_codec.canonical(history_codec.to_json(folded)).decode()
    return f"{_seal(text)} {text}"


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _opened(body: object, table: TableId) -> str:
    """The text of a history. Raises `StoreUnavailable` if it is not the one that was sealed.

    One flipped bit makes a number or bytes of a text. Source: sqlite.org/fileformat2.html §2.1, serial types.
    """
    seal, _, text = body.partition(" ") if isinstance(body, str) else ("", "", "")
    if seal != _seal(text):
        raise StoreUnavailable(
            f"the store is damaged: the history of {table} is not as it was written",
            hint="run `schemaman store check`; `schemaman store rebuild` folds it again if the log is whole",
        )
    return text


def _named_in(connection: Connection, *columns: ColumnElement[Any]) -> tuple[set[str], bool]:
    """The keys of tables in these columns, and whether there is anything else: no text, as in `_opened`."""
    found = {key for column in columns for key in connection.scalars(select(column).distinct())}
    texts = {key for key in found if isinstance(key, str)}
    return texts, bool(found - texts - {None})
