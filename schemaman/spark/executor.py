"""The executor of migrations: inspects and alters lake tables with Spark SQL.

If the session shares this process with a JVM, reading has a faster way. Law: the result is the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from schemaman.errors import StatementFailed, UnknownName
from schemaman.migration.properties.names import read_key
from schemaman.migration.spark_sql import (
    create_namespace,
    literal,
    quote_table_name,
    read_columns,
    read_defaults,
    split_table_name,
)
from schemaman.migration.target import TARGETS, LakeTable, LayoutField
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, TableSchema
from schemaman.spark.delta_log import clear_unfinished, find_generated_columns, find_newest_version
from schemaman.spark.iceberg_metadata import Metadata, read_description, read_metadata
from schemaman.spark.session import is_classic
from schemaman.spark.session_checks import is_caching, require_session
from schemaman.spark.sql_errors import RAISED, is_absent, make_failure

_LAST_ID = "delta.columnMapping.maxColumnId"
_TABLE_EXISTS = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")


class SparkExecutor:
    """Runs statements in a Spark session, classic or Connect; it changes no setting of the session.

    `java`: read through the session's JVM in this process, if there is one.
    """

    def __init__(self, spark: SparkSession, *, java: bool = True) -> None:
        self._spark = spark
        self._java = java and is_classic(spark)
        self._checked: set[tuple[str, str]] = set()

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Read the lake table from its own catalogue; None if it does not exist.

        Raises:
            EngineUnavailable: the session does not support this format or catalogue.
            StatementFailed: the catalogue cannot be read, or the table has another format.
        """
        if format not in ("delta", "iceberg"):
            raise UnknownName(f"unknown table format {format!r}; formats are: delta, iceberg")
        name = TARGETS.get(format).table_name(table)
        catalog = _find_catalog(name)
        if (format, catalog) not in self._checked:
            try:
                require_session(self._spark, format, catalog)
            except RAISED as error:
                raise make_failure(error, f"inspect {name}") from error
            self._checked.add((format, catalog))
        return (self._inspect_delta if format == "delta" else self._inspect_iceberg)(table, name)

    def run(self, statement: str) -> None:
        """Run a statement.

        Raises:
            StatementConflict: another writer committed first; the caller may try the statement again.
            SessionLost: the engine has stopped.
            StatementFailed: the target refused the statement, which had no effect.
        """
        try:
            self._spark.sql(statement)
        except RAISED as error:
            refused = make_failure(error, statement)
            if not self._clear_unfinished(statement, error):
                raise refused from error
            self._collect_rows(statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Return the rows of a query. Raises `StatementFailed`."""
        return tuple(tuple(row) for row in self._collect_rows(statement))

    def _collect_rows(self, statement: str) -> list[Row]:
        try:
            return self._spark.sql(statement).collect()
        except RAISED as error:
            raise make_failure(error, statement) from error

    def _read_columns(self, name: str) -> tuple[Column, ...] | None:
        text = self._read_schema(name)
        return None if text is None else read_columns(text)

    def _read_schema(self, name: str) -> str | None:
        """Read the schema of a table as JSON; None if there is no such table."""
        try:
            return str(self._spark.table(name).schema.json())
        except RAISED as error:
            if is_absent(error):
                return None
            raise make_failure(error, f"inspect {name}") from error

    def _register_again(self, table: str) -> bool:
        """Register a Delta table whose name the session does not know, if its default folder has one.

        Without a metastore, Spark forgets the names of all tables when it ends, but keeps the tables.
        """
        parts = _split_session_table(table)
        in_memory = self._spark.conf.get("spark.sql.catalogImplementation") == "in-memory"
        if parts is None or not in_memory:
            return False
        folder = self._find_folder(parts)
        if self._read_columns(TARGETS.get("delta").table_name(folder)) is None:
            return False
        self.run(create_namespace(parts[:1]))
        self.run(f"CREATE TABLE {quote_table_name(parts)} USING delta LOCATION {literal(folder)}")
        return True

    def _find_folder(self, parts: tuple[str, str]) -> str:
        """The folder of a table in the session's own catalogue. Source: Spark `SessionCatalog`."""
        warehouse = str(self._spark.conf.get("spark.sql.warehouse.dir")).rstrip("/")
        database, name = (part.lower() for part in parts)
        return f"{warehouse}/{name}" if database == "default" else f"{warehouse}/{database}.db/{name}"

    def _clear_unfinished(self, statement: str, error: Exception) -> bool:
        """Remove the rest of an interrupted creation that blocks a Delta table; whether there was one."""
        created = re.match(r"CREATE TABLE ((?:`(?:[^`]|``)+`\.?)+) \(", statement)
        if (
            created is None
            or not isinstance(error, PySparkException)
            or error.getCondition() not in _TABLE_EXISTS
        ):
            return False
        parts = split_table_name(created[1])
        own = _split_session_table(created[1])
        if parts[0] == "delta" and len(parts) == 2:
            return clear_unfinished(parts[1])
        return own is not None and clear_unfinished(self._find_folder(own))

    def _inspect_delta(self, table: str, name: str) -> LakeTable | None:
        schema = self._read_schema(name)
        if schema is None and self._register_again(table):
            schema = self._read_schema(name)
        if schema is None:
            return None
        detail = self._collect_rows(f"DESCRIBE DETAIL {name}")[0].asDict()
        if detail["format"] != "delta":
            raise StatementFailed(f"{table} has the format {detail['format']}, not delta")
        features = frozenset(detail["tableFeatures"] or ())
        version = find_newest_version(detail["location"], features) if self._java else None
        if version is None:
            version = self._collect_rows(f"DESCRIBE HISTORY {name} LIMIT 1")[0]["version"]
        # A property of this name enables a feature, but the table does not show the property.
        properties = dict(detail["properties"]) | {f"delta.feature.{f}": "supported" for f in features}
        partitions, clustering = detail["partitionColumns"], detail["clusteringColumns"] or ()
        return LakeTable(
            table,
            TableSchema(read_columns(schema), read_key(properties) or (), detail["description"] or None),
            identity=detail["id"],
            version=str(version),
            properties=properties,
            features=features,
            layout=tuple(dict.fromkeys([*partitions, *(split_table_name(c)[0] for c in clustering)])),
            partitions=tuple(LayoutField((column,)) for column in partitions),
            clustering=tuple(split_table_name(column) for column in clustering),
            generated=find_generated_columns(detail["location"], features, self.query),
            defaults=read_defaults(schema),
            # Source: Delta protocol, "Column Mapping": ids are unique; only then columns can be dropped.
            column_ids=f"last {properties.get(_LAST_ID, '0')}",
        )

    def _inspect_iceberg(self, table: str, name: str) -> LakeTable | None:
        if self._java:
            try:
                return self._inspect_iceberg_by_java(table, name)
            except RAISED:
                # The SQL way below reports the failure with the engine's own message.
                pass
        return self._inspect_iceberg_by_sql(table, name)

    def _inspect_iceberg_by_java(self, table: str, name: str) -> LakeTable:
        """Read one state of the table, for any catalogue and file system.

        Source: Iceberg Java API, `Spark3Util.loadIcebergTable`, `BaseTable.operations`,
        `TableMetadataParser.toJson`, `SparkSchemaUtil.convert`.
        """
        jvm: Any = self._spark._jvm
        loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._spark._jsparkSession, name)
        current = loaded.operations().refresh() if self._is_cached(name) else loaded.operations().current()
        schema = str(jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(current.schema()).json())
        metadata = json.loads(jvm.org.apache.iceberg.TableMetadataParser.toJson(current))
        found = read_metadata(table, read_columns(schema), str(current.metadataFileLocation()), metadata)
        return replace(found, defaults=read_defaults(schema))

    def _inspect_iceberg_by_sql(self, table: str, name: str) -> LakeTable | None:
        schema = self._read_schema(name)
        if schema is None:
            return None
        if self._is_cached(name):
            self.run(f"REFRESH TABLE {name}")
            schema = self._read_schema(name) or schema
        columns, defaults = read_columns(schema), read_defaults(schema)
        properties = {row["key"]: row["value"] for row in self._collect_rows(f"SHOW TBLPROPERTIES {name}")}
        if not properties.get("format", "").startswith("iceberg"):
            raise StatementFailed(f"{table} is not an Iceberg table")
        newest = self._collect_rows(f"SELECT file FROM {name}.metadata_log_entries")[-1]["file"]
        metadata = self._read_metadata(newest)
        if metadata:
            return replace(read_metadata(table, columns, newest, metadata), defaults=defaults)
        described = [
            (r["col_name"], r["data_type"]) for r in self._collect_rows(f"DESCRIBE TABLE EXTENDED {name}")
        ]
        return replace(read_description(table, columns, newest, properties, described), defaults=defaults)

    def _is_cached(self, name: str) -> bool:
        """Whether the session may cache a table: a user's own session may."""
        return is_caching(self._spark, _find_catalog(name))

    def _read_metadata(self, file: str) -> Metadata:
        """Read Iceberg's metadata file; empty if only the catalogue has access to it, not Spark itself."""
        try:
            rows = self._collect_rows(f"SELECT value FROM text.{quote_name(file)}")
            read = json.loads("\n".join(row["value"] for row in rows))
        except (StatementFailed, ValueError):
            return {}
        return read if isinstance(read, dict) else {}


def _find_catalog(name: str) -> str:
    """Find the catalogue in an SQL table name: empty for a path, the session's own if none is named."""
    parts = split_table_name(name)
    if parts[0] == "delta" and len(parts) == 2:
        return ""
    return parts[0] if len(parts) > 2 else "spark_catalog"


def _split_session_table(table: str) -> tuple[str, str] | None:
    """Split a table name of the session's own catalogue; None for a path or another catalogue."""
    if "/" in table:
        return None
    parts = split_table_name(table)
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        return parts[1], parts[2]
    return ("default", parts[0]) if len(parts) == 1 else (parts[0], parts[1]) if len(parts) == 2 else None
