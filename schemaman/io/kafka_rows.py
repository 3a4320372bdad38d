"""Messages of librdkafka as records, and as rows whose columns are read without an object for each row."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from schemaman.debezium.records import Record
from schemaman.ingest.line_batches import Row, RowBatch
from schemaman.ingest.partition_rows import PartitionRows


def make_record(message: Any) -> Record:
    """Makes a record of a message."""
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        _read_time(message),
        message.key(),
        message.value(),
        headers,
    )


def split_into_batches(messages: Sequence[Any]) -> Iterator[Record | RowBatch]:
    """Splits messages of one partition into rows and records, in order; rows have no headers."""
    if not any(map(type(messages[0]).headers, messages)):
        yield _make_batch(messages)
        return
    for has_headers, group in groupby(messages, lambda message: bool(message.headers())):
        if has_headers:
            yield from map(make_record, group)
        else:
            yield _make_batch(list(group))


def _make_batch(messages: Sequence[Any]) -> RowBatch:
    kind = type(messages[0])
    first, behind = messages[0].offset(), messages[-1].offset() + 1
    is_whole = behind - first == len(messages)
    rows = PartitionRows(
        messages[0].topic(),
        messages[0].partition(),
        range(first, behind) if is_whole else list(map(kind.offset, messages)),
        list(map(kind.key, messages)),
        list(map(kind.value, messages)),
        lambda at: _read_time(messages[at]),
    )
    return RowBatch(rows, 1, _make_row_record, sys.maxsize)


def _make_row_record(_: int, row: Row) -> Record:
    return Record(*row)


def _read_time(message: Any) -> int | None:
    """Reads the time of a message in epoch milliseconds; None if it has none."""
    kind, time_ms = message.timestamp()
    return time_ms if kind else None
