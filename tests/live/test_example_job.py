"""The example job on a broker: what topics hold, and what comes while it runs, is in its tables."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from tests.live.jars import jars
from tests.live.test_kafka import create, send
from tests.spark.example_job import outcome, started
from tests.spark.recordings_in_tables import batches, recorded
from tests.streaming.test_recordings import unknown

pytestmark = pytest.mark.spark
NAME = "postgres/shop-crash"
PATIENCE = 600


def test_the_example_mirrors_what_a_broker_has_and_what_comes(
    broker: str, spark, tmp_path: Path, figure
) -> None:
    records, _ = recorded(NAME)
    topics = sorted({r.topic for r in records})
    for topic in topics:
        create(broker, topic)
    first, second = batches(records, 2)
    send(broker, first)
    pattern = "|".join(map(re.escape, topics))
    kafka = ("--kafka", broker, "--topics", pattern, "--jars", ",".join(map(str, jars("spark-kafka"))))
    job = started(tmp_path, *kafka)
    try:
        _await(job, tmp_path / "log", first)
        send(broker, second)
        _await(job, tmp_path / "log", records)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    # that the Iceberg tables have taken every record the job has told; their cells: test_mirror_example
    found = outcome(spark, tmp_path, NAME, "delta")
    assert unknown(NAME, found.differences) == []
    assert found.rows > 0
    figure("example job on a broker", f"{found.tables} tables, {found.rows} rows")


def _await(job: subprocess.Popen[bytes], log: Path, records: Sequence[Record]) -> None:
    """Until the job has told of so many records of rows in its Iceberg tables, which come last."""
    wanted, until = sum(r.value is not None for r in records), time.monotonic() + PATIENCE
    while _taken(log) < wanted and job.poll() is None and time.monotonic() < until:
        time.sleep(0.5)
    assert _taken(log) == wanted, log.read_text()[-3000:]


def _taken(log: Path) -> int:
    told = re.findall(r" -> ice\.\S+: (\d+) records?, ", log.read_text()) if log.exists() else ()
    return sum(map(int, told))
