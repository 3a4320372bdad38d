"""What every test may ask for: the one Spark session, the recordings, and `--bless`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.house import FIXTURES, PROOF

settings.register_profile("quick", max_examples=60, derandomize=True, deadline=None)
settings.register_profile(
    "proof", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("proof" if PROOF else "quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes what came out into the stories and goldens; the reviewer reads the diff."""
    parser.addoption("--bless", action="store_true", help="rewrite expected blocks and golden files")


@pytest.fixture(scope="session")
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of real recordings, `<source>/<run>/records.*`."""
    return FIXTURES / "captures"


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lake tables of this run lie."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[object]:
    """The one Spark session of a run, with Delta and Iceberg, on two local cores."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from schemaman.spark.session import session

    spark = session(warehouse=warehouse, master="local[2]")
    yield spark
    spark.stop()
