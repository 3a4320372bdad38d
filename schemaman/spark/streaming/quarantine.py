"""The quarantine: records that could not be written, kept with their reason until they can be.

Law: a record is in it at most once for each lake table, and leaves it only after it was written.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.history.versions import TableHistory
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.spark_sql import create_namespace, literal, split_table_name
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.sink.reread import hash_reading
from schemaman.sink.waiting_records import WaitingRecords, format_waiting_query, read_waiting
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.record_columns import COLUMNS, HEADERS
from schemaman.spark.streaming.conflicts import retry_conflicts
from schemaman.spark.streaming.row_staging import (
    CAME_LATE,
    DELETE_WAITS,
    OTHER_ROW,
    VALUE_LOST,
    WAITS_FOR_OLDER,
    WAITS_FOR_TEXT,
)
from schemaman.spark.streaming.truncate import TRUNCATED
from schemaman.spark.temp_view import create_view

_VIEW = "schemaman_set_aside"
_MEMBERS = (
    "lake_table string, source_table string, stream string, topic string, `partition` int, `offset` bigint, "
    f"`timestamp` timestamp, `key` binary, `value` binary, headers {HEADERS}, reason string, attempt string"
)
_RECORD_KEY = ("lake_table", "stream", "topic", "partition", "offset")
NO_PREVIOUS_ROW = (
    "a value was not sent because it did not change, and the table has no earlier row with this value"
)
"""The reason of a record that can be written once an older one has come."""

WAITING_REASONS = (
    NO_PREVIOUS_ROW,
    WAITS_FOR_OLDER,
    WAITS_FOR_TEXT,
    VALUE_LOST,
    CAME_LATE,
    DELETE_WAITS,
    OTHER_ROW,
)
"""The reasons of records that wait for others to come or to go, so that they are tried with each batch."""

UNKNOWN_TABLE = ""
"""The lake table of records whose table is unknown."""


@dataclass(frozen=True, slots=True)
class QuarantinedTable:
    """The number of quarantined records of one source table for one lake table.

    `waiting` of them wait for another record, `truncated` of them since a TRUNCATE of the source table.
    `checksum` is equal for equal offsets, and almost never for others. `oldest_ms` is the timestamp of the
    oldest one (epoch ms), `reason` the most frequent reason. `additions` identify the commits that added the
    records: another job may add some of them again, or others, meanwhile.
    """

    lake_table: str
    source_table: str
    records: int
    waiting: int
    truncated: int = 0
    checksum: int = 0
    oldest_ms: int | None = None
    reason: str = ""
    additions: tuple[str, ...] = ()


class RetryLog:
    """Remembers which quarantined records were tried.

    The same records are not tried twice where table and history are the same, but for such as wait for a row.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], object] = {}

    def is_unchanged(
        self,
        quarantined: QuarantinedTable,
        live: LakeTable,
        history: TableHistory,
        late: tuple[object, ...] = (),
    ) -> bool:
        """Whether a retry now would have the same result as before.

        `history` is that of their table, with decisions; `late` describes the lake tables of its ended
        incarnations.
        """
        before = self._before.get((quarantined.lake_table, quarantined.source_table))
        return not quarantined.waiting and before == _describe_attempt(quarantined, live, history, late)

    def record_attempt(
        self,
        quarantined: QuarantinedTable,
        live: LakeTable,
        history: TableHistory,
        late: tuple[object, ...] = (),
    ) -> None:
        """Record a completed retry; a failed one is repeated."""
        self._before[quarantined.lake_table, quarantined.source_table] = _describe_attempt(
            quarantined, live, history, late
        )


def _describe_attempt(
    quarantined: QuarantinedTable, live: LakeTable, history: TableHistory, late: tuple[object, ...]
) -> object:
    return (
        live.name,
        live.schema.key,
        read_record(live.properties).truncated,
        fingerprint_structure(live.schema),
        hash_reading(history),
        late,
        quarantined.records,
        quarantined.checksum,
    )


class Quarantine:
    """A lake table of records, delta or iceberg. `keep_bytes` False keeps only offsets and reasons.

    Without their bytes, records cannot be written later from here; they must be read again from Kafka.
    """

    def __init__(self, table: str, format: str = "delta", *, keep_bytes: bool = True) -> None:
        self.table = table
        self.format = format
        self.keep_bytes = keep_bytes
        self.name = TARGETS.get(format).table_name(table)
        self._there = False
        self._is_looked_for = False
        self._writing = threading.Lock()  # tables side by side share it: one writes after the other

    def list_tables(self, spark: SparkSession, stream: str) -> tuple[QuarantinedTable, ...]:
        """The quarantined records by lake and source table. Raises `StatementFailed`.

        A missing table is looked for once: afterwards it exists as soon as this object adds records.
        """
        if not self._there and self._is_looked_for:
            return ()
        self._is_looked_for = True
        if not self._exists(spark):
            return ()
        rows = SparkExecutor(spark).query(
            "SELECT lake_table, source_table, unix_millis(min(`timestamp`)), mode(reason, true), count(*), "
            f"count_if(reason IN ({', '.join(map(literal, WAITING_REASONS))})), "
            f"count_if(startswith(reason, {literal(TRUNCATED)})), "
            "bit_xor(xxhash64(topic, `partition`, `offset`)), collect_set(attempt) "
            f"FROM {self.name} "
            f"WHERE stream = {literal(stream)} "
            "GROUP BY lake_table, source_table ORDER BY lake_table, source_table"
        )
        return tuple(map(_read_quarantined, rows))

    def list_waiting(self, spark: SparkSession, stream: str) -> tuple[WaitingRecords, ...]:
        """List what waits, since when and why. Raises `StatementFailed`."""
        if not self._exists(spark):
            return ()
        return read_waiting(SparkExecutor(spark).query(format_waiting_query(self.name, stream)))

    def read_records(self, spark: SparkSession, stream: str, quarantined: QuarantinedTable) -> DataFrame:
        """Read the records that are quarantined now, with the columns of a batch."""
        mine = _format_condition(stream, quarantined)
        return spark.table(self.name).where(mine).select(*COLUMNS)

    def add_records(
        self, rows: DataFrame, stream: str, lake_table: str, source_table: str, attempt: str
    ) -> None:
        """Add records with their `reason`; a record that is already here gets the new reason.

        All of them get the same `attempt`, with a suffix that no other addition has.
        """
        spark = rows.sparkSession
        addition = f"{attempt}/{secrets.token_hex(6)}"
        none = {} if self.keep_bytes else {n: F.lit(None) for n in ("key", "value", "headers")}
        kept = rows.select(
            F.lit(lake_table).alias("lake_table"),
            F.lit(source_table).alias("source_table"),
            F.lit(stream).alias("stream"),
            *(none.get(n, F.col(n)).cast(_find_type(n)).alias(n) for n in COLUMNS),
            F.col("reason"),
            F.lit(addition).alias("attempt"),
        ).dropDuplicates(list(_RECORD_KEY))
        same = " AND ".join(f"q.`{n}` = s.`{n}`" for n in _RECORD_KEY)
        with self._writing, create_view(kept, _VIEW):
            if not self._exists(spark):
                self._create(spark)
            merge = (
                f"MERGE INTO {self.name} q USING {_VIEW} s ON {same} "
                "WHEN MATCHED THEN UPDATE SET q.reason = s.reason, q.attempt = s.attempt "
                "WHEN NOT MATCHED THEN INSERT *"
            )
            retry_conflicts(lambda: SparkExecutor(spark).run(merge))

    def release_records(self, spark: SparkSession, stream: str, quarantined: QuarantinedTable) -> None:
        """Delete the listed records, but for those that any job has added again since."""
        listed = ", ".join(map(literal, quarantined.additions))
        if not listed:
            return
        mine = _format_condition(stream, quarantined)
        delete = f"DELETE FROM {self.name} WHERE {mine} AND attempt IN ({listed})"
        with self._writing:
            retry_conflicts(lambda: SparkExecutor(spark).run(delete))

    def _exists(self, spark: SparkSession) -> bool:
        self._there = self._there or SparkExecutor(spark).inspect(self.table, self.format) is not None
        return self._there

    def _create(self, spark: SparkSession) -> None:
        executor = SparkExecutor(spark)
        parts = () if "/" in self.table else split_table_name(self.table)[:-1]
        if parts and parts != ("default",):
            executor.run(create_namespace(parts))
        executor.run(f"CREATE TABLE IF NOT EXISTS {self.name} ({_MEMBERS}) USING {self.format}")
        self._there = True


def _format_condition(stream: str, quarantined: QuarantinedTable) -> str:
    """Format the condition of the records of a source table for a lake table."""
    return (
        f"stream = {literal(stream)} AND lake_table = {literal(quarantined.lake_table)} "
        f"AND source_table = {literal(quarantined.source_table)}"
    )


def _read_quarantined(row: tuple[object, ...]) -> QuarantinedTable:
    lake_table, source_table, oldest, reason, *numbers, additions = row
    assert isinstance(additions, Iterable)
    records, waiting, truncated, checksum = (int(str(number)) for number in numbers)
    oldest_ms = None if oldest is None else int(str(oldest))
    return QuarantinedTable(
        str(lake_table),
        str(source_table),
        records,
        waiting,
        truncated,
        checksum,
        oldest_ms,
        str(reason),
        tuple(sorted(map(str, additions))),
    )


def _find_type(name: str) -> str:
    types = {"partition": "int", "offset": "bigint", "timestamp": "timestamp", "headers": HEADERS}
    return types.get(name, "binary" if name in ("key", "value") else "string")
