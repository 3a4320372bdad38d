"""Makes data frames with the columns of Spark's Kafka source from records that this process has read."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as arrow
from pyspark.sql import DataFrame, SparkSession

from schemaman.debezium.records import Record
from schemaman.spark.record_columns import RAW

_ARROW_RAW = arrow.schema(
    [
        ("topic", arrow.string()),
        ("partition", arrow.int32()),
        ("offset", arrow.int64()),
        ("timestamp", arrow.timestamp("us", "UTC")),
        ("key", arrow.binary()),
        ("value", arrow.binary()),
        ("headers", arrow.list_(arrow.struct([("key", arrow.string()), ("value", arrow.binary())]))),
    ]
)


def make_frame(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    """Make the data frame of a batch; its columns and types are those of `RAW`."""
    columns = {
        "topic": [record.topic for record in records],
        "partition": [record.partition for record in records],
        "offset": [record.offset for record in records],
        "timestamp": [None if r.timestamp_ms is None else r.timestamp_ms * 1000 for r in records],
        "key": [record.key for record in records],
        "value": [record.value for record in records],
        "headers": [[{"key": k, "value": v} for k, v in record.headers] for record in records],
    }
    table = arrow.table(columns, schema=_ARROW_RAW)
    return spark.createDataFrame(table).select(*(name.split()[0] for name in RAW.split(", ", 6)))
