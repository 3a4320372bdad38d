"""The executor of migrations: lake tables inspected and altered with Spark SQL and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from schemaman.ddl import quote_name
from schemaman.errors import StatementConflict, StatementFailed, UnknownName
from schemaman.plan import KEY_PROPERTY, Live
from schemaman.schema import Column, TableSchema
from schemaman.targets import delta, iceberg
from schemaman.targets._spark_sql import (
    create_namespace,
    dotted,
    identifier_fields,
    literal,
    read_columns,
    table_parts,
)

_ABSENT = frozenset({
    "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE",
    "PATH_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST",
})  # fmt: skip
# Iceberg's JDBC catalogue of layout V0 answers so once the table is known to be missing.
_ABSENT_WORDS = ("JDBC catalog is initialized without view support",)
_CONFLICTS = (
    "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "DELTA_CONCURRENT_", "CommitFailedException",
)  # fmt: skip

_IN_THE_WAY = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")


class SparkExecutor:
    """Runs statements in a Spark session, classic or Connect."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def inspect(self, table: str, format: str) -> Live | None:
        """The live table as its own catalogue tells it, None where there is none.

        Raises:
            StatementFailed: the catalogue cannot be asked, or the table is of another format.
        """
        if format not in ("delta", "iceberg"):
            raise UnknownName(f"no table format {format!r} can be inspected; there are delta and iceberg")
        name = (delta if format == "delta" else iceberg).TARGET.table_name(table)
        columns = self._columns(name)
        if columns is None and format == "delta" and self._registered_again(table):
            columns = self._columns(name)
        if columns is None:
            return None
        return (self._delta if format == "delta" else self._iceberg)(table, name, columns)

    def run(self, statement: str) -> None:
        """Run a statement.

        Raises:
            StatementConflict: another writer committed first; the statement may be tried again.
            StatementFailed: the target refused; nothing of the statement was done.
        """
        try:
            self._spark.sql(statement)
        except (PySparkException, Py4JError) as error:
            failure = _failure(error, statement)
            if not self._cleared(statement, error):
                raise failure from error
            self._rows(statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """The rows of a query. Raises `StatementFailed`."""
        return tuple(tuple(row) for row in self._rows(statement))

    def _rows(self, statement: str) -> list[Row]:
        try:
            return self._spark.sql(statement).collect()
        except (PySparkException, Py4JError) as error:
            raise _failure(error, statement) from error

    def _columns(self, name: str) -> tuple[Column, ...] | None:
        try:
            return read_columns(self._spark.table(name).schema.json())
        except (PySparkException, Py4JError) as error:
            if _is_absent(error):
                return None
            raise _failure(error, f"inspect {name}") from error

    def _registered_again(self, table: str) -> bool:
        """Whether a Delta table that this session did not know by name lies where its name says.

        Without a metastore Spark forgets the names of all tables when it ends, and keeps the tables.
        """
        parts = _own_parts(table)
        in_memory = self._spark.conf.get("spark.sql.catalogImplementation") == "in-memory"
        if parts is None or not in_memory:
            return False
        folder = self._folder(parts)
        if self._columns(delta.TARGET.table_name(folder)) is None:
            return False
        self.run(create_namespace(parts[:1]))
        self.run(f"CREATE TABLE {dotted(parts)} USING delta LOCATION {literal(folder)}")
        return True

    def _folder(self, parts: tuple[str, str]) -> str:
        """Where a table of the session's own catalogue lies. Source: Spark `SessionCatalog`."""
        warehouse = str(self._spark.conf.get("spark.sql.warehouse.dir")).rstrip("/")
        database, name = (part.lower() for part in parts)
        return f"{warehouse}/{name}" if database == "default" else f"{warehouse}/{database}.db/{name}"

    def _cleared(self, statement: str, error: Exception) -> bool:
        """Whether what kept a Delta table from being made was the rest of a creation that died half-way."""
        created = re.match(r"CREATE TABLE ((?:`(?:[^`]|``)+`\.?)+) \(", statement)
        if (
            created is None
            or not isinstance(error, PySparkException)
            or error.getCondition() not in _IN_THE_WAY
        ):
            return False
        parts = table_parts(created[1])
        own = _own_parts(created[1])
        if parts[0] == "delta" and len(parts) == 2:
            return _clear_unborn(parts[1])
        return own is not None and _clear_unborn(self._folder(own))

    def _delta(self, table: str, name: str, columns: tuple[Column, ...]) -> Live:
        detail = self._rows(f"DESCRIBE DETAIL {name}")[0].asDict()
        if detail["format"] != "delta":
            raise StatementFailed(f"{table} is a table of format {detail['format']}, not of delta")
        version = self._rows(f"DESCRIBE HISTORY {name} LIMIT 1")[0]["version"]
        features = frozenset(detail["tableFeatures"] or ())
        # A feature is switched on by a property of this name, which the table then does not show.
        properties = dict(detail["properties"]) | {f"delta.feature.{f}": "supported" for f in features}
        return Live(
            table,
            TableSchema(columns, _key(properties) or (), detail["description"] or None),
            identity=detail["id"],
            version=str(version),
            properties=properties,
            features=features,
            layout=tuple(dict.fromkeys([*detail["partitionColumns"], *(detail["clusteringColumns"] or ())])),
        )

    def _iceberg(self, table: str, name: str, columns: tuple[Column, ...]) -> Live:
        properties = {row["key"]: row["value"] for row in self._rows(f"SHOW TBLPROPERTIES {name}")}
        if not properties.get("format", "").startswith("iceberg"):
            raise StatementFailed(f"{table} is no Iceberg table")
        told = self._details(name)
        newest = self._rows(f"SELECT file FROM {name}.metadata_log_entries")[-1]["file"]
        metadata = self._metadata(newest)
        identifiers = _identifier_fields(properties, columns)
        key = _key(properties)
        return Live(
            table,
            TableSchema(
                columns,
                identifiers if key is None else key,
                told.get("Comment") or None,
            ),
            identity=str(metadata.get("table-uuid") or told["Location"]),
            version=newest.rpartition("/")[2],
            properties=properties | {"identifier-fields": identifier_fields(identifiers)},
            layout=_layout(metadata),
        )

    def _details(self, name: str) -> dict[str, str]:
        rows = [(row["col_name"], row["data_type"]) for row in self._rows(f"DESCRIBE TABLE EXTENDED {name}")]
        return dict(rows[rows.index(("# Detailed Table Information", "")) :])

    def _metadata(self, file: str) -> dict[str, object]:
        """Iceberg's own metadata file; empty where Spark itself has no access to it, only the catalogue."""
        try:
            rows = self._rows(f"SELECT value FROM text.{quote_name(file)}")
            read = json.loads("\n".join(row["value"] for row in rows))
        except (StatementFailed, ValueError):
            return {}
        return read if isinstance(read, dict) else {}


def _own_parts(table: str) -> tuple[str, str] | None:
    """Database and name of a table of the session's own catalogue; None for a path or another catalogue."""
    if "/" in table:
        return None
    parts = table_parts(table)
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        return parts[1], parts[2]
    return ("default", parts[0]) if len(parts) == 1 else (parts[0], parts[1]) if len(parts) == 2 else None


def _clear_unborn(folder: str) -> bool:
    """Remove a local folder in which a Delta table was begun and no commit was ever made.

    Delta takes such a folder for a table when it is to make one, and for none when it is to read it.
    """
    place = urlparse(folder)
    path = Path(unquote(place.path) if place.scheme else folder)
    log = path / "_delta_log"
    if place.scheme not in ("", "file") or not log.is_dir() or [p.name for p in path.iterdir()] != [log.name]:
        return False
    if any(file.is_file() and not file.name.startswith(".") for file in log.rglob("*")):
        return False
    shutil.rmtree(path)
    return True


def _key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    try:
        return tuple(json.loads(properties[KEY_PROPERTY]))
    except (KeyError, ValueError, TypeError):
        return None


def _identifier_fields(properties: Mapping[str, str], columns: tuple[Column, ...]) -> tuple[str, ...]:
    told = properties.get("identifier-fields", "[]")[1:-1].split(",")
    return tuple(c.name for c in columns if c.name in told)


def _layout(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """The columns that the current partition spec and sort order use.

    Source: Iceberg table spec, "Table Metadata Fields".
    """
    columns = _current(metadata, "schemas", "schema-id", "current-schema-id")
    used = _current(metadata, "partition-specs", "spec-id", "default-spec-id")
    used += _current(metadata, "sort-orders", "order-id", "default-sort-order-id")
    ids = {each["source-id"] for each in used if each["transform"] != "void"}
    return tuple(str(each["name"]) for each in columns if each["id"] in ids)


def _current(metadata: Mapping[str, object], several: str, id: str, chosen: str) -> list[dict[str, object]]:
    """The fields of the one schema, spec or order that the metadata names as the current one."""
    listed = metadata.get(several)
    found = [each for each in listed if each[id] == metadata[chosen]] if isinstance(listed, list) else []
    return list(found[0]["fields"]) if found else []


def _is_absent(error: Exception) -> bool:
    if isinstance(error, PySparkException) and error.getCondition() in _ABSENT:
        return True
    return any(words in str(error) for words in _ABSENT_WORDS)


def _failure(error: Exception, statement: str) -> StatementFailed:
    """The error as one line: its condition, or the Java class where the format gives none."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        text = f"{java.getClass().getSimpleName()}: {java.getMessage()}"
    else:
        text = str(error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    if condition and condition.split(".")[0] not in line:
        line = f"[{condition}] {line}"
    kind = StatementConflict if any(word in f"{condition} {text}" for word in _CONFLICTS) else StatementFailed
    return kind(f"{_first_line(statement)}: {line}")


def _first_line(statement: str) -> str:
    line = statement.splitlines()[0]
    return line if len(line) <= 200 else f"{line[:197]}..."
