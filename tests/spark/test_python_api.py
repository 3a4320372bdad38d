"""The API in a Spark session of the user's own: from a recording to an applied plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import schemaman as sm
from schemaman.io.files import find_file, read_records
from schemaman.spark.record_columns import RAW
from tests.support.checkout import CAPTURES

pytestmark = pytest.mark.spark
SHOP = CAPTURES / "postgres" / "shop-crash"


def _read_shop() -> list[sm.Record]:
    return [r for r in read_records(find_file(str(SHOP))) if isinstance(r, sm.Record)]


def _make_frame(spark: SparkSession, records: Iterable[sm.Record]) -> DataFrame:
    """Records as Spark's Kafka source reads them."""
    rows: list[tuple[object, ...]] = [
        (r.topic, r.partition, r.offset, datetime.fromtimestamp((r.timestamp_ms or 0) / 1000, UTC),
         None if r.key is None else bytearray(r.key), None if r.value is None else bytearray(r.value), [])
        for r in records
    ]  # fmt: skip
    return spark.createDataFrame(rows, RAW)


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
    records = _read_shop()
    with sm.open("sqlite:///schemaman.db", create=True) as registry:
        assert sm.ingest(_make_frame(spark, records), registry).new == len(records)
        assert [v.number for v in registry.history("returns")] == [1, 2, 3, 4]
        assert sm.ingest(SHOP, registry).new == 0


def test_a_round_of_sync_migrates_what_the_settings_name(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "schemaman.toml"
    settings.write_text(
        f"""
        [[target]]
        name = "delta-lake"
        format = "delta"
        tables = ["returns", "refunds"]
        path = "{tmp_path}/lake/{{table}}"

        [[policy]]
        tables = "refunds"
        new-table = "approve"
        """,
        encoding="utf-8",
    )
    executor = sm.spark.Executor(spark)
    with sm.open(settings=settings, create=True) as registry:
        with pytest.raises(sm.UsageError, match="not a folder for plans"):
            sm.sync(SHOP, registry, executor, plans=settings)
        done = sm.sync(SHOP, registry, executor)
        assert repr(done) == "<SyncResult: 91 new records; 1 waiting, 1 applied>"
        refunds, returns = done.tables
        assert (refunds.state, returns.state) == ("waiting", "applied")
        assert Path(refunds.file).parent == Path("plans")
        assert "approve it with schemaman approve plans/" in str(done)
        assert done._repr_html_().startswith('<div class="schemaman">')
        assert spark.table(f"delta.`{returns.lake_table}`").columns == ["id", "order_ref", "reason", "note"]
        again = sm.sync(SHOP, registry, executor)
        assert (again.read.new, [table.state for table in again.tables]) == (0, ["waiting", "current"])


def test_an_iceberg_table_follows_its_source_from_version_to_version(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    executor, table = sm.spark.Executor(spark), "ice.python_api.returns"
    with sm.open("sqlite:///schemaman.db", create=True) as registry:
        sm.ingest(SHOP, registry)
        first = registry.plan("returns@1", target="iceberg", table=table, executor=executor)
        assert [step.kind for step in first.steps] == ["create-namespace", "create-table", "set-key"]
        assert sm.apply(first, registry, executor, dry_run=True).state == "checked"
        assert sm.apply(first, registry, executor).state == "applied"
        assert sm.apply(first, registry, executor).state == "unchanged"
        with pytest.raises(sm.errors.StatementFailed, match="is not a Delta table"):
            registry.plan("returns@1", target="delta", table=table, executor=executor)
        stale = registry.plan("returns@2", target="iceberg", table=table, executor=executor)
        spark.sql(f"ALTER TABLE {table} ADD COLUMN by_hand INT")
        with pytest.raises(sm.errors.StalePlan, match="add `by_hand` INT"):
            sm.apply(stale, registry, executor)
        for version in ("returns@2", "returns@3"):
            plan = registry.plan(version, target="iceberg", table=table, executor=executor)
            assert sm.apply(plan, registry, executor, approved=True).state == "applied"
        assert spark.table(table).columns == ["id", "order_ref", "reason", "by_hand", "photo"]
        undecided = registry.plan("returns@4", target="iceberg", table=table, executor=executor)
        assert [refusal.change for refusal in undecided.refusals] == ["rename `photo` to `note`"]
        assert sm.apply(undecided, registry, executor, approved=True).state == "refused"
        found = sm.diff("returns@3", f"lake:{table}", registry=registry)
        assert {change.path for change in found if isinstance(change, sm.AddColumn)} == {("by_hand",)}


def test_the_sink_reports_each_batch_and_refuses_wrong_arguments(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = sm.TargetSetting("lake", "delta", ("*.refunds",), path=f"{tmp_path}/lake/{{table}}")
    quarantine = sm.spark.Quarantine(str(tmp_path / "quarantine"))
    sink: Any = sm.spark.LakeSink
    untyped: Any = replace
    batch = _make_frame(spark, [r for r in _read_shop() if r.topic == "shopdb.shop.refunds"][:3])
    with sm.open("sqlite:///schemaman.db", create=True) as registry:
        wrong = [
            lambda: sink("sqlite:///schemaman.db", [target], quarantine),
            lambda: sink(registry, target, quarantine),
            lambda: sink(registry, "lake", quarantine),
            lambda: sink(registry, [target], "quarantine"),
            lambda: sink(registry, [replace(target, path=None)], quarantine),
            lambda: sink(registry, [replace(target, path="/lake/{tabel}")], quarantine),
            lambda: sink(registry, [untyped(target, tables="*")], quarantine),
            lambda: sink(registry, [replace(target, format="parquet")], quarantine),
            lambda: sink(registry, [target], quarantine, policy="auto"),
            lambda: sm.ingest(spark.readStream.format("rate").load(), registry),
            lambda: sm.spark.Executor(None),  # type: ignore[arg-type]
        ]
        for call in wrong:
            with pytest.raises(sm.UsageError) as caught:
                call()
            assert caught.value.hint or "there are" in caught.value.message
        reports: list[sm.spark.BatchReport] = []
        sm.spark.LakeSink(registry, [target], quarantine, on_report=reports.append)(batch, 7)
        first, second, *_ = str(reports[0]).splitlines()
        assert first == "batch 7"
        assert second.startswith("  shopdb.shop.shop.refunds -> ")
        assert second.endswith(": 3 records, 3 rows written")
