from schemaman.sink.values.connector_modes import ConnectorModes as ConnectorModes
from schemaman.spark.data_source import RecordDataSource as RecordDataSource
from schemaman.spark.executor import SparkExecutor as Executor
from schemaman.spark.session import start_session as start_session
from schemaman.spark.streaming.batch_report import BatchReport as BatchReport
from schemaman.spark.streaming.quarantine import Quarantine as Quarantine
from schemaman.spark.streaming.sink import LakeSink as LakeSink
from schemaman.spark.views import read_views as read_views

__all__ = [
    "BatchReport",
    "ConnectorModes",
    "Executor",
    "LakeSink",
    "Quarantine",
    "RecordDataSource",
    "read_views",
    "start_session",
]

def require_data_sources() -> None: ...
