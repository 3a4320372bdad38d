"""Reads a data frame with the columns of Spark's Kafka source into the history.

Law: the log equals that of one local reading of the records in the order of topic, partition and offset,
however the frame is partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemaman.errors import CouldNotDo, UnreadableInput, UsageError
from schemaman.ingest.chunks import KnownOffsets
from schemaman.ingest.ingest import Summary
from schemaman.spark.frame_scan import FrameScanner
from schemaman.spark.ingest import Destination, Row, scan_segments
from schemaman.spark.record_columns import PLACE
from schemaman.spark.record_source import count_tasks
from schemaman.spark.session import find_first_line, is_classic
from schemaman.spark.sql_errors import RAISED, make_job_failure
from schemaman.spark.streaming.micro_batch import select_raw_columns
from schemaman.spark.task_rows import SCHEMA
from schemaman.store.offsets import Partition, Ranges

WORTH_SKIPPING = 10_000
"""The number of known records from which Spark does not read them again."""

_MOST_SKIPPED = 256
"""The largest number of known ranges that become a filter: Spark plans large filters slowly."""

_MOST_TASKS = 100_000
"""More tasks mean that Spark does not know the size: it estimates 8 EB (`spark.sql.defaultSizeInBytes`)."""


def ingest_frame(records: DataFrame, destination: Destination) -> Summary:
    """Read a data frame into the history, in one transaction; classic sessions and Spark Connect.

    The records may be in any order and in any partitions, and some of them twice. Each task returns the runs
    of its rows. If the rows of a partition of a topic are not in order, Spark sorts the frame first. Long
    ranges of known records are filtered out, up to their last record.

    Raises:
        UsageError: the data frame is a stream, a column or an offset is missing, or a record differs from
            the known record at its offset.
        UnreadableInput: two different records have the same offset.
        CouldNotDo: the Spark job failed.
        StoreUnavailable: the store cannot be written.
    """
    if records.isStreaming:
        raise UsageError(
            "a streaming data frame has no end",
            hint="use spark.read, or stream.writeStream.foreachBatch(schemaman.spark.LakeSink(…))",
        )
    schemas, forms, intake = destination.schemas, destination.forms, destination.open_intake()
    ranges = intake.known.ranges
    unread = pack_partitions(skip_known(select_raw_columns(records), ranges))
    known = intake.known.load_hashes() if ranges else KnownOffsets()
    scanner = FrameScanner(known, schemas, forms)
    taken = scan_segments(_collect(unread, scanner), schemas, forms)
    if taken is None:
        ordered = unread.repartitionByRange(*PLACE).sortWithinPartitions(*PLACE)
        scanner = FrameScanner(known, schemas, forms, is_sorted=True)
        taken = scan_segments(_collect(ordered, scanner), schemas, forms)
    if taken is None:
        raise CouldNotDo(
            "the data frame has other rows each time that it is read", hint="write it into a table first"
        )
    intake.enter(taken)
    return intake.summary


def open_table(spark: SparkSession, name: str) -> DataFrame:
    """Open a table by its name in SQL. Raises `UnreadableInput` if Spark does not find it."""
    try:
        found: DataFrame = spark.table(name)
        found.columns  # noqa: B018 - Spark Connect looks for the table only now
        return found
    except PySparkException as error:
        raise UnreadableInput(
            f"Spark cannot read the table {name}: {find_first_line(error)}",
            hint="use the name of a table in SQL: table:catalog.namespace.table",
        ) from error


def open_parquet(spark: SparkSession, path: str) -> DataFrame:
    """Open a Parquet file, a folder with its subfolders, or a pattern. Raises `UnreadableInput` likewise."""
    try:
        found: DataFrame = spark.read.option("recursiveFileLookup", "true").parquet(path)
        found.columns  # noqa: B018 - Spark Connect looks for the files only now
        return found
    except (PySparkException, Py4JError) as error:
        raise UnreadableInput(
            f"Spark cannot read {path}: {find_first_line(error)}",
            hint="the session needs the connector of this file system, and permission to read",
        ) from error


def skip_known(records: DataFrame, known: Mapping[Partition, Ranges]) -> DataFrame:
    """Filter out the long known ranges, up to the last record of each, which is compared again."""
    long = [
        (last - first, topic, partition, first, last)
        for (topic, partition), found in known.items()
        for first, last in found
        if last - first >= WORTH_SKIPPING
    ]
    skipped = [
        (F.col("topic") == topic)
        & (F.col("partition") == partition)
        & (F.col("offset") >= first)
        & (F.col("offset") < last)
        for _, topic, partition, first, last in sorted(long, reverse=True)[:_MOST_SKIPPED]
    ]
    return records.where(~reduce(_either, skipped)) if skipped else records


def _either(one: Column, other: Column) -> Column:
    return one | other


def pack_partitions(records: DataFrame) -> DataFrame:
    """Let a task read several small partitions of a frame, since each task costs a tenth of a second.

    There are as many tasks as `count_tasks` counts, and never more than the frame has partitions. Spark
    Connect does not tell the size of a frame.
    """
    if not is_classic(records.sparkSession):
        return records
    size = int(str(records._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    tasks = count_tasks(records.sparkSession, size)
    return records.coalesce(tasks) if tasks <= _MOST_TASKS else records


def _collect(records: DataFrame, scanner: FrameScanner) -> list[Row]:
    try:
        rows = records.mapInArrow(scanner, SCHEMA).collect()
    except RAISED as error:
        raise make_job_failure(error, "reads the data frame") from error
    return [(number, 0, bytes(row["take"])) for number, row in enumerate(rows)]
