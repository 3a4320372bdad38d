"""What differs between the versions of Spark that schemaman supports: jars, and names in PySpark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import pyarrow as arrow
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from schemaman.errors import EngineUnavailable

try:
    from pyspark.logger import PySparkLogger
except ImportError:  # Source: PySpark 4.0 "Logging in PySpark"; earlier versions have no such loggers
    _get_logger = logging.getLogger
else:
    _get_logger = PySparkLogger.getLogger

_SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
        _SQLITE,
    ),
    "4.0": (
        "io.delta:delta-spark_2.13:4.0.1",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
        _SQLITE,
    ),
    "4.1": (
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        _SQLITE,
    ),
}
"""Maven coordinates by minor version: a Delta or Iceberg runtime fits one minor version of Spark.

Source: "Delta Lake compatibility with Apache Spark" and Iceberg "Multi-Engine Support"."""


def find_packages(version: str = pyspark.__version__) -> tuple[str, ...]:
    """Find the jars of Delta and Iceberg for a version of Spark; by default that of the Python package.

    Raises:
        EngineUnavailable: no jars are known for that version.
    """
    minor = ".".join(version.split(".")[:2])
    if minor not in PACKAGES:
        raise EngineUnavailable(
            f"PySpark {version} is installed, but schemaman knows no jars of Delta and Iceberg for it",
            hint=f"install PySpark {', '.join(PACKAGES)}, or pass a session of your own",
        )
    return PACKAGES[minor]


def read_major(version: str) -> int:
    """Read the major number of a version of Spark."""
    return int(version.split(".", 1)[0])


def collect_arrow(frame: DataFrame) -> arrow.Table:
    """Collect a data frame as an Arrow table. Source: `DataFrame.toArrow`, since PySpark 4.0."""
    collect: Callable[[DataFrame], arrow.Table] | None = getattr(type(frame), "toArrow", None)
    if collect is not None:
        return collect(frame)
    batches = frame._collect_as_arrow()  # type: ignore[operator]  # PySpark 3.5 has no public way
    return arrow.Table.from_batches(batches, to_arrow_schema(frame.schema))


def read_condition(error: PySparkException) -> str | None:
    """Read the error condition. Source: `getCondition`, since PySpark 4.0; before, `getErrorClass`."""
    read = getattr(error, "getCondition", None) or error.getErrorClass
    found: str | None = read()
    return found


def silence_logger(name: str) -> None:
    """Silence a logger of PySpark."""
    _get_logger(name).setLevel(logging.CRITICAL)
