"""Reads, writes and rebuilds the folded histories of a SQL store.

Laws: after any appends, in one piece or in many, the rows equal a fold of the whole log. An altered row is
never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    delete,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from schemaman.debezium.observation import Observation
from schemaman.errors import Conflict, StoreUnavailable
from schemaman.history.epochs import UNDECIDED, ConnectorSettingsShown
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.plugins import defer
from schemaman.store import entry_json as codec
from schemaman.store.checkpoint_json import StoredCheckpoint
from schemaman.store.derived import Fold, find_settings_shown
from schemaman.store.folding import continue_history, fold, fold_with_checkpoint
from schemaman.store.hash_chain import GENESIS, hash_entry
from schemaman.store.log import CoveredRange, Entry, LogEntry, ObservationEntry, RenumberingEntry, list_tables
from schemaman.store.observation_cache import ObservationCache, TableObservations
from schemaman.store.offsets import merge_ranges
from schemaman.store.renumbering import list_current_ids, renumber_versions
from schemaman.store.sql import checkpoints as _checkpoints
from schemaman.store.sql import connector_settings as _forms
from schemaman.store.sql import history_rows as _rows
from schemaman.store.sql import names as _names
from schemaman.store.sql.tables import (
    BATCH,
    CHECKPOINT,
    COVERED,
    HISTORY,
    HISTORY_BLOCK,
    LOG,
    NAMED,
    SUMMARY,
    format_table_key,
    list_index_columns,
    make_damaged_error,
    make_range_row,
    parse_table_key,
    split_batches,
)

if TYPE_CHECKING:  # a reading without new records reads no summaries
    from schemaman.store.summary_json import StoredSummary
    from schemaman.store.summary_json import from_text as read_summary
    from schemaman.store.summary_json import to_text as write_summary
else:
    read_summary = defer("schemaman.store.summary_json:from_text")
    write_summary = defer("schemaman.store.summary_json:to_text")

TABLES_AT_ONCE = 100
"""The number of tables that are folded at once: all their observations are in memory together."""


Numbers = dict[TableId, tuple[tuple[str, ...], tuple[str, ...]]]
"""The ids of the versions of a table, in order, before and after."""


@dataclass(frozen=True, slots=True)
class StoredHistories:
    """The folded histories, in the transaction of the caller; `where` names the store in messages."""

    where: str
    fold: Fold
    cache: ObservationCache = field(default_factory=ObservationCache)

    def tables(self, connection: Connection) -> tuple[TableId, ...]:
        """Every table that has a history, in order."""
        return tuple(sorted(parse_table_key(key) for key in connection.scalars(select(HISTORY.c.table_key))))

    def read_summaries(
        self, connection: Connection, tables: Iterable[TableId] | None = None
    ) -> tuple[StoredSummary, ...]:
        """The summaries of all histories, or of those of some tables, in order of their tables."""
        query = select(SUMMARY.c.body)
        here = [query] if tables is None else _select_tables(query, tables)
        bodies = (body for one in here for body in connection.scalars(one))
        found = (read_summary(body, self.where) for body in bodies)
        return tuple(sorted(found, key=lambda stored: stored.summary.table))

    def read_histories(
        self, connection: Connection, tables: Iterable[TableId]
    ) -> Callable[[TableId], TableHistory | None]:
        """The histories of these tables as they are in this transaction, each read when it is asked for."""
        return _rows.read_histories(connection, tables, self.where)

    def load(self, connection: Connection, table: TableId) -> tuple[Observation, ...]:
        """All observations of a table, in log order."""
        return self._read(connection, {table: TableObservations()})[table].observations

    def refold_tables(
        self, connection: Connection, new: Sequence[LogEntry]
    ) -> tuple[ObservationCache, tuple[RenumberingEntry, ...]]:
        """Fold the tables of the last entries of the log, and write the histories.

        Returns the observations for `cache`, to keep after the commit, and the renumberings for the log.
        """
        fresh: dict[TableId, list[tuple[int, Observation]]] = {}
        for stamped in new:
            if isinstance(stamped.entry, ObservationEntry):
                for table in list_tables(stamped.entry):
                    fresh.setdefault(table, []).append((stamped.sequence, stamped.entry.observation))
        cache, numbers = ObservationCache(), Numbers()
        for batch in split_batches(sorted(fresh), TABLES_AT_ONCE):
            continued = self._continue_tables(connection, batch, fresh, new[0].sequence - 1)
            tables = [table for table in batch if table not in continued]
            if not tables:
                continue
            known = {table: self.cache.get(table) for table in tables}
            before = self._read(connection, known, new[0].sequence - 1)
            observations = {table: before[table].append_observations(fresh[table]) for table in tables}
            self._fold_tables(connection, observations, numbers)
            cache.keep(observations)
        shifts = (renumber_versions(table, *ids) for table, ids in sorted(numbers.items()))
        return cache, tuple(shift for shift in shifts if shift is not None)

    def _continue_tables(
        self,
        connection: Connection,
        tables: Sequence[TableId],
        fresh: Mapping[TableId, Sequence[tuple[int, Observation]]],
        end: int,
    ) -> frozenset[TableId]:
        """Go on with the histories that have a checkpoint, as far as the new observations allow that.

        `end` is the last entry of the log before these. Returns the tables whose histories are written.
        """
        if self.fold is not fold:
            return frozenset()
        bodies = _checkpoints.read_checkpoints(connection, tables)
        done: dict[TableId, ConnectorSettingsShown] = {}
        for table, body in bodies.items():
            stored = _checkpoints.decode_checkpoint(body, table)
            known = self._read(connection, {table: TableObservations(until=stored.until)}, end)[table]
            later = known.append_observations(fresh[table])
            history = self._continue_table(connection, table, stored, later)
            if history is not None:
                self._write(connection, {table: history})
                done[table] = find_settings_shown(history)
        if done:
            self._refold_others(connection, done, None)
        return frozenset(done)

    def _continue_table(
        self, connection: Connection, table: TableId, stored: StoredCheckpoint, later: TableObservations
    ) -> TableHistory | None:
        """Go on with one history; None if it has to be folded from all observations."""
        before = _rows.read_histories(connection, [table], self.where)(table)
        if before is None or _forms.read_verdicts(connection, [table]):
            return None
        found = continue_history(stored.checkpoint, before, later.observations)
        if found is None:
            return None
        history, checkpoint = found
        settled = stored.checkpoint.settled
        was, now = ([v.id for v in versions[settled:]] for versions in (before.versions, history.versions))
        if now[: len(was)] != was:
            return None
        if checkpoint is not stored.checkpoint:
            _checkpoints.write_checkpoints(connection, {table: StoredCheckpoint(later.until, checkpoint)})
        return history

    def rebuild(self, connection: Connection) -> None:
        """Fold everything again from the log, which stays as it is."""
        tables: set[TableId] = set()
        covered: list[CoveredRange] = []
        for row in log_rows(connection):
            entry = read_entry(self.where, row.sequence, row.body)
            tables.update(list_tables(entry))
            if isinstance(entry, CoveredRange):
                covered.append(entry)
            index = list_index_columns(entry)
            if any(getattr(row, name) != value for name, value in index.items()):
                connection.execute(update(LOG).where(LOG.c.sequence == row.sequence).values(index))
        connection.execute(delete(COVERED))
        _rows.clear_histories(connection)
        connection.execute(delete(SUMMARY))
        _checkpoints.clear_checkpoints(connection)
        _names.clear_names(connection)
        _forms.clear_settings(connection)
        for some in split_batches(merge_ranges(covered)):
            connection.execute(insert(COVERED), [make_range_row(one) for one in some])
        for tables_at_once in split_batches(sorted(tables), TABLES_AT_ONCE):
            self._fold_tables(
                connection, self._read(connection, dict.fromkeys(tables_at_once, TableObservations()))
            )

    def find_faults(self, connection: Connection) -> Iterator[str]:
        """Find histories that differ from a fold of the log, some tables at a time.

        The tables come from the log's columns; the check of the log verifies these columns.
        """
        try:
            bodies = log_rows(connection, LOG.c.kind == codec.find_kind(CoveredRange))
            entries = (read_entry(self.where, row.sequence, row.body) for row in bodies)
            read = merge_ranges(e for e in entries if isinstance(e, CoveredRange))
            stored = (row._asdict() for row in connection.execute(select(COVERED)))
            if sorted(map(make_range_row, read), key=str) != sorted(stored, key=str):
                yield "the offsets that count as read are not those of the log"
            keys, strange = _list_keys(connection, LOG.c.table_key, LOG.c.previous_key)
            if strange:
                yield "the log has a table whose name is not text"
            forms = _forms.StoredSettings(connection)
            for some in split_batches(sorted(keys), TABLES_AT_ONCE):
                yield from self._find_table_faults(connection, [parse_table_key(key) for key in some], forms)
        except (StoreUnavailable, Conflict) as error:
            yield error.message
            return
        for table, what in (
            (HISTORY, "a history"),
            (HISTORY_BLOCK, "a history"),
            (CHECKPOINT, "a checkpoint"),
            (SUMMARY, "a summary"),
            (NAMED, "a name"),
        ):
            column = table.c.table_key
            stored_keys, strange = _list_keys(connection, column)
            if strange:
                yield f"{what} belongs to a table whose name is not text"
            for key in sorted(stored_keys.difference(keys)):
                yield f"the log has no entry of {parse_table_key(key)}, which has {what}"
        if not forms.is_consistent():
            yield "the stored decisions about changed forms differ from the histories"

    def _find_table_faults(
        self, connection: Connection, tables: Sequence[TableId], forms: _forms.StoredSettings
    ) -> Iterator[str]:
        observations = self._read(connection, dict.fromkeys(tables, TableObservations()))
        folded = {
            table: self._fold_checked(observations[table].observations, table, forms) for table in tables
        }
        bodies = _rows.read_bodies(connection, tables, self.where)
        summaries = _read_summary_texts(connection, tables)
        for table, history in folded.items():
            if _has_fault(bodies.get(table), history):
                yield f"the history of {table} is not the fold of the log"
            elif summaries.get(format_table_key(table)) != _make_summary(history):
                yield f"the summary of {table} is not that of its history"
        yield from _names.find_faults(connection, folded)
        for table, body in _checkpoints.read_checkpoints(connection, tables).items():
            if self._has_wrong_checkpoint(connection, table, body, folded[table]):
                yield f"the checkpoint of {table} does not lead to its history"

    def _has_wrong_checkpoint(
        self, connection: Connection, table: TableId, body: object, folded: TableHistory | None
    ) -> bool:
        """Whether an append that goes on from a checkpoint would write another history."""
        try:
            stored = _checkpoints.decode_checkpoint(body, table)
        except StoreUnavailable:
            return True
        later = self._read(connection, {table: TableObservations(until=stored.until)})[table]
        if folded is None or len(folded.versions) < stored.checkpoint.settled:
            return True
        found = continue_history(stored.checkpoint, folded, later.observations)
        return found is not None and found[0] != folded

    def _fold_checked(
        self, observations: Sequence[Observation], table: TableId, forms: _forms.StoredSettings
    ) -> TableHistory | None:
        """The fold with the verdicts that are kept, which are compared in the end."""
        folded = self.fold(observations, table, UNDECIDED)
        decided = forms.read_verdicts(table, find_settings_shown(folded))
        return self.fold(observations, table, decided) if decided else folded

    def _fold_tables(
        self,
        connection: Connection,
        observations: Mapping[TableId, TableObservations],
        numbers: Numbers | None = None,
    ) -> None:
        """Fold tables from their observations, then the tables whose changes they now decide differently.

        Changes of version numbers are added to `numbers`.
        """
        shown = self._fold_as_decided(connection, observations, numbers)
        self._refold_others(connection, shown, numbers)

    def _refold_others(
        self,
        connection: Connection,
        shown: Mapping[TableId, ConnectorSettingsShown],
        numbers: Numbers | None,
    ) -> None:
        """Fold the tables whose changes are decided differently by what these tables show now."""
        for some in split_batches(_forms.update_settings(connection, shown), TABLES_AT_ONCE):
            self._fold_as_decided(
                connection, self._read(connection, dict.fromkeys(some, TableObservations())), numbers
            )

    def _fold_as_decided(
        self,
        connection: Connection,
        observations: Mapping[TableId, TableObservations],
        numbers: Numbers | None,
    ) -> dict[TableId, ConnectorSettingsShown]:
        decided = _forms.read_verdicts(connection, observations)
        folded: dict[TableId, TableHistory | None] = {}
        checkpoints: dict[TableId, StoredCheckpoint | None] = {}
        for table, known in observations.items():
            verdicts = decided.get(table, UNDECIDED)
            if self.fold is not fold:
                folded[table] = self.fold(known.observations, table, verdicts)
                continue
            folded[table], found = fold_with_checkpoint(known.observations, table, verdicts)
            checkpoints[table] = None if found is None else StoredCheckpoint(known.until, found)
        if checkpoints:
            stale = _checkpoints.read_checkpoints(connection, checkpoints)
            changed = {t: c for t, c in checkpoints.items() if c is not None or t in stale}
            _checkpoints.write_checkpoints(connection, changed)
        if numbers is not None:
            self._keep_ids(connection, folded, numbers)
        self._write(connection, folded)
        return {table: find_settings_shown(history) for table, history in folded.items()}

    def _read(
        self, connection: Connection, known: Mapping[TableId, TableObservations], until: int | None = None
    ) -> Mapping[TableId, TableObservations]:
        """The cached observations of tables, and the later ones of the log, up to `until`."""
        c = LOG.c
        keys = {format_table_key(table): table for table in known}
        query: Select[Any] = select(*SEALED_COLUMNS, c.table_key, c.previous_key).order_by(c.sequence)
        query = query.where(or_(c.table_key.in_(keys), c.previous_key.in_(keys)))
        query = query.where(c.sequence > min(observations.until for observations in known.values()))
        if until is not None:
            query = query.where(c.sequence <= until)
        found: dict[TableId, list[tuple[int, Observation]]] = {table: [] for table in known}
        for row in connection.execute(query):
            tables = {keys[key] for key in (row.table_key, row.previous_key) if key in keys}
            after = [table for table in tables if row.sequence > known[table].until]
            entry = read_sealed_entry(self.where, row) if after else None
            if isinstance(entry, ObservationEntry):
                for table in after:
                    found[table].append((row.sequence, entry.observation))
        return {
            table: observations.append_observations(found[table]) for table, observations in known.items()
        }

    def _keep_ids(
        self, connection: Connection, folded: Mapping[TableId, TableHistory | None], numbers: Numbers
    ) -> None:
        """Keep the ids of all versions, before and after this transaction."""
        bodies = _rows.read_bodies(connection, folded, self.where)
        before = {table: body.read_ids() for table, body in bodies.items()}
        for table, history in folded.items():
            first, _ = numbers.get(table, (before.get(table, ()), ()))
            numbers[table] = (first, list_current_ids(first, history.versions if history else ()))

    def _write(self, connection: Connection, folded: Mapping[TableId, TableHistory | None]) -> None:
        _names.write_names(connection, folded)
        keys = [format_table_key(table) for table in folded]
        _rows.write_histories(connection, folded)
        connection.execute(delete(SUMMARY).where(SUMMARY.c.table_key.in_(keys)))
        short = [
            {"table_key": format_table_key(t), "body": text}
            for t, h in folded.items()
            if (text := _make_summary(h))
        ]
        if short:
            connection.execute(insert(SUMMARY), short)


def _select_tables(query: Select[Any], tables: Iterable[TableId]) -> Iterator[Select[Any]]:
    for keys in split_batches(map(format_table_key, tables)):
        yield query.where(SUMMARY.c.table_key.in_(keys))


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
                raise make_damaged_error(f"log entry {row.sequence} follows entry {after}")
            after = row.sequence
            yield row


_BEFORE = LOG.alias("before")
SEALED_COLUMNS: tuple[ColumnElement[Any], ...] = (
    LOG.c.sequence,
    LOG.c.at_ms,
    LOG.c.body,
    LOG.c.chain,
    # asked row by row: a join would leave it to the database to go through the whole log instead
    select(_BEFORE.c.chain)
    .where(_BEFORE.c.sequence == LOG.c.sequence - literal_column("1"))
    .correlate(LOG)
    .scalar_subquery()
    .label("before"),
)
"""The columns that prove a row of the log: `before` is the hash of the previous row."""


class SealedRow(NamedTuple):
    """A row of `SEALED_COLUMNS`."""

    sequence: int
    at_ms: int
    body: str
    chain: str
    before: str | None


def read_sealed_entry(where: str, row: Row[Any] | SealedRow) -> Entry:
    """Read a log entry from its row of `SEALED_COLUMNS`.

    Raises `StoreUnavailable`, with its place in the log, if it was altered.
    """
    if row.chain != hash_entry(row.before or GENESIS, row.sequence, row.at_ms, row.body):
        raise make_damaged_error(f"{where}: log entry {row.sequence} was altered: its hash does not match")
    return read_entry(where, row.sequence, row.body)


def read_entry(where: str, sequence: int, body: str) -> Entry:
    """Read a log entry from its row. Raises `StoreUnavailable`, with its place in the log."""
    return codec.from_bytes(body, f"{where}: log entry {sequence}")


def _has_fault(body: _rows.StoredBody | None, folded: TableHistory | None) -> bool:
    if body is None or folded is None:
        return body is not None or folded is not None
    return body.has_fault(_rows.make_rows(folded))


def _make_summary(folded: TableHistory | None) -> str | None:
    return None if folded is None else write_summary(folded)


def _read_summary_texts(connection: Connection, tables: Iterable[TableId]) -> dict[str, object]:
    """Read the summaries of some tables as they are stored, by key."""
    here = SUMMARY.c.table_key.in_([format_table_key(table) for table in tables])
    rows = connection.execute(select(SUMMARY.c.table_key, SUMMARY.c.body).where(here))
    return {row.table_key: row.body for row in rows}


def _list_keys(connection: Connection, *columns: ColumnElement[Any]) -> tuple[set[str], bool]:
    """Return the keys of tables in these columns, and whether there is anything that is no text."""
    found = {key for column in columns for key in connection.scalars(select(column).distinct())}
    texts = {key for key in found if isinstance(key, str)}
    return texts, bool(found - texts - {None})
