"""The example job as the README starts it: its Iceberg tables hold what the events tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.example_job import outcome, started
from tests.streaming.test_recordings import unknown
from tests.support.checkout import CAPTURES

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["postgres/shop-crash", "mariadb/bookshop-mariadb-3.5.0-json"])
def test_the_example_leaves_iceberg_tables_that_hold_what_the_events_tell(
    spark, tmp_path: Path, name: str, figure
) -> None:
    job = started(tmp_path, CAPTURES / name, "--formats", "iceberg", "--batches", "2")
    assert job.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    found = outcome(spark, tmp_path, name, "iceberg")
    assert unknown(name, found.differences) == []
    assert found.rows > 0
    figure(f"example job into Iceberg, {name}", f"{found.tables} tables, {found.rows} rows")
