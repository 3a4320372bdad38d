"""Starts the Spark session of a workspace when it is needed, and runs work on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from schemaman.api.settings_files import resolve_path
from schemaman.api.spark_sources import SparkPath, SparkTable
from schemaman.api.workspace import Workspace
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.errors import BadReference, CouldNotDo, EngineUnavailable, NoHistory, UsageError
from schemaman.ingest.summary import Summary
from schemaman.io.files import File
from schemaman.io.kafka import Topics
from schemaman.migration.settings import list_packages, spark_settings
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.model.schema import TableSchema
from schemaman.registry import Registry
from schemaman.sink.waiting_records import WaitingRecords, format_waiting_query, read_waiting
from schemaman.spark.streaming.batch_report import BatchReport
from schemaman.store.offsets import Partition


def open_executor(workspace: Workspace) -> Executor:
    """Open an executor on the active Spark session, or on a new one that stops when the workspace closes.

    Raises:
        EngineUnavailable: Java or the Spark package is missing, or Spark does not start.
    """
    spark = _open_session(workspace)
    from schemaman.spark.executor import (
        SparkExecutor,
    )  # the open session proves that pyspark is installed

    return SparkExecutor(spark)


def require_lasting_catalog(executor: Executor, format: str, table: str) -> None:
    """Raises `UsageError` for a Delta table by name in a catalogue that does not outlive Spark."""
    if not TARGETS.get(format).is_in_session_catalog(table):
        return
    kind = executor.query("SET spark.sql.catalogImplementation")[0][1]
    if kind == "in-memory":
        raise UsageError(
            f"Spark forgets the name of the Delta table {table} when it ends: its catalogue is in memory",
            hint="use the table's path, or set spark = {'spark.sql.catalogImplementation' = 'hive'}",
        )


def ingest_on_spark(
    workspace: Workspace,
    found: Sequence[File],
    registry: Registry,
    schemas: SchemaLookup,
    keep_payload: bool,
    progress: Callable[[Summary], None],
) -> Summary:
    """Read files with executors. Raises as `schemaman.spark.ingest.ingest`, and `EngineUnavailable`."""
    spark = _open_session(workspace)
    from schemaman.spark.ingest import ingest  # the open session proves that pyspark is installed

    destination = _build_destination(workspace, registry, schemas, keep_payload)
    return ingest(spark, found, destination, progress, limit=workspace.settings.record_limit.value)


def ingest_folder_on_spark(
    workspace: Workspace, found: Sequence[File], registry: Registry, schemas: SchemaLookup, keep_payload: bool
) -> Summary:
    """Read the files of a folder with executors, as one source. Raises as `ingest_on_spark`."""
    spark = _open_session(workspace)
    from schemaman.spark.ingest import ingest_folder  # the open session proves that pyspark is installed

    destination = _build_destination(workspace, registry, schemas, keep_payload)
    return ingest_folder(spark, found, destination, workspace.settings.record_limit.value)


def ingest_frame_on_spark(
    workspace: Workspace,
    source: SparkTable | SparkPath,
    registry: Registry,
    schemas: SchemaLookup,
    keep_payload: bool,
) -> Summary:
    """Read a table, or Parquet files on any file system, with executors.

    Raises:
        UnreadableInput: there is no such table or path.
        CouldNotDo: as `schemaman.spark.frame_ingest.ingest_frame`, and `EngineUnavailable`.
    """
    spark = _open_session(workspace)
    from schemaman.spark.frame_ingest import ingest_frame, open_parquet, open_table

    opened = (
        open_table(spark, source.name) if isinstance(source, SparkTable) else open_parquet(spark, source.path)
    )
    return ingest_frame(opened, _build_destination(workspace, registry, schemas, keep_payload))


def ingest_topics_on_spark(
    workspace: Workspace,
    source: Topics,
    options: Mapping[str, str],
    registry: Registry,
    schemas: SchemaLookup,
    keep_payload: bool,
    since_ms: int | None,
    unread: dict[Partition, int],
) -> Summary:
    """Read Kafka topics with executors. Raises as `schemaman.spark.ingest.ingest_topics`."""
    spark = _open_session(workspace)
    from schemaman.spark.ingest import ingest_topics  # the open session proves that pyspark is installed

    destination = _build_destination(workspace, registry, schemas, keep_payload)
    return ingest_topics(spark, source, options, destination, since_ms, unread)


def stream_topics_on_spark(
    workspace: Workspace,
    source: Topics,
    options: Mapping[str, str],
    registry: Registry,
    schemas: SchemaLookup,
    keep_payload: bool,
    checkpoint: Path,
    **how: Any,
) -> Generator[Summary, None, None]:
    """Read Kafka topics as a stream. Arguments and errors are those of `topic_batches.ingest_stream`."""
    spark = _open_session(workspace)
    from schemaman.spark.topic_batches import ingest_stream  # PySpark 3.5 has no data sources

    destination = _build_destination(workspace, registry, schemas, keep_payload)
    return ingest_stream(spark, source, options, destination, checkpoint, **how)


def _build_destination(
    workspace: Workspace, registry: Registry, schemas: SchemaLookup, keep_payload: bool
) -> Any:
    """Build a `Destination` for the stream and the forms of the settings; untyped as `_open_session`."""
    from schemaman.spark.ingest import Destination  # the open session proves that pyspark is installed

    stream, forms = workspace.settings.stream.value, workspace.settings.forms
    return Destination(registry, stream, schemas, keep_payload, forms)


def read_lake_schema(workspace: Workspace, table: str) -> TableSchema:
    """Read the schema of a lake table, in the first format that accepts its name and finds the table.

    Raises:
        NoHistory: there is no such table.
        CouldNotDo: the table cannot be read.
    """
    return _find_lake_table(open_executor(workspace), table)[1].schema


def list_waiting_records(workspace: Workspace, table: str) -> tuple[WaitingRecords, ...]:
    """List what waits in a quarantine table. Raises as `read_lake_schema`."""
    executor = open_executor(workspace)
    name, lake_table = _find_lake_table(executor, table)
    if lake_table.schema.column("reason") is None:
        raise UsageError(
            f"{table} is no quarantine of a LakeSink", hint="name the table of sm.spark.Quarantine"
        )
    return read_waiting(executor.query(format_waiting_query(name)))


def _find_lake_table(executor: Executor, table: str) -> tuple[str, LakeTable]:
    """Find a lake table, and its name in SQL, in the first format that accepts the name."""
    failures: list[CouldNotDo] = []
    for target in TARGETS.load_all():
        try:
            name = target.table_name(table)
            lake_table = executor.inspect(table, target.name)
        except BadReference:
            continue
        except CouldNotDo as failure:
            failures.append(failure)
            continue
        if lake_table is not None:
            return name, lake_table
    if failures:
        raise failures[-1]
    raise NoHistory(f"there is no lake table {table}", hint="use a path, or catalog.namespace.table")


def open_sink(
    workspace: Workspace,
    registry: Registry,
    quarantine: tuple[str, str],
) -> Callable[[Sequence[Record], int], BatchReport]:
    """Open a function that writes a numbered batch of records into the targets of the settings.

    `quarantine` is the name and the format of the table of records that cannot be written.

    Raises:
        EngineUnavailable: Spark does not start, or its session is one of Spark Connect.
    """
    spark = _open_session(workspace)
    from schemaman.spark.session import is_classic  # the open session proves that pyspark is installed
    from schemaman.spark.streaming.quarantine import Quarantine
    from schemaman.spark.streaming.record_frames import make_frame
    from schemaman.spark.streaming.sink import LakeSink

    if not is_classic(spark):
        raise EngineUnavailable("rows are written by a classic session of Spark, not by Spark Connect")
    reports: list[BatchReport] = []
    targets = workspace.settings.targets.value
    sink = LakeSink(registry, targets, Quarantine(*quarantine), on_report=reports.append)

    def write(records: Sequence[Record], number: int) -> BatchReport:
        sink(make_frame(spark, records), number)
        return reports.pop()

    return write


def _open_session(workspace: Workspace) -> Any:
    """Open the session; untyped, because only `schemaman.spark` imports pyspark."""
    from schemaman.spark.session import open_session  # raises an error that names the missing extra

    settings = workspace.settings
    chosen: dict[str, str] = {}
    for catalog in settings.catalogs.value:
        chosen |= spark_settings(catalog, os.environ)
    workspace.messages.progress("starting Spark")
    session = open_session(
        warehouse=resolve_path(settings.warehouse),
        catalog=settings.catalog.value,
        master=settings.master.value,
        settings=chosen | dict(settings.spark.value),
        packages=list_packages(settings.catalogs.value),
    )
    return workspace.resources.enter_context(session)
