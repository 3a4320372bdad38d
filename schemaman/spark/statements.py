"""Run statements in a session and read what they return, with failures of one kind."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from schemaman.migration.spark_sql import read_columns
from schemaman.model.schema import Column
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


def read_table_columns(spark: SparkSession, name: str) -> tuple[Column, ...] | None:
    """Read the columns of a table (named as in SQL); None if it does not exist. Raises `StatementFailed`."""
    try:
        return read_columns(spark.table(name).schema.json())
    except RAISED as error:
        if is_absent(error):
            return None
        raise make_failure(error, f"inspect {name}") from error
