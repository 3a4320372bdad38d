"""schemaman on Spark: `LakeSink` for `foreachBatch`, and `Executor` for plans, loaded when they are used."""

from __future__ import annotations

from importlib import import_module

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
    module, _, attribute = _HOMES[name].partition(":")
    found: object = getattr(import_module(module), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
