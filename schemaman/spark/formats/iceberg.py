"""Iceberg tables in a session: each catalogue has a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from schemaman.errors import EngineUnavailable, StatementFailed
from schemaman.migration.properties.names import BATCH_PROPERTY
from schemaman.migration.spark_sql import literal, read_columns, read_defaults, split_table_name
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import quote_name
from schemaman.spark.catalog_settings import DOCUMENTATION, read_setting, require_extension
from schemaman.spark.formats._commit_metadata import format_metadata, parse_batches
from schemaman.spark.formats._iceberg_metadata import (
    Metadata,
    list_equality_heads,
    read_description,
    read_metadata,
)
from schemaman.spark.formats._java import find_class
from schemaman.spark.spark_format import RecordedBatch
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.statements import collect_rows, read_table_schema

EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG = "org.apache.iceberg.spark.SparkCatalog"

_PROBE = "ALTER TABLE `schemaman_looks_for_an_extension` DROP IDENTIFIER FIELDS `a`"
_SNAPSHOT_PROPERTY = f"spark.sql.iceberg.snapshot-property.{BATCH_PROPERTY}"


class IcebergOnSpark:
    """Iceberg tables in a session. Source: Iceberg table spec; "Spark writes", snapshot properties."""

    numbers_rise = False

    def require_session(self, spark: SparkSession, catalog: str) -> None:
        """Check for Iceberg's extension, and for the catalogue."""
        require_extension(spark, EXTENSION, _PROBE, "iceberg")
        if not read_setting(spark, f"spark.sql.catalog.{catalog}"):
            raise EngineUnavailable(
                f"this Spark session has no catalogue {catalog!r}",
                hint=f"[catalogs.{catalog}] in schemaman.toml, or in a session of your own "
                f"spark.sql.catalog.{catalog} = {CATALOG}; {DOCUMENTATION}",
            )

    def inspect(self, spark: SparkSession, table: str, name: str, *, java: bool) -> LakeTable | None:
        """Read the table's metadata: by Iceberg's own classes, else from its file by SQL."""
        if java:
            try:
                return _inspect_by_java(spark, table, name)
            except RAISED:
                # The SQL way below reports the failure with the engine's own message.
                pass
        return _inspect_by_sql(spark, table, name)

    def clear_interrupted_creation(self, spark: SparkSession, statement: str, error: Exception) -> bool:
        """Return False: a catalogue creates a table at once or not at all."""
        return False

    def read_batches(self, spark: SparkSession, table: str, app: str) -> tuple[RecordedBatch, ...]:
        """Read the summaries of the table's snapshots."""
        summary = f"summary[{literal(BATCH_PROPERTY)}]"
        query = f"SELECT {summary} AS batch FROM {table}.snapshots WHERE {summary} IS NOT NULL"
        return tuple(parse_batches((row["batch"] for row in collect_rows(spark, query)), app))

    def make_commit_settings(self, batch: Mapping[str, object], highest: int, used: bool) -> dict[str, str]:
        """Make the snapshot record the batch in its summary."""
        return {_SNAPSHOT_PROPERTY: format_metadata(batch)}


def _inspect_by_java(spark: SparkSession, table: str, name: str) -> LakeTable:
    """Read one state of the table, for any catalogue and file system.

    Source: Iceberg Java API, `Spark3Util.loadIcebergTable`, `BaseTable.operations`,
    `TableMetadataParser.toJson`, `SparkSchemaUtil.convert`.
    """
    loaded = find_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(
        spark._jsparkSession, name
    )
    operations = loaded.operations()
    current = operations.refresh() if _is_cached(spark, name) else operations.current()
    converted = find_class(spark, "org.apache.iceberg.spark.SparkSchemaUtil").convert(current.schema())
    schema = str(converted.json())
    metadata = json.loads(find_class(spark, "org.apache.iceberg.TableMetadataParser").toJson(current))
    found = read_metadata(table, read_columns(schema), str(current.metadataFileLocation()), metadata)
    found = _add_equality_deletes(spark, name, found, metadata)
    return replace(found, defaults=read_defaults(schema))


def _inspect_by_sql(spark: SparkSession, table: str, name: str) -> LakeTable | None:
    schema = read_table_schema(spark, name)
    if schema is None:
        return None
    if _is_cached(spark, name):
        collect_rows(spark, f"REFRESH TABLE {name}")
        schema = read_table_schema(spark, name) or schema
    columns, defaults = read_columns(schema), read_defaults(schema)
    properties = {row["key"]: row["value"] for row in collect_rows(spark, f"SHOW TBLPROPERTIES {name}")}
    if not properties.get("format", "").startswith("iceberg"):
        raise StatementFailed(f"{table} is not an Iceberg table")
    newest = collect_rows(spark, f"SELECT file FROM {name}.metadata_log_entries")[-1]["file"]
    metadata = _read_metadata_file(spark, newest)
    if metadata:
        found = _add_equality_deletes(spark, name, read_metadata(table, columns, newest, metadata), metadata)
        return replace(found, defaults=defaults)
    described = [
        (r["col_name"], r["data_type"]) for r in collect_rows(spark, f"DESCRIBE TABLE EXTENDED {name}")
    ]
    return replace(read_description(table, columns, newest, properties, described), defaults=defaults)


def _add_equality_deletes(spark: SparkSession, name: str, lake: LakeTable, metadata: Metadata) -> LakeTable:
    """Add the columns by which delete files delete rows; the files are only listed where there may be some.

    Source: Iceberg table spec, "Equality Delete Files"; Iceberg "Spark queries", "Delete Files".
    """
    ids: set[str] = set()
    for snapshot in list_equality_heads(metadata):
        files = f"{name}.`delete_files` FOR VERSION AS OF {snapshot}"
        query = f"SELECT DISTINCT equality_ids FROM {files} WHERE content = 2"
        ids |= {str(id) for row in collect_rows(spark, query) for id in row["equality_ids"] or ()}
    paths = tuple(path for path, id in lake.field_ids.items() if id in ids)
    return replace(lake, equality_deletes=paths)


def _is_cached(spark: SparkSession, name: str) -> bool:
    """Whether a catalogue may show a table as it was; a user's own session may cache tables.

    Source: Iceberg "Catalog properties".
    """
    setting = f"spark.sql.catalog.{split_table_name(name)[0]}.cache-enabled"
    return read_setting(spark, setting, "true").lower() != "false"


def _read_metadata_file(spark: SparkSession, file: str) -> Metadata:
    """Read Iceberg's metadata file; empty if only the catalogue has access to it, not Spark itself."""
    try:
        rows = collect_rows(spark, f"SELECT value FROM text.{quote_name(file)}")
        read = json.loads("\n".join(row["value"] for row in rows))
    except (StatementFailed, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


SPARK_FORMAT = IcebergOnSpark()
