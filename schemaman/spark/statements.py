"""Run statements in a session and read what they return, with failures of one kind."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from schemaman.spark.sql_errors import RAISED, is_absent, make_failure


def collect_rows(spark: SparkSession, statement: str) -> list[Row]:
    """Run a statement and return its rows. Raises `StatementFailed`."""
    try:
        return spark.sql(statement).collect()
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
