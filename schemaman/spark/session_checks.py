"""Check that a session can work with a table format before any table is inspected.

A session that the user started has the user's settings; they are read here and never changed.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from schemaman.errors import EngineUnavailable
from schemaman.spark.sql_errors import RAISED, find_condition

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"

_SESSION_CATALOG = "spark_catalog"
# Only the extension knows these statements; the tables that they name need not be there.
_PROBES = {
    "delta": "DESCRIBE HISTORY `schemaman_looks_for_an_extension` LIMIT 1",
    "iceberg": "ALTER TABLE `schemaman_looks_for_an_extension` DROP IDENTIFIER FIELDS `a`",
}
_EXTENSIONS = {"delta": DELTA_EXTENSION, "iceberg": ICEBERG_EXTENSION}
_DOCUMENTATION = "docs/catalogs.md lists all settings"


def require_session(spark: SparkSession, format: str, catalog: str) -> None:
    """Whether a session can migrate tables of a format in a catalogue; `spark_catalog` is its own.

    Raises:
        EngineUnavailable: the format's SQL extension or the catalogue is missing, or text literals mean
            something else in this session.
    """
    if _read_setting(spark, "spark.sql.parser.escapedStringLiterals") == "true":
        raise EngineUnavailable(
            "this Spark session takes back-slashes in text literals as they are: comments would be wrong",
            hint="spark.sql.parser.escapedStringLiterals = false",
        )
    extension = _EXTENSIONS[format]
    # A platform may have the extension built in without listing it: then the probe decides.
    if extension not in _read_setting(spark, "spark.sql.extensions") and not _can_parse(
        spark, _PROBES[format]
    ):
        raise EngineUnavailable(
            f"this Spark session cannot migrate {format.capitalize()} tables: it was started without their "
            "SQL extension",
            hint=f"start it with spark.sql.extensions = {extension}; {_DOCUMENTATION}",
        )
    if (
        format == "delta"
        and catalog == _SESSION_CATALOG
        and not _read_setting(spark, f"spark.sql.catalog.{_SESSION_CATALOG}")
    ):
        raise EngineUnavailable(
            "this Spark session's own catalogue knows no Delta tables: "
            f"spark.sql.catalog.{_SESSION_CATALOG} is not set",
            hint=f"start it with spark.sql.catalog.{_SESSION_CATALOG} = {DELTA_CATALOG}, "
            "or name tables by their paths",
        )
    if format == "iceberg" and not _read_setting(spark, f"spark.sql.catalog.{catalog}"):
        raise EngineUnavailable(
            f"this Spark session has no catalogue {catalog!r}",
            hint=f"[catalogs.{catalog}] in schemaman.toml, or in a session of your own "
            f"spark.sql.catalog.{catalog} = {ICEBERG_CATALOG}; {_DOCUMENTATION}",
        )


def is_caching(spark: SparkSession, catalog: str) -> bool:
    """Whether an Iceberg catalogue may show a table as it was. Source: Iceberg "Catalog properties"."""
    return _read_setting(spark, f"spark.sql.catalog.{catalog}.cache-enabled", "true").lower() != "false"


def _read_setting(spark: SparkSession, name: str, default: str = "") -> str:
    # Spark checks a default that it is given as if it were a value: it is given none.
    conf: Any = spark.conf
    return str(conf.get(name, None) or default)


def _can_parse(spark: SparkSession, statement: str) -> bool:
    try:
        spark.sql(statement)
    except RAISED as error:
        return find_condition(error) != "PARSE_SYNTAX_ERROR"
    return True
