"""On Spark: tables of a batch are written at once, and each commit and each waiting record is kept."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemaman.debezium.records import Record
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.side_by_side import SideBySide
from schemaman.store.sql.store import SqlStore
from tests.spark.formats import both
from tests.spark.recordings_in_tables import Run, frame
from tests.support.records import node, row_event

FIELDS = {"id": node("int32"), "a": node("string", optional=True)}
NAMES = ("t", "u")


@both
def test_tables_of_a_batch_are_written_at_once(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    def write(offset: int, id: int, value: str, op: str = "c") -> list[Record]:
        row = {"id": id, "a": value}
        return [row_event(FIELDS, op, row, offset=offset, table=name) for name in NAMES]

    two = threading.Barrier(2, timeout=120)
    run_statement = SparkExecutor.run
    merged: list[str] = []

    def meet(executor: SparkExecutor, statement: str) -> None:
        if statement.startswith("MERGE INTO") and "set_aside" not in statement:
            merged.append(threading.current_thread().name)
            two.wait()
        run_statement(executor, statement)

    monkeypatch.setattr(SparkExecutor, "slots", property(lambda _: 2))
    monkeypatch.setattr(SparkExecutor, "run", meet)
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        run = Run(spark, store, format, "at_once", NO_REGISTRY)
        lacking = write(1, 9, "__debezium_unavailable_value", "u")
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", "at once")
        try:
            mirror = run.mirror()
            mirror(frame(spark, [*write(0, 1, "x"), *lacking]), 0)
            second = [*write(2, 2, "y"), *write(3, 1, "z", "u")]
            run.mirror(0)(frame(spark, second), 1)
            before = len(merged)
            run.mirror()(frame(spark, second), 1)
        finally:
            spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
        assert before == len(merged) == 2 * len(NAMES)
        assert len(set(merged)) >= 2
        found = {t.source.table: sorted((r["id"], r["a"]) for r in t.rows) for t in run.lake()}
        assert found == {name: [(1, "z"), (2, "y")] for name in NAMES}
        assert len(run.withheld()) == len(NAMES)
        assert [view.name for view in spark.catalog.listTables("global_temp")] == []


def test_each_thread_has_local_properties_of_its_own(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark notes in them which SQL execution a thread runs: a shared note is changed by another thread."""
    two = threading.Barrier(2, timeout=120)

    def work(session: SparkSession, number: int) -> tuple[str | None, str | None]:
        inherited = session.sparkContext.getLocalProperty("of the query")
        session.sparkContext.setLocalProperty("of the thread", str(number))
        two.wait()
        return inherited, session.sparkContext.getLocalProperty("of the thread")

    monkeypatch.setattr(SparkExecutor, "slots", property(lambda _: 2))
    spark.sparkContext.setLocalProperty("of the query", "7")
    try:
        assert SideBySide().map(spark, [0, 1], work) == [("7", "0"), ("7", "1")]
    finally:
        spark.sparkContext.setLocalProperty("of the query", None)
