"""The profile `autopilot` on an Iceberg table: another key within a batch, and a type beside the old one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import schemaman as sm
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
