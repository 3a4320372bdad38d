"""The work of executors: open parts of a source, scan them, and return the scanned chunk parts."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import assert_never

import pyarrow as arrow
from pyspark.sql import SparkSession

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.ingest.chunks import (
    ChunkPart,
    KnownOffsets,
    build_reading,
    read_chunks,
    read_segments,
)
from schemaman.ingest.line_batches import Item, parse_lines
from schemaman.io.files import RECORD_LIMIT, File, measure_row_groups, read_batches, read_row_groups
from schemaman.io.kafka import Span, Topics, read_span
from schemaman.spark.session import is_classic
from schemaman.spark.task_rows import build_row, keep_modules, quicken_next_task

_TASKS_PER_SLOT = 4
_PARTS_PER_TASK = 8
"""The number of parts from which tasks are alike. Each opens its file, with the sizes of all row groups."""

_REMOTE_SLOTS = 8
"""The assumed number of slots of a Spark Connect server, which does not tell its own."""

_SIZES: Mapping[str, int] = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_TASK_BYTES = 2**30
_SPARK_TASK_BYTES = 128 * 2**20
_LEAST_OFFSETS = 20_000
"""The smallest number of offsets in a task: for fewer, opening a consumer takes longer than reading."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A whole file, or some row groups; `start` items of the file come before, `bytes` is the size."""

    file: File
    start: int = 0
    groups: tuple[int, ...] | None = None
    bytes: int = 0
    limit: int = RECORD_LIMIT


@dataclass(frozen=True, slots=True)
class TopicPart:
    """A range of offsets in a partition of Kafka, with the options of its client; they may be secret."""

    source: Topics
    span: Span
    options: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"TopicPart({self.source}, {self.span})"


SourcePart = FilePart | TopicPart


def split_file(file: File, wanted: int = sys.maxsize, limit: int = RECORD_LIMIT) -> tuple[FilePart, ...]:
    """Split a file into at most `wanted` similar parts, in order. Raises like `files.read_records`.

    The bytes of a part are those on the disk.
    """
    size = file.bytes
    if file.kind != "parquet" or wanted <= 1:
        return (FilePart(file, bytes=size, limit=limit),)
    groups = measure_row_groups(file)
    unpacked = sum(bytes for _, bytes in groups)
    starts = [0, *accumulate(rows for rows, _ in groups)]
    wanted = min(wanted, len(groups))
    bounds = [round(i * len(groups) / max(wanted, 1)) for i in range(wanted + 1)]
    return tuple(
        FilePart(
            file,
            starts[a],
            tuple(range(a, b)),
            round(size * sum(bytes for _, bytes in groups[a:b]) / (unpacked or 1)),
            limit,
        )
        for a, b in pairwise(bounds)
        if a < b
    )


def split_files(files: Sequence[File], most: int, limit: int = RECORD_LIMIT) -> list[tuple[FilePart, ...]]:
    """Split files into parts of about an eighth of `most` bytes; row groups of small files are not read."""
    return [split_file(file, file.bytes * _PARTS_PER_TASK // most, limit) for file in files]


def pack_parts(parts: Sequence[FilePart], most: int) -> list[tuple[int, ...]]:
    """Pack consecutive parts into similar tasks of about `most` bytes; return the part numbers of each."""
    total = sum(part.bytes for part in parts)
    share = total / max(1, -(-total // most)) or 1
    packs: dict[int, list[int]] = {}
    before = 0
    for number, part in enumerate(parts):
        packs.setdefault(int((before + part.bytes / 2) / share), []).append(number)
        before += part.bytes
    return [tuple(pack) for pack in packs.values()]


def pickle_tasks(parts: Sequence[SourcePart], packs: Iterable[tuple[int, ...]]) -> tuple[bytes, ...]:
    """Pickle the parts of each task with their numbers, since a task need not load those of all others."""
    return tuple(pickle.dumps([(number, parts[number]) for number in pack]) for pack in packs)


def choose_task_bytes(spark: SparkSession, total: int) -> int:
    """Choose the bytes of a task, so that each slot gets equally many tasks of `count_tasks`.

    The cost to open a file is left out: a worker needs about a millisecond.
    """
    return max(1, -(-total // count_tasks(spark, total)))


def count_tasks(spark: SparkSession, total: int) -> int:
    """Count the tasks for that many bytes: a multiple of the slots, since the last round fills them, too.

    A task has at most `spark.sql.files.maxPartitionBytes`. With Spark's default it may have a GiB: a task
    costs some hundredths of a second and learns its schemas anew. Its memory does not grow with its bytes.
    Source of the default: Spark `SQLConf.FILES_MAX_PARTITION_BYTES`.
    """
    configured = parse_bytes(str(spark.conf.get("spark.sql.files.maxPartitionBytes", "128m")))
    most = _TASK_BYTES if configured == _SPARK_TASK_BYTES else configured
    slots = count_slots(spark)
    return slots * max(1, -(-total // (slots * most)))


def choose_task_offsets(spark: SparkSession, total: int) -> int:
    """Choose the number of offsets of a task that reads from Kafka: some tasks for each slot."""
    return max(_LEAST_OFFSETS, -(-total // (count_slots(spark) * _TASKS_PER_SLOT)))


def count_slots(spark: SparkSession) -> int:
    """Count the tasks that the session runs at once; Spark Connect does not tell, so that is an estimate."""
    return max(1, spark.sparkContext.defaultParallelism) if is_classic(spark) else _REMOTE_SLOTS


def parse_bytes(text: str) -> int:
    """Parse a size such as `128m` or `134217728b`. Source: Spark "Configuration", size in bytes.

    Raises:
        ValueError: the text is no size.
    """
    found = re.fullmatch(r"(\d+)\s*([bkmgt]?)i?b?", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no size in bytes")
    return int(found[1]) * _SIZES[found[2]]


def split_spans(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """Split ranges of offsets into ranges of at most `most` offsets, in order."""
    for span in spans:
        for start in range(span.start, span.end, most):
            yield Span(span.topic, span.partition, start, min(start + most, span.end))


@dataclass(frozen=True, slots=True)
class PartScanner:
    """The function of tasks: it takes numbers of tasks and returns scanned chunks of `size` records.

    Spark sends it to the executors by pickle, once for each executor if it is large. `is_one_source`: all
    parts together are one source, whose records may be in any order. `tasks` are made by `pickle_tasks`; a
    representation would show the options of clients.
    """

    tasks: Sequence[bytes] = field(repr=False)
    known: KnownOffsets
    schemas: SchemaLookup
    size: int
    forms: Forms = AUTO
    is_one_source: bool = False

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Scan the parts of the tasks that the rows name."""
        keep_modules()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part, chunk, taken in self._scan_task(number):
                    yield build_row(part, chunk, taken)
        quicken_next_task()

    def _scan_task(self, number: int) -> Iterator[tuple[int, int, ChunkPart | None]]:
        reading = build_reading(self.schemas, self.forms)
        parts: list[tuple[int, SourcePart]] = pickle.loads(self.tasks[number])
        if self.is_one_source:
            items = parse_lines(item for _, part in parts for item in read_part(part))
            for taken in read_segments(items, self.known, reading, size=self.size):
                yield number, 0, taken
            return
        for part, source in parts:
            start = source.start if isinstance(source, FilePart) else 0
            chunks = read_chunks(read_part(source), self.known, reading, start=start, size=self.size)
            for chunk, taken in chunks:
                yield part, chunk, taken


def read_part(part: SourcePart) -> Iterator[Item]:
    """Read a part. Raises like `files.read_batches` and `kafka.read_records`."""
    match part:
        case FilePart(file=file, groups=None):
            return read_batches(file, limit=part.limit)
        case FilePart(file=file, groups=groups):
            return read_row_groups(file, groups or (), limit=part.limit)
        case TopicPart(source=source, span=span, options=options):
            return read_span(source, dict(options), span)
        case _:
            assert_never(part)
