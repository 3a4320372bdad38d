"""Finds SOURCEs that only the Spark engine reads: tables, folders and patterns of files, remote files."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.errors import BadReference, UsageError
from schemaman.io.file_patterns import find_files
from schemaman.io.files import STANDARD_INPUT, File
from schemaman.io.folders import find_kind
from schemaman.io.kafka_topics import SCHEME

TABLE = "table:"
"""The beginning of a SOURCE that is a table of Spark's catalogues."""


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table that Spark reads by its name in SQL, with the columns of Spark's Kafka source."""

    name: str


@dataclass(frozen=True, slots=True)
class SparkPath:
    """A Parquet file, a folder of them, or a pattern, on a file system of Hadoop."""

    path: str


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of a local folder or pattern, in the order of their paths, read as one source."""

    name: str
    files: tuple[File, ...]

    @property
    def registry(self) -> str | None:
        """The registry export beside the files. Raises `BadReference` if there are several."""
        found = sorted({file.registry for file in self.files if file.registry is not None})
        if len(found) > 1:
            raise BadReference(
                f"{self.name}: several exports of registries: {', '.join(found)}",
                hint="name the folders one by one, or one registry: --registry FILE",
            )
        return found[0] if found else None


SparkSource = SparkTable | SparkPath | Folder


def find_spark_source(name: str, engine: str) -> SparkSource | None:
    """Find a SOURCE that only the Spark engine reads; None for any other.

    Raises:
        UsageError: the engine is the local one, and the name is that of a table.
        BadReference: a folder or a pattern has no files of records, or a remote file is not Parquet.
    """
    if name.startswith(TABLE):
        if engine == "local":
            raise UsageError(f"{name}: only Spark reads its tables", hint="use --engine spark")
        table = name.removeprefix(TABLE)
        if not table:
            raise BadReference("table: has no name of a table", hint="table:catalog.namespace.table")
        return SparkTable(table)
    if engine != "spark" or name == STANDARD_INPUT or name.startswith(SCHEME):
        return None
    if "://" in name:
        return _find_remote(name)
    files = find_files(name)
    return None if files is None else Folder(name, files)


def _find_remote(name: str) -> SparkPath:
    kind = find_kind(name)
    if kind is not None and kind[0] == "lines":
        raise BadReference(
            f"{name}: Spark reads only Parquet from this file system",
            hint="copy the lines to a local folder, or write them into a table: table:NAME",
        )
    return SparkPath(name)
