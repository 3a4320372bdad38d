"""Exchanges of table names that a killed job left half done: they are finished before the first batch.

Law: a name that a killed job left without a table gets it back from its source, whatever records come next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from schemaman.errors import PartlyApplied, Stale, StatementFailed
from schemaman.history.versions import TableHistory
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import Executor
from schemaman.migration.target_id import target_id
from schemaman.model.schema import TableId
from schemaman.registry import RegistryStore
from schemaman.sink.moved_tables import has_moved, is_renamed
from schemaman.spark.streaming.batch_report import TableReport
from schemaman.spark.streaming.migration_context import MigrationContext
from schemaman.spark.streaming.sink_table import SinkTable
from schemaman.store.log import MigrationEntry

_MOVE = '"rename-table"'
"""How the text of a plan names the step that moves a table."""


@dataclass(slots=True)
class UnfinishedMoves:
    """Finishes moves that were begun. They are looked for until none is left, then no more."""

    store: RegistryStore
    stream: str
    context: MigrationContext
    load_histories: Callable[[Iterable[TableId]], Mapping[TableId, TableHistory]]
    list_sink_tables: Callable[[TableId], Iterable[SinkTable]]
    is_over: bool = field(default=False, init=False)

    def finish_moves(self, executor: Executor) -> tuple[TableReport, ...]:
        """Finish the moves; the lake tables that were moved. Another job's moves are tried again later.

        Raises `StoreUnavailable`.
        """
        if self.is_over:
            return ()
        reports: list[TableReport] = []
        left = self._list_moved_tables()
        self.is_over = True
        for _ in left:  # the end of one move may give another one the name that it needs
            moved = [report for table in left if (report := self._finish_move(table, executor)) is not None]
            reports += moved
            if not moved:
                break
        return tuple(reports)

    def _list_moved_tables(self) -> tuple[tuple[SinkTable, TableHistory], ...]:
        """The lake tables whose source had another name, if any job has moved a table at all."""
        lines = (stamped.entry for stamped in self.store.read(kinds=[MigrationEntry]))
        plans = (x.statement for x in lines if isinstance(x, MigrationEntry) and x.state == "started")
        if not any(_MOVE in plan for plan in plans):
            return ()
        tables = [t for t in self.store.tables() if t.stream == self.stream and self.list_sink_tables(t)]
        moved = ((t, history) for t, history in self.load_histories(tables).items() if has_moved(history))
        return tuple((each, history) for table, history in moved for each in self.list_sink_tables(table))

    def _finish_move(self, moved: tuple[SinkTable, TableHistory], executor: Executor) -> TableReport | None:
        sink_table, history = moved
        table, address = self.context.open_table(sink_table, executor), sink_table.lake_table
        try:
            if not self._is_begun(sink_table, history, executor):
                return None
            steps = table.make_mover().move_tables(history, address)
        except (StatementFailed, Stale, PartlyApplied):
            self.is_over = False
            return None
        return TableReport(str(sink_table.table), address, steps=steps) if steps else None

    def _is_begun(self, sink_table: SinkTable, history: TableHistory, executor: Executor) -> bool:
        """Whether the name of a renamed table had a table and has none now, or has that of another source."""
        format, address = sink_table.target.format, sink_table.lake_table
        lake = executor.inspect(address, format)
        if lake is not None:
            return read_record(lake.properties).source not in (None, str(sink_table.table))
        return is_renamed(history) and bool(
            self.context.journal.read_target_lines(target_id(format, address))
        )
