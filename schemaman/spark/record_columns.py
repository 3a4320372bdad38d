"""The columns of Kafka records in a frame, as Spark's Kafka source names them, and their rows as records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute

from schemaman.debezium.records import Record
from schemaman.ingest.line_batches import Row

HEADERS = "array<struct<key: string, value: binary>>"
RAW = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    f"headers {HEADERS}"
)
"""The columns of a frame of records."""

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
PLACE = ("topic", "partition", "offset")
"""The columns that identify a record."""


def sort_records(batch: arrow.Table) -> arrow.Table:
    """Sort records by topic, partition and offset; those that are in this order are not copied."""
    if _is_sorted(batch):
        return batch
    return batch.take(compute.sort_indices(batch, [(name, "ascending") for name in PLACE]))


def _is_sorted(batch: arrow.Table) -> bool:
    """Whether no record comes after one with a greater topic, partition or offset, in this order."""
    is_after = is_same = arrow.scalar(True)
    for name in reversed(PLACE):
        before, after = batch[name].slice(0, max(0, batch.num_rows - 1)), batch[name].slice(1)
        is_same = compute.equal(before, after)
        is_after = compute.or_(compute.less(before, after), compute.and_(is_same, is_after))
    return compute.all(is_after).as_py() is not False


def list_rows(batch: arrow.RecordBatch) -> list[Row] | None:
    """List the rows of an Arrow batch of `RAW`; None if one has headers."""
    *columns, headers = (batch.column(batch.schema.get_field_index(name)) for name in COLUMNS)
    return None if len(headers.flatten()) else list(zip(*_list_columns(*columns), strict=True))


def read_records(batch: arrow.RecordBatch) -> Iterator[Record]:
    """Convert the rows of an Arrow batch of `RAW` to records."""
    *columns, headers = (batch.column(batch.schema.get_field_index(name)) for name in COLUMNS)
    return map(Record, *_list_columns(*columns), _read_headers(headers))


def _list_columns(
    topics: arrow.Array,
    partitions: arrow.Array,
    offsets: arrow.Array,
    timestamps: arrow.Array,
    keys: arrow.Array,
    values: arrow.Array,
) -> tuple[list[Any], ...]:
    """List the columns of records in the order of their fields; NumPy makes objects of them at once."""
    places = (
        # NumPy has no NULL among integers.
        column.to_pylist() if column.null_count else column.to_numpy(zero_copy_only=False).tolist()
        for column in (topics, partitions, offsets)
    )
    bodies = (column.to_numpy(zero_copy_only=False).tolist() for column in (keys, values))
    return (*places, _read_milliseconds(timestamps), *bodies)


def _read_milliseconds(moments: arrow.Array) -> list[int | None]:
    """Read timestamps as epoch milliseconds, rounded to the nearest one."""
    if moments.null_count == len(moments):
        return [None] * len(moments)
    micros = moments.cast(arrow.timestamp("us", moments.type.tz), safe=False).cast(arrow.int64()).to_pylist()
    return [None if n is None else round(n / 1000) for n in micros]


def _read_headers(headers: arrow.Array) -> list[tuple[tuple[str, bytes | None], ...]]:
    if len(headers.flatten()) == 0:
        return [()] * len(headers)
    return [tuple((h["key"], h["value"]) for h in pairs or ()) for pairs in headers.to_pylist()]
