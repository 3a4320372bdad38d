"""Classes of the session's JVM."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def find_class(spark: SparkSession, name: str) -> Any:
    """Find a class by its full name in one step.

    With `spark._jvm.org.apache…`, py4j searches all jars for a class with the name of each package.
    """
    return getattr(spark._jvm, name)
