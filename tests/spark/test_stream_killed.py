"""A job under `autopilot` that is killed at random moments leaves the lake of a job in peace."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spark import appliers, streamed_job
from tests.spark.changing_tables import IN_PLACE, MOVING
from tests.support.checkout import PROOF, ROOT

pytestmark = pytest.mark.spark
KILLS, KILLS_OF_A_JOB = (50, 5) if PROOF else (3, 3)
"""Kills for each format, and the most that one job is killed."""
FORMATS = ("iceberg", "delta") if PROOF else ("iceberg",)
CHANGES = {
    "iceberg": (IN_PLACE, tuple(MOVING)) if PROOF else (("another key that rows prove",), ("swapped",)),
    "delta": (IN_PLACE, ("renamed",)),
}


class Job:
    """A job that is started again and again: in a JVM of its own, or in that of the tests."""

    def __init__(self, spark, folder: Path, format: str) -> None:
        self.spark, self.folder, self.format, self.starts = spark, folder, format, 0
        folder.mkdir()

    def start(self) -> Callable[[float | None], int | None]:
        """Start it; the returned function waits so many seconds for its end, and gives the exit code."""
        in_place, moving = CHANGES[self.format]
        self.starts += 1
        if not PROOF:
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
        (os.killpg if PROOF else os.kill)(self.pid, signal.SIGKILL)

    def await_ready(self, wait: Callable[[float | None], int | None]) -> None:
        """Wait until it writes."""
        while not (self.folder / "ready").exists() and wait(0.05) is None:
            pass
        (self.folder / "ready").unlink(missing_ok=True)

    def read_lake(self) -> dict[str, object]:
        """What it wrote down at its end."""
        found: dict[str, object] = json.loads((self.folder / "lake.json").read_text())
        return found


@pytest.mark.parametrize("format", FORMATS)
def test_a_job_that_is_killed_at_random_moments_leaves_the_lake_of_a_job_in_peace(
    spark, tmp_path: Path, format: str, figure: Callable[[str, object], None]
) -> None:
    moments, kills, jobs = random.Random(7), 0, 0
    peaceful = Job(spark, tmp_path / f"peace_{format}", format)
    wait = peaceful.start()
    peaceful.await_ready(wait)
    began = time.monotonic()
    assert wait(None) == 0
    longest, expected = time.monotonic() - began, peaceful.read_lake()
    while kills < KILLS:
        jobs += 1
        job = Job(spark, tmp_path / f"killed_{format}_{jobs}", format)
        for _ in range(KILLS_OF_A_JOB):
            wait = job.start()
            job.await_ready(wait)
            if wait(moments.uniform(0, longest)) is not None:
                longest /= 2  # a JVM that has worked before is faster
                break
            job.kill()
            kills += wait(None) == -signal.SIGKILL
        assert job.start()(None) == 0
        assert job.read_lake() == expected
    figure(f"kills of a job under autopilot, {format}", f"{kills} of {jobs} jobs")
