"""An applier is killed at every moment of a plan of ten steps: each step runs once, the journal is true."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schemaman.conditions import holds
from schemaman.migrate import LEASE_MS
from schemaman.spark.lake import SparkExecutor
from schemaman.stores.sql import SqlStore
from tests.house import PROOF
from tests.spark import appliers
from tests.spark.appliers import POINTS, Task
from tests.spark.ten_steps import STEPS, Table, prepared, require_done

pytestmark = pytest.mark.spark
MOMENTS = STEPS * len(POINTS)
SOME = (0, 12, 23, 41)
"""In a small run: before anything, amid a statement, between statement and journal, and written."""


def settle(executor: SparkExecutor, table: Table, step: int) -> None:
    """Wait until a statement whose sender is dead has run; it may also never have reached the driver."""
    for _ in range(20):
        if holds(executor.inspect(table.table, table.format), table.plan.steps[step].postcondition):
            return
        time.sleep(0.1)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_an_applier_that_is_killed_at_every_moment_of_ten_steps(
    spark, warehouse: Path, tmp_path: Path, format: str, figure: Callable[[str, object], None]
) -> None:
    executor, driver = SparkExecutor(spark), appliers.driver_of(spark)
    url = f"sqlite:///{tmp_path}/store.db"
    with SqlStore.open(url, create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"killed_often_{format}")
        assert len(table.plan.steps) == STEPS
        told = tmp_path / "told.json"
        kills: list[int] = []
        wanted: list[int] = list(range(MOMENTS)) if PROOF else list(SOME)
        while wanted:
            later_ms = len(kills) * (LEASE_MS + 1000)
            after = 0.01 * (len(kills) % 7)
            task = Task(url, str(table.file), str(told), wanted[0], after, later_ms, f"r{len(kills)}")
            code = appliers.ended(appliers.start(driver, task))
            if code == 0:
                break
            assert code == -9
            died = appliers.killed_at(told)
            assert died is not None
            kills.append(died)
            if POINTS[died % len(POINTS)] == "statement-sent":
                settle(executor, table, died // len(POINTS))
            wanted = [moment for moment in wanted if moment > died]
        last = Task(url, str(table.file), str(told), None, 0, (len(kills) + 1) * (LEASE_MS + 1000), "last")
        assert appliers.ended(appliers.start(driver, last)) == 0, told.read_text()
        marks = require_done(executor, store, table)
        assert marks <= len(kills) + 1
        assert len(kills) >= len(SOME) - 1
    if PROOF:
        assert {moment // len(POINTS) for moment in kills} == set(range(STEPS))
        words = f"{len(kills)} in turn on one plan; {STEPS} commits of its steps, {marks} marks of runs"
        figure(f"kills of apply at every moment, {format}", words)
