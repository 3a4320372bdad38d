"""The profile `autopilot` on an Iceberg table: another key within a batch, and a type beside the old one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import schemaman as sm
from schemaman.history.decisions import Decisions, Rename, format_coordinates
from schemaman.migration.plan_file import from_text
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.target import TARGETS
from schemaman.spark.streaming.batch_report import BatchReport
from schemaman.spark.streaming.micro_batch import RAW
from tests.streaming.test_autopilot import told

pytestmark = pytest.mark.spark


def _make_frame(spark: SparkSession, records: list[sm.Record]) -> DataFrame:
    rows: list[tuple[object, ...]] = [
        (r.topic, r.partition, r.offset, datetime.fromtimestamp(0, UTC), bytearray(r.key or b""),
         bytearray(r.value or b""), [])
        for r in records
    ]  # fmt: skip
    return spark.createDataFrame(rows, RAW)


def test_another_key_and_another_type_need_nobody(spark: SparkSession, tmp_path: Path) -> None:
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", "iceberg", ("*",), table="ice.autopilot.{table}")],
            sm.spark.Quarantine("ice.autopilot.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
        )
        first = [told(0, {"id": 1, "n": 1, "price": 5}), told(1, {"id": 2, "n": 2, "price": 6})]
        second = [
            told(2, {"id": 2, "n": 2, "price": 7}, "u"),
            told(3, {"id": 1, "n": 3, "price": "five"}, key=("id", "n")),
            told(4, {"id": 1, "n": 1, "price": "six"}, "u", key=("id", "n")),
        ]
        sink(_make_frame(spark, first), 0)
        sink(_make_frame(spark, second), 1)
    assert not any(table.blocked for report in reports for table in report.tables)
    found = spark.table("ice.autopilot.t").where("_row_deleted IS NOT TRUE").orderBy("id", "n")
    assert [(r.id, r.n, r.price, r.price__2) for r in found.collect()] == [
        (1, 1, None, "six"), (1, 3, None, "five"), (2, 2, 7, None),
    ]  # fmt: skip
    assert spark.table("ice.autopilot.quarantine").count() == 0


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_late_answer_unites_columns_and_is_taken_back(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    path, table = (f"{tmp_path}/{{table}}", "") if format == "delta" else ("", "ice.renamed.{table}")
    target = sm.TargetSetting("lake", format, ("*",), path=path or None, table=table or None)
    decisions = Decisions()
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [target],
            sm.spark.Quarantine(f"ice.autopilot.quarantine_{format}", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            decisions=lambda: decisions,
        )
        first = [told(n, {"id": n, "z": 1, "title": f"t{n}"}) for n in range(2)]
        sink(_make_frame(spark, [*first, told(2, {"id": 0, "z": 2, "name": "n0"}, "u")]), 0)
        (history,) = registry.tables()
        place = history.latest.id, format_coordinates(history.latest.at)
        decisions = Decisions((Rename(str(history.table), "title", "name", *place),))
        sink(_make_frame(spark, [told(3, {"id": 2, "z": 2, "name": "n2"})]), 1)

        def read() -> list[str | None]:
            table = TARGETS.get(format).table_name(target.address(history.table))
            return [r.name for r in spark.table(table).orderBy("id").collect()]

        assert read() == ["n0", "t1", "n2"]
        begun = [line.statement for line in registry.journal() if line.state == "started"]
        executor = sm.spark.Executor(spark)
        lake = executor.inspect(target.address(history.table), format)
        back = plan_rollback(from_text(begun[-1]), lake, 2)
        assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == ["n0", None, "n2"]
