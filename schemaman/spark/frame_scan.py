"""Scans the rows of a data frame in tasks; a Python worker loads no more than the scan needs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as arrow

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record, hash_record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import UnreadableInput, UsageError
from schemaman.ingest.chunks import CHUNK, ChunkPart, KnownOffsets, build_reading, read_segments
from schemaman.ingest.line_batches import Row, RowBatch, UnreadableItem, parse_items
from schemaman.spark.record_columns import PLACE, list_rows, read_records, split_batch
from schemaman.spark.task_rows import build_row, keep_modules, quicken_next_task


@dataclass(frozen=True, slots=True)
class FrameScanner:
    """The function of tasks: it takes rows of `micro_batch.RAW` and returns scanned chunk parts.

    Spark sends it by pickle. `is_sorted`: the rows are in the order of topic, partition and offset.
    """

    known: KnownOffsets
    schemas: SchemaLookup
    forms: Forms = AUTO
    is_sorted: bool = False

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Scan the rows of a task."""
        keep_modules()
        for taken in self.scan(batches):
            yield build_row(0, 0, taken)
        quicken_next_task()

    def scan(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[ChunkPart | None]:
        """Scan the rows, part by part; None if they must be sorted first."""
        items = (item for batch in batches for piece in split_batch(batch) for item in _read_rows(piece))
        rows = drop_repetitions(parse_items(items)) if self.is_sorted else items
        yield from read_segments(rows, self.known, build_reading(self.schemas, self.forms), size=CHUNK)


def drop_repetitions(records: Iterable[Record | UnreadableItem]) -> Iterator[Record | UnreadableItem]:
    """Drop records that follow themselves, as writers that deliver at least once leave them.

    Raises:
        UnreadableInput: two different records have the same offset.
    """
    before: Record | None = None
    for record in records:
        if not isinstance(record, Record):
            yield record
            continue
        if before is not None and _is_same_place(before, record):
            if hash_record(before) != hash_record(record):
                raise UnreadableInput(
                    f"{record.topic}[{record.partition}]@{record.offset}: two different records",
                    hint="read the records of one cluster, and of one life of the topic, at a time",
                )
            continue
        before = record
        yield record


def _is_same_place(one: Record, other: Record) -> bool:
    return (one.offset, one.partition, one.topic) == (other.offset, other.partition, other.topic)


def _read_rows(batch: arrow.RecordBatch) -> Iterator[Record | RowBatch]:
    """Read the rows of a batch. Raises `UsageError` if one has no topic, partition or offset."""
    for name in PLACE:
        absent = batch.column(batch.schema.get_field_index(name)).null_count
        if absent:
            raise UsageError(
                f"{absent} rows of the data frame have no {name}",
                hint=f"filter them out: df.where('{name} IS NOT NULL')",
            )
    rows = list_rows(batch)
    if rows is None:
        yield from read_records(batch)
    else:
        yield RowBatch(rows, 1, _build_record, sys.maxsize)


def _build_record(number: int, row: Row) -> Record:
    return Record(*row)
