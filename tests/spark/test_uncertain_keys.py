"""Rows whose key the connector read late, in real tables: which ones a successor takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

import schemaman as sm
from schemaman.debezium.records import Record
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.batch_report import BatchReport
from tests.spark.test_autopilot import _make_frame
from tests.streaming.test_autopilot import late, told
from tests.streaming.test_uncertain_keys import read_at, soon
from tests.support.checkout import PROOF
from tests.support.records import node, row_event

pytestmark = pytest.mark.spark

KEY = ("n",)
BEFORE = [told(n, {"id": n}) for n in range(1, 4)]
CHANGES = [soon(n, {"id": id, "n": n}, KEY, "u") for n, id in ((4, 1), (5, 1), (6, 2))]
AFTER = [told(n, {"id": n, "n": n}, "c", KEY) for n in (8, 9)]
REPEATED = [told(10, {"id": 10, "n": 10}, "c", KEY)]
FORMATS = ["iceberg", "delta"]


STARTING = [late(n, {"code": "k4", "n": n, "m": 1}, ("code",), "u") for n in (4, 5)]
STARTING += [told(n, {"code": f"k{n}", "n": n}, "c", ("code",)) for n in (8, 9)]
STARTED = [told(10, {"code": "k10", "n": 10}, "c", ("code",))]

LATER = [told(14, {"id": 14, "n": 14}, "c", ("id", "n"))]


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_a_successor_takes_an_update_that_can_leave_no_row_behind(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    rows, waiting = _take(spark, tmp_path, format, (BEFORE, [*CHANGES, *AFTER], REPEATED))
    assert sorted((row.id, row.n) for row in rows) == [(2, 6), (8, 8), (9, 9), (10, 10)]
    assert sorted(row.offset for row in waiting) == [4, 5]
    assert all("its key is uncertain" in row.reason for row in waiting)


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_a_successor_takes_its_first_row_though_it_has_no_column_of_the_earlier_key(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    before = [told(n, {"id": f"x{n}", "v": n}) for n in range(3)]
    rows, waiting = _take(spark, tmp_path, format, (before, STARTING, STARTED))
    assert sorted((row.code, row.n) for row in rows) == [("k10", 10), ("k4", 5), ("k8", 8), ("k9", 9)]
    assert waiting == []


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_an_update_that_is_sent_as_a_delete_and_a_new_row_loses_no_row(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    key = ("id", "n")
    halves = [soon(3, {"id": 1, "n": 0}, key, "d"), soon(4, {"id": 1, "n": 7}, key)]
    after = [told(n, {"id": n, "n": n}, "c", key) for n in (12, 13)]
    batches = ([told(1, {"id": 1}), told(2, {"id": 2})], [read_at(half, 3) for half in halves], after)
    rows, waiting = _take(spark, tmp_path, format, (*batches, LATER))
    assert sorted((row.id, row.n) for row in rows) == [(1, 7), (12, 12), (13, 13), (14, 14)]
    assert waiting == []


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_an_update_that_may_be_of_another_row_waits_whatever_newer_record_has_its_key(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    before = [told(n, {"id": n, "n": n}) for n in (1, 2)]
    changes = [soon(4, {"id": 2, "n": 1}, KEY, "u"), *(told(n, {"id": n, "n": n}, "c", KEY) for n in (8, 9))]
    deleted = [told(11, {"id": 2, "n": 1}, "d", KEY)]
    rows, waiting = _take(
        spark, tmp_path, format, (before, changes, deleted, [told(12, {"id": 3, "n": 3}, "c", KEY)])
    )
    assert {4} <= {row.offset for row in waiting} <= {4, 11}
    assert (2, 2) in {(row.id, row.n) for row in rows}


@pytest.mark.parametrize(("format", "small"), [("iceberg", 10_000), ("delta", 0)])
def test_a_change_that_waits_is_done_with_once_its_table_was_emptied(
    spark: SparkSession, tmp_path: Path, format: str, small: int
) -> None:
    """A batch with few records is decoded in this process, and otherwise on executors."""
    before = [told(n, {"id": n, "n": n}) for n in (1, 2)]
    before += [late(3, {"id": 1, "n": 2}, KEY, "u"), *(told(n, {"id": n, "n": n}) for n in (8, 9))]
    truncate = row_event({"id": node("int32"), "n": node("int32")}, "t", None, offset=10)
    older = read_at(replace(late(11, {"id": 8, "n": 9}, KEY, "u"), partition=1, offset=0), 4)
    batches = (before, [truncate], [older], [told(12, {"id": 1, "n": 5})])
    reports: list[BatchReport] = []
    rows, waiting = _take(spark, tmp_path, format, batches, small=small, on_report=reports.append)
    assert ([(row.id, row.n) for row in rows], waiting) == ([(1, 5)], [])
    assert [sum(table.truncated for table in report.tables) for report in reports] == [0, 0, 2, 0]
    assert [sum(table.replayed for table in report.tables) for report in reports] == [0, 0, 1, 0]


def _take(
    spark: SparkSession, tmp_path: Path, format: str, batches: Sequence[list[Record]], **options: Any
) -> tuple[list[Row], list[Row]]:
    """The live rows of the newest table, and those of the quarantine."""
    place = f"ice.{tmp_path.name}.{{table}}" if format == "iceberg" else str(tmp_path / "{table}")
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=place)
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=place)
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry, [target], quarantine, policy=sm.Policy(profile="autopilot"), **options
        )
        for number, records in enumerate(batches):
            sink(_make_frame(spark, records), number)
        executor = SparkExecutor(spark)
        *_, newest = list_successors(
            lambda name: executor.inspect(name, format), place.replace("{table}", "t")
        )
    rows = spark.table(TARGETS.get(format).table_name(newest.address)).where("NOT _row_deleted").collect()
    has_waiting = spark.catalog.tableExists(quarantine.table)
    return rows, spark.table(quarantine.table).collect() if has_waiting else []


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_a_delete_leaves_the_row_that_only_a_part_of_its_key_names(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    records = [told(0, {"id": 2, "n": 5}), told(1, {"id": 4, "n": 3}), told(2, {"id": 7, "n": 7}, "c", KEY)]
    records += [told(3, {"id": 2, "n": 3}, "u", KEY), late(4, {"id": 2, "n": 3}, ("id", "n"), "d")]
    rows, waiting = _take(spark, tmp_path, format, (records, LATER))
    # The table gets (n) first, of which it is certain; what waits shows a key that nothing confirms yet.
    assert sorted((row.id, row.n) for row in rows) == [(2, 5), (7, 7)]
    assert [row.offset for row in waiting] == [14]


@pytest.mark.parametrize("format", FORMATS if PROOF else FORMATS[:1])
def test_a_row_that_comes_late_does_not_come_back_behind_a_delete_with_fewer_columns(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    both = ("id", "n")
    before = [told(0, {"id": 1, "n": 1}), told(4, {"id": 2, "n": 2}, "d")]
    after = [told(n, {"id": n, "n": n}, "c", both) for n in (5, 6)]
    older = replace(late(2, {"id": 2, "n": 2}, both), partition=1, offset=0)
    rows, waiting = _take(spark, tmp_path, format, (before, after, [older], LATER))
    assert sorted((row.id, row.n) for row in rows) == [(1, 1), (5, 5), (6, 6), (14, 14)]
    assert [(row.partition, row.offset) for row in waiting] == [(1, 0)]
