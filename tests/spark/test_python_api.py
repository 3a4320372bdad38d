"""The API in a Spark session of the user's own: from a recording to an applied plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.io.files import find_file, read_records
from schemaman.spark.streaming.micro_batch import RAW
from tests.support.checkout import CAPTURES

pytestmark = pytest.mark.spark
SHOP = CAPTURES / "postgres" / "shop-crash"


def test_ten_lines_from_a_recording_to_an_applied_plan(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sm.open("sqlite:///schemaman.db", create=True) as registry:
        sm.ingest(SHOP, registry)
        executor = sm.spark.Executor(spark)
        table = str(tmp_path / "lake" / "returns")
        plan = registry.plan("returns@1", target="delta", table=table, executor=executor)
        assert "CREATE TABLE" in plan._repr_html_()
        assert sm.apply(plan, registry, executor).state == "applied"
        assert spark.table(f"delta.`{table}`").columns == ["id", "order_no", "reason"]
        plan = registry.plan("returns@2", target="delta", table=table, executor=executor)
        assert sm.apply(plan, registry, executor, approved=True).state == "applied"
        assert spark.table(f"delta.`{table}`").columns == ["id", "order_no", "reason", "photo"]
        assert sm.apply(plan, registry, executor, approved=True).state == "unchanged"


def test_a_data_frame_of_kafka_records_is_a_source(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [r for r in read_records(find_file(str(SHOP))) if isinstance(r, sm.Record)]
    rows: list[tuple[object, ...]] = [
        (r.topic, r.partition, r.offset, datetime.fromtimestamp((r.timestamp_ms or 0) / 1000, UTC),
         None if r.key is None else bytearray(r.key), None if r.value is None else bytearray(r.value), [])
        for r in records
    ]  # fmt: skip
    with sm.open("sqlite:///schemaman.db", create=True) as registry:
        assert sm.ingest(spark.createDataFrame(rows, RAW), registry).new == len(records)
        assert [v.number for v in registry.history("returns")] == [1, 2, 3, 4]
        assert sm.ingest(SHOP, registry).new == 0
