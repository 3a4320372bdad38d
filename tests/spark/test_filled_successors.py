"""Successors that are filled from the table before them, on both formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from tests.spark.test_autopilot import _make_frame
from tests.streaming.test_autopilot import keyless, told
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark

FILLING = sm.Policy(profile="autopilot", rules=(PolicyRule("auto", ("fill-successor",)),))
KEYED = [told(n, {"id": n, "n": 1}) for n in range(3)]
LATE = [told(3, {"id": 1, "n": 5}, "u"), told(4, {"id": 2, "n": 1}, "d")]
LOG = [keyless(n, {"id": 7, "n": n}) for n in (6, 7)]
CREATED = [keyless(n, {"id": n, "n": 1}) for n in range(2)]
CHANGED = [told(3, {"id": 1, "n": 5}, "u"), told(4, {"id": 3, "n": 1})]
FILLED = [(0, 1, "r"), (1, 1, "r"), (2, 1, "r"), (7, 6, "c"), (7, 7, "c")]


GONE = [[*KEYED, *LOG], LATE], sorted([*FILLED, (1, 5, "r"), (2, 1, "d")])
GAINED = [CREATED, CHANGED], [(0, 1, False), (1, 5, False), (3, 1, False)]
CASES = [("delta", *GONE), ("iceberg", *GAINED), ("iceberg", *GONE), ("delta", *GAINED)]


@pytest.mark.parametrize(("format", "batches", "expected"), CASES if PROOF else CASES[:2])
def test_a_successor_has_the_rows_of_the_table_before_it(
    spark: SparkSession,
    tmp_path: Path,
    format: str,
    batches: list[list[sm.Record]],
    expected: list[tuple[object, ...]],
) -> None:
    place = f"ice.{tmp_path.name}.{{table}}" if format == "iceberg" else str(tmp_path / "{table}")
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=place)
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=place)
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=FILLING)
        for number, records in enumerate(batches):
            sink(_make_frame(spark, records), number)
        executor = SparkExecutor(spark)
        tables = list_successors(lambda name: executor.inspect(name, format), place.replace("{table}", "t"))
    assert [read_record(each.lake.properties).is_filled for each in tables] == [False, True]
    rows = spark.table(TARGETS.get(format).table_name(tables[1].address))
    mark = "_row_op" if "_row_op" in rows.columns else "_row_deleted"
    assert sorted((row.id, row.n, row[mark]) for row in rows.collect()) == expected
