"""The columns of Kafka records in a frame, as Spark's Kafka source names them, and their rows as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute

from schemaman.debezium.records import Record
from schemaman.ingest.column_rows import build_column_rows, list_integers
from schemaman.ingest.line_batches import Row
from schemaman.sink.record_columns import RecordColumns

HEADERS = "array<struct<key: string, value: binary>>"
RAW = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    f"headers {HEADERS}"
)
"""The columns of a frame of records."""

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
PLACE = ("topic", "partition", "offset")
"""The columns that identify a record."""

_ROWS = 1024
_COLUMN_ROWS = 2048


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


def list_rows(batch: arrow.RecordBatch) -> Sequence[Row] | None:
    """List the rows of an Arrow batch of `RAW`; None if one has headers."""
    *columns, headers = (batch.column(batch.schema.get_field_index(name)) for name in COLUMNS)
    if len(headers.flatten()):
        return None
    topics, partitions, offsets, timestamps, keys, values = columns
    if not arrow.types.is_binary(values.type) or not len(values):
        return list(zip(*_list_columns(*columns), strict=True))
    topic, partition, offset, key = map(_list_column, (topics, partitions, offsets, keys))
    read_times = cache(lambda: _read_milliseconds(timestamps))
    return build_column_rows(topic, partition, offset, key, values, read_times)


def split_batch(batch: arrow.RecordBatch) -> Iterator[arrow.RecordBatch]:
    """Split a batch, without a copy, into some whose values are copied at once."""
    return (batch.slice(first, _ROWS) for first in range(0, batch.num_rows, _ROWS))


def read_records(batch: arrow.RecordBatch) -> Iterator[Record]:
    """Convert the rows of an Arrow batch of `RAW` to records."""
    *columns, headers = (batch.column(batch.schema.get_field_index(name)) for name in COLUMNS)
    return map(Record, *_list_columns(*columns), _read_headers(headers))


def read_columns(records: arrow.Table) -> Iterator[RecordColumns]:
    """Read the rows of an Arrow table of `RAW` column by column, some at a time."""
    for start in range(0, records.num_rows, _COLUMN_ROWS):
        for batch in records.slice(start, _COLUMN_ROWS).combine_chunks().to_batches():
            columns = {name: batch.column(batch.schema.get_field_index(name)) for name in COLUMNS}
            topics, partitions, offsets = (_list_column(columns[name]) for name in PLACE)
            keys, values = _list_column(columns["key"]), _list_column(columns["value"])
            headers = _read_headers(columns["headers"])
            read_times = cache(partial(_read_milliseconds, columns["timestamp"]))
            yield RecordColumns(topics, partitions, offsets, keys, values, headers, read_times)


def _list_columns(*columns: arrow.Array) -> tuple[list[Any], ...]:
    """List the columns of records in the order of their fields."""
    topics, partitions, offsets, timestamps, keys, values = columns
    places = (_list_column(column) for column in (topics, partitions, offsets))
    return (*places, _read_milliseconds(timestamps), _list_column(keys), _list_column(values))


def _list_column(column: arrow.Array) -> list[Any]:
    """List a column; NumPy makes objects of it at once, but has no NULL among integers."""
    is_body = arrow.types.is_binary(column.type)
    if column.null_count and not is_body:
        return column.to_pylist()  # type: ignore[no-any-return]
    return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]


def _read_milliseconds(moments: arrow.Array) -> list[int | None]:
    """Read timestamps as epoch milliseconds, rounded to the nearest one."""
    if moments.null_count == len(moments):
        return [None] * len(moments)
    micros = list_integers(moments.cast(arrow.timestamp("us", moments.type.tz), safe=False))
    return [None if n is None else round(n / 1000) for n in micros]


def _read_headers(headers: arrow.Array) -> list[tuple[tuple[str, bytes | None], ...]]:
    if len(headers.flatten()) == 0:
        return [()] * len(headers)
    return [tuple((h["key"], h["value"]) for h in pairs or ()) for pairs in headers.to_pylist()]
