"""Fixtures of the tests on Spark."""

from __future__ import annotations

import pytest

from schemaman.spark.executor import SparkExecutor
from tests.support.command_line import place, run

__all__ = ["executor", "place", "run"]


@pytest.fixture
def executor(spark) -> SparkExecutor:
    return SparkExecutor(spark)
