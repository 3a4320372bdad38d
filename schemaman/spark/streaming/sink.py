"""The hook for a user's own Structured Streaming job: `query.foreachBatch(sink)`.

Law: before the rows of a batch are written, their tables have the structure that the rows need; a table
without that structure is blocked alone, and its rows wait in quarantine. After the batch each record is in
its table once, or in quarantine with a reason.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import assert_never

import pyarrow as arrow
from pyspark.sql import DataFrame, SparkSession

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import BadConfiguration, Locked, StatementConflict, StatementFailed, UsageError
from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.untyped_columns import read_as_texts
from schemaman.history.versions import TableEvent, TableHistory
from schemaman.io.schema_registry import NO_REGISTRY, is_url, load_export, open_registry
from schemaman.migration.apply.apply import LEASE_MS
from schemaman.migration.apply.lease import TURN_MS
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.setting_checks import require_policy, require_targets
from schemaman.migration.settings import TargetSetting, list_target_projections, refuse_shared_tables
from schemaman.migration.target_id import target_id
from schemaman.model.schema import TableId
from schemaman.registry import Registry, RegistryStore, Services
from schemaman.sink.ended_incarnations import (
    EndedRows,
    find_end,
    list_ended_rows,
    list_late_versions,
    order_by_end,
)
from schemaman.sink.row_mapping import OTHER_TABLE, goes_elsewhere
from schemaman.sink.row_places import RowPlace
from schemaman.sink.uncertain_keys import find_key_proofs
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.sink.values.values import find_unfit_columns
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.batch_commits import BatchCommits, StreamBatch, hash_offsets
from schemaman.spark.streaming.batch_notices import BatchNotices
from schemaman.spark.streaming.batch_report import BatchReport, TableReport
from schemaman.spark.streaming.blocked_rows import make_unread_query
from schemaman.spark.streaming.blocked_rows import make_waiting_query as others_of
from schemaman.spark.streaming.conflicts import ATTEMPTS, rest_after
from schemaman.spark.streaming.decoded import LARGER, LIGHT, SMALL, DecodedBatch, RecordCount
from schemaman.spark.streaming.gathered_batch import BatchGatherer
from schemaman.spark.streaming.history_changes import HistoryChanges
from schemaman.spark.streaming.lake_progress import LakeDecoder
from schemaman.spark.streaming.late_rows import describe_late_tables, find_late_table
from schemaman.spark.streaming.micro_batch import copy_records, record_batch, select_raw_columns
from schemaman.spark.streaming.migration_context import MigrationContext, TableContext
from schemaman.spark.streaming.progress import StreamProgress
from schemaman.spark.streaming.quarantine import UNKNOWN_TABLE, Quarantine, QuarantinedTable, RetryLog
from schemaman.spark.streaming.retry_unknown import UnknownRecords
from schemaman.spark.streaming.row_staging import ReadingContext, format_table, parse_table
from schemaman.spark.streaming.side_by_side import SideBySide
from schemaman.spark.streaming.sink_table import Blocked, Ready, SinkTable
from schemaman.spark.streaming.table_migration import migrate_table
from schemaman.spark.streaming.table_writer import (
    FindUnread,
    QuarantineRecords,
    StagingFailed,
    TableChanges,
    TableWriter,
    TakeTurn,
)
from schemaman.spark.streaming.truncate import TableTruncated, decide_truncate
from schemaman.spark.streaming.truncate_run import record_truncate
from schemaman.spark.streaming.unfinished_moves import UnfinishedMoves
from schemaman.spark.streaming.waiting_journal import WaitingJournal

_QUERY = "sql.streaming.queryId"
_LEASE_POLL_SECONDS = 2.0
"""Seconds between two tries to take a lease."""
_NO_PLACE = (
    "its lake table was moved while its late rows were read: they wait, and are read with the next batch"
)
_MAX_REREADS = 5
"""How often a batch is read again for a table whose history grows meanwhile, before its records wait."""


class LakeSink:
    """Writes each batch of a stream into the lake tables that follow its tables.

    Args:
        registry: the registry of `schemaman.open`, or a store; its settings are the defaults of `policy`,
            `stream`, `schemas`, `forms` and `decisions`.
        targets: the lake tables of each source table.
        quarantine: the table of records that cannot be written.
        policy: the changes that the sink makes without a person.
        stream: the name of the stream; the history keeps streams apart.
        schemas: the schema registry that Avro needs: its address, the path of an export, or a function that
            returns the text of a schema id.
        forms: the wire formats of keys and values.
        modes: the connector settings for the forms of values; records without schemas need them.
        placeholder: the bytes that the connector writes for a value that did not change.
        approved: a function that answers whether a plan is approved; by default the decisions answer.
        decisions: a function that reads people's decisions; it is called for each batch.
        on_report: a function that is called with the report of each batch.
        clock: a function that returns epoch milliseconds.
        small: the number of records that this process decodes, whatever their size. Of 20 times as many it
            decodes those of up to 256 MB; executors decode larger batches.

    Several sinks of one store may write the same tables, as while a job is replaced: commits that conflict
    are tried again, and each row is written once. A second one makes nothing faster.

    Raises:
        UsageError: an argument is of the wrong type.
        BadConfiguration: a target or a rule of the policy is incomplete or contains an unknown word; or
            the targets lead several source tables into one lake table.
    """

    def __init__(
        self,
        registry: Registry | RegistryStore,
        targets: Sequence[TargetSetting],
        quarantine: Quarantine,
        *,
        policy: Policy | None = None,
        stream: str | None = None,
        schemas: SchemaLookup | str | None = None,
        forms: Forms | None = None,
        modes: ConnectorModes = UNKNOWN_MODES,
        placeholder: bytes = PLACEHOLDER,
        approved: Callable[[Plan], bool] | None = None,
        decisions: Callable[[], Decisions] | None = None,
        on_report: Callable[[BatchReport], None] = lambda _: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        small: int = SMALL,
    ) -> None:
        _require_arguments(registry, quarantine, policy)
        of_program = registry if isinstance(registry, Registry) else Registry(registry, clock)
        store, services = of_program.store, of_program.services
        stream = stream or ("main" if services is None else services.settings.stream.value)
        self._registry = Registry(store, clock)
        self._targets = tuple(require_targets(targets))
        try:
            refuse_shared_tables(self._targets)
        except ValueError as error:
            raise BadConfiguration(str(error), hint="change `targets` of the sink") from error
        self._quarantine = quarantine
        self._stream = stream
        self._schemas = _open_schemas(schemas, services)
        self._forms = forms or (AUTO if services is None else services.settings.forms)
        self._modes = modes
        self._placeholder = placeholder
        chosen = policy or (Policy() if services is None else services.settings.policy)
        named = [rule for rule in list_target_projections(targets) if rule not in chosen.projections]
        self._policy = replace(chosen, projections=(*chosen.projections, *named))
        self._progress = StreamProgress(store.load)
        self._decisions = decisions or of_program.decisions
        self._on_report = on_report
        self._notices = BatchNotices(() if services is None else services.settings.notify.value)
        self._stamps = BatchCommits()
        self._side_by_side = SideBySide()
        self._small = small
        self._gatherer = BatchGatherer(small, small * LARGER, LIGHT)
        self._attempts = RetryLog()
        self._history_changes = HistoryChanges(store, stream, modes, self.list_sink_tables)
        self._store = store
        self._clock = clock
        quarantine_settings = (quarantine, stream, small)
        self._retry = UnknownRecords(
            store,
            *quarantine_settings,
            self._load_histories,
            self.make_reading,
            self.list_sink_tables,
            self._progress,
        )
        self._lake_decoder = LakeDecoder(*quarantine_settings, self.list_sink_tables, self._progress)
        how = (self._policy, clock, approved or self._is_approved, self._apply_decisions, self._modes)
        self._migration = MigrationContext(store, self._registry, *how)
        self._unfinished_moves = UnfinishedMoves(
            store, stream, self._migration, self._load_histories, self.list_sink_tables
        )
        self._waiting_journal = WaitingJournal(self._registry, self._migration.journal, quarantine)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch; `foreachBatch` calls this.

        Raises:
            CouldNotDo: the store or the quarantine cannot be written: the batch must come again.
            UsageError: the batch is not from Kafka, or it is from another stream.
        """
        raw = select_raw_columns(batch)
        position = self._store.end()
        with self._gatherer.gather(raw) as records:
            self._show_report(self._write_batch(raw.sparkSession, records, number), position)

    def _show_report(self, report: BatchReport, position: int) -> None:
        self._on_report(report)
        self._notices.send(report)
        if any(table.steps for table in report.tables):
            self._notices.send_digest(self._registry, position)

    def _write_batch(self, spark: SparkSession, raw: DataFrame | arrow.Table, number: int) -> BatchReport:
        _, extents = record_batch(raw, self._registry, self._stream, self._schemas, self._forms)
        self._history_changes.read_changes(extents)
        moved = self._unfinished_moves.finish_moves(SparkExecutor(spark))
        tables = {
            t for topic, _ in extents for t in self._store.find_by_alias(topic) if t.stream == self._stream
        }
        held_back = self._quarantine.list_tables(spark, self._stream)
        if self._retry.retry_records(spark, held_back, f"placed:{number}:{time.time_ns()}"):
            held_back = self._quarantine.list_tables(spark, self._stream)
        waiting = _index_waiting(held_back)
        tables |= {
            t for quarantined in waiting.values() if (t := parse_table(quarantined.source_table)) is not None
        }
        histories = self._load_histories(tables)
        offsets = hash_offsets(extents)
        report = _BatchRun(self, spark, number, histories, waiting, offsets).write_tables(raw)
        report = report.add_moves(reversed(moved))
        if report.rejected or any(table.quarantined or table.replayed for table in report.tables):
            held_back = self._quarantine.list_tables(spark, self._stream)
        quiet = {each.source_table for each in report.tables} - {str(table) for table in histories}
        others = [t for t in self._store.tables() if str(t) in quiet] if quiet else []
        sink_tables = [each for table in (*histories, *others) for each in self.list_sink_tables(table)]
        self._waiting_journal.write_lines(report, sink_tables, held_back)
        return (
            replace(report, waiting=self._quarantine.list_waiting(spark, self._stream))
            if held_back
            else report
        )

    def _load_histories(self, tables: Iterable[TableId]) -> dict[TableId, TableHistory]:
        found = ((table, self._store.history(table)) for table in tables)
        return {table: self._apply_decisions(history) for table, history in found if history is not None}

    def _apply_decisions(self, history: TableHistory) -> TableHistory:
        return read_as_texts(apply_decisions(history, self._decisions()))

    def make_reading(self, histories: Mapping[TableId, TableHistory]) -> ReadingContext:
        """The context with which executors read records."""
        how = (self._schemas, self._stream, self._forms, self._modes, self._placeholder)
        return ReadingContext(
            dict(histories), *how, self._progress.find_orders(histories), dict(self._progress.last)
        )

    def _is_approved(self, plan: Plan) -> bool:
        """Whether the decisions approve this very plan."""
        today = datetime.fromtimestamp(self._clock() / 1000, UTC).date()
        return self._decisions().find_approval(plan_hash(plan), today) is not None

    def list_sink_tables(self, table: TableId) -> tuple[SinkTable, ...]:
        """The lake tables that follow a source table."""
        return tuple(SinkTable(table, t, t.address(table)) for t in self._targets if t.has_table(table))


def _open_schemas(schemas: SchemaLookup | str | None, services: Services | None) -> SchemaLookup:
    """Open the schema registry that the caller names, else that of the settings."""
    if schemas is None:
        return (None if services is None else services.open_schema_registry()) or NO_REGISTRY
    if isinstance(schemas, str):
        return open_registry(schemas, {}) if is_url(schemas) else load_export(schemas)
    return schemas


def _require_arguments(registry: object, quarantine: object, policy: object) -> None:
    """Raises `UsageError` for an argument of another type."""
    if not isinstance(registry, Registry) and not hasattr(registry, "append"):
        raise UsageError(
            f"registry is of type {type(registry).__name__}, not a Registry",
            hint="open one: registry = schemaman.open(URL)",
        )
    if not hasattr(quarantine, "add_records"):
        raise UsageError(
            f"quarantine is of type {type(quarantine).__name__}, not a Quarantine",
            hint="use schemaman.spark.Quarantine(TABLE)",
        )
    if policy is not None:
        require_policy(policy)


_Due = tuple[SinkTable, TableChanges]
"""A lake table that gets rows in a batch."""
_Chosen = tuple[frozenset[int], RowPlace | None]
"""The versions of the rows for which a lake table was chosen, and its place among those of its source."""


class _BatchRun:
    """One batch while it is written."""

    def __init__(
        self,
        sink: LakeSink,
        spark: SparkSession,
        number: int,
        histories: Mapping[TableId, TableHistory],
        waiting: Mapping[tuple[str, str], QuarantinedTable],
        offsets: str,
    ) -> None:
        self.sink = sink
        self.spark = spark
        self.number = number
        self.histories = histories
        self.waiting = waiting
        self.quarantine = sink._quarantine
        self.stream = sink._stream
        self.executor = SparkExecutor(spark)
        self.reading = sink.make_reading(histories)
        query = spark.sparkContext.getLocalProperty(_QUERY)
        self.batch = None if query is None else StreamBatch(query, number, offsets)
        self.attempt = f"{query or 'called'}:{number}:{time.time_ns()}"
        self.tables = {format_table(table): table for table in histories}
        self.find_unread: FindUnread | None = None
        self.migration = sink._migration
        self.later: frozenset[int] = frozenset()
        self.active: frozenset[str | None] = frozenset()
        self.reasons: dict[str, dict[TopicOffset, str]] = {}
        self.chosen: dict[str, _Chosen] = {}

    def write_tables(self, raw: DataFrame | arrow.Table) -> BatchReport:
        """Write every table of the batch, side by side where their order does not matter."""
        rows = self.sink._lake_decoder.decode_batch(self.spark, raw, self.reading, self.waiting)
        try:
            counted = rows.count_records()
            self.active = frozenset(counted)
            self._reject(rows, counted)
            rejected = counted.pop(None, RecordCount()).records
            report = self._write_sink_tables(raw, rows, counted, rejected)
            self.sink._progress.add_batch(
                (self.tables[reach[0]], *reach[1:]) for reach in rows.find_progress()
            )
            return report
        finally:
            rows.release()

    def _write_sink_tables(
        self,
        raw: DataFrame | arrow.Table,
        rows: DecodedBatch,
        counted: Mapping[str | None, RecordCount],
        rejected: int,
    ) -> BatchReport:
        ended, written_before = self._write_ended_rows(rows, counted)
        order = order_by_end(self.histories.values())
        copies = tuple(filter(self._is_copy, order))
        due: list[_Due] = []
        renamed: list[_Due] = []
        untargeted = 0
        for table in order:
            changes = self._select_unwritten(rows, counted, table, written_before)
            sink_tables = self.sink.list_sink_tables(table)
            untargeted += 0 if sink_tables else changes.count
            if table not in copies:
                (renamed if self._is_renamed(table) else due).extend(self._list_due(sink_tables, changes))
        outcomes = self.sink._side_by_side.map(self.spark, due, self._write_alone)
        reports = [*ended, *self._settle_outcomes(raw, due, outcomes)]
        # The lake tables of their previous names must exist by now, also those that had to wait.
        outcomes = [self._write_alone(self.spark, each) for each in renamed]
        reports += self._settle_outcomes(raw, renamed, outcomes)
        # The tables for which they were swapped in exist by now, and take their rows.
        copied: list[_Due] = []
        if copies:
            reports += self._write_late_rows(rows, counted, written_before, copies)
        for table in copies:
            changes = self._select_unwritten(rows, counted, table, written_before)
            copied += self._list_due(self.sink.list_sink_tables(table), changes)
        reports += self._settle_outcomes(
            raw, copied, [self._write_alone(self.spark, each) for each in copied]
        )
        due += renamed + copied
        reports += self.sink._history_changes.report_stale_tables(
            lambda _: self.executor, {sink_table for sink_table, _ in due}
        )
        return BatchReport(self.number, tuple(reports), untargeted, rejected)

    def _select_unwritten(
        self,
        rows: DecodedBatch,
        counted: Mapping[str | None, RecordCount],
        table: TableId,
        written: Mapping[TableId, frozenset[int]],
    ) -> TableChanges:
        """Select the changes of a table but for those of the versions that are written."""
        changes = _select_changes(rows, format_table(table), counted)
        if table not in written:
            return changes
        return _select_versions(changes, format_table(table), written[table], others=True)

    def _list_due(self, sink_tables: Iterable[SinkTable], changes: TableChanges) -> list[_Due]:
        """List the sink tables of these that have changes to write, now or from before."""
        return [(each, changes) for each in sink_tables if changes.count or _make_key(each) in self.waiting]

    def _settle_outcomes(
        self, raw: DataFrame | arrow.Table, due: Sequence[_Due], outcomes: Sequence[TableReport | Blocked]
    ) -> list[TableReport]:
        """Write the tables whose lease another run held, or whose history grew; the reports of all."""
        reports: list[TableReport] = []
        locked: list[_Due] = []
        overtaken: list[SinkTable] = []
        for (sink_table, changes), written in zip(due, outcomes, strict=True):
            if isinstance(written, TableReport):
                reports.append(written)
            elif written.is_locked:
                locked.append((sink_table, changes))
            else:
                overtaken.append(sink_table)
        for sink_table, changes in locked:
            outcome = self._migrate_after_lease(sink_table, changes)
            if isinstance(outcome, Blocked) and outcome.is_overtaken:
                overtaken.append(sink_table)
            else:
                reports.append(self._write_or_block(sink_table, outcome, changes))
        return reports + [self._read_again(raw, sink_table) for sink_table in overtaken]

    def _write_ended_rows(
        self, rows: DecodedBatch, counted: Mapping[str | None, RecordCount]
    ) -> tuple[list[TableReport], dict[TableId, frozenset[int]]]:
        """Write the rows that come before a name is used again; the reports, and the versions of the rows."""
        versions = {
            table: counted[text].versions
            for text, table in self.tables.items()
            if counted.get(text) is not None
        }
        reports: list[TableReport] = []
        written: dict[TableId, frozenset[int]] = {}
        for ended in list_ended_rows(self.histories, versions, self._takes_ended_rows):
            earlier = self._look_back(ended)
            for table, numbers in ended.versions.items():
                text = format_table(table)
                changes = _select_versions(_select_changes(rows, text, counted), text, numbers)
                for sink_table in self.sink.list_sink_tables(table):
                    outcome = earlier._migrate_after_lease(sink_table, changes)
                    reports.append(earlier._write_or_block(sink_table, outcome, changes))
                written[table] = written.get(table, frozenset()) | numbers
        return [*reports, *self._write_late_rows(rows, counted, written, self.tables.values())], written

    def _write_late_rows(
        self,
        rows: DecodedBatch,
        counted: Mapping[str | None, RecordCount],
        written: dict[TableId, frozenset[int]],
        tables: Iterable[TableId],
    ) -> Iterator[TableReport]:
        """Write the rows of ended tables whose lake tables have moved; add their versions to `written`.

        `tables` are those of the rows.
        """
        for table in tables:
            text = format_table(table)
            numbers = counted.get(text, RecordCount()).versions - written.get(table, frozenset())
            for end, late in list_late_versions(self.histories[table], numbers):
                changes = _select_versions(_select_changes(rows, text, counted), text, late)
                earlier = self._look_back(EndedRows(table, end, {table: late}))
                sink_tables = self.sink.list_sink_tables(table)
                if changes.truncated is not None or not sink_tables:
                    continue
                if not all(self._find_late_table(each, end, late) for each in sink_tables):
                    continue
                written[table] = written.get(table, frozenset()) | late
                for sink_table in sink_tables:
                    yield earlier._write_late(
                        sink_table, changes, partial(self._find_late_table, sink_table, end, late)
                    )

    def _find_late_table(
        self, sink_table: SinkTable, end: TableEvent, numbers: frozenset[int]
    ) -> Ready | None:
        """Find the lake table of late rows of some versions; None also where it cannot be read now."""
        history = self.histories[sink_table.table]
        try:
            return find_late_table(self.migration, self.executor, sink_table, history, end, numbers)
        except (StatementFailed, Locked):
            return None

    def _write_late(
        self, sink_table: SinkTable, changes: TableChanges, find_place: Callable[[], Ready | None]
    ) -> TableReport:
        """Write late rows into the lake table that has moved, by their order alone."""
        report = TableReport(str(sink_table.table), sink_table.lake_table, changes.count)
        reason = _NO_PLACE
        for attempt in range(ATTEMPTS):
            try:
                ready = find_place()
                if ready is None:
                    break
                report = replace(report, lake_table=ready.redirect(sink_table).lake_table)
                return self._write(sink_table, self._make_writer(sink_table, ready), changes, report)
            except (StatementFailed, StagingFailed, Locked) as error:
                reason = error.message
                if not isinstance(error, StatementConflict):
                    break
                rest_after(attempt)
        return self._block(sink_table, changes, report, reason)

    def _takes_ended_rows(self, history: TableHistory, end: TableEvent) -> bool:
        """Whether each lake table of a source may take the rows from before an event."""
        tables = self.sink.list_sink_tables(history.table)
        movers = [(self._open(each).make_mover(), each.lake_table) for each in tables]
        return bool(movers) and all(
            mover.takes_ended_rows(history, end, address) for mover, address in movers
        )

    def _look_back(self, before: EndedRows) -> _BatchRun:
        """The run with the histories from before an event.

        Its rows are written by their order alone: the table may get more rows of this batch under another
        name. Records that wait are written by the batch itself.
        """
        earlier = copy.copy(self)
        cut = ((table, before.cut_history(history)) for table, history in self.histories.items())
        earlier.histories = {table: history for table, history in cut if history is not None}
        earlier.migration = self.migration.look_back(before)
        earlier.batch, earlier.waiting = None, {}
        earlier.reasons, earlier.chosen = {}, {}
        return earlier

    def _read_again(
        self, raw: DataFrame | arrow.Table, sink_table: SinkTable, times: int = _MAX_REREADS
    ) -> TableReport:
        """Write a table whose history grew while the batch was read: read the batch by the new history."""
        self.histories = {**self.histories, **self.sink._load_histories((sink_table.table,))}
        self.reading = self.sink.make_reading(self.histories)
        rows = self.sink._lake_decoder.decode_batch(self.spark, raw, self.reading, self.waiting)
        try:
            counted = rows.count_records()
            if None in counted:
                self._reject(rows, counted)
            changes = _select_changes(rows, format_table(sink_table.table), counted)
            outcome = self._migrate_after_lease(sink_table, changes)
            if isinstance(outcome, Blocked) and outcome.is_overtaken and times > 1:
                return self._read_again(raw, sink_table, times - 1)
            return self._write_or_block(sink_table, outcome, changes)
        finally:
            rows.release()

    def _reject(self, rows: DecodedBatch, counted: Mapping[str | None, RecordCount]) -> None:
        """Keep records that could not be read; later records of the same rows wait for them."""
        rejected = counted.get(None, RecordCount()).records
        if rejected:
            self.quarantine.add_records(rows.select_rejected(), self.stream, UNKNOWN_TABLE, "", self.attempt)
        self.find_unread = make_unread_query(self.spark, self.quarantine, self.stream, self.waiting, rejected)

    def _is_renamed(self, table: TableId) -> bool:
        return any(alias.kind == "table" for alias in self.histories[table].aliases)

    def _is_copy(self, table: TableId) -> bool:
        """Whether a table was the copy of an online schema change, and has the name of its table by now."""
        history = self.histories[table]
        if find_end(history, history.latest.incarnation) is None:
            return False
        sink_tables = self.sink.list_sink_tables(table)
        return any(self._open(each).make_mover().is_swapped_in(history) for each in sink_tables)

    def _write_alone(self, spark: SparkSession, due: _Due) -> TableReport | Blocked:
        """Migrate and write one table in a session; what has to wait is returned as blocked.

        What is found while it is written concerns this table alone, so that others may be written meanwhile.
        """
        sink_table, changes = due
        alone = copy.copy(self)
        alone.spark, alone.executor = spark, SparkExecutor(spark)
        alone.reasons, alone.chosen = {}, {}
        changes = replace(changes, rows=changes.rows.use_session(spark))
        outcome = alone._migrate(sink_table, changes)
        if isinstance(outcome, Blocked) and (outcome.is_locked or outcome.is_overtaken):
            return outcome
        return alone._write_or_block(sink_table, outcome, changes)

    def _migrate(self, sink_table: SinkTable, changes: TableChanges) -> Ready | Blocked:
        # A row that may have an earlier key is tried under that of the table first: it then names its row.
        is_uncertain = not changes.versions.isdisjoint(find_key_proofs(self.histories[sink_table.table]))
        holds_key = is_uncertain or _make_key(sink_table) in self.waiting
        return self._migrate_for(sink_table, changes.versions, holds_key=holds_key)

    def _migrate_for(
        self,
        sink_table: SinkTable,
        versions: frozenset[int],
        *,
        holds_key: bool,
        unfit: frozenset[int] = frozenset(),
    ) -> Ready | Blocked:
        read_by, is_quiet = self.histories[sink_table.table], self._is_quiet(sink_table)
        how = {"holds_key": holds_key, "is_quiet": is_quiet}
        return migrate_table(self._open(sink_table), read_by, versions, unfit=unfit, **how)

    def _is_quiet(self, sink_table: SinkTable) -> bool:
        """Whether the batch has no record of a source: those that wait have seen no newer one."""
        return format_table(sink_table.table) not in self.active

    def _open(self, sink_table: SinkTable) -> TableContext:
        return self.migration.open_table(sink_table, self.executor)

    def _migrate_after_lease(self, sink_table: SinkTable, changes: TableChanges) -> Ready | Blocked:
        """Migrate the table after its lease has expired: most likely a killed run of this job holds it."""
        until = time.monotonic() + LEASE_MS / 1000 + _LEASE_POLL_SECONDS
        outcome = self._migrate(sink_table, changes)
        while isinstance(outcome, Blocked) and outcome.is_locked and time.monotonic() < until:
            time.sleep(_LEASE_POLL_SECONDS)
            outcome = self._migrate(sink_table, changes)
        return outcome

    def _write_or_block(
        self, sink_table: SinkTable, outcome: Ready | Blocked, changes: TableChanges
    ) -> TableReport:
        """Write one table; a fault of the table blocks this table alone.

        After the commit of another writer the table is inspected anew: it may have other columns or rows.
        """
        for attempt in range(ATTEMPTS):
            try:
                return self._write_once(sink_table, outcome, changes, is_last=attempt == ATTEMPTS - 1)
            except StatementConflict:
                rest_after(attempt)
                outcome = self._migrate_after_lease(sink_table, changes)
        raise AssertionError("the last attempt returns")

    def _write_once(
        self, sink_table: SinkTable, outcome: Ready | Blocked, changes: TableChanges, *, is_last: bool
    ) -> TableReport:
        """Write one table, or block it. Raises `StatementConflict` unless it is the last attempt."""
        report = TableReport(str(sink_table.table), sink_table.lake_table, changes.count)
        try:
            if isinstance(outcome, Blocked):
                if outcome.is_ignored:
                    return replace(report, ignored=changes.count, notes=(outcome.reason,))
                report = replace(report, plan=outcome.plan)
                if outcome.copy is not None and changes.count:
                    return self._block_unwritten(sink_table, changes, report, outcome.reason, outcome.copy)
                return self._block(sink_table, changes, report, outcome.reason)
            report = replace(report, steps=outcome.steps, notes=outcome.notes, plan=outcome.waiting)
            writer = self._make_writer(sink_table, outcome)
            self._note_choice(sink_table, outcome, changes.versions)
            self._require_unblocked(sink_table)
            replayed, truncated = self._replay(sink_table, writer)
            report = replace(report, replayed=replayed, truncated=truncated)
            report = self._write(sink_table, writer, changes, report) if changes.count else report
            return self._write_later_keys(sink_table, outcome, report)
        except (StatementFailed, TableTruncated, StagingFailed, Locked) as error:
            if isinstance(error, StatementConflict) and not is_last:
                raise
            return self._block(sink_table, changes, report, error.message)

    def _write_later_keys(self, sink_table: SinkTable, outcome: Ready, report: TableReport) -> TableReport:
        """Give the table its next keys one after the other, and write the rows that came under them.

        Those rows went to quarantine, since the table had an earlier key when the batch was written. Each
        table of the source gets the columns of texts that its own rows need, before the next one is written.
        """
        later, tried = outcome.later | self.later, set[tuple[str, int]]()
        while True:
            name, unfit = self._find_unfit(sink_table, tried)
            if not unfit and not later:
                return report
            versions = self.chosen[name][0] if unfit else later
            tried |= {(name, column) for column in unfit}
            if unfit:
                self.waiting = _index_waiting(self.quarantine.list_tables(self.spark, self.stream))
            holds_key = bool(unfit) and _make_key(sink_table) in self.waiting
            migrated = self._migrate_for(sink_table, versions, holds_key=holds_key, unfit=unfit)
            if isinstance(migrated, Blocked):
                return replace(report, plan=migrated.plan, blocked=migrated.reason)
            later = later | migrated.later if unfit else migrated.later
            self.chosen[migrated.redirect(sink_table).lake_table] = versions, migrated.place
            self.waiting = _index_waiting(self.quarantine.list_tables(self.spark, self.stream))
            replayed, truncated = self._replay(sink_table, self._make_writer(sink_table, migrated), migrated)
            report = replace(
                report,
                steps=(*report.steps, *migrated.steps),
                notes=tuple(dict.fromkeys((*report.notes, *migrated.notes))),
                rows=report.rows + replayed - truncated,
                truncated=report.truncated + truncated,
                quarantined=max(0, report.quarantined - replayed),
            )

    def _find_unfit(
        self, sink_table: SinkTable, tried: Collection[tuple[str, int]]
    ) -> tuple[str, frozenset[int]]:
        """A lake table, and the ids of its columns that need one of texts beside them; none if none do.

        `tried` are lake tables and columns for which this was tried in this batch.
        """
        if not any(self.reasons.values()) or not self._open(sink_table).splits_columns:
            return "", frozenset()
        for name, (_, place) in self.chosen.items():
            whole = self.histories[sink_table.table]
            history = whole if place is None else place.cut_history(whole)
            found = find_unfit_columns(self.reasons.get(name, {}).values(), history)
            found -= {column for table, column in tried if table == name}
            if found:
                return name, found
        return "", frozenset()

    def _note_choice(self, sink_table: SinkTable, ready: Ready, versions: frozenset[int]) -> None:
        """Note for which rows a lake table was chosen: for the same ones it is found again."""
        name = ready.redirect(sink_table).lake_table
        before, _ = self.chosen.get(name, (frozenset(), None))
        self.chosen[name] = before | versions, ready.place

    def _require_unblocked(self, sink_table: SinkTable) -> None:
        """Raises `TableTruncated` if an earlier TRUNCATE has blocked the table."""
        quarantined = self.waiting.get(_make_key(sink_table))
        action, reason = decide_truncate(self.sink._policy, sink_table)
        if action == "stop" and quarantined is not None and quarantined.truncated:
            raise TableTruncated(reason)

    def _apply_truncate_policy(
        self, sink_table: SinkTable, writer: TableWriter, changes: TableChanges
    ) -> tuple[TableChanges, str, int]:
        """The changes with a TRUNCATE only where it empties the table, a note, and a count.

        The note says what the policy ignored; the count is of the records that went to quarantine.

        Raises:
            TableTruncated: a TRUNCATE blocks the table.
        """
        if changes.truncated is None or not writer.has_key:
            return changes, "", 0
        changes, kept = self._keep_later_truncates(sink_table, writer, changes)
        if changes.truncated is None:
            return changes, "", kept
        action, reason = decide_truncate(self.sink._policy, sink_table)
        without = replace(changes, truncated=None)
        match action:
            case "empty":
                return changes, "", kept
            case "leave":
                return without, reason, kept
            case "set-aside":
                mine = self._select_truncates(writer, changes)
                self._quarantine_rows(mine.rows.give_reason(reason), sink_table)
                return without, "", kept + mine.count
            case "stop":
                raise TableTruncated(reason)
            case _:
                assert_never(action)

    def _keep_later_truncates(
        self, sink_table: SinkTable, writer: TableWriter, changes: TableChanges
    ) -> tuple[TableChanges, int]:
        """Keep the TRUNCATEs from the time of a later lake table for it, as rows of that time.

        Returns the changes with the newest of the other ones, and how many are kept.
        """
        later = self._select_truncates(writer, changes, later=True)
        if not later.count:
            return changes, 0
        self._quarantine_rows(later.rows.give_reason(OTHER_TABLE), sink_table)
        return replace(changes, truncated=self._select_truncates(writer, changes).truncated), later.count

    def _select_truncates(
        self, writer: TableWriter, changes: TableChanges, *, later: bool = False
    ) -> TableChanges:
        """The TRUNCATEs from the time of a writer's lake table, or from a later one's."""
        truncates = replace(changes, rows=changes.rows.select_truncates())
        numbers = writer.list_later_versions(changes.versions)
        return _select_versions(truncates, format_table(writer.sink_table.table), numbers, others=not later)

    def _make_writer(self, sink_table: SinkTable, outcome: Ready) -> TableWriter:
        history, stamps = self.histories[sink_table.table], self.sink._stamps
        follower = outcome.redirect(sink_table)
        orders = self.reading.read_orders
        return TableWriter(self.spark, follower, outcome, history, stamps, self._make_turn(follower), orders)

    def _make_turn(self, follower: SinkTable) -> TakeTurn:
        """Make what keeps other jobs from adding rows to a log meanwhile."""
        rows = f"{target_id(follower.target.format, follower.lake_table)} (rows)"
        return lambda: self._open(follower).take_turn(rows, patience_ms=TURN_MS + 5000)

    def _write(
        self, sink_table: SinkTable, writer: TableWriter, changes: TableChanges, report: TableReport
    ) -> TableReport:
        changes, note, waiting = self._apply_truncate_policy(sink_table, writer, changes)
        how = (self.spark, self.quarantine, self.reading, self.sink._small)
        others = others_of(*how, self.waiting.get(_make_key(sink_table)))
        written = writer.write_changes(
            changes,
            self.batch,
            self._make_quarantine(sink_table, changes.rows, writer),
            others,
            self.find_unread,
        )
        fault = self._record_truncate(writer, changes)
        again = (
            f"batch {self.number} has a number that other records had before: its rows are written by "
            "their order"
        )
        notes = (*report.notes, *filter(None, (note, fault, again if written.is_number_reused else "")))
        quarantined_count = written.quarantined + waiting
        return replace(
            report,
            rows=written.rows,
            ended_incarnation=written.ended_incarnation,
            truncated=report.truncated + written.truncated,
            quarantined=quarantined_count,
            notes=notes,
        )

    def _record_truncate(self, writer: TableWriter, changes: TableChanges) -> str:
        """Write the run of a TRUNCATE into the journal; return a fault as a note, empty for none."""
        if changes.truncated is None or not writer.has_key:
            return ""
        history = self.histories[writer.sink_table.table]
        return record_truncate(self._open(writer.sink_table), history, changes.truncated)

    def _replay(
        self, sink_table: SinkTable, writer: TableWriter, migrated: Ready | None = None
    ) -> tuple[int, int]:
        """Write the quarantined records of a table that can take them, before newer records.

        `migrated` is the table that takes them; without it, that of the first of them. Returns how many are
        released, and how many of these are from before a TRUNCATE that deleted their rows.
        """
        quarantined = self.waiting.get(_make_key(sink_table))
        self.later = frozenset()
        if quarantined is None or not self.quarantine.keep_bytes:
            return 0, 0
        tried, history = self.sink._attempts, self.histories[sink_table.table]
        late = describe_late_tables(self.migration, self.executor, sink_table, history)
        late = (*late, self._is_quiet(sink_table), *sorted(writer.partition_ends.items()))
        if tried.is_unchanged(quarantined, writer.lake, history, late):
            return 0, 0
        records = copy_records(
            self.quarantine.read_records(self.spark, self.stream, quarantined), self.sink._small
        )
        rows = self.sink._lake_decoder.decode_batch(self.spark, records, self.reading, None)
        try:
            counted = rows.count_records()
            if None in counted:
                self._reject(rows, counted)
            changes = _select_changes(rows, format_table(sink_table.table), counted)
            count = changes.count
            changes, quarantined_count, truncated = self._replay_late_rows(sink_table, changes)
            if changes.count:
                outcome = migrated or self._migrate(sink_table, changes)
                other = self._make_writer(sink_table, outcome) if isinstance(outcome, Ready) else writer
                self.later = outcome.later if isinstance(outcome, Ready) else frozenset()
                if migrated is None and isinstance(outcome, Ready):
                    self._note_choice(sink_table, outcome, changes.versions)
                changes, kept = self._apply_truncate_policy_again(sink_table, other, changes)
                keep = self._make_quarantine(sink_table, changes.rows, other)
                written = other.write_changes(changes, None, keep, unread=self.find_unread, waited=True)
                quarantined_count += kept + written.quarantined
                truncated += written.truncated
                writer.follow_truncate(other)
                self._record_truncate(other, changes)
            self.quarantine.release_records(self.spark, self.stream, quarantined)
            tried.record_attempt(quarantined, writer.lake, history, late)
            return count - quarantined_count, truncated
        finally:
            rows.release()

    def _replay_late_rows(
        self, sink_table: SinkTable, changes: TableChanges
    ) -> tuple[TableChanges, int, int]:
        """Write the quarantined rows of ended tables into the tables of their time.

        Returns the other changes, how many records stay in quarantine with a new reason, and how many are
        from before a TRUNCATE.
        """
        text, kept, truncated = format_table(sink_table.table), 0, 0
        for end, late in list_late_versions(self.histories[sink_table.table], changes.versions):
            mine = _select_versions(changes, text, late)
            ready = None if mine.truncated is not None else self._find_late_table(sink_table, end, late)
            if ready is None:
                continue
            writer = self._look_back(EndedRows(sink_table.table, end, {}))._make_writer(sink_table, ready)
            keep = self._make_quarantine(sink_table, mine.rows, writer)
            written = writer.write_changes(mine, None, keep, unread=self.find_unread, waited=True)
            kept, truncated = kept + written.quarantined, truncated + written.truncated
            changes = _select_versions(changes, text, late, others=True)
        return changes, kept, truncated

    def _apply_truncate_policy_again(
        self, sink_table: SinkTable, writer: TableWriter, changes: TableChanges
    ) -> tuple[TableChanges, int]:
        """As `_apply_truncate_policy`, for records in quarantine: they get the blocking reason."""
        try:
            changes, _, quarantined_count = self._apply_truncate_policy(sink_table, writer, changes)
        except TableTruncated as stop:
            self._quarantine_rows(changes.rows.give_reason(stop.message), sink_table)
            raise
        return changes, quarantined_count

    def _block(
        self, sink_table: SinkTable, changes: TableChanges, report: TableReport, reason: str
    ) -> TableReport:
        """Quarantine all records of a table that cannot take them."""
        if changes.count:
            self._quarantine_rows(changes.rows.give_reason(reason), sink_table)
        return replace(report, quarantined=changes.count, blocked=reason)

    def _block_unwritten(
        self, sink_table: SinkTable, changes: TableChanges, report: TableReport, reason: str, copy: Ready
    ) -> TableReport:
        """Quarantine the records of a table whose changes its copy does not have.

        A killed run had written the others before another table took over the rows.
        """

        def keep(reasons: Mapping[TopicOffset, str]) -> None:
            self._quarantine_rows(changes.rows.select_records(dict.fromkeys(reasons, reason)), sink_table)

        writer = self._make_writer(sink_table, copy)
        kept = writer.write_changes(replace(changes, truncated=None), None, keep).quarantined
        if changes.truncated is not None:
            truncates = changes.rows.select_truncates()
            self._quarantine_rows(truncates.give_reason(reason), sink_table)
            kept += sum(found.records for found in truncates.count_records().values())
        return replace(report, quarantined=kept, blocked=reason if kept else "")

    def _make_quarantine(
        self, sink_table: SinkTable, rows: DecodedBatch, writer: TableWriter
    ) -> QuarantineRecords:
        """Make what keeps rows: what their own table says of them stays when others do not take them."""

        def keep(reasons: Mapping[TopicOffset, str]) -> None:
            own = {place: why for each in self.reasons.values() for place, why in each.items()}
            kept = {p: own.get(p, why) if goes_elsewhere(why) else why for p, why in reasons.items()}
            mine = self.reasons.setdefault(writer.sink_table.lake_table, {})
            mine.update((place, why) for place, why in reasons.items() if not goes_elsewhere(why))
            self._quarantine_rows(rows.select_records(kept), sink_table)

        return keep

    def _quarantine_rows(self, rows: DataFrame, sink_table: SinkTable) -> None:
        source = format_table(sink_table.table)
        self.quarantine.add_records(rows, self.stream, sink_table.lake_table, source, self.attempt)


def _select_changes(rows: DecodedBatch, text: str, counted: Mapping[str | None, RecordCount]) -> TableChanges:
    count = counted.get(text, RecordCount())
    return TableChanges(rows.select_table(text), count.records, count.truncated, count.versions)


def _select_versions(
    changes: TableChanges, text: str, versions: frozenset[int], *, others: bool = False
) -> TableChanges:
    """The changes of some versions of a table, or of all others."""
    rows = changes.rows.select_versions(versions, others=others)
    return _select_changes(rows, text, rows.count_records())


def _index_waiting(quarantined: Iterable[QuarantinedTable]) -> dict[tuple[str, str], QuarantinedTable]:
    """The tables with records in quarantine, by lake table and source table."""
    return {(each.lake_table, each.source_table): each for each in quarantined}


def _make_key(sink_table: SinkTable) -> tuple[str, str]:
    """The lake table and the source table, as the quarantine names them."""
    return sink_table.lake_table, format_table(sink_table.table)
