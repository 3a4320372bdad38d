"""Records in quarantine, of a table or unread, for which later records of their rows wait.

Law: no waiting record is overlooked, for it may have a value that a later one left out. A record whose bytes
were not kept counts for every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyarrow as arrow
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemaman.sink.row_mapping import RowMap
from schemaman.spark.streaming.decoded import decode_batch
from schemaman.spark.streaming.micro_batch import copy_records
from schemaman.spark.streaming.quarantine import UNKNOWN_TABLE, Quarantine, QuarantinedTable
from schemaman.spark.streaming.row_staging import ReadingContext
from schemaman.spark.streaming.table_writer import FindUnread, FindWaiting
from schemaman.spark.streaming.unread_records import UnreadRecords
from schemaman.spark.streaming.unread_records import make_unread_records as unread_of
from schemaman.spark.versions import collect_arrow

MAX_KNOWN = 10_000
"""How many unread records are kept one by one; of more only the first offsets."""


def make_waiting_query(
    spark: SparkSession,
    quarantine: Quarantine,
    reading: ReadingContext,
    small: int,
    quarantined: QuarantinedTable | None,
) -> FindWaiting | None:
    """Make the query for rows of a lake table whose records wait; None if none did before this batch.

    `held` is what did. Up to `small` records are read in this process. The result raises `StatementFailed`.
    """
    if quarantined is None:
        return None

    def find_waiting(to: RowMap) -> arrow.Table | None:
        if not quarantine.keep_bytes:
            return None
        records = quarantine.read_records(spark, reading.stream, quarantined)
        rows = decode_batch(spark, copy_records(records, small), reading)
        try:
            return rows.select_table(quarantined.source_table).map_waiting(to)
        finally:
            rows.release()

    return find_waiting


def make_unread_query(
    spark: SparkSession,
    quarantine: Quarantine,
    stream: str,
    quarantined: Mapping[tuple[str, str], QuarantinedTable],
    come: int,
) -> FindUnread | None:
    """Make the query for unread records of a stream, after those of its batch are in quarantine.

    `held` are the earlier quarantined records, by lake and source table; `come` are the new ones from the
    batch. None if there are no unread records.
    """
    if not come and (UNKNOWN_TABLE, "") not in quarantined:
        return None

    lost = not quarantine.keep_bytes

    @cache
    def ask() -> UnreadRecords:
        records = quarantine.read_records(spark, stream, QuarantinedTable(UNKNOWN_TABLE, "", come, 0))
        few = collect_arrow(records.select("topic", "partition", "offset", "key").limit(MAX_KNOWN + 1))
        if few.num_rows <= MAX_KNOWN:
            return unread_of((tuple(row.values()) for row in few.to_pylist()), lost=lost)
        first = records.groupBy("topic", "partition").agg(F.min("offset")).collect()
        return unread_of(((*row, None) for row in first), crowded=True, lost=lost)

    return ask
