"""Run statements in a session and read what they return, with failures of one kind."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row, SparkSession

from schemaman.errors import StatementFailed
from schemaman.spark.sql_errors import RAISED, is_absent, make_failure


def run_statement(spark: SparkSession, statement: str) -> DataFrame:
    """Run a statement word for word.

    Spark puts settings and environment variables into a statement, also into names in back-ticks, which have
    no escapes. Source: Spark `VariableSubstitution`, `spark.sql.variable.substitute`.

    Raises:
        StatementFailed: the statement has a `${`, which a name of an existing table brought along.
    """
    if "${" in statement:
        raise StatementFailed(
            f"{statement.splitlines()[0]}: not run, since Spark would take ${{…}} for a variable",
            hint="rename what has this name in the lake; no statement can name it safely",
        )
    return spark.sql(statement)


def collect_rows(spark: SparkSession, statement: str) -> list[Row]:
    """Run a statement and return its rows. Raises `StatementFailed`."""
    try:
        return run_statement(spark, statement).collect()
    except RAISED as error:
        raise make_failure(error, statement) from error


def query_rows(spark: SparkSession, statement: str) -> tuple[tuple[object, ...], ...]:
    """Run a statement and return its rows as plain tuples. Raises `StatementFailed`."""
    return tuple(tuple(row) for row in collect_rows(spark, statement))


def read_table_schema(spark: SparkSession, name: str) -> str | None:
    """Read the schema of a table (named as in SQL) as Spark's JSON; None if it does not exist.

    Raises:
        StatementFailed: the table cannot be read.
    """
    try:
        return str(spark.table(name).schema.json())
    except RAISED as error:
        if is_absent(error):
            return None
        raise make_failure(error, f"inspect {name}") from error
