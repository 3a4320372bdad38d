"""The sink in memory: what `foreachBatch` does with a batch, on tables in memory and without Spark.

Decoding, structures, the fold by key and what goes into quarantine are the real ones; the MERGE is read out
in Python as its statement says it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as arrow

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO
from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.untyped_columns import read_as_texts
from schemaman.history.versions import TableEvent, TableHistory
from schemaman.migration.plan import Plan
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.migration.properties.names import SOURCE_PROPERTY, TRUNCATED_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import (
    ORDER,
)
from schemaman.migration.settings import TargetSetting
from schemaman.migration.spark_sql import set_properties
from schemaman.migration.successor import list_successors
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.sink.ended_incarnations import (
    EndedRows,
    list_ended_rows,
    list_late_versions,
    order_by_end,
)
from schemaman.sink.row_mapping import OTHER_TABLE, RowMap, fill_truncate_metadata, goes_elsewhere
from schemaman.sink.uncertain_keys import find_key_proofs
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.values import find_unfit_columns
from schemaman.spark.streaming.batch_report import TableReport
from schemaman.spark.streaming.history_changes import HistoryChanges
from schemaman.spark.streaming.lake_progress import OrderQuery, resolve_ambiguity
from schemaman.spark.streaming.late_rows import describe_late_tables, find_late_table
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.spark.streaming.migration_context import MigrationContext
from schemaman.spark.streaming.progress import Reach, StreamProgress
from schemaman.spark.streaming.quarantine import NO_PREVIOUS_ROW, WAITING_REASONS, QuarantinedTable, RetryLog
from schemaman.spark.streaming.row_staging import (
    CAME_LATE,
    CHANGE_ARROW,
    ENDED_INCARNATION,
    OTHER_ROW,
    TRUNCATED_ROW,
    VALUE_LOST,
    WAITS_FOR_OLDER,
    ChangeFolder,
    ChangeMapper,
    ReadingContext,
    RecordDecoder,
    format_table,
)
from schemaman.spark.streaming.sink_table import Blocked, Ready, SinkTable
from schemaman.spark.streaming.staged_columns import HelperColumns, make_staged_helpers
from schemaman.spark.streaming.table_migration import migrate_table
from schemaman.spark.streaming.truncate import decide_truncate
from schemaman.spark.streaming.truncate_run import record_truncate
from schemaman.spark.streaming.unfinished_moves import UnfinishedMoves
from schemaman.spark.streaming.unread_records import make_unread_records
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import ComparedTable
from tests.support.memory_lake import MemoryLake, MemoryTable

HEADER = arrow.struct([("key", arrow.string()), ("value", arrow.binary())])
COLUMNS = arrow.schema([
    ("topic", arrow.string()), ("partition", arrow.int32()), ("offset", arrow.int64()),
    ("timestamp", arrow.timestamp("us", tz="UTC")), ("key", arrow.binary()), ("value", arrow.binary()),
    ("headers", arrow.list_(HEADER)),
])  # fmt: skip


def batch_of(records: Sequence[Record]) -> arrow.Table:
    """Records as Spark's Kafka source hands them over, in Arrow."""
    rows = [
        {
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
            "timestamp": datetime.fromtimestamp((r.timestamp_ms or 0) / 1000, UTC),
            "key": r.key,
            "value": r.value,
            "headers": [{"key": name, "value": value} for name, value in r.headers],
        }
        for r in records
    ]
    return arrow.Table.from_pylist(rows, COLUMNS)


EMPTYING = Policy(rules=(PolicyRule("auto", ("truncate",)),))
"""What the source empties is emptied, as an independent fold of the events does it."""


def careful(plan: Plan) -> bool:
    """Whether a careful person approves: not that two names mean other columns, which may be an exchange."""
    return sum(ruled.kind == "reuse-name" for ruled in plan.rulings) < 2


@dataclass(slots=True)
class MemorySink:
    """Takes batches of a stream; `stopped` are lake tables that take nothing, `aside` says why of records."""

    store: SqlStore
    schemas: SchemaLookup
    format: str
    policy: Policy = EMPTYING
    approve: Callable[[Plan], bool] = careful
    tables: dict[str, MemoryTable] = field(default_factory=dict)
    sources: dict[str, TableId] = field(default_factory=dict)
    aside: dict[str, dict[TopicOffset, str]] = field(default_factory=dict)
    said: dict[str, dict[TopicOffset, str]] = field(default_factory=dict)
    """What lake tables said of the records that they did not take, until the next step."""
    kept: dict[str, dict[TopicOffset, dict[str, Any]]] = field(default_factory=dict)
    ended: set[TopicOffset] = field(default_factory=set)
    truncated: set[TopicOffset] = field(default_factory=set)
    """Records from before a TRUNCATE that deleted their rows."""
    rejected: dict[TopicOffset, str] = field(default_factory=dict)
    unplaced: dict[TopicOffset, dict[str, Any]] = field(default_factory=dict)
    keep_bytes: bool = True
    tried: RetryLog = field(default_factory=RetryLog)
    steps: list[str] = field(default_factory=list)
    left: dict[TopicOffset, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    modes: ConnectorModes = UNKNOWN_MODES
    reached: StreamProgress = field(init=False)
    learnt: HistoryChanges = field(init=False)
    quiet: dict[str, str] = field(default_factory=dict)
    """Why tables are stopped of which no records came in the last batch."""
    stopped: set[str] = field(default_factory=set)
    blocked: dict[str, str] = field(default_factory=dict)
    """Why tables took no rows when they were tried last, as the report of a batch says it."""
    plans: dict[str, Plan] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)
    meanwhile: Callable[[], None] = lambda: None
    """Happens beside the job once a batch is decoded."""
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    """Called around everything that lasts: a statement, rows that are merged, records that are kept."""
    clock: Callable[[], int] = lambda: 0
    views: dict[str, str] = field(default_factory=dict)
    view: str = ""
    """The pattern of views for readers; without it there are none."""

    active: set[TableId] = field(default_factory=set)
    """The source tables of which the batch has records."""
    moves: UnfinishedMoves | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reached = StreamProgress(self.store.load)
        self.learnt = HistoryChanges(self.store, "main", self.modes, lambda table: [self._follower(table)])

    def take(self, records: Sequence[Record]) -> None:
        """One batch."""
        registry = Registry(self.store, self.clock)
        batch = batch_of(records)
        _, extents = record_batch(batch, registry, "main", self.schemas)
        self.learnt.read_changes(extents)
        context = MigrationContext(
            self.store, registry, self.policy, self.clock, self.approve, self._decided, self.modes
        )
        for report in self._finish_moves(context):
            self.steps += report.steps
        topics = {topic for topic, _ in extents} | {topic for topic, *_ in self.unplaced}
        tables = {t for topic in topics for t in self.store.find_by_alias(topic)} | set(self.sources.values())
        histories = self._load(tables)
        past = self.reached.find_orders(histories)
        last = dict(self.reached.last)
        reading = ReadingContext(
            histories, self.schemas, "main", AUTO, self.modes, read_orders=past, last=last
        )
        self._place(reading)
        reading = replace(reading, read_orders=self.reached.find_orders(histories))
        decoded = self._told(reading, _ordered(batch), gaps=False)
        self._reject(decoded)
        self.active = {t for t, mine in _split(histories, decoded).items() if mine}
        self.meanwhile()
        seen: list[SinkTable] = []
        rows_of = self._write_ended(_split(histories, decoded), context, reading)
        order = order_by_end(histories.values())
        copies = [table for table in order if self._is_copy(histories[table], context)]
        for table in (*(table for table in order if table not in copies), *copies):
            if table in copies:
                self._write_late(histories[table], rows_of, context)
            mine = rows_of[table]
            seen += [self._follower(table)] if mine or self.kept.get(self._follower(table).lake_table) else []
            self._follow(table, mine, context, reading)
        for table, mine in _split(histories, decoded).items():
            self.reached.add_batch(_reach(table, row) for row in mine if row["reason"] is None)
        self._without_rows(seen)

    def _finish_moves(self, context: MigrationContext) -> Sequence[TableReport]:
        """What a killed job left of exchanges, before the first batch."""
        if self.moves is None:
            how = (context, self._load, lambda table: [self._follower(table)])
            self.moves = UnfinishedMoves(self.store, "main", *how)
        return self.moves.finish_moves(self.open_lake())

    def _load(self, tables: Iterable[TableId]) -> dict[TableId, TableHistory]:
        found = ((table, self.store.history(table)) for table in tables)
        return {table: self._decided(h) for table, h in found if h is not None}

    def _write_ended(
        self,
        rows_of: dict[TableId, list[dict[str, Any]]],
        context: MigrationContext,
        reading: ReadingContext,
    ) -> dict[TableId, list[dict[str, Any]]]:
        """Write the rows of ended incarnations, and return the others."""
        versions = {t: frozenset(row["version"] for row in rows) - {None} for t, rows in rows_of.items()}

        def is_due(history: TableHistory, end: TableEvent) -> bool:
            follower = self._follower(history.table)
            mover = context.open_table(follower, self.open_lake()).make_mover()
            return mover.takes_ended_rows(history, end, follower.lake_table)

        for ended in list_ended_rows(reading.histories, versions, is_due):
            cut = ((table, ended.cut_history(history)) for table, history in reading.histories.items())
            histories = {table: history for table, history in cut if history is not None}
            for table, numbers in ended.versions.items():
                mine = [row for row in rows_of[table] if row["version"] in numbers]
                rows_of[table] = [row for row in rows_of[table] if row["version"] not in numbers]
                earlier = replace(reading, histories=histories)
                self._follow(table, mine, context.look_back(ended), earlier, replays=False)
        for table in rows_of:
            self._write_late(reading.histories[table], rows_of, context)
        return rows_of

    def _is_copy(self, history: TableHistory, context: MigrationContext) -> bool:
        """Whether a table was the copy of an online schema change, and has the name of its table by now."""
        follower = self._follower(history.table)
        return context.open_table(follower, self.open_lake()).make_mover().is_swapped_in(history)

    def _write_late(
        self,
        history: TableHistory,
        rows_of: dict[TableId, list[dict[str, Any]]],
        context: MigrationContext,
        *,
        is_alone: bool = True,
    ) -> set[TopicOffset]:
        """Write the late rows of a table into the lake table of their time; the records that are kept."""
        table, lake, kept = history.table, self.open_lake(), set[TopicOffset]()
        follower = self._follower(table)
        versions = frozenset(row["version"] for row in rows_of[table]) - {None}
        for end, late in list_late_versions(history, versions):
            mine = [row for row in rows_of[table] if row["version"] in late]
            if any(row["op"] == "t" for row in mine):
                continue
            ready = find_late_table(context, lake, follower, history, end, late)
            cut = EndedRows(table, end, {}).cut_history(history)
            if ready is not None and cut is not None:
                there = lake.table(ready.redirect(follower).lake_table)
                kept |= self._write(follower, there, ready.map_rows(cut), mine, [], is_alone=is_alone)
                rows_of[table] = [row for row in rows_of[table] if row["version"] not in late]
        return kept

    def _without_rows(self, seen: Collection[SinkTable]) -> None:
        """The tables that got no rows, and would take none after what was told of them."""
        self.quiet = {}
        for report in self.learnt.report_stale_tables(lambda _: self.open_lake(), seen):
            if report.blocked:
                self.stopped.add(report.lake_table)
                self.quiet[report.lake_table] = report.blocked
            else:
                self.stopped.discard(report.lake_table)

    def _place(self, reading: ReadingContext) -> None:
        """What nobody understood when it came, and what is understood now waits for its table."""
        again = self._again(reading, self.unplaced.values())
        texts = {format_table(table): table for table in reading.histories}
        for row in (row for row in again if row["source_table"] is not None):
            follower = self._follower(texts[row["source_table"]])
            self._keep(follower, {_place(row): row}, lambda _: "placed")
            self.reached.add_orders([_reach(texts[row["source_table"]], row)])
        self.unplaced, self.rejected = {}, {}
        self._reject(again)

    def _reject(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            if row["source_table"] is None and row["reason"] is not None:
                self.rejected[_place(row)] = row["reason"]
                self.unplaced[_place(row)] = row

    def _again(self, reading: ReadingContext, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Records that were kept, decoded as they are read now."""
        return _rows(RecordDecoder(reading), _table(rows))

    def _told(self, reading: ReadingContext, table: arrow.Table, *, gaps: bool) -> list[dict[str, Any]]:
        """Decoded records, once the lake was asked what is doubted of them."""
        reading = replace(reading, ambiguity=self.reached.find_ambiguity(reading.histories, gaps=gaps))
        rows = _rows(RecordDecoder(reading), table)
        names = ("source_table", "topic", "partition", "offset")
        found = [tuple(row[n] for n in names) for row in rows if row["source_table"] and row["reason"]]
        if not found:
            return rows
        asked = partial(self._orders, replace(reading, ambiguity=None), waiting=not gaps)
        return _rows(RecordDecoder(resolve_ambiguity(reading, found, asked)), table)

    def _orders(self, reading: ReadingContext, question: OrderQuery, *, waiting: bool) -> list[str]:
        """What the statement of `spark.asking` asks for, and what waits, but for records that waited."""
        lake_table = self._follower(question.table).lake_table
        lake = self.open_lake()
        inspect = partial(lake.inspect, format=self.format)
        found = list_successors(inspect, lake_table, str(question.table))
        kept = self._again(reading, self.kept.get(lake_table, {}).values() if waiting else ())
        there = [row[ORDER] for each in found for row in self.tables[each.address].rows.values()]
        there += [row["row_order"] for row in kept if row["topic"] == question.topic]
        end = f"/{question.partition:06d}."
        return list(question.select_orders(o for o in there if o and end in o))

    def _decided(self, history: TableHistory) -> TableHistory:
        return read_as_texts(apply_decisions(history, self.decisions))

    def _follower(self, table: TableId) -> SinkTable:
        target = TargetSetting("lake", self.format, ("*",), table="ice.raw.`{database}.{schema}.{table}`")
        if self.format == "delta":
            target = TargetSetting("lake", "delta", ("*",), path="/lake/{database}.{schema}.{table}")
        target = replace(target, view=self.view or None)
        return SinkTable(table, target, target.address(table))

    def _follow(
        self,
        table: TableId,
        rows: list[dict[str, Any]],
        context: MigrationContext,
        reading: ReadingContext,
        versions: Collection[int] | None = None,
        unfit: frozenset[int] = frozenset(),
        tried: frozenset[int] = frozenset(),
        *,
        replays: bool = True,
    ) -> None:
        follower = self._follower(table)
        waiting = dict(self.kept.get(follower.lake_table, {})) if replays else {}
        if not rows and not waiting and versions is None:
            return
        self.sources[follower.lake_table] = table
        lake = self.open_lake()
        again = self._told(reading, _table(waiting.values()), gaps=True)
        versions_given = versions is not None
        if versions is None:
            versions = {row["version"] for row in (*again, *rows)} - {None}
        is_uncertain = not versions_given and not find_key_proofs(reading.histories[table]).keys().isdisjoint(
            versions
        )
        opened = context.open_table(follower, lake)
        brought = migrate_table(
            opened,
            reading.histories[table],
            versions,
            holds_key=bool(unfit) or is_uncertain,
            unfit=unfit,
            is_quiet=table not in self.active,
        )
        lake_table = lake.table(follower.lake_table)
        if isinstance(brought, Blocked) and brought.is_ignored:
            self.left |= {_place(row): brought.reason for row in rows}
            return
        if isinstance(brought, Blocked) and brought.copy is not None:
            changes = [row for row in rows if row["op"] != "t"]
            there = brought.copy.redirect(follower).lake_table
            to = brought.copy.map_rows(reading.histories[table])
            unwritten = self._write(follower, lake.table(there), to, changes, [])
            rows = [row for row in rows if row["op"] == "t" or _place(row) in unwritten]
            if not rows:
                return
        if isinstance(brought, Blocked):
            self.stopped.add(follower.lake_table)
            self.blocked[follower.lake_table] = brought.reason
            self.plans |= {} if brought.plan is None else {follower.lake_table: brought.plan}
            self._keep(follower, {_place(row): row for row in rows}, lambda _: brought.reason)
            if versions_given:
                # Rows under the next key went aside in this batch, and the table does not get that key.
                blocked = [row for row in again if row["version"] in versions]
                self._keep(follower, {_place(row): row for row in blocked}, lambda _: brought.reason)
            return
        taking = brought.redirect(follower).lake_table
        self.sources[taking] = table
        lake_table = lake.table(taking)
        self.steps += brought.steps
        self.stopped.discard(follower.lake_table)
        self.blocked.pop(follower.lake_table, None)
        told = reading.histories[table]
        to = brought.map_rows(told, reading.read_orders)
        self.notes += brought.notes
        self.plans |= {} if brought.waiting is None else {follower.lake_table: brought.waiting}
        said, why = decide_truncate(self.policy, follower)
        truncates = [row for row in (*waiting.values(), *rows) if row["op"] == "t" and to.key]
        if said == "stop" and not all(_is_later_truncate(row, to) for row in truncates):
            self.stopped.add(follower.lake_table)
            self._keep(follower, waiting | {_place(row): row for row in rows}, lambda _: why)
            return
        reasons = list(self.aside.get(follower.lake_table, {}).values())
        lacking = sum(reason in WAITING_REASONS for reason in reasons)
        which = hash(frozenset(waiting))
        held = QuarantinedTable(
            follower.lake_table, format_table(table), len(waiting), lacking, checksum=which
        )
        gone = describe_late_tables(context, lake, follower, told) if waiting else ()
        gone = (*gone, table not in self.active, *sorted(to.partition_ends.items()))
        vain = bool(waiting) and self.tried.is_unchanged(held, brought.lake, told, gone)
        if not vain:
            self._reject(again)
            again = [row for row in again if row["source_table"] is not None]
            rows_of = {table: again}
            late = self._write_late(told, rows_of, context, is_alone=False)
            passed, kept = self._ruled(follower, to, rows_of[table])
            kept |= late | self._write(follower, lake_table, to, passed, [], is_alone=False)
            self._record_truncates(context, brought, told, passed)
            self._release(follower, waiting.keys() - kept)
            self.tried.record_attempt(held, brought.lake, told, gone)
        left = [row for row in again if _place(row) in self.kept.get(follower.lake_table, {})]
        passed = self._ruled(follower, to, rows)[0]
        self._write(follower, lake_table, to, passed, left)
        self._record_truncates(context, brought, told, passed)
        tried |= unfit
        mine = self.said.pop(lake_table.table, {}).values()
        own = told if brought.place is None else brought.place.cut_history(told)
        found = find_unfit_columns(mine, own) - tried
        if found and opened.splits_columns:
            self._follow(table, [], context, reading, versions, found, tried)
        elif brought.later:
            self._follow(table, [], context, reading, brought.later)

    def open_lake(self) -> MemoryLake:
        """The lake as this job sees it."""
        return MemoryLake(self.tables, before=self.before, after=self.after, views=self.views)

    def _ruled(
        self, follower: SinkTable, to: RowMap, rows: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], set[TopicOffset]]:
        """The rows without the TRUNCATEs that the policy does not let through, and those that are kept."""
        said, why = decide_truncate(self.policy, follower)
        later = {_place(row): row for row in rows if _is_later_truncate(row, to)}
        if later:
            self._keep(follower, later, lambda _: OTHER_TABLE)
            rows = [row for row in rows if _place(row) not in later]
        truncates = {_place(row): row for row in rows if row["op"] == "t" and to.key}
        if said == "empty" or not truncates:
            return rows, set(later)
        if said == "leave":
            self.left |= dict.fromkeys(truncates, why)
        else:
            self._keep(follower, truncates, lambda _: why)
        passed = [row for row in rows if _place(row) not in truncates]
        return passed, {*later, *(truncates.keys() - self.left.keys())}

    def _write(
        self,
        follower: SinkTable,
        lake_table: MemoryTable,
        to: RowMap,
        rows: Collection[dict[str, Any]],
        waiting: Collection[dict[str, Any]],
        *,
        is_alone: bool = True,
    ) -> set[TopicOffset]:
        """Write rows as one statement does; the records that are kept instead."""
        ends = {row["row_order"]: pickle.loads(row["change"]) for row in rows if row["op"] == "t" and to.key}
        truncates = sorted(ends)
        truncated = max([to.truncated, lake_table.truncated, *truncates])
        if to.key and truncated > to.truncated:
            lake_table.run(set_properties(quote_name(lake_table.table), {TRUNCATED_PROPERTY: truncated}))
            to = replace(to, truncated=truncated)
        lake_table.truncated = truncated
        unplaced = ((*_place(row), row["key"]) for row in self.unplaced.values())
        others = make_unread_records(unplaced, lost=not self.keep_bytes)
        mapped = _mapped(ChangeMapper(to, unread=others), rows)
        mapped += _mapped(ChangeMapper(to, waiting=True), waiting)
        mapped.sort(key=lambda row: (row["row_key"] or b"", row["row_order"], *_place(row)))
        ordered = arrow.RecordBatch.from_pylist(mapped, CHANGE_ARROW)
        by_place = {_place(row): row for row in rows}
        bad: dict[TopicOffset, str] = {}
        staged = [r for b in ChangeFolder(to)([ordered]) for r in b.to_pylist()]
        self.before(f"MERGE INTO {lake_table.table}")
        helpers = make_staged_helpers(to)
        good = [row for row in staged if row[helpers.reason] is None]
        doubtful = [id(row) for row in good if lake_table.is_other(row, good, to)]
        written = {
            _place(p) for row in staged if lake_table.has_written(row, to, is_alone=is_alone)
            for p in row[helpers.places]
        }  # fmt: skip
        for row in staged:
            places, reason = [_place(p) for p in row[helpers.places]], row[helpers.reason]
            if reason == ENDED_INCARNATION:
                self.ended |= set(places)
            elif reason == TRUNCATED_ROW:
                self.truncated |= set(places)
            elif reason is not None and not written.isdisjoint(places):
                continue
            elif reason is not None:
                bad |= dict.fromkeys(places, reason)
            elif id(row) in doubtful:
                bad |= dict.fromkeys(places, OTHER_ROW)
            elif not lake_table.merge(row, to):
                bad |= dict.fromkeys(places, _why(row, helpers))
        for order in truncates:
            lake_table.truncate(order, fill_truncate_metadata(ends[order], to))
        if bad:
            before = self.aside.get(follower.lake_table, {})
            told = {p: before.get(p, why) if goes_elsewhere(why) else why for p, why in bad.items()}
            said = {place: why for place, why in bad.items() if not goes_elsewhere(why)}
            self.said.setdefault(lake_table.table, {}).update(said)
            self._keep(follower, {p: by_place[p] for p in bad}, lambda place: told[place])
        self.after(f"MERGE INTO {lake_table.table}")
        return {*bad}

    def _record_truncates(
        self, context: MigrationContext, ready: Ready, told: TableHistory, rows: Collection[dict[str, Any]]
    ) -> None:
        """The run of the last TRUNCATE among rows that were written into a table with a key."""
        table = ready.redirect(self._follower(told.table))
        orders = [row["row_order"] for row in rows if row["op"] == "t" and ready.map_rows(told).key]
        if orders:
            fault = record_truncate(context.open_table(table, self.open_lake()), told, max(orders))
            self.notes += [fault] if fault else []

    def _release(self, follower: SinkTable, places: Collection[TopicOffset]) -> None:
        """Take records out of quarantine that are written."""
        if places:
            self.before("DELETE FROM quarantine")
        for place in places:
            self.aside[follower.lake_table].pop(place, None)
            self.kept[follower.lake_table].pop(place, None)

    def _keep(self, follower: SinkTable, rows: Mapping[TopicOffset, dict[str, Any]], why: Any) -> None:
        self.kept.setdefault(follower.lake_table, {}).update(rows)
        self.aside.setdefault(follower.lake_table, {}).update({place: why(place) for place in rows})

    def withheld(self) -> dict[TopicOffset, str]:
        """The records that are not in the lake, with their reasons."""
        found = {place: reason for table in self.aside.values() for place, reason in table.items()}
        return found | self.rejected | self.left | dict.fromkeys(self.ended, ENDED_INCARNATION)

    def lake(self) -> list[ComparedTable]:
        """The lake tables; those that made room for another one, and their successors, are left out.

        So are those whose rows another one has taken over. A table with rows of an earlier key made room and
        stays: its successor names it.
        """
        sources = self.sources | {self._follower(t).lake_table: t for t in self.store.tables()}
        inspect = partial(MemoryLake(self.tables).inspect, format=self.format)
        first = {self._follower(t).lake_table for t in self.store.tables()}
        reached = {each.address for name in first for each in list_successors(inspect, name)}
        tables = [table.live for table in self.tables.values() if table.live is not None]
        kept = (first | reached) - {name for each in tables for name in read_record(each.properties).taken}
        named = {str(table): table for table in self.store.tables()}
        for address in [*kept]:
            for before in self._list_predecessors(address):
                kept.add(before)
                live = self.tables[before].live
                assert live is not None
                sources.setdefault(before, named[live.properties[SOURCE_PROPERTY]])
        sources = {name: table for name, table in sources.items() if name in kept}
        return [
            ComparedTable(
                sources[name],
                table.live,
                table.read(),
                name in self.stopped or bool(read_record(table.live.properties).successor),
            )
            for name, table in self.tables.items()
            if table.live is not None and name in sources
        ]

    def _list_predecessors(self, address: str) -> Iterator[str]:
        """List the tables with the older rows of a table, the newest first."""
        while (table := self.tables.get(address)) is not None and table.live is not None:
            predecessor = read_record(table.live.properties).predecessor
            if predecessor is None or predecessor.table not in self.tables:
                return
            address = predecessor.table
            yield address


def _split(
    histories: Mapping[TableId, TableHistory], rows: Collection[dict[str, Any]]
) -> dict[TableId, list[dict[str, Any]]]:
    """The rows of each table."""
    return {t: [row for row in rows if row["source_table"] == format_table(t)] for t in histories}


_CHANGES = arrow.schema([("change", arrow.binary()), ("key", arrow.binary())])


def _mapped(mapper: ChangeMapper, rows: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    changes = [row for row in rows if row["op"] != "t" or not mapper.to.key]
    table = arrow.Table.from_pylist(changes, _CHANGES).select(list(mapper.columns))
    return [row for b in mapper(table.to_batches()) for row in b.to_pylist()]


def _rows(function: Any, batch: arrow.Table) -> list[dict[str, Any]]:
    return [row for part in function(batch.to_batches()) for row in part.to_pylist()]


def _table(rows: Iterable[dict[str, Any]]) -> arrow.Table:
    """Records that were kept, as they came."""
    kept = [{n: r[n] for n in COLUMNS.names} for r in rows]
    return _ordered(arrow.Table.from_pylist(kept, COLUMNS))


def _ordered(batch: arrow.Table) -> arrow.Table:
    return batch.sort_by([("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")])


def _why(row: Mapping[str, Any], helpers: HelperColumns) -> str:
    """Why a row could not be taken."""
    if row[helpers.since]:
        return CAME_LATE
    if row[helpers.behind] or row[helpers.unread]:
        return WAITS_FOR_OLDER
    return VALUE_LOST if row[helpers.anew] else NO_PREVIOUS_ROW


def _reach(table: TableId, row: Mapping[str, Any]) -> Reach:
    gone = row["key"] if row["op"] == "d" and row["value"] is not None else None
    return table, row["topic"], row["partition"], row["row_order"], (row["offset"], gone)


def _place(row: Mapping[str, Any]) -> TopicOffset:
    return row["topic"], row["partition"], row["offset"]


def _is_later_truncate(row: Mapping[str, Any], to: RowMap) -> bool:
    """Whether a row is a TRUNCATE from the time of a later lake table than a keyed one."""
    is_later = to.versions is not None and row["version"] is not None and row["version"] >= to.versions.stop
    return row["op"] == "t" and bool(to.key) and is_later
