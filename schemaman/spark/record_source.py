"""The work of executors: open a part of a file, scan it, and return the scanned chunks."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import pyarrow as arrow

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.ingest.chunks import KnownOffsets, UnreadableItem, build_reading, read_chunks
from schemaman.io.files import File, count_rows, read_records, read_row_groups

SCHEMA = "part int, chunk int, take binary"
"""A row of a result: number of the part, number of the chunk in its file, the take as bytes."""

_ARROW = arrow.schema([("part", arrow.int32()), ("chunk", arrow.int32()), ("take", arrow.binary())])


@dataclass(frozen=True, slots=True)
class FilePart:
    """The input of one task: a whole file, or some row groups; `start` items of the file come before."""

    file: File
    start: int = 0
    groups: tuple[int, ...] | None = None


def split_file(file: File, wanted: int) -> tuple[FilePart, ...]:
    """Split a file into at most `wanted` similar parts, in order. Raises like `files.read_records`."""
    if file.kind != "parquet":
        return (FilePart(file),)
    sizes = count_rows(file)
    starts = [0, *accumulate(sizes)]
    bounds = [round(i * len(sizes) / wanted) for i in range(wanted + 1)]
    spans = [(a, b) for a, b in pairwise(bounds) if a < b]
    return tuple(FilePart(file, starts[a], tuple(range(a, b))) for a, b in spans)


@dataclass(frozen=True, slots=True)
class PartScanner:
    """The function of tasks: it takes numbers of parts and returns scanned chunks of `size` records.

    Spark sends it to the executors by pickle.
    """

    parts: Sequence[FilePart]
    known: KnownOffsets
    schemas: SchemaLookup
    size: int
    forms: Forms = AUTO

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Scan the parts that the rows name."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                part = self.parts[number]
                reading, start = build_reading(self.schemas, self.forms), part.start
                for chunk, taken in read_chunks(
                    _read_items(part), self.known, reading, start=start, size=self.size
                ):
                    # driver and executors run the same code, so that pickle restores equal values
                    row = {"part": number, "chunk": chunk, "take": pickle.dumps(taken)}
                    yield arrow.RecordBatch.from_pylist([row], _ARROW)


def _read_items(part: FilePart) -> Iterator[Record | UnreadableItem]:
    return read_records(part.file) if part.groups is None else read_row_groups(part.file, part.groups)
