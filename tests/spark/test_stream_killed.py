"""A job under `autopilot` that is killed at random moments leaves the lake of a job in peace."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.spark import appliers, streamed_job
from tests.spark.changing_tables import IN_PLACE, MOVING
from tests.support.checkout import PROOF, ROOT

pytestmark = pytest.mark.spark
KILLS, KILLS_OF_A_JOB = (13, 15) if PROOF else (3, 3)
"""Kills for each case, and the most that one job is killed."""
SHARE = 4 if PROOF else 1
"""A job is killed within such a share of its whole time, so that it is killed often on its way."""
JOBS_OF_A_JVM = 3
"""Every so many jobs of a proof, one is killed with a JVM of its own; a statement of the others goes on."""
Ways = tuple[Sequence[str], Sequence[str]]
FORMATS = ("iceberg", "delta")
CASES: list[tuple[str, Ways]] = [("iceberg", (["another key that rows prove"], ["swapped"]))]
if PROOF:
    # A few ways in each case: the more tables a job has, the fewer of its moments are tried in the same time.
    CASES = [(f, (IN_PLACE[n::4], tuple(MOVING)[n : n + 1])) for n in range(4) for f in FORMATS]


class Job:
    """A job that is started again and again: in a JVM of its own, or in that of the tests."""

    def __init__(self, spark, folder: Path, format: str, ways: Ways, own_jvm: bool = False) -> None:
        self.spark, self.folder, self.format, self.ways, self.starts = spark, folder, format, ways, 0
        self.own_jvm = own_jvm
        folder.mkdir()

    def start(self) -> Callable[[float | None], int | None]:
        """Start it; the returned function waits so many seconds for its end, and gives the exit code."""
        in_place, moving = self.ways
        self.starts += 1
        if not self.own_jvm:
            driver = appliers.driver_of(self.spark)
            work = (self.folder, self.format, self.starts, in_place, moving)
            process = appliers.start_work(driver, streamed_job.write_all, work)
            self.pid = process.pid

            def join(seconds: float | None) -> int | None:
                process.join(seconds)
                return process.exitcode

            return join
        words = [sys.executable, "-m", "tests.spark.streamed_job", str(self.folder), self.format]
        words += ["--start", str(self.starts), "--in-place", *in_place, "--moving", *moving]
        log = (self.folder / "log").open("ab")
        running = subprocess.Popen(words, stdout=log, stderr=log, cwd=ROOT, start_new_session=True)
        self.pid = running.pid

        def wait(seconds: float | None) -> int | None:
            try:
                return running.wait(seconds)
            except subprocess.TimeoutExpired:
                return None

        return wait

    def kill(self) -> None:
        """Kill it with its JVM, if it has one of its own."""
        assert self.pid is not None
        (os.killpg if self.own_jvm else os.kill)(self.pid, signal.SIGKILL)

    def await_ready(self, wait: Callable[[float | None], int | None]) -> None:
        """Wait until it writes."""
        while not (self.folder / "ready").exists() and wait(0.05) is None:
            pass
        (self.folder / "ready").unlink(missing_ok=True)

    def read_lake(self) -> dict[str, object]:
        """What it wrote down at its end."""
        found: dict[str, object] = json.loads((self.folder / "lake.json").read_text())
        return found


@pytest.mark.parametrize(("format", "ways"), CASES)
def test_a_job_that_is_killed_at_random_moments_leaves_the_lake_of_a_job_in_peace(
    spark, tmp_path: Path, format: str, ways: Ways, figure: Callable[[str, object], None]
) -> None:
    moments, kills, jobs = random.Random(7), 0, 0
    case = f"{format}_{ways[1][0]}"
    peaceful = Job(spark, tmp_path / f"peace_{case}", format, ways)
    wait = peaceful.start()
    peaceful.await_ready(wait)
    began = time.monotonic()
    assert wait(None) == 0
    longest, expected = time.monotonic() - began, peaceful.read_lake()
    found: list[str] = []
    while kills < KILLS:
        jobs += 1
        own_jvm = PROOF and jobs % JOBS_OF_A_JVM == 0
        job = Job(spark, tmp_path / f"killed_{case}_{jobs}", format, ways, own_jvm)
        for _ in range(KILLS_OF_A_JOB):
            wait = job.start()
            job.await_ready(wait)
            if wait(moments.uniform(0, longest / SHARE)) is not None:
                longest /= 2  # a JVM that has worked before is faster
                break
            job.kill()
            kills += wait(None) == -signal.SIGKILL
        assert job.start()(None) == 0
        lake = job.read_lake()
        differing = [name for name in sorted({*lake, *expected}) if lake.get(name) != expected.get(name)]
        found += (f"job {jobs}, {name}: {lake.get(name)} is not {expected.get(name)}" for name in differing)
    figure(f"kills of a job under autopilot, {format}, with tables {ways[1][0]}", f"{kills} of {jobs} jobs")
    assert found == []
