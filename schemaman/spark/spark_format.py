"""What a session does differently for each table format: inspect tables, and record batches in commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from schemaman.migration.target import LakeTable
from schemaman.plugins import Plugins


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A batch that a commit of a table records: number and hash of offsets.

    `highest` is the highest number that commits until then had; Delta refuses all others up to it.
    """

    number: int
    offsets: str
    highest: int


class SparkFormat(Protocol):
    """A table format as a Spark session handles it."""

    numbers_rise: bool
    """Whether a table refuses a commit whose batch number is not higher than that of its last commit."""

    def require_session(self, spark: SparkSession, catalog: str) -> None:
        """Check that a session can migrate tables of this format in a catalogue.

        `catalog` is empty for tables named by their paths.

        Raises:
            EngineUnavailable: the format's SQL extension or the catalogue is missing.
        """

    def inspect(self, spark: SparkSession, table: str, name: str, *, java: bool) -> LakeTable | None:
        """Read a lake table; None if it does not exist. `name` is the name of `table` in SQL.

        `java`: read through the session's JVM in this process, with the same result.

        Raises:
            StatementFailed: the table cannot be read, or has another format.
        """

    def clear_interrupted_creation(self, spark: SparkSession, statement: str, error: Exception) -> bool:
        """Remove the rest of an interrupted creation that made a statement fail; whether there was one."""

    def read_batches(self, spark: SparkSession, table: str, app: str) -> tuple[RecordedBatch, ...]:
        """Read which batches of a query the commits of a table (named as in SQL) record.

        Raises:
            StatementFailed: the commits cannot be read.
        """

    def make_commit_settings(self, batch: Mapping[str, object], highest: int, used: bool) -> dict[str, str]:
        """Make the settings under which a commit records its batch.

        `batch` has the members `schemaman.batch`, `app` and `offsets`; `highest` is the highest number so
        far; `used` tells that another batch had this number, or a higher one.
        """


SPARK_FORMATS: Plugins[SparkFormat] = Plugins("schemaman.spark.formats", "SPARK_FORMAT")
"""The table formats that a session can inspect, by name."""
