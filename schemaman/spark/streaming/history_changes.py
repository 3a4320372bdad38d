"""Finds the tables whose history any process has changed since the sink last read it.

Law: rows of a lake table that were read with a wrong schema are reported in the batch that shows it, even
without new rows of that table; unchanged tables are not inspected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.errors import SchemamanError, StatementFailed
from schemaman.history.fold.fold import fold
from schemaman.history.versions import TableHistory
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.model.schema import TableId
from schemaman.registry import RegistryStore
from schemaman.sink.reread import find_reread_stretches
from schemaman.sink.row_order import format_position
from schemaman.sink.stale_rows import StaleRowCheck
from schemaman.sink.values.connector_modes import ConnectorModes
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.batch_report import TableReport
from schemaman.spark.streaming.sink_table import SinkTable
from schemaman.store.edge_hashes import Extents
from schemaman.store.log import CoveredRange, ObservationEntry, list_tables

_WINDOW = 2_000
"""The number of log entries to read first for the end of the previous batch."""


@dataclass(slots=True)
class HistoryChanges:
    """Reads the new entries of a store's log, from batch to batch.

    `first_end` is the initial end of the log; `read_up_to` is the last entry that was read. `changed_tables`
    are the tables to check, with their numbers of new observations. `stale_tables` are those that were
    reported last.
    """

    store: RegistryStore
    stream: str
    modes: ConnectorModes
    list_sink_tables: Callable[[TableId], Iterable[SinkTable]]
    first_end: int = field(init=False)
    read_up_to: int | None = None
    changed_tables: Counter[TableId] = field(default_factory=Counter)
    stale_tables: set[SinkTable] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.first_end = self.store.end()

    def read_changes(self, extents: Extents) -> None:
        """Read the entries since the last batch; this batch is already in the history.

        `extents` are the first and the last offset of each partition of the batch. Another process may have
        added the batch to the history already, so reading starts at the entries of the previous batch.

        Raises `StoreUnavailable`.
        """
        since = self._find_previous_end(extents) if self.read_up_to is None else self.read_up_to
        self.read_up_to = self.store.end()
        for stamped in self.store.read(since, [ObservationEntry]):
            self.read_up_to = max(self.read_up_to, stamped.sequence)
            self.changed_tables.update(t for t in list_tables(stamped.entry) if t.stream == self.stream)

    def report_stale_tables(
        self, executor: Callable[[SinkTable], Executor], seen: Collection[SinkTable]
    ) -> Iterator[TableReport]:
        """Find the lake tables that would accept no rows, because their rows were read with another schema.

        Tables in `seen` got rows and are already checked. The returned tables are checked again with the next
        batch. A table of the last report that is right by now, or that is not there any more, has a report
        without a reason. A fault of one table affects only its own result.
        """
        self.stale_tables.difference_update(seen)
        for table, new in sorted(self.changed_tables.items()):
            quiet = [f for f in self.list_sink_tables(table) if f not in seen]
            found = [(f, self._find_reason(f, executor, new)) for f in quiet]
            if all(why is None for _, why in found):
                del self.changed_tables[table]
            for sink_table, why in found:
                if why or sink_table in self.stale_tables:
                    yield TableReport(str(table), sink_table.lake_table, blocked=why)
                (self.stale_tables.add if why else self.stale_tables.discard)(sink_table)

    def _find_reason(
        self, sink_table: SinkTable, executor: Callable[[SinkTable], Executor], new: int
    ) -> str | None:
        """Explain why a lake table would accept no rows; None if it is missing or its rows are correct."""
        try:
            if not self._is_read_otherwise(sink_table.table, new):
                return None
            asked = executor(sink_table)
            format = sink_table.target.format
            history = self.store.history(sink_table.table)
            checked = StaleRowCheck(self.store, self.modes)
            inspect, source = partial(asked.inspect, format=format), str(sink_table.table)
            if history is None:
                return None
            taken = self._list_taken(sink_table, history, inspect)
            tables = list_successors(inspect, sink_table.lake_table, source)
            for each in (table for table in tables if table.address not in taken):
                name = TARGETS.get(format).table_name(each.address)
                found = checked.find_stale_rows(history, each.lake, name, asked)
                if found is not None:
                    return str(found)
            return None
        except StatementFailed as error:
            return error.message
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # an unforeseen fault has no known class
            return f"it cannot be inspected: {type(error).__name__}: {error}"

    def _list_taken(
        self, sink_table: SinkTable, history: TableHistory, inspect: Callable[[str], LakeTable | None]
    ) -> frozenset[str]:
        """List the addresses whose rows the tables of next names have taken over: later rows go there."""
        others = {event.other for event in history.events if event.kind == "renamed" and event.other}
        target = sink_table.target
        tables = [each for other in others for each in self.list_sink_tables(other)]
        return frozenset(
            address
            for each in tables
            if (each.target.format, each.target.name) == (target.format, target.name)
            for found in list_successors(inspect, each.lake_table, str(each.table))
            for address in read_record(found.lake.properties).taken
        )

    def _find_previous_end(self, extents: Extents) -> int:
        """Find the log entries of the previous batch; if they are unknown, the initial end of the log."""
        topics = {topic for topic, _ in extents}
        covered = [(c.topic, c.partition, c.first) for c in self.store.read_ranges(self.stream, topics)]
        first_offsets = {
            (t, p): extents[t, p][0] for t, p, first in covered if first < extents.get((t, p), (0, 0))[0]
        }
        found: dict[tuple[str, int], tuple[int, int]] = {}
        window = _WINDOW
        while first_offsets.keys() - found.keys():
            since = max(0, self.first_end - window)
            for stamped in self.store.read(since, [CoveredRange]):
                entry = stamped.entry
                if not isinstance(entry, CoveredRange) or entry.stream != self.stream:
                    continue
                partition, found_entry = (entry.topic, entry.partition), (entry.first, stamped.sequence)
                if entry.first < first_offsets.get(partition, 0):
                    found[partition] = max(found.get(partition, found_entry), found_entry)
            if not since:
                break
            window *= 8
        return max((sequence for _, sequence in found.values()), default=self.first_end)

    def _is_read_otherwise(self, table: TableId, new: int) -> bool:
        """Whether these observations may change the schema of rows that were read before them."""
        observations = self.store.load(table)
        since = self.store.read(self.read_up_to or 0, [ObservationEntry])
        if any(table in list_tables(stamped.entry) for stamped in since):
            return True  # there are more observations by now, and the new ones are unknown
        before = fold(observations[:-new], table, CONNECTORS.get)
        after = fold(observations, table, CONNECTORS.get) if before else None
        if before is None or after is None:
            return _has_statement_after_row(observations)
        # its rows may have been read with even fewer observations
        return _is_late(observations[:-new], observations[-new:]) or bool(
            find_reread_stretches(before, after, self.modes)
        )


def _has_statement_after_row(observations: Sequence[Observation]) -> bool:
    """Whether a statement was read after a row, for a table whose earlier observations are unknown."""
    rows = (at for at, each in enumerate(observations) if each.evidence not in STATEMENT_KINDS)
    return any(each.evidence in STATEMENT_KINDS for each in observations[next(rows, len(observations)) :])


def _is_late(observations: Sequence[Observation], new: Sequence[Observation]) -> bool:
    """Whether any new observation comes before the known ones of a table, or its order is unknown."""
    known = [each.last.position for each in observations if each.last.position.kind != "none"]
    last = max(map(format_position, known), default="")
    kinds = {position.kind for position in known}
    positions = [each.first.position for each in new if each.first.position.kind != "none"]
    return any(position.kind not in kinds or format_position(position) < last for position in positions)
