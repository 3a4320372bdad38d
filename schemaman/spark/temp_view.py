"""Rows under a name for the time of one statement: a user's session is left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from schemaman.spark.sql_errors import RAISED


@contextmanager
def create_view(rows: DataFrame, name: str, reader: SparkSession | None = None) -> Iterator[str]:
    """Create a temporary view of the rows, as long as the block lasts, and return its name in SQL.

    `reader` is the session of the statement; None means that of the rows. Another session sees only
    global views, which get a name of their own.
    """
    spark = rows.sparkSession
    is_shared = reader is not None and reader is not spark
    view = f"{name}_{uuid4().hex}" if is_shared else name
    if is_shared:
        rows.createOrReplaceGlobalTempView(view)
    else:
        rows.createOrReplaceTempView(view)
    try:
        yield f"{spark.conf.get('spark.sql.globalTempDatabase')}.{view}" if is_shared else view
    finally:
        # The error of the block is more useful than the error of dropping the view in a stopped engine.
        with suppress(*RAISED):
            (spark.catalog.dropGlobalTempView if is_shared else spark.catalog.dropTempView)(view)
