"""A session whose engine is gone: said once and for all, in whatever call meets it first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

pytestmark = pytest.mark.spark

STORY = """
import os, signal, sys
from pathlib import Path
from schemaman.errors import SessionLost
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import start_session

spark = start_session(warehouse=Path(sys.argv[1]))
executor = SparkExecutor(spark)
executor.inspect("ice.a.b", "iceberg")
engine = spark.sparkContext._gateway.proc
engine.kill()
engine.wait()
calls = {
    "known": lambda: executor.inspect("ice.a.b", "iceberg"),
    "unknown": lambda: executor.inspect("/a/b", "delta"),
    "run": lambda: executor.run("SELECT 1"),
    "query": lambda: executor.query("SELECT 1"),
}
for name, call in calls.items():
    try:
        call()
    except SessionLost as lost:
        print(name, "lost", "Spark has stopped" in lost.message, flush=True)
os._exit(0)
"""


def test_every_call_says_that_the_engine_is_gone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORY, str(tmp_path)],
        capture_output=True, text=True, timeout=300, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    told = done.stdout.split("\n")
    assert [line for line in told if " lost " in line] == [
        f"{name} lost True" for name in ("known", "unknown", "run", "query")
    ], done.stderr[-2000:]
