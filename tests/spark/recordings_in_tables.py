"""Recordings taken by a Mirror, batch by batch, and the lake tables that it left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions
from schemaman.io.schema_registry import AnyRegistry
from schemaman.migration.policy import Level, Policy, PolicyRule
from schemaman.migration.settings import TargetSetting
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.record_columns import RAW
from schemaman.spark.streaming.batch_report import BatchReport
from schemaman.spark.streaming.decoded import SMALL
from schemaman.spark.streaming.quarantine import Quarantine
from schemaman.spark.streaming.sink import LakeSink
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import ComparedTable
from tests.support import recordings
from tests.support.memory_sink import EMPTYING, careful


def recorded(name: str) -> tuple[list[Record], AnyRegistry]:
    """The records of a recording, in the order in which they came, and its registry."""
    return list(recordings.recorded(name)), recordings.registry(name)


def batches(records: Sequence[Record], count: int) -> Iterator[list[Record]]:
    """The records in so many batches, in their order."""
    size = -(-len(records) // count)
    yield from (list(records[i : i + size]) for i in range(0, len(records), size))


def frame(spark, records: Sequence[Record]):
    """Records as Spark's Kafka source hands them over."""
    rows = [
        (
            r.topic,
            r.partition,
            r.offset,
            datetime.fromtimestamp((r.timestamp_ms or 0) / 1000, UTC),
            r.key,
            r.value,
            [{"key": k, "value": v} for k, v in r.headers],
        )
        for r in records
    ]
    return spark.createDataFrame(rows, RAW)


@dataclass(slots=True)
class Run:
    """A Mirror at work on one format; `name` keeps its tables apart from those of other runs."""

    spark: Any
    store: SqlStore
    format: str
    name: str
    schemas: AnyRegistry
    policy: Policy = EMPTYING
    reports: list[BatchReport] = field(default_factory=list)
    decisions: Decisions = field(default_factory=Decisions)

    def target(self) -> TargetSetting:
        """Every table of the stream: a folder each, or a table in a namespace of the run's own."""
        if self.format == "delta":
            path = str(self.folder / "{database}.{schema}.{table}")
            return TargetSetting("lake", "delta", ("*",), path=path)
        return TargetSetting(
            "lake", "iceberg", ("*",), table=f"ice.{self.name}.`{{database}}.{{schema}}.{{table}}`"
        )

    def ruled(self, level: Level) -> bool:
        """From now on mirrors of this run have that policy on TRUNCATEs."""
        self.policy = Policy(rules=(PolicyRule(level, ("truncate",)),))
        return True

    @property
    def folder(self) -> Path:
        """Where Delta tables lie."""
        warehouse = str(self.spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
        return Path(warehouse) / self.name

    def quarantine(self) -> Quarantine:
        """A table of this run alone."""
        where = str(self.folder / "set_aside") if self.format == "delta" else f"ice.{self.name}.set_aside"
        return Quarantine(where, self.format)

    def withheld(self) -> list[tuple[str, int, int, str, str]]:
        """Topic, partition, offset, lake table and reason of what stands in quarantine."""
        if SparkExecutor(self.spark).inspect(self.quarantine().table, self.format) is None:
            return []
        query = f"SELECT topic, partition, offset, lake_table, reason FROM {self.quarantine().name}"
        return [tuple(row) for row in self.spark.sql(query).collect()]

    def lake(self) -> list[ComparedTable]:
        """The lake tables, read with Spark."""
        stopped = {t.lake_table for report in self.reports for t in report.tables if t.blocked}
        moving = {t.lake_table for report in self.reports[-1:] for t in report.tables if not t.blocked}
        found: list[ComparedTable] = []
        for table in self.store.tables():
            address = self.target().address(table)
            live = SparkExecutor(self.spark).inspect(address, self.format)
            if live is not None:
                name = TARGETS.get(self.format).table_name(address)
                rows = self.spark.table(name).toArrow().to_pylist()
                found.append(ComparedTable(table, live, rows, address in stopped - moving))
        return found

    def mirror(self, small: int = SMALL) -> LakeSink:
        """A new one, as a process that starts has it."""
        return LakeSink(
            self.store,
            [self.target()],
            self.quarantine(),
            policy=self.policy,
            schemas=self.schemas,
            approved=careful,
            decisions=lambda: self.decisions,
            on_report=self.reports.append,
            small=small,
        )
