"""The decoded records of a batch: few records in this process, many on the executors.

Law: both give the same rows, counts and reasons; they differ only in speed.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Protocol

import pyarrow as arrow
import pyarrow.compute as compute
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.migration.row_columns import ORDER
from schemaman.model.ddl import quote_name
from schemaman.sink.plain_events import PlainRows
from schemaman.sink.reader import LastRecord
from schemaman.sink.row_change import RowChange
from schemaman.sink.row_mapping import RowMap
from schemaman.sink.upsert import TopicOffset
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.record_columns import COLUMNS, RAW, sort_records
from schemaman.spark.session import is_classic
from schemaman.spark.streaming.plain_rows import PlainBatch, decode_records, stage_plain_rows
from schemaman.spark.streaming.row_staging import (
    CHANGE,
    CHANGE_ARROW,
    DECODED,
    ENDED_INCARNATION,
    NOT_WAITING,
    TRUNCATED_ROW,
    ChangeFolder,
    ChangeMapper,
    ReadingContext,
    RecordDecoder,
)
from schemaman.spark.streaming.staged_columns import (
    HelperColumns,
    list_staged_columns,
    make_staged_ddl,
    make_staged_helpers,
    make_staged_schema,
    make_table_ddl,
)
from schemaman.spark.streaming.unread_records import NO_UNREAD, UnreadRecords
from schemaman.spark.versions import collect_arrow

SMALL = 10_000
"""The largest number of records that this process decodes whatever their size: tasks would take longer."""

LARGER = 20
"""How many times as many records this process decodes if they are light: moving them to tasks costs more."""

LIGHT = 256 << 20
"""The bytes of keys and values of a light batch, which has room in this process."""

AmbiguousRecord = tuple[str, str, int, int]
"""Source table, topic, partition and offset of a record whose order is uncertain."""

_MAX_AMBIGUOUS = 1_000
_RECORD_KEY = ("topic", "partition", "offset")
_REACH = ("source_table", "topic", "partition")
_RECORD_KEY_DDL = "topic string, partition int, offset bigint, reason string"
_ROWS_A_TASK = 20_000
_REJECTED = "source_table IS NULL AND reason IS NOT NULL"


def _needs_probe(helpers: HelperColumns) -> Column:
    """Whether the table has to be probed before a staged row can be written."""
    flags = (F.coalesce(F.col(name), F.lit(False)) for name in (helpers.needs_row, helpers.alone))
    needs = reduce(or_, flags)
    ordered = (helpers.unsent, helpers.since, helpers.last)
    return reduce(or_, (F.col(name).isNotNull() for name in ordered), needs)


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows ready to be written, as a data frame to merge from; and the records that cannot be, with reasons.

    `keeping` of the rows keep a value of the table, or may. `needing_probe` of the rows need a probe of the
    table: it must have a value, or may have a newer one. `null_keys` of the rows have NULL in their key.
    `ended_incarnation` records belong to an earlier incarnation, `truncated` ones are from before a TRUNCATE
    that deleted their rows. `unnamed` are the rows of those unwritable
    records that name no row of the table by its key (`written_rows`); None if there are none.
    """

    rows: DataFrame
    count: int
    keeping: int
    needing_probe: int
    null_keys: int
    ended_incarnation: int
    truncated: int
    unwritable: Mapping[TopicOffset, str]
    unnamed: DataFrame | None = None


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records there are, the order of the newest TRUNCATE among them, and their versions."""

    records: int = 0
    truncated: str | None = None
    versions: frozenset[int] = frozenset()


class DecodedBatch(Protocol):
    """The decoded records of a batch."""

    def count_records(self) -> dict[str | None, RecordCount]:
        """Count records by table; under None those that could not be decoded."""

    def find_progress(self) -> list[tuple[str, str, int, str, LastRecord]]:
        """The greatest order and the last record of each table in each partition."""

    def find_ambiguous(self) -> list[AmbiguousRecord]:
        """Records whose order is uncertain, not too many: first those without a position."""

    def select_table(self, source_table: str) -> DecodedBatch:
        """The records of one table."""

    def select_versions(self, versions: Collection[int], *, others: bool = False) -> DecodedBatch:
        """The records of some versions; `others`: those of all other ones, and of no version."""

    def use_session(self, spark: SparkSession) -> DecodedBatch:
        """The same records for a copy of their session; records on executors stay in theirs."""

    def select_truncates(self) -> DecodedBatch:
        """Those of the records that are TRUNCATEs."""

    def find_truncate(self, order: str) -> RowChange:
        """The TRUNCATE with an order."""

    def stage_rows(
        self,
        to: RowMap,
        count: int,
        waiting: arrow.Table | None = None,
        unread: UnreadRecords = NO_UNREAD,
    ) -> StagedRows:
        """Fold the changes by key into rows of a lake table; without TRUNCATEs if it has a key.

        `map_waiting` are the rows with records waiting in quarantine; `unread` are undecodable records. Some
        changes have to wait for these.
        """

    def map_waiting(self, to: RowMap) -> arrow.Table:
        """The rows that must wait while these records are in quarantine: for `stage_rows`."""

    def select_rejected(self) -> DataFrame:
        """The records that could not be decoded, with their reasons."""

    def give_reason(self, reason: str) -> DataFrame:
        """All of the records, with one reason."""

    def select_records(self, reasons: Mapping[TopicOffset, str]) -> DataFrame:
        """The records at some offsets, with a reason for each."""

    def release(self) -> None:
        """Release the rows; no query follows."""


def decode_batch(spark: SparkSession, raw: DataFrame | arrow.Table, reading: ReadingContext) -> DecodedBatch:
    """The records of a batch, decoded where they are, those of a partition in the order of their offsets.

    A data frame is one of `micro_batch.spread_records`.
    """
    if isinstance(raw, DataFrame):
        return ExecutorBatch(spark, raw.mapInArrow(RecordDecoder(reading), DECODED).persist())
    return LocalBatch(spark, *decode_records(sort_records(raw), reading))


@dataclass(frozen=True, slots=True)
class LocalBatch:
    """Records in this process."""

    spark: SparkSession
    table: arrow.Table
    plain: PlainBatch | None = None

    def count_records(self) -> dict[str | None, RecordCount]:
        """See `DecodedBatch`."""
        rows = self.table.select(["source_table", "op", "row_order", "reason", "version"])
        rows = rows.filter(compute.or_(*(compute.is_valid(rows[n]) for n in ("source_table", "reason"))))
        truncates = rows.filter(compute.fill_null(compute.equal(rows["op"], "t"), False))
        newest = _group_rows(truncates, "row_order", "max")
        versions = _group_rows(rows, "version", "distinct")
        return {
            table: RecordCount(count, newest.get(table), frozenset(versions[table]) - {None})
            for table, count in _group_rows(rows, "source_table", "count").items()
        }

    def find_progress(self) -> list[tuple[str, str, int, str, LastRecord]]:
        """See `DecodedBatch`."""
        has_value = compute.is_valid(self.table["value"])
        # without the values, which a filter would copy
        rows = self.table.select([*_REACH, "offset", "op", "key", "row_order", "reason"])
        rows = rows.append_column("has_value", has_value)
        rows = rows.filter(compute.and_(compute.is_null(rows["reason"]), compute.is_valid(rows["row_order"])))
        placed = rows.select([*_REACH, "row_order"]).append_column(
            "last", arrow.array(range(rows.num_rows), arrow.int64())
        )
        found = placed.group_by(list(_REACH)).aggregate([("row_order", "max"), ("last", "max")])
        names = (*_REACH, "row_order_max", "last_max")
        return [
            (*reach, order, _read_last(rows, last))
            for *reach, order, last in zip(*(found[n].to_pylist() for n in names), strict=True)
        ]

    def find_ambiguous(self) -> list[AmbiguousRecord]:
        """See `DecodedBatch`."""
        there = compute.and_(
            compute.is_valid(self.table["source_table"]), compute.is_valid(self.table["reason"])
        )
        rows = self.table.filter(there).sort_by([("reason", "descending"), ("offset", "ascending")])
        rows = rows.slice(0, _MAX_AMBIGUOUS)
        return list(zip(*(rows[n].to_pylist() for n in (*_REACH, "offset")), strict=True))

    def select_table(self, source_table: str) -> LocalBatch:
        """See `DecodedBatch`."""
        is_mine = compute.fill_null(compute.equal(self.table["source_table"], source_table), False)
        mine = self.table if compute.all(is_mine).as_py() else self.table.filter(is_mine)
        return LocalBatch(self.spark, mine, self.plain)

    def select_versions(self, versions: Collection[int], *, others: bool = False) -> LocalBatch:
        """See `DecodedBatch`."""
        rows = self._read_in_full().table
        wanted = compute.is_in(rows["version"], arrow.array(sorted(versions), rows["version"].type))
        return LocalBatch(self.spark, rows.filter(compute.invert(wanted) if others else wanted))

    def use_session(self, spark: SparkSession) -> LocalBatch:
        """See `DecodedBatch`."""
        return LocalBatch(spark, self.table, self.plain)

    def select_truncates(self) -> LocalBatch:
        """See `DecodedBatch`."""
        return LocalBatch(self.spark, self.table.filter(compute.equal(self.table["op"], "t")))

    def find_truncate(self, order: str) -> RowChange:
        """See `DecodedBatch`."""
        found = self.select_truncates().table
        return _unpickle_change(found.filter(compute.equal(found["row_order"], order))["change"][0].as_py())

    def stage_rows(
        self,
        to: RowMap,
        count: int,
        waiting: arrow.Table | None = None,
        unread: UnreadRecords = NO_UNREAD,
    ) -> StagedRows:
        """See `DecodedBatch`."""
        rows = self.fold_rows(to, waiting, unread)
        helpers = make_staged_helpers(to)
        reasons = rows[helpers.reason]
        good, bad = rows.filter(compute.is_null(reasons)), rows.filter(compute.is_valid(reasons))
        faults = list(zip(bad[helpers.reason].to_pylist(), bad[helpers.places].to_pylist(), strict=True))
        counts = Counter(reason for reason, _ in faults)
        done = counts[ENDED_INCARNATION], counts[TRUNCATED_ROW]
        unwritable = _collect_unwritable(faults)
        ordered = (helpers.unsent, helpers.since, helpers.last)
        is_ordered = reduce(compute.or_, (compute.is_valid(good[name]) for name in ordered))
        is_flagged = compute.or_kleene(good[helpers.needs_row], good[helpers.alone])
        needing = _count_true(compute.or_kleene(is_flagged, is_ordered))
        has_kept = compute.greater(compute.list_value_length(good[helpers.kept]), 0)
        keeping = _count_true(compute.or_kleene(has_kept, compute.is_valid(good[helpers.words])))
        if keeping or needing:
            frame = self._make_staged_frame(good, make_staged_ddl(to))
        else:  # no statement reads the helper columns, and the engine would convert them
            named = good.select([column.name for column in list_staged_columns(to)])
            frame = self._make_staged_frame(named, make_table_ddl(to))
        nulls = sum(good[name].null_count for name in to.key)
        unnamed = bad.filter(compute.is_valid(bad[ORDER]))
        others = self._make_staged_frame(unnamed, make_staged_ddl(to)) if unnamed.num_rows else None
        return StagedRows(frame, good.num_rows, keeping, needing, nulls, *done, unwritable, others)

    def fold_rows(
        self,
        to: RowMap,
        waiting: arrow.Table | None = None,
        unread: UnreadRecords = NO_UNREAD,
    ) -> arrow.Table:
        """Fold the changes by key into staged rows; those with a reason cannot be written."""
        mapped = self._map_changes(ChangeMapper(to, unread=unread)).to_pylist()
        plain = stage_plain_rows(self._list_plain_rows(), to, mapped)
        if plain is None:
            return self._read_in_full().fold_rows(to, waiting, unread)
        staged, more = plain
        mapped += more
        mapped += [] if waiting is None else waiting.to_pylist()
        mapped.sort(
            key=lambda r: (r["row_key"] or b"", r["row_order"], r["topic"], r["partition"], r["offset"])
        )
        ordered = arrow.RecordBatch.from_pylist(mapped, CHANGE_ARROW)
        folded = ChangeFolder(to)([ordered])
        return arrow.concat_tables([arrow.Table.from_batches(folded, make_staged_schema(to)), staged])

    def map_waiting(self, to: RowMap) -> arrow.Table:
        """See `DecodedBatch`."""
        return self._read_in_full()._map_changes(ChangeMapper(to, waiting=True))

    def _list_plain_rows(self) -> tuple[PlainRows, ...]:
        if self.plain is None:
            return ()
        tables = compute.unique(self.table["source_table"]).to_pylist()
        return tuple(rows for text in tables for rows in self.plain.tables.get(text, ()))

    def _read_in_full(self) -> LocalBatch:
        """The same records without plain changes."""
        if self.plain is None or not self._list_plain_rows():
            return LocalBatch(self.spark, self.table)
        decoded = self.plain.decode_in_full(compute.unique(self.table["topic"]))
        tables = compute.unique(self.table["source_table"])
        return LocalBatch(self.spark, decoded.filter(compute.is_in(decoded["source_table"], tables)))

    def _map_changes(self, mapper: ChangeMapper) -> arrow.Table:
        taken = self.table.select(["op", *mapper.columns])  # without the values, which a filter would copy
        taken = taken.filter(compute.not_equal(taken["op"], "t")) if mapper.to.key else taken
        taken = taken.filter(compute.is_valid(taken["change"]))
        return arrow.Table.from_batches(mapper(taken.select(list(mapper.columns)).to_batches()), CHANGE_ARROW)

    def select_rejected(self) -> DataFrame:
        """See `DecodedBatch`."""
        table = self.table
        lost = compute.and_(compute.is_null(table["source_table"]), compute.is_valid(table["reason"]))
        return self._make_frame(table.filter(lost))

    def give_reason(self, reason: str) -> DataFrame:
        """See `DecodedBatch`."""
        return self._make_frame(self.table).withColumn("reason", F.lit(reason))

    def select_records(self, reasons: Mapping[TopicOffset, str]) -> DataFrame:
        """See `DecodedBatch`."""
        records = list(zip(*(self.table[n].to_pylist() for n in _RECORD_KEY), strict=True))
        chosen = self.table.filter(arrow.array([record in reasons for record in records]))
        texts = [reasons[record] for record in records if record in reasons]
        at = chosen.schema.get_field_index("reason")
        return self._make_frame(chosen.set_column(at, "reason", arrow.array(texts, arrow.string())))

    def release(self) -> None:
        """See `DecodedBatch`."""

    def _make_staged_frame(self, rows: arrow.Table, ddl: str) -> DataFrame:
        """Make a frame of as many parts as tasks run at once; a task for each Arrow batch takes longer."""
        frame = _create_frame(self.spark, rows, ddl)
        is_small = rows.num_rows <= SMALL or not is_classic(self.spark)
        return frame if is_small else frame.coalesce(SparkExecutor(self.spark).slots)

    def _make_frame(self, table: arrow.Table) -> DataFrame:
        return _create_frame(self.spark, table.select([*COLUMNS, "reason"]), f"{RAW}, reason string")


@dataclass(frozen=True, slots=True)
class ExecutorBatch:
    """Records on the executors."""

    spark: SparkSession
    rows: DataFrame

    def count_records(self) -> dict[str | None, RecordCount]:
        """See `DecodedBatch`."""
        grouped = self.rows.where("source_table IS NOT NULL OR reason IS NOT NULL").groupBy("source_table")
        newest = F.max(F.when(F.col("op") == "t", F.col("row_order")))
        found = grouped.agg(F.count("*"), newest, F.collect_set("version")).collect()
        return {text: RecordCount(count, at, frozenset(versions)) for text, count, at, versions in found}

    def find_progress(self) -> list[tuple[str, str, int, str, LastRecord]]:
        """See `DecodedBatch`."""
        deleted_key = F.when((F.col("op") == "d") & F.col("value").isNotNull(), F.col("key"))
        last = F.max(F.col("offset")), F.max_by(deleted_key, F.col("offset"))
        rows = self.rows.where("row_order IS NOT NULL AND reason IS NULL")
        latest = rows.groupBy(*_REACH).agg(F.max("row_order"), *last)
        return [
            (table, topic, partition, order, (offset, None if key is None else bytes(key)))
            for table, topic, partition, order, offset, key in latest.collect()
        ]

    def find_ambiguous(self) -> list[AmbiguousRecord]:
        """See `DecodedBatch`."""
        rows = self.rows.where("source_table IS NOT NULL AND reason IS NOT NULL")
        first = rows.orderBy(F.col("reason").desc(), "offset").limit(_MAX_AMBIGUOUS)
        found = first.select(*_REACH, "offset").collect()
        return [(text, topic, partition, offset) for text, topic, partition, offset in found]

    def select_table(self, source_table: str) -> ExecutorBatch:
        """See `DecodedBatch`."""
        return ExecutorBatch(self.spark, self.rows.where(F.col("source_table") == source_table))

    def select_versions(self, versions: Collection[int], *, others: bool = False) -> ExecutorBatch:
        """See `DecodedBatch`."""
        wanted = F.coalesce(F.col("version").isin(sorted(versions)), F.lit(False))
        return ExecutorBatch(self.spark, self.rows.where(~wanted if others else wanted))

    def use_session(self, spark: SparkSession) -> ExecutorBatch:
        """See `DecodedBatch`."""
        return self

    def select_truncates(self) -> ExecutorBatch:
        """See `DecodedBatch`."""
        return ExecutorBatch(self.spark, self.rows.where("op = 't'"))

    def find_truncate(self, order: str) -> RowChange:
        """See `DecodedBatch`."""
        here = self.select_truncates().rows.where(F.col("row_order") == order)
        return _unpickle_change(here.select("change").limit(1).collect()[0][0])

    def stage_rows(
        self,
        to: RowMap,
        count: int,
        waiting: arrow.Table | None = None,
        unread: UnreadRecords = NO_UNREAD,
    ) -> StagedRows:
        """See `DecodedBatch`."""
        mapped = self._map_changes(ChangeMapper(to, unread=unread))
        if waiting is not None:
            mapped = mapped.union(_create_frame(self.spark, waiting, CHANGE))
        by_key = mapped.repartition(1 + count // _ROWS_A_TASK, "row_key")
        ordered = by_key.sortWithinPartitions("row_key", "row_order", *_RECORD_KEY)
        rows = ordered.mapInArrow(ChangeFolder(to), make_staged_ddl(to)).persist()
        helpers = make_staged_helpers(to)
        reason, needed = F.col(helpers.reason), _needs_probe(helpers)
        keeps = (F.size(helpers.kept) > 0) | F.col(helpers.words).isNotNull()
        has_null = reduce(or_, (F.col(quote_name(name)).isNull() for name in to.key), F.lit(False))
        is_unnamed = reason.isNotNull() & F.col(ORDER).isNotNull()
        found = (
            reason.isNull(), keeps & reason.isNull(), needed & reason.isNull(), reason.isNull() & has_null,
            reason == ENDED_INCARNATION, reason == TRUNCATED_ROW, is_unnamed,
        )  # fmt: skip
        count, keeping, needing, nulls, ended, truncated, unnamed = [
            number or 0 for number in rows.agg(*map(F.count_if, found)).collect()[0]
        ]
        faults = rows.where(reason.isNotNull() & ~reason.isin(*NOT_WAITING)).select(reason, helpers.places)
        unwritable = _collect_unwritable((f[0], f[1]) for f in faults.toLocalIterator())
        good = rows.where(reason.isNull())
        others = rows.where(is_unnamed) if unnamed else None
        return StagedRows(good, count, keeping, needing, nulls, ended, truncated, unwritable, others)

    def map_waiting(self, to: RowMap) -> arrow.Table:
        """See `DecodedBatch`."""
        return collect_arrow(self._map_changes(ChangeMapper(to, waiting=True)))

    def _map_changes(self, mapper: ChangeMapper) -> DataFrame:
        taken = self.rows.where("op <> 't'") if mapper.to.key else self.rows
        return taken.select(*mapper.columns).mapInArrow(mapper, CHANGE)

    def select_rejected(self) -> DataFrame:
        """See `DecodedBatch`."""
        return self.rows.where(_REJECTED).select(*COLUMNS, "reason")

    def give_reason(self, reason: str) -> DataFrame:
        """See `DecodedBatch`."""
        return self.rows.select(*COLUMNS).withColumn("reason", F.lit(reason))

    def select_records(self, reasons: Mapping[TopicOffset, str]) -> DataFrame:
        """See `DecodedBatch`."""
        chosen = self.spark.createDataFrame([(*p, reason) for p, reason in reasons.items()], _RECORD_KEY_DDL)
        return (
            self.rows.select(*COLUMNS).join(F.broadcast(chosen), list(_RECORD_KEY)).select(*COLUMNS, "reason")
        )

    def release(self) -> None:
        """See `DecodedBatch`."""
        self.rows.unpersist()


def _count_true(values: arrow.ChunkedArray) -> int:
    return compute.sum(values).as_py() or 0


def _group_rows(rows: arrow.Table, name: str, how: str) -> dict[str | None, Any]:
    """Aggregate a column for each source table; `count` counts the rows."""
    options = compute.CountOptions("all") if how == "count" else None
    found = rows.group_by("source_table").aggregate([(name, how, options)])
    keys = found["source_table"].to_pylist()
    return dict(zip(keys, found[f"{name}_{how}"].to_pylist(), strict=True))


def _read_last(rows: arrow.Table, index: int) -> LastRecord:
    """Read the offset of a decoded record, and its key if it is a delete with a value."""
    offset, op, key, has_value = (rows[name][index].as_py() for name in ("offset", "op", "key", "has_value"))
    return offset, key if op == "d" and has_value else None


def _unpickle_change(data: bytes) -> RowChange:
    change = pickle.loads(data)
    assert isinstance(change, RowChange)
    return change


def _collect_unwritable(faults: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> dict[TopicOffset, str]:
    """The reason of each record that cannot be written."""
    return {
        (record["topic"], record["partition"], record["offset"]): reason
        for reason, records in faults
        if reason not in NOT_WAITING
        for record in records
    }


def _create_frame(spark: SparkSession, table: arrow.Table, ddl: str) -> DataFrame:
    """Convert an Arrow table to a data frame with exactly these types: Arrow does not imply all of them."""
    return (
        spark.createDataFrame(table.combine_chunks(), ddl)
        if table.num_rows
        else spark.createDataFrame([], ddl)
    )
