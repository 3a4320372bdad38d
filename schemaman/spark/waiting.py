"""What waits in quarantine for a table, and so makes others wait: a value not sent may be in there.

Law: nothing that waits is passed over unseen; where its bytes were not kept, nobody knows whose row it is.
"""

from __future__ import annotations

import pyarrow as arrow
from pyspark.sql import SparkSession

from schemaman.lake_rows import RowMap
from schemaman.spark.batches import apart
from schemaman.spark.decoded import decoded
from schemaman.spark.quarantine import Held, Quarantine
from schemaman.spark.staging import Reading
from schemaman.spark.writing import Waiting


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
