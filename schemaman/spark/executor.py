"""The executor of migrations: inspects and alters lake tables with Spark SQL.

If the session shares this process with a JVM, reading has a faster way. Law: the result is the same.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from schemaman.errors import SessionLost, StatementFailed, UsageError
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.spark.catalog_settings import require_literals
from schemaman.spark.session import is_classic, is_stopped
from schemaman.spark.spark_format import SPARK_FORMATS
from schemaman.spark.sql_errors import RAISED, make_failure
from schemaman.spark.statements import collect_rows, query_rows, run_statement
from schemaman.spark.versions import read_major

_CREATE_NAMESPACE = "CREATE NAMESPACE "
_LIST_SLOTS = "SELECT spark_partition_id() FROM range(16)"
"""A range has as many partitions as the session has slots. Source: Spark 4.1, `RangeExec`, `numSlices`."""


class SparkExecutor:
    """Runs statements in a Spark session, classic or Connect; it changes no setting of the session.

    `java`: read through the session's JVM in this process, if there is one.

    Raises:
        UsageError: the argument is not a Spark session.
    """

    def __init__(self, spark: SparkSession, *, java: bool = True) -> None:
        if not hasattr(spark, "sql"):
            raise UsageError(
                f"spark is of type {type(spark).__name__}, not a SparkSession",
                hint="use a session of your own, or schemaman.spark.start_session()",
            )
        self._spark = spark
        self._java = java and is_classic(spark)
        self._checked: set[tuple[str, str]] = set()
        self._slots: int | None = None
        self._major: int | None = None

    @property
    def slots(self) -> int:
        """How many tables may be migrated at once: the slots of the session, of Spark Connect at most 16."""
        if is_classic(self._spark):
            return max(1, self._spark.sparkContext.defaultParallelism)
        if self._slots is None:
            try:
                self._slots = len({row[0] for row in self._spark.sql(_LIST_SLOTS).collect()})
            except RAISED:
                self._slots = 1
        return self._slots

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Read the lake table from its own catalogue; None if it does not exist.

        Raises:
            UnknownName: no format has that name.
            EngineUnavailable: the session does not support this format or catalogue.
            StatementFailed: the catalogue cannot be read, or the table has another format.
        """
        self._require_running()
        on_spark = SPARK_FORMATS.get(format)
        target = TARGETS.get(format)
        name, catalog = target.table_name(table), target.find_catalog(table)
        if (format, catalog) not in self._checked:
            try:
                require_literals(self._spark)
                on_spark.require_session(self._spark, catalog)
            except RAISED as error:
                raise make_failure(error, f"inspect {name}") from error
            self._checked.add((format, catalog))
        lake = on_spark.inspect(self._spark, table, name, java=self._java)
        if lake is None:
            return None
        if self._major is None:
            self._major = read_major(self._spark.version)
        return replace(lake, spark_major=self._major)

    def run(self, statement: str) -> None:
        """Run a statement.

        Raises:
            StatementConflict: another writer committed first; the caller may try the statement again.
            SessionLost: the engine has stopped.
            StatementFailed: the target refused the statement, which had no effect.
        """
        self._require_running()
        try:
            self._run(statement)
        except StatementFailed:
            if not statement.startswith(_CREATE_NAMESPACE):
                raise
            # Catalogues look for a namespace and then insert it: of two writers one fails. Now it is there.
            self._run(statement)

    def _run(self, statement: str) -> None:
        try:
            run_statement(self._spark, statement)
        except RAISED as error:
            formats = SPARK_FORMATS.load_all()
            if not any(f.clear_interrupted_creation(self._spark, statement, error) for f in formats):
                raise make_failure(error, statement) from error
            collect_rows(self._spark, statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Return the rows of a query. Raises `StatementFailed`."""
        self._require_running()
        return query_rows(self._spark, statement)

    def _require_running(self) -> None:
        """Raise `SessionLost` for a stopped session: Spark's own message would name another fault."""
        if is_stopped(self._spark):
            raise SessionLost(
                "the Spark session was stopped", hint="start a session, and make an executor for it"
            )
