"""What waits in quarantine for a table, or for being understood, and so makes others wait behind it.

Law: nothing that waits is passed over unseen, for a value that was not sent may be in there; where its bytes
were not kept, nobody knows whose row it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyarrow as arrow
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemaman.sink.row_mapping import RowMap
from schemaman.spark.streaming.decoded import decoded
from schemaman.spark.streaming.micro_batch import apart
from schemaman.spark.streaming.quarantine import UNPLACED, Held, Quarantine
from schemaman.spark.streaming.row_staging import Reading
from schemaman.spark.streaming.table_writer import NotUnderstood, Waiting
from schemaman.spark.streaming.unread_records import Unread
from schemaman.spark.streaming.unread_records import unread as unread_of

KNOWN = 10_000
"""So many records that nobody understood are known one by one; of more only how early they begin."""


def waiting(
    spark: SparkSession, quarantine: Quarantine, reading: Reading, small: int, held: Held | None
) -> Waiting | None:
    """Tells the rows of a lake table of which records still wait; None if nothing did before this batch.

    `held` is what did. Up to `small` records are read in this process. The result raises `StatementFailed`.
    """
    if held is None:
        return None

    def told(to: RowMap) -> arrow.Table | None:
        if not quarantine.keep_bytes:
            return None
        records = quarantine.records(spark, reading.stream, held)
        rows = decoded(spark, apart(records, small), reading)
        try:
            return rows.of(held.source_table).waiting(to)
        finally:
            rows.done()

    return told


def not_understood(
    spark: SparkSession,
    quarantine: Quarantine,
    stream: str,
    held: Mapping[tuple[str, str], Held],
    come: int,
) -> NotUnderstood | None:
    """Tells which records of a stream nobody understood, once those of its batch stand in quarantine, too.

    `held` is what stood there before, by lake and source table; `come` of the batch have joined it. None if
    there are none.
    """
    if not come and (UNPLACED, "") not in held:
        return None

    lost = not quarantine.keep_bytes

    @cache
    def ask() -> Unread:
        records = quarantine.records(spark, stream, Held(UNPLACED, "", come, 0))
        few = records.select("topic", "partition", "offset", "key").limit(KNOWN + 1).toArrow()
        if few.num_rows <= KNOWN:
            return unread_of((tuple(row.values()) for row in few.to_pylist()), lost=lost)
        first = records.groupBy("topic", "partition").agg(F.min("offset")).collect()
        return unread_of(((*row, None) for row in first), crowded=True, lost=lost)

    return ask
