"""A view on real tables: a reader's query lives through a split, another key, a delete and a rename."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.api.planning import LakePlanner, make_preflight
from schemaman.api.recipe_plans import plan_way_back
from schemaman.history.decisions import Decisions, Rename
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.batch_report import BatchReport
from tests.spark.test_autopilot import _make_frame
from tests.streaming.test_autopilot import INT, told
from tests.support.checkout import PROOF
from tests.support.records import row_event

pytestmark = pytest.mark.spark

PLACES = {
    "iceberg": ("ice.viewed.{table}", "ice.readers.{table}", "ice.viewed.quarantine"),
    "delta": ("viewed.{table}", "readers.{table}", "viewed.quarantine"),
}


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_a_reader_of_the_view_goes_on(spark: SparkSession, tmp_path: Path, format: str) -> None:
    table, view, quarantine = PLACES[format]
    place = view.format(table="t")
    reports: list[BatchReport] = []
    renames: list[Rename] = []

    def read(query: str = "id, price") -> list[tuple[object, ...]]:
        return sorted((tuple(row) for row in spark.sql(f"SELECT {query} FROM {place}").collect()), key=repr)

    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", format, ("*",), table, view=view, alias_old_names="30d")],
            sm.spark.Quarantine(quarantine, format),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
            decisions=lambda: Decisions(tuple(renames)),
        )
        key = ("id", "n")

        def write(*records: sm.Record) -> None:
            sink(_make_frame(spark, list(records)), len(reports))

        write(told(0, {"id": 1, "n": 1, "price": 5}), told(1, {"id": 2, "n": 2, "price": 6}))
        assert read("*") == [(1, 1, 5), (2, 2, 6)]
        write(told(2, {"id": 1, "n": 1, "price": "five"}, "u"))
        assert read("*") == [(1, 1, "five"), (2, 2, "6")]
        inserted, changed = {"id": 1, "n": 3, "price": "x"}, {"id": 1, "n": 1, "price": "six"}
        write(told(3, inserted, key=key), told(4, changed, "u", key=key))
        assert read() == [(1, "six"), (1, "x"), (2, "6")]
        write(told(5, {"id": 2, "n": 2, "price": "7", "note": "a"}, "u", key=key))
        assert read("id, price, note")[-1] == (2, "7", "a")
        renamed = told(6, {"id": 1, "n": 3, "price": "x", "memo": "b"}, "u", key=key)
        sm.ingest([renamed], registry)
        history = registry.history("t")
        renames.append(Rename(str(history.table), "note", "memo", history.latest.id))
        write(renamed)
        assert read("id, note, memo") == [(1, "b", "b"), (1, None, None), (2, "a", "a")]
        write(told(7, {"id": 1, "n": 3, "price": "x", "memo": "b"}, "d", key=key))
        assert read() == [(1, "six"), (2, "7")]
        executor = SparkExecutor(spark)
        write(row_event({"id": INT, "n": INT}, "t", None, offset=8))
        assert read() == []
        runs = registry.digest("1h").runs
        planner = LakePlanner(make_preflight(registry.store, registry, executor), sm.Policy())
        back = plan_way_back(planner, registry, runs[-1].run)
        assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == [(1, "six"), (2, "7")]
        write(told(9, {"id": 2, "n": 2, "price": "8", "memo": "b"}, "u", key=key))
        assert read() == [(1, "six"), (2, "8")]
    address = table.format(table="t")
    executor.run(f"UPDATE {TARGETS.get(format).table_name(address)} SET price = 9 WHERE n = 2")
    cost = TARGETS.get(format).read_commit_cost(executor, address)
    assert cost.keys() == {"rows", "bytes"}
    assert cost["rows"] >= 1
    assert cost["bytes"] > 0
    assert not any(each.blocked for report in reports for each in report.tables)
    assert any(step.kind == "replace-view" for run in runs for step in run.steps)
    assert not any(name.startswith("_row_") for name in spark.table(place).columns)
