"""An applier is killed at every moment of a plan of ten steps: each step runs once, the journal is true."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schemaman.migration.apply.apply import LEASE_MS
from schemaman.migration.conditions import is_met
from schemaman.migration.plan import Plan
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.spark import appliers
from tests.spark.appliers import POINTS, Task
from tests.spark.ten_steps import STEPS, Table, prepared, require_done
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark
EVERY = [
    [step * len(POINTS) + point for step in range(STEPS) for point in points]
    for points in ((0, 1, 2), (3,), (4,))
]
"""Who died behind a statement left a step that is done, in which nobody can die any more: so three rows."""
SOME = [("iceberg", [1, 12, 23, 44])]
"""In a small run: before a statement, amid one, between statement and journal, and behind both."""
CHAINS = [(format, moments) for moments in EVERY for format in ("delta", "iceberg")] if PROOF else SOME


def settle(executor: SparkExecutor, table: Table, step: int) -> None:
    """Wait until a statement whose sender is dead has run; it may also never have reached the driver."""
    for _ in range(20):
        if is_met(executor.inspect(table.table, table.format), table.plan.steps[step].postcondition):
            return
        time.sleep(0.1)


def list_deaths(plan: Plan, moment: int) -> set[int]:
    """The moments at which an applier that is to die at one of them may do so.

    A statement may be done before its sender dies. The record of a version is sent before the end of the step
    in front of it is written.
    """
    step, point = divmod(moment, len(POINTS))
    following = plan.steps[step + 1 : step + 2]
    is_recorded = point > POINTS.index("statement-sent") and any(
        s.kind == "set-properties" for s in following
    )
    is_sent = POINTS[point] == "statement-sent"
    return {moment, moment + is_sent, *([(step + 1) * len(POINTS)] if is_recorded else [])}


@pytest.mark.parametrize(("format", "moments"), CHAINS)
def test_an_applier_that_is_killed_at_every_moment_of_ten_steps(
    spark, warehouse: Path, tmp_path: Path, format: str, moments: list[int],
    figure: Callable[[str, object], None],
) -> None:  # fmt: skip
    executor, driver = SparkExecutor(spark), appliers.driver_of(spark)
    url, told = f"sqlite:///{tmp_path}/store.db", tmp_path / "told.json"
    with SqlStore.open(url, create=True) as store:
        name = f"killed_often_{format}_{moments[0]}"
        table = prepared(executor, store, warehouse, tmp_path, format, name)
        assert len(table.plan.steps) == STEPS
        for number, moment in enumerate(moments):
            later_ms, after = number * (LEASE_MS + 1000), 0.01 * (number % 7)
            task = Task(url, str(table.file), str(told), moment, after, later_ms, f"r{number}")
            assert appliers.ended(appliers.start(driver, task)) == -9, told.read_text()
            assert appliers.killed_at(told) in list_deaths(table.plan, moment)
            if POINTS[moment % len(POINTS)] == "statement-sent":
                settle(executor, table, moment // len(POINTS))
        last = Task(url, str(table.file), str(told), later_ms=len(moments) * (LEASE_MS + 1000), run="last")
        assert appliers.ended(appliers.start(driver, last)) == 0, told.read_text()
        marks = require_done(executor, store, table)
        assert marks <= len(moments) + 1
    points = ", ".join(dict.fromkeys(POINTS[moment % len(POINTS)] for moment in moments))
    words = f"{len(moments)} in turn on one plan; {STEPS} commits of its steps, {marks} marks of runs"
    figure(f"kills of apply, {format}: {points}", words)
