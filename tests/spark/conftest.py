"""Fixtures of the tests on Spark."""

from __future__ import annotations

import pytest

from schemaman.spark.executor import SparkExecutor
from tests.support.checkout import PROOF
from tests.support.command_line import place, run

__all__ = ["executor", "place", "run"]

collect_ignore = [] if PROOF else ["test_example_job_killed.py"]
"""It starts a JVM for each kill; `test_stream_killed.py` kills jobs that share the one of the tests."""


@pytest.fixture
def executor(spark) -> SparkExecutor:
    return SparkExecutor(spark)
