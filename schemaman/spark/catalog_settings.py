"""Read the settings of a session about its catalogues.

A session that the user started has the user's settings; they are read here and never changed.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from schemaman.errors import EngineUnavailable
from schemaman.spark.sql_errors import RAISED, find_condition

SESSION_CATALOG = "spark_catalog"
DOCUMENTATION = "docs/catalogs.md lists all settings"


def require_literals(spark: SparkSession) -> None:
    """Raises `EngineUnavailable` if text literals mean something else in this session."""
    if read_setting(spark, "spark.sql.parser.escapedStringLiterals") == "true":
        raise EngineUnavailable(
            "this Spark session takes back-slashes in text literals as they are: comments would be wrong",
            hint="spark.sql.parser.escapedStringLiterals = false",
        )


def require_extension(spark: SparkSession, extension: str, probe: str, format: str) -> None:
    """Raises `EngineUnavailable` if a session has no SQL extension of a format.

    `probe` is a statement that only the extension can parse; the tables that it names need not exist. A
    platform may have the extension built in without listing it: then the probe decides.
    """
    if extension in read_setting(spark, "spark.sql.extensions") or _can_parse(spark, probe):
        return
    raise EngineUnavailable(
        f"this Spark session cannot migrate {format.capitalize()} tables: it was started without their SQL "
        "extension",
        hint=f"start it with spark.sql.extensions = {extension}; {DOCUMENTATION}",
    )


def read_setting(spark: SparkSession, name: str, default: str = "") -> str:
    """Read a setting of a session; `default` if it is not set, whatever default Spark itself has."""
    # Spark checks a default that it is given as if it were a value: it is given none.
    conf: Any = spark.conf
    return str(conf.get(name, None) or default)


def _can_parse(spark: SparkSession, statement: str) -> bool:
    try:
        spark.sql(statement)
    except RAISED as error:
        return find_condition(error) != "PARSE_SYNTAX_ERROR"
    return True
