"""schemaman on Spark: `LakeSink` for `foreachBatch`, and `Executor` for plans, loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from schemaman.errors import EngineUnavailable

_HOMES = {
    "BatchReport": "schemaman.spark.streaming.batch_report:BatchReport",
    "ConnectorModes": "schemaman.sink.values.connector_modes:ConnectorModes",
    "Executor": "schemaman.spark.executor:SparkExecutor",
    "LakeSink": "schemaman.spark.streaming.sink:LakeSink",
    "Quarantine": "schemaman.spark.streaming.quarantine:Quarantine",
    "RecordDataSource": "schemaman.spark.data_source:RecordDataSource",
    "read_views": "schemaman.spark.views:read_views",
    "start_session": "schemaman.spark.session:start_session",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "RecordDataSource":
        require_data_sources()
    module, _, attribute = _HOMES[name].partition(":")
    found: object = getattr(import_module(module), attribute)
    globals()[name] = found
    return found


def require_data_sources() -> None:
    """Check that this PySpark has data sources in Python. Raises `EngineUnavailable` for one that has none.

    Source: Spark "Python Data Source API", since 4.0.
    """
    if find_spec("pyspark") is not None and find_spec("pyspark.sql.datasource") is None:
        raise EngineUnavailable(
            "the data source schemaman needs Spark 4.0 or newer",
            hint="read a data frame with registry.ingest(df), or files with schemaman ingest --engine spark",
        )


def __dir__() -> list[str]:
    return sorted(__all__)
