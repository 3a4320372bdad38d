"""A micro-batch of Kafka records as a data frame: its columns, and its way into the registry.

Law: a batch adds the same facts to the registry as an `ingest` of its records; a repeated batch adds nothing.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as arrow
import pyarrow.compute as compute
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import UsageError
from schemaman.ingest.chunks import CHUNK, ChunkPart, KnownOffsets, build_reading, merge_parts, read_chunks
from schemaman.ingest.ingest import Intake, Summary
from schemaman.ingest.line_batches import Item, Row, RowBatch
from schemaman.registry import Registry
from schemaman.spark.sql_errors import RAISED, make_job_failure
from schemaman.spark.versions import collect_arrow
from schemaman.store.edge_hashes import Extents

HEADERS = "array<struct<key: string, value: binary>>"
RAW = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    f"headers {HEADERS}"
)
"""The columns of a batch, as Spark's Kafka source names them."""

_ORDER = ("topic", "partition", "offset")
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_TAKES = "take binary"
_ARROW_TAKES = arrow.schema([("take", arrow.binary())])


def select_raw_columns(batch: DataFrame) -> DataFrame:
    """The batch with the columns of `RAW` and no others; headers are empty where it has none.

    Source: Spark "Structured Streaming + Kafka Integration Guide", columns of a source.

    Raises:
        UsageError: a column that a Kafka source has is missing.
    """
    missing = [c for c in ("topic", "partition", "offset", "key", "value") if c not in batch.columns]
    if missing:
        raise UsageError(
            f"the batch has no column {', '.join(missing)}",
            hint="pass the data frame of Spark's Kafka source before any column is selected from it",
        )
    absent = {"timestamp": "timestamp", "headers": HEADERS}
    lit = [F.lit(None).cast(type).alias(name) for name, type in absent.items() if name not in batch.columns]
    types = dict(part.strip().split(" ", 1) for part in RAW.split(", ", 6))
    there = [F.col(c).cast(types[c]).alias(c) for c in COLUMNS if c in batch.columns]
    return batch.select(*there, *lit).select(*COLUMNS)


def spread_records(batch: DataFrame) -> DataFrame:
    """Put the records of each partition of a topic into one task, in the order of their offsets."""
    spread = batch.repartition("topic", "partition")
    return spread.sortWithinPartitions("topic", "partition", "offset")


def sort_records(batch: arrow.Table) -> arrow.Table:
    """Sort records by topic, partition and offset; those that are in this order are not copied."""
    if _is_sorted(batch):
        return batch
    return batch.take(compute.sort_indices(batch, [(name, "ascending") for name in _ORDER]))


def _is_sorted(batch: arrow.Table) -> bool:
    """Whether no record comes after one with a greater topic, partition or offset, in this order."""
    is_after = is_same = arrow.scalar(True)
    for name in reversed(_ORDER):
        before, after = batch[name].slice(0, max(0, batch.num_rows - 1)), batch[name].slice(1)
        is_same = compute.equal(before, after)
        is_after = compute.or_(compute.less(before, after), compute.and_(is_same, is_after))
    return compute.all(is_after).as_py() is not False


def gather_rows(batch: DataFrame, most: int) -> arrow.Table | None:
    """Collect the batch in this process if it has at most `most` records; otherwise None."""
    found = collect_arrow(batch.limit(most + 1))
    return found if found.num_rows <= most else None


@contextmanager
def cached_records(batch: DataFrame) -> Iterator[DataFrame]:
    """Cache a batch while it is read several times."""
    cached = batch.persist()
    try:
        yield cached
    finally:
        cached.unpersist()


def copy_records(records: DataFrame, most: int) -> DataFrame | arrow.Table:
    """Copy records of a lake table that will be written: up to `most` here, else on the executors.

    Spark 4.1 finds no plan for a MERGE whose source is a view that reads an Iceberg table ("No plan for
    TableReference"), whether it is cached or not; a copy has no such plan.
    """
    found = gather_rows(records, most)
    return spread_records(records).localCheckpoint() if found is None else found


def record_batch(
    batch: DataFrame | arrow.Table,
    registry: Registry,
    stream: str,
    schemas: SchemaLookup,
    forms: Forms = AUTO,
) -> tuple[Summary, Extents]:
    """Add the records of a batch to the history, in one transaction; executors scan a data frame.

    A data frame is one of `spread_records`. Returns the result, and the first and the last offset of each
    partition of the batch.

    Raises:
        CouldNotDo: the Spark job failed.
        UsageError: a record differs from the known record at its offset: this is another stream.
        StoreUnavailable: the store cannot be written.
    """
    intake = Intake(registry, stream, schemas, forms=forms)
    known = intake.known if isinstance(batch, arrow.Table) else intake.known.restrict_to(_find_extents(batch))
    scanner = BatchScanner(known, schemas, forms)
    # Each partition of a topic is in one task, which returns its chunks in order.
    taken = merge_parts(_scan_batch(batch, scanner), build_reading(schemas, forms))
    intake.enter(taken)
    return intake.summary, {(topic, part): (low, high) for topic, part, low, high in taken.extents}


def _find_extents(batch: DataFrame) -> Extents:
    """Find the first and the last offset of each partition of a batch."""
    found = batch.groupBy("topic", "partition").agg(
        F.min("offset").alias("first"), F.max("offset").alias("last")
    )
    try:
        return {(row["topic"], row["partition"]): (row["first"], row["last"]) for row in found.collect()}
    except RAISED as error:
        raise make_job_failure(error, "reads the batch") from error


def _scan_batch(batch: DataFrame | arrow.Table, scanner: BatchScanner) -> Iterator[ChunkPart]:
    if isinstance(batch, arrow.Table):
        yield from scanner.scan_batches(sort_records(batch).to_batches())
        return
    try:
        rows = batch.mapInArrow(scanner, _TAKES).collect()
    except RAISED as error:
        raise make_job_failure(error, "scans the batch") from error
    yield from (pickle.loads(row["take"]) for row in rows)


@dataclass(frozen=True, slots=True)
class BatchScanner:
    """The function of tasks: it takes records and returns scanned chunks. Spark sends it by pickle."""

    known: KnownOffsets
    schemas: SchemaLookup
    forms: Forms = AUTO

    def __call__(self, batches: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        """Scan the records, chunk by chunk."""
        for taken in self.scan_batches(batches):
            yield arrow.RecordBatch.from_pylist([{"take": pickle.dumps(taken)}], _ARROW_TAKES)

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
