"""Rows whose key the connector read late, in real tables: which ones a successor takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from tests.spark.test_autopilot import _make_frame
from tests.streaming.test_autopilot import told
from tests.streaming.test_uncertain_keys import soon
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark

KEY = ("n",)
BEFORE = [told(n, {"id": n}) for n in range(1, 4)]
CHANGES = [soon(n, {"id": id, "n": n}, KEY, "u") for n, id in ((4, 1), (5, 1), (6, 2))]
AFTER = [told(n, {"id": n, "n": n}, "c", KEY) for n in (8, 9)]
REPEATED = [told(10, {"id": 10, "n": 10}, "c", KEY)]
FORMATS = ["iceberg", "delta"]


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_a_successor_takes_an_update_that_can_leave_no_row_behind(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    place = f"ice.{tmp_path.name}.{{table}}" if format == "iceberg" else str(tmp_path / "{table}")
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=place)
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=place)
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=sm.Policy(profile="autopilot"))
        for number, records in enumerate((BEFORE, [*CHANGES, *AFTER], REPEATED)):
            sink(_make_frame(spark, records), number)
        executor = SparkExecutor(spark)
        _, second = list_successors(
            lambda name: executor.inspect(name, format), place.replace("{table}", "t")
        )
    rows = spark.table(TARGETS.get(format).table_name(second.address)).collect()
    assert sorted((row.id, row.n) for row in rows) == [(2, 6), (8, 8), (9, 9), (10, 10)]
    waiting = spark.table(quarantine.table).collect()
    assert sorted(row.offset for row in waiting) == [4, 5]
    assert all("its key is uncertain" in row.reason for row in waiting)
