"""Scans the records of a micro-batch in tasks; a Python worker loads no more than the scan needs."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as arrow

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.ingest.chunks import CHUNK, ChunkPart, KnownOffsets, build_reading, read_chunks
from schemaman.ingest.line_batches import Item, RowBatch
from schemaman.spark.record_columns import list_rows, read_records
from schemaman.spark.task_rows import keep_modules, quicken_next_task

TAKES = "take binary"
_ARROW_TAKES = arrow.schema([("take", arrow.binary())])


@dataclass(frozen=True, slots=True)
class BatchScanner:
    """The function of tasks: it takes records and returns scanned chunks. Spark sends it by pickle."""

    known: KnownOffsets
    schemas: SchemaLookup
    forms: Forms = AUTO

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Scan the records, chunk by chunk."""
        keep_modules()
        for taken in self.scan_batches(batches):
            yield arrow.RecordBatch.from_pylist([{"take": pickle.dumps(taken)}], _ARROW_TAKES)
        quicken_next_task()

    def scan_batches(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[ChunkPart]:
        """Scan records, which are in the order of their offsets."""
        items = (item for batch in batches for item in _list_items(batch))
        for _, taken in read_chunks(items, self.known, build_reading(self.schemas, self.forms), size=CHUNK):
            yield taken


def _list_items(batch: arrow.RecordBatch) -> Iterable[Item]:
    """List the records of a batch for the scan; those without headers are made only where it needs them."""
    rows = list_rows(batch)
    if rows is None:
        return read_records(batch)
    return [RowBatch(rows, 1, lambda _, row: Record(*row), sys.maxsize)] if rows else []
