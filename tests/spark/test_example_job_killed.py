"""The example job, killed at random moments and started again: its tables are those of a run in peace."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schemaman.migration.target import LakeTable
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import ComparedTable, compared
from tests.streaming.test_recordings import unknown
from tests.support.checkout import CAPTURES, ROOT

pytestmark = pytest.mark.spark
KILLS = 10
NAME = "mariadb/bookshop-mariadb-3.5.0-json"


def job(folder: Path) -> subprocess.Popen[bytes]:
    """The example job on one recording, into Delta tables in a folder."""
    command = [sys.executable, str(ROOT / "examples" / "mirror.py"), str(CAPTURES / NAME)]
    command += ["--folder", str(folder), "--formats", "delta", "--batches", "3"]
    log = (folder / "log").open("ab")
    # a session of its own, so that the JVM is killed along
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, start_new_session=True)


def begun(folder: Path) -> bool:
    return any((folder / "lake").rglob("_delta_log"))


def test_a_job_that_was_killed_again_and_again_leaves_what_its_events_tell(
    spark, tmp_path: Path, figure
) -> None:
    moments = random.Random(1)
    for number in range(KILLS):
        running = job(tmp_path)
        while number == 0 and not begun(tmp_path) and running.poll() is None:
            time.sleep(0.1)
        # the first is killed while it writes; the others anywhere from their start on
        for _ in range(round(10 * moments.uniform(0, 3 if number == 0 else 40))):
            if running.poll() is None:
                time.sleep(0.1)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    last = job(tmp_path)
    assert last.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path / 'schemaman.db'}") as store:
        found = compared(
            CAPTURES / NAME, store, list(lake(spark, executor, store, tmp_path)), withheld(spark, tmp_path)
        )
    assert unknown(NAME, found.differences) == []
    figure("kills of the example job", KILLS)


def lake(spark, executor: SparkExecutor, store: SqlStore, folder: Path):
    """The tables that the job left; those that stopped are known by what waits for them."""
    waiting = {row[3] for row in aside(spark, folder) if "instead:" in row[4]}
    for table in store.tables():
        path = str(folder / "lake" / table.stream / f"{table.database}.{table.schema}.{table.table}")
        live: LakeTable | None = executor.inspect(path, "delta")
        if live is not None:
            rows = spark.table(f"delta.`{path}`").toArrow().to_pylist()
            yield ComparedTable(table, live, rows, path in waiting)


def withheld(spark, folder: Path) -> set[tuple[str, int, int]]:
    return {row[:3] for row in aside(spark, folder)}


def aside(spark, folder: Path) -> list[tuple[str, int, int, str, str]]:
    path = folder / "lake" / "quarantine"
    if not (path / "_delta_log").exists():
        return []
    names = "topic, partition, offset, lake_table, reason"
    return [(*row,) for row in spark.sql(f"SELECT {names} FROM delta.`{path}`").collect()]
