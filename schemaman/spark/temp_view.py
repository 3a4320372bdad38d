"""Rows under a name for the time of one statement: a user's session is left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import DataFrame

from schemaman.spark.sql_errors import RAISED


@contextmanager
def create_view(rows: DataFrame, name: str) -> Iterator[None]:
    """A temporary view of the rows, as long as the block lasts."""
    rows.createOrReplaceTempView(name)
    try:
        yield
    finally:
        # The error of the block is more useful than the error of dropping the view in a stopped engine.
        with suppress(*RAISED):
            rows.sparkSession.catalog.dropTempView(name)
