"""A micro-batch of Kafka records as a data frame: its columns, and its way into the registry.

Law: a batch adds the same facts to the registry as an `ingest` of its records; a repeated batch adds nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as arrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.errors import UsageError
from schemaman.ingest.chunks import ChunkPart, build_reading, merge_parts
from schemaman.ingest.ingest import Intake, Summary
from schemaman.registry import Registry
from schemaman.spark.record_columns import COLUMNS, HEADERS, RAW, sort_records
from schemaman.spark.sql_errors import RAISED, make_job_failure
from schemaman.spark.streaming.batch_scan import TAKES, BatchScanner
from schemaman.spark.versions import collect_arrow
from schemaman.store.edge_hashes import Extents


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
        rows = batch.mapInArrow(scanner, TAKES).collect()
    except RAISED as error:
        raise make_job_failure(error, "scans the batch") from error
    yield from (pickle.loads(row["take"]) for row in rows)
