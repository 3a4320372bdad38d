"""Two sinks at once on the same topics and the same store: both end, and each row is written once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemaman.debezium.records import Record
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.policy import Policy
from schemaman.migration.target import TARGETS
from schemaman.model.schema import TableId
from schemaman.spark.streaming.batch_report import BatchReport
from schemaman.spark.streaming.quarantine import Quarantine
from schemaman.store.sql.store import SqlStore
from tests.spark.appliers import driver_of, ended, start_work
from tests.spark.changing_tables import rename_table
from tests.spark.recordings_in_tables import Run, frame
from tests.spark.stream_command import run_command, write_lines
from tests.streaming.test_autopilot import keyless, told
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark
ROUNDS = 5 if PROOF else 2


def write_at_once(
    spark: SparkSession, url: str, runs: list[Run], batches: list[list[Record]]
) -> list[Exception]:
    """Let each run take the batches in a thread and a session of its own, beginning each one together."""
    together = threading.Barrier(len(runs), timeout=300)
    errors: list[Exception] = []

    def work(run: Run) -> None:
        try:
            with SqlStore.open(url) as store:
                run.store = store
                sink = run.mirror()
                for number, batch in enumerate(batches):
                    rows = frame(run.spark, batch)
                    together.wait()
                    sink(rows, number)
        except Exception as error:
            errors.append(error)
            together.abort()

    target: Any = inheritable_thread_target(spark)
    threads = [threading.Thread(target=target(work), args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def read(run: Run, table: TableId) -> list[dict[str, Any]]:
    name = TARGETS.get(run.format).table_name(run.target().address(table))
    return [row.asDict() for row in run.spark.table(name).collect()]


def make_batches() -> list[list[Record]]:
    """Batches with rows of a keyed table and of a log."""
    log = [keyless(n, {"id": n, "n": n}) for n in range(4 * ROUNDS)]
    keyed = [[told(n, {"id": n % 3, "n": n}) for n in range(2 * r, 2 * r + 2)] for r in range(ROUNDS)]
    return [
        [*(rename_table(record, "k") for record in keyed[r]), *log[4 * r : 4 * r + 4]] for r in range(ROUNDS)
    ]


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_two_jobs_on_the_same_topics_write_each_row_once(spark, tmp_path: Path, format: str) -> None:
    batches = make_batches()
    url, name = f"sqlite:///{tmp_path}/store.db", f"two_jobs_{format}"
    SqlStore.open(url, create=True).__enter__().__exit__(None, None, None)
    sessions = [SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession()) for _ in range(2)]
    with SqlStore.open(url) as store:
        reports: list[list[BatchReport]] = [[], []]
        runs = [
            Run(session, store, format, name, NO_REGISTRY, Policy(profile="autopilot"), reports[n])
            for n, session in enumerate(sessions)
        ]
        assert write_at_once(spark, url, runs, batches) == []
        assert [t.blocked for each in reports for report in each for t in report.tables if t.blocked] == []
        run = Run(spark, store, format, name, NO_REGISTRY)
        assert run.withheld() == []
        (logged, merged) = (read(run, table) for table in sorted(store.tables(), key=str, reverse=True))
        assert sorted(row["n"] for row in logged) == list(range(4 * ROUNDS))
        assert len(merged) == 3


@pytest.mark.parametrize("format", ["iceberg", "delta"] if PROOF else ["iceberg"])
def test_two_processes_of_the_command_write_each_row_once(spark, tmp_path: Path, format: str) -> None:
    address = str(tmp_path / "{table}") if format == "delta" else "ice.two_commands.{table}"
    where = f'{"path" if format == "delta" else "table"} = "{address}"'
    target = f'[[target]]\nname = "lake"\nformat = "{format}"\ntables = "*"\n{where}\n'
    (tmp_path / "schemaman.toml").write_text(f'profile = "autopilot"\n{target}')
    write_lines(tmp_path / "r.jsonl", [record for batch in make_batches() for record in batch])
    words = ["stream", "r.jsonl", "--once", "--batch", "6", "--quarantine", address.format(table="waiting")]
    codes = [tmp_path / f"code{n}" for n in range(2)]
    driver = driver_of(spark)
    started = [start_work(driver, run_command, (tmp_path, code, words)) for code in codes]
    assert [ended(process) for process in started] == [0, 0]
    assert [code.read_text() for code in codes] == ["0", "0"]
    (logged, merged) = (
        [
            row.asDict()
            for row in spark.table(TARGETS.get(format).table_name(address.format(table=t))).collect()
        ]
        for t in ("t", "k")
    )
    assert sorted(row["n"] for row in logged) == list(range(4 * ROUNDS))
    assert len(merged) == 3


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_only_the_records_that_were_listed_leave_the_quarantine(spark, tmp_path: Path, format: str) -> None:
    """Another job adds a record meanwhile, and adds one again that it could not write."""
    where = str(tmp_path / "waiting") if format == "delta" else "ice.two_quarantines.waiting"
    jobs = [Quarantine(where, format) for _ in range(2)]
    first, second, third = (
        frame(spark, [told(n, {"id": n})]).withColumn("reason", F.lit("why")) for n in range(3)
    )
    for rows in (first, second):
        jobs[0].add_records(rows, "main", "lake", "source", "a")
    (listed,) = jobs[0].list_tables(spark, "main")
    for rows in (second, third):
        jobs[1].add_records(rows, "main", "lake", "source", "a")
    jobs[0].release_records(spark, "main", listed)
    (left,) = jobs[1].list_tables(spark, "main")
    assert sorted(row["offset"] for row in jobs[1].read_records(spark, "main", left).collect()) == [1, 2]
