"""The hook for a user's own Structured Streaming job: `query.foreachBatch(mirror)`.

Law: before the rows of a batch are written, their tables have the structure that the rows need; a table that
has not got it stops alone, and its rows wait in quarantine. Whatever happens in between, each record of the
batch is then in its table once, or in quarantine with a reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

import pyarrow as arrow
from pyspark.sql import DataFrame, SparkSession

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import StatementFailed
from schemaman.history.decisions import Decisions, decided
from schemaman.history.versions import TableHistory
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.apply.apply import LEASE_MS
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.plan_file import plan_hash
from schemaman.model.schema import TableId
from schemaman.registry import Memory, Registry
from schemaman.settings import TargetSetting
from schemaman.sink.values.connector_modes import UNTOLD, Modes
from schemaman.sink.values.unavailable import PLACEHOLDER
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.batch_commits import Batch, Stamps, offsets_of
from schemaman.spark.streaming.batch_report import BatchReport, TableReport
from schemaman.spark.streaming.blocked_rows import not_understood
from schemaman.spark.streaming.blocked_rows import waiting as others_of
from schemaman.spark.streaming.decoded import SMALL, Count, Decoded
from schemaman.spark.streaming.history_changes import Learnt
from schemaman.spark.streaming.lake_progress import Asking
from schemaman.spark.streaming.micro_batch import apart, gathered, raw_columns, remember
from schemaman.spark.streaming.progress import Reached
from schemaman.spark.streaming.quarantine import UNPLACED, Held, Quarantine, Tried
from schemaman.spark.streaming.retry_unknown import Placing
from schemaman.spark.streaming.row_staging import Reading, table_named, table_text
from schemaman.spark.streaming.table_migration import Bringer, Brought, Follower, Stopped
from schemaman.spark.streaming.table_writer import Changes, NotUnderstood, SetAside, Unstaged, Writer
from schemaman.spark.streaming.truncate import Emptied, verdict

_QUERY = "sql.streaming.queryId"
_ASK_AGAIN = 2.0
"""Seconds between two looks at a lease."""
_READ_AGAIN = 5
"""So often a batch is read again for a table of which more and more is told, before its records wait."""


class Mirror:
    """Writes each batch of a stream into the lake tables that follow its tables.

    `store` is the registry's; `targets` say which tables go where; `quarantine` is the table of records that
    cannot be written. `decisions` are people's answers, read for each batch; `approved` says of a plan that
    asks for it whether a person has approved it, by default whether the decisions say so. `told` gets the
    report of each batch; batches of up to `small` records are decoded in this process, larger ones by
    executors. `modes` are the connector's settings for how values travel, which records without schemas need,
    `placeholder` is what it writes for values that did not change. One Mirror writes a table: two at once are
    kept apart by the store's lease only while structures change.
    """

    def __init__(
        self,
        store: Memory,
        targets: Sequence[TargetSetting],
        quarantine: Quarantine,
        *,
        policy: Policy | None = None,
        stream: str = "main",
        schemas: SchemaLookup = NO_REGISTRY,
        forms: Forms = AUTO,
        modes: Modes = UNTOLD,
        placeholder: bytes = PLACEHOLDER,
        approved: Callable[[Plan], bool] | None = None,
        decisions: Callable[[], Decisions] = Decisions,
        told: Callable[[BatchReport], None] = lambda _: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        small: int = SMALL,
    ) -> None:
        self._registry = Registry(store, clock)
        self._targets = tuple(targets)
        self._quarantine = quarantine
        self._stream = stream
        self._schemas = schemas
        self._forms = forms
        self._modes = modes
        self._placeholder = placeholder
        self._policy = policy or Policy()
        self._reached = Reached(store.load)
        self._decisions = decisions
        self._told = told
        self._stamps = Stamps()
        self._small = small
        self._tried = Tried()
        self._learnt = Learnt(store, stream, modes, self.followers)
        self._store = store
        self._clock = clock
        held = (quarantine, stream, small)
        self._placing = Placing(store, *held, self._histories, self.reading, self.followers, self._reached)
        self._asking = Asking(*held, self.followers, self._reached)
        how = (self._policy, clock, approved or self._approved, self._decided, self._modes)
        self._bringer = Bringer(store, self._registry, *how)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take a batch: what `foreachBatch` calls.

        Raises:
            CouldNotDo: the store or the quarantine cannot be written: the batch must come again.
            UsageError: the batch is none of Kafka, or of another stream.
        """
        raw = raw_columns(batch)
        few = gathered(raw, self._small)
        if few is not None:
            self._told(self._take(raw.sparkSession, few, number))
            return
        raw = raw.persist()
        try:
            self._told(self._take(raw.sparkSession, raw, number))
        finally:
            raw.unpersist()

    def _take(self, spark: SparkSession, raw: DataFrame | arrow.Table, number: int) -> BatchReport:
        _, extents = remember(raw, self._registry, self._stream, self._schemas, self._forms)
        self._learnt.learn(extents)
        tables = {t for topic, _ in extents for t in self._store.aliased(topic) if t.stream == self._stream}
        held_back = self._quarantine.held(spark, self._stream)
        # an attempt of its own: the run lets go of what others have put there
        if self._placing.place(spark, held_back, f"placed:{number}:{time.time_ns()}"):
            held_back = self._quarantine.held(spark, self._stream)
        waiting = {(held.lake_table, held.source_table): held for held in held_back}
        tables |= {t for held in waiting.values() if (t := table_named(held.source_table)) is not None}
        histories = self._histories(tables)
        return _Run(self, spark, number, histories, waiting, offsets_of(extents)).all(raw)

    def _histories(self, tables: Iterable[TableId]) -> dict[TableId, TableHistory]:
        found = ((table, self._store.history(table)) for table in tables)
        return {table: self._decided(history) for table, history in found if history is not None}

    def _decided(self, history: TableHistory) -> TableHistory:
        return decided(history, self._decisions())

    def reading(self, histories: Mapping[TableId, TableHistory]) -> Reading:
        """What executors read records with."""
        how = (self._schemas, self._stream, self._forms, self._modes, self._placeholder)
        return Reading(dict(histories), *how, self._reached.past(histories), dict(self._reached.last))

    def _approved(self, plan: Plan) -> bool:
        """Whether people's answers hold an approval of this very plan."""
        today = datetime.fromtimestamp(self._clock() / 1000, UTC).date()
        return self._decisions().approved(plan_hash(plan), today) is not None

    def followers(self, table: TableId) -> tuple[Follower, ...]:
        """The lake tables that follow a source table."""
        return tuple(Follower(table, t, t.address(table)) for t in self._targets if t.holds(table))


class _Run:
    """One batch being taken."""

    def __init__(
        self,
        mirror: Mirror,
        spark: SparkSession,
        number: int,
        histories: Mapping[TableId, TableHistory],
        waiting: Mapping[tuple[str, str], Held],
        offsets: str,
    ) -> None:
        self.mirror = mirror
        self.spark = spark
        self.number = number
        self.histories = histories
        self.waiting = waiting
        self.quarantine = mirror._quarantine
        self.stream = mirror._stream
        self.executor = SparkExecutor(spark)
        self.reading = mirror.reading(histories)
        query = spark.sparkContext.getLocalProperty(_QUERY)
        self.batch = None if query is None else Batch(query, number, offsets)
        self.attempt = f"{query or 'called'}:{number}:{time.time_ns()}"
        self.tables = {table_text(table): table for table in histories}
        self.unread: NotUnderstood | None = None

    def all(self, raw: DataFrame | arrow.Table) -> BatchReport:
        """Every table of the batch, one after the other."""
        rows = self.mirror._asking.decoded(self.spark, raw, self.reading, self.waiting)
        try:
            counted = rows.counted()
            self._reject(rows, counted)
            rejected = counted.pop(None, Count()).records
            report = self._followed(raw, rows, counted, rejected)
            self.mirror._reached.take((self.tables[told[0]], *told[1:]) for told in rows.reached())
            return report
        finally:
            rows.done()

    def _followed(
        self, raw: DataFrame | arrow.Table, rows: Decoded, counted: Mapping[str | None, Count], rejected: int
    ) -> BatchReport:
        due: list[tuple[Follower, Changes]] = []
        untargeted = 0
        for text, table in sorted(self.tables.items(), key=self._turn):
            changes = _changes(rows, text, counted)
            followers = self.mirror.followers(table)
            untargeted += 0 if followers else changes.count
            due += [(f, changes) for f in followers if changes.count or _place(f) in self.waiting]
        reports: list[TableReport] = []
        locked: list[tuple[Follower, Changes]] = []
        overtaken: list[Follower] = []
        for follower, changes in due:
            brought = self._bring(follower, changes)
            if isinstance(brought, Stopped) and brought.locked:
                locked.append((follower, changes))
            elif isinstance(brought, Stopped) and brought.overtaken:
                overtaken.append(follower)
            else:
                reports.append(self._follow(follower, brought, changes))
        for follower, changes in locked:
            brought = self._patiently(follower, changes)
            if isinstance(brought, Stopped) and brought.overtaken:
                overtaken.append(follower)
            else:
                reports.append(self._follow(follower, brought, changes))
        reports += (self._read_again(raw, follower) for follower in overtaken)
        reports += self.mirror._learnt.falsified(lambda _: self.executor, {follower for follower, _ in due})
        return BatchReport(self.number, tuple(reports), untargeted, rejected)

    def _read_again(
        self, raw: DataFrame | arrow.Table, follower: Follower, times: int = _READ_AGAIN
    ) -> TableReport:
        """A table of which more was told while the batch was read: by what is told by now."""
        self.histories = {**self.histories, **self.mirror._histories((follower.table,))}
        self.reading = self.mirror.reading(self.histories)
        rows = self.mirror._asking.decoded(self.spark, raw, self.reading, self.waiting)
        try:
            counted = rows.counted()
            if None in counted:
                self._reject(rows, counted)
            changes = _changes(rows, table_text(follower.table), counted)
            brought = self._patiently(follower, changes)
            if isinstance(brought, Stopped) and brought.overtaken and times > 1:
                return self._read_again(raw, follower, times - 1)
            return self._follow(follower, brought, changes)
        finally:
            rows.done()

    def _reject(self, rows: Decoded, counted: Mapping[str | None, Count]) -> None:
        """Keep what nobody understands, from where others are told to wait behind it."""
        rejected = counted.get(None, Count()).records
        if rejected:
            self.quarantine.add(rows.rejected(), self.stream, UNPLACED, "", self.attempt)
        self.unread = not_understood(self.spark, self.quarantine, self.stream, self.waiting, rejected)

    def _turn(self, named: tuple[str, TableId]) -> tuple[bool, str]:
        """Tables that had another name come last: they must find the lake tables that hold their rows."""
        renamed = any(alias.kind == "table" for alias in self.histories[named[1]].aliases)
        return renamed, named[0]

    def _bring(self, follower: Follower, changes: Changes) -> Brought | Stopped:
        read_by = self.histories[follower.table]
        return self.mirror._bringer.bring(follower, self.executor, read_by, changes.versions)

    def _patiently(self, follower: Follower, changes: Changes) -> Brought | Stopped:
        """The table once its lease has run out: most likely that of a run of this job that was killed."""
        until = time.monotonic() + LEASE_MS / 1000 + _ASK_AGAIN
        brought = self._bring(follower, changes)
        while isinstance(brought, Stopped) and brought.locked and time.monotonic() < until:
            time.sleep(_ASK_AGAIN)
            brought = self._bring(follower, changes)
        return brought

    def _follow(self, follower: Follower, brought: Brought | Stopped, changes: Changes) -> TableReport:
        """One table; whatever is wrong with it stops it alone."""
        report = TableReport(str(follower.table), follower.lake_table, changes.count)
        try:
            if isinstance(brought, Stopped):
                if brought.unwanted:
                    return replace(report, left=changes.count, notes=(brought.reason,))
                return self._stop(follower, changes, replace(report, plan=brought.plan), brought.reason)
            report = replace(report, steps=brought.steps, notes=brought.notes)
            writer = self._writer(follower, brought)
            self._require_unstopped(follower)
            report = replace(report, replayed=self._replay(follower, writer))
            return self._write(follower, writer, changes, report) if changes.count else report
        except (StatementFailed, Emptied, Unstaged) as error:
            return self._stop(follower, changes, report, error.message)

    def _require_unstopped(self, follower: Follower) -> None:
        """Raises `Emptied` if a TRUNCATE that came before has stopped the table."""
        held = self.waiting.get(_place(follower))
        said, why = verdict(self.mirror._policy, follower)
        if said == "stop" and held is not None and held.emptied:
            raise Emptied(why)

    def _ruled(self, follower: Follower, writer: Writer, changes: Changes) -> tuple[Changes, str, int]:
        """The changes with no TRUNCATE but one that empties the table; what else became of it.

        Given back besides are what the policy left out, in words, and how many records it set aside.

        Raises:
            Emptied: a TRUNCATE stops the table.
        """
        if changes.truncated is None or not writer.keyed:
            return changes, "", 0
        said, why = verdict(self.mirror._policy, follower)
        without = replace(changes, truncated=None)
        match said:
            case "empty":
                return changes, "", 0
            case "leave":
                return without, why, 0
            case "set-aside":
                waiting = changes.rows.truncates().whole(why)
                self._keep(waiting, follower)
                return without, "", waiting.count()
            case "stop":
                raise Emptied(why)
            case _:
                assert_never(said)

    def _writer(self, follower: Follower, brought: Brought) -> Writer:
        history, stamps = self.histories[follower.table], self.mirror._stamps
        return Writer(self.spark, follower, brought, history, stamps)

    def _write(self, follower: Follower, writer: Writer, changes: Changes, told: TableReport) -> TableReport:
        changes, note, waiting = self._ruled(follower, writer, changes)
        how = (self.spark, self.quarantine, self.reading, self.mirror._small)
        others = others_of(*how, self.waiting.get(_place(follower)))
        written = writer.write(changes, self.batch, self._keeper(follower, changes.rows), others, self.unread)
        again = f"batch {self.number} is not the one of this number: written by the order of its rows"
        notes = (*told.notes, *([note] if note else ()), *([again] if written.again else ()))
        aside = written.aside + waiting
        return replace(told, rows=written.rows, ended=written.ended, aside=aside, notes=notes)

    def _replay(self, follower: Follower, writer: Writer) -> int:
        """Write what waits in quarantine for a table that can take it, before anything newer."""
        held = self.waiting.get(_place(follower))
        if held is None or not self.quarantine.keep_bytes:
            return 0
        tried, history = self.mirror._tried, self.histories[follower.table]
        if tried.in_vain(held, writer.live, history):
            return 0
        records = apart(self.quarantine.records(self.spark, self.stream, held), self.mirror._small)
        rows = self.mirror._asking.decoded(self.spark, records, self.reading, None)
        try:
            counted = rows.counted()
            if None in counted:
                self._reject(rows, counted)
            changes, aside = _changes(rows, table_text(follower.table), counted), 0
            if count := changes.count:
                brought = self._bring(follower, changes)
                other = self._writer(follower, brought) if isinstance(brought, Brought) else writer
                changes, aside = self._ruled_again(follower, other, changes)
                keep = self._keeper(follower, changes.rows)
                aside += other.write(changes, None, keep, unread=self.unread).aside
                writer.floor = other.floor
            self.quarantine.release(self.spark, self.stream, held, self.attempt)
            tried.note(held, writer.live, history)
            return count - aside
        finally:
            rows.done()

    def _ruled_again(self, follower: Follower, writer: Writer, changes: Changes) -> tuple[Changes, int]:
        """As `_ruled`, of records in quarantine: what stops the table is then told of them, too."""
        try:
            changes, _, aside = self._ruled(follower, writer, changes)
        except Emptied as stop:
            self._keep(changes.rows.whole(stop.message), follower)
            raise
        return changes, aside

    def _stop(self, follower: Follower, changes: Changes, report: TableReport, reason: str) -> TableReport:
        """Keep all records of a table that cannot take them."""
        if changes.count:
            self._keep(changes.rows.whole(reason), follower)
        return replace(report, aside=changes.count, stopped=reason)

    def _keeper(self, follower: Follower, rows: Decoded) -> SetAside:
        return lambda reasons: self._keep(rows.chosen(reasons), follower)

    def _keep(self, rows: DataFrame, follower: Follower) -> None:
        source = table_text(follower.table)
        self.quarantine.add(rows, self.stream, follower.lake_table, source, self.attempt)


def _changes(rows: Decoded, text: str, counted: Mapping[str | None, Count]) -> Changes:
    count = counted.get(text, Count())
    return Changes(rows.of(text), count.records, count.truncated, count.versions)


def _place(follower: Follower) -> tuple[str, str]:
    """The lake table and the source table, as the quarantine holds them."""
    return follower.lake_table, table_text(follower.table)
