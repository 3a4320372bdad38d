"""How commands reach Spark: a session that lives as long as the command, and what runs on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from schemaman.debezium.payload import SchemaLookup
from schemaman.errors import NoHistory, StatementFailed, UsageError
from schemaman.ingest.ingest import Summary
from schemaman.io.files import File
from schemaman.migration.settings import list_packages, spark_settings
from schemaman.migration.target import Executor
from schemaman.model.schema import TableSchema
from schemaman.registry import Registry
from schemaman_cli.options import Door


def executor(door: Door) -> Executor:
    """What runs statements, on a Spark session that lives as long as the command.

    Raises:
        EngineUnavailable: Java or the Spark package is missing, or Spark does not start.
    """
    spark = _session(door)
    from schemaman.spark.executor import SparkExecutor  # needs what the session has proven to be there

    return SparkExecutor(spark)


def require_lasting(spark: Executor, format: str, table: str) -> None:
    """A Delta table that is named needs a catalogue that outlives Spark. Raises `UsageError`."""
    own = table.count(".") < 2 or table.startswith("spark_catalog.")
    if format != "delta" or "/" in table or not own:
        return
    kind = spark.query("SET spark.sql.catalogImplementation")[0][1]
    if kind == "in-memory":
        raise UsageError(
            f"Spark would forget the Delta table {table} when it ends: its catalogue is in memory only",
            hint="name the table's path, or set spark = {'spark.sql.catalogImplementation' = 'hive'}",
        )


def ingest_on_spark(
    door: Door,
    found: Sequence[File],
    registry: Registry,
    schemas: SchemaLookup,
    keep_payload: bool,
    progress: Callable[[Summary], None],
) -> Summary:
    """Read files by executors; see `spark.pipeline.ingest`. Raises as it, and `EngineUnavailable`."""
    spark = _session(door)
    from schemaman.spark.ingest import ingest  # needs what the session has proven to be there

    stream, forms = door.settings.stream.value, door.settings.forms
    return ingest(spark, found, registry, stream, schemas, keep_payload, progress, forms=forms)


def _session(door: Door) -> Any:
    """The session, typed by those who use it: pyspark is imported in `schemaman.spark` alone."""
    from schemaman.spark.session import open_session  # says what is missing where the extra is not installed

    settings = door.settings
    chosen: dict[str, str] = {}
    for catalog in settings.catalogs.value:
        chosen |= spark_settings(catalog, os.environ)
    door.console.progress("starting Spark")
    session = open_session(
        warehouse=door.path(settings.warehouse),
        catalog=settings.catalog.value,
        master=settings.master.value,
        settings=chosen | dict(settings.spark.value),
        packages=list_packages(settings.catalogs.value),
    )
    return door.open.enter_context(session)


def live_structure(door: Door, table: str) -> TableSchema:
    """The structure of a lake table: a path or two parts are Delta's, more parts are Iceberg's or Delta's.

    Raises:
        NoHistory: there is no such table.
        CouldNotDo: it cannot be looked at.
    """
    spark = executor(door)
    formats = ("delta",) if "/" in table or table.count(".") < 2 else ("iceberg", "delta")
    for format in formats:
        try:
            live = spark.inspect(table, format)
        except StatementFailed:
            if format == formats[-1]:
                raise
            continue
        if live is not None:
            return live.schema
    raise NoHistory(f"there is no lake table {table}", hint="a path, or catalog.namespace.table")
