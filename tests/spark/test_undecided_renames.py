"""Undecided renames on real tables: all go on, and after answers of yes and no each value is right."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.history.decisions import Decisions
from schemaman.migration.target import TARGETS
from schemaman.spark.streaming.batch_report import BatchReport
from tests.spark.test_autopilot import _make_frame
from tests.support.checkout import PROOF
from tests.support.undecided_renames import UndecidedRenames, select_alike

pytestmark = pytest.mark.spark

TABLES, CHANGES, MEMBERS, EXCHANGES, SIZE = (5, 50, 5, 5, 12) if PROOF else (1, 2, 1, 1, 100)


@pytest.mark.parametrize("format", ["delta", *(["iceberg"] if PROOF else [])])
def test_each_value_is_right_once_all_renames_are_answered(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    target = sm.TargetSetting("lake", "iceberg", ("*",), table="ice.undecided.{table}")
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=f"{tmp_path}/{{table}}")
    decisions, reports = Decisions(), list[BatchReport]()
    source = UndecidedRenames(Random(0), TABLES, CHANGES, MEMBERS, EXCHANGES)
    records = [*source.stream(), *source.stream_others()]
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [target],
            sm.spark.Quarantine(f"ice.undecided.quarantine_{format}", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            decisions=lambda: decisions,
            on_report=reports.append,
        )
        for start in range(0, len(records), SIZE):
            sink(_make_frame(spark, records[start : start + SIZE]), len(reports))
        answered = source.answer(registry.store, decisions)  # type: ignore[arg-type]
        decisions = answered
        sink(_make_frame(spark, list(source.touch())), len(reports))
        assert [each.blocked for report in reports for each in report.tables if each.blocked] == []
        assert not any(report.waiting or report.rejected for report in reports)
        assert (len(decisions.renames), len(decisions.not_renames)) > (0, 0)
        for table in registry.store.tables():
            name = TARGETS.get(format).table_name(target.address(table))
            found = spark.sql(f"SELECT * FROM {name} WHERE _row_deleted IS NOT TRUE ORDER BY id").collect()
            rows, expected = [row.asDict(recursive=True) for row in found], source.expected(table)
            assert [select_alike(row, wanted) for row, wanted in zip(rows, expected, strict=True)] == expected
