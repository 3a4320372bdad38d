"""Frames of staged rows: their parts, their columns, and what is known of their keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO
from schemaman.ingest.ingest import ingest
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.model.schema import Column
from schemaman.model.types import Integer
from schemaman.registry import Registry
from schemaman.sink.row_mapping import RowMap
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.decoded import SMALL, StagedRows, decode_batch
from schemaman.spark.streaming.merge_sql import format_merge
from schemaman.spark.streaming.record_frames import make_frame
from schemaman.spark.streaming.row_staging import ReadingContext
from schemaman.spark.streaming.staged_columns import list_staged_columns
from schemaman.store.memory import MemoryStore
from tests.spark.test_plain_rows import make_row_maps, make_table
from tests.support.records import node, row_event

FIELDS = {"id": node("int64", optional=True), "n": node("int32", optional=True)}
TO = RowMap((Column("id", Integer(64)),), ("id",), {}, {}, {}, 1)


def make_event(offset: int, id: int | None) -> Record:
    return row_event(FIELDS, "c", {"id": id, "n": offset}, offset=offset, lsn=100 + offset)


def stage(spark: SparkSession, records: list[Record], *, here: bool = True) -> StagedRows:
    store = MemoryStore()
    ingest(records[:1], Registry(store, lambda: 0), "main", NO_REGISTRY)
    histories = {table: history for table in store.tables() if (history := store.history(table))}
    reading = ReadingContext(histories, NO_REGISTRY, "main", AUTO)
    decoded = decode_batch(spark, make_table(records) if here else make_frame(spark, records), reading)
    (text,) = decoded.count_records()
    assert text is not None
    # In a unique index of SQL Server or Db2, one row at most has NULL.
    to = replace(make_row_maps(reading)["same"], repeats_null_keys=False)
    return decoded.select_table(text).stage_rows(to, len(records))


@pytest.mark.parametrize("here", [True, False])
def test_null_in_a_key_is_found_again_by_the_merge(spark: SparkSession, here: bool) -> None:
    for ids, nulls in ([1, 2, 3], 0), ([1, None, 2, None], 1):
        staged = stage(spark, [make_event(at, id) for at, id in enumerate(ids)], here=here)
        assert (staged.count, staged.null_keys) == (len(set(ids)), nulls)


def test_only_keys_with_null_need_the_slower_comparison() -> None:
    columns = list_staged_columns(TO)
    slow, fast = (format_merge("t", "s", columns, ("id",), None, has_null_keys=has) for has in (True, False))
    assert slow.replace("ON t.`id` <=> s.`id`", "ON t.`id` = s.`id`") == fast != slow


def test_many_rows_come_in_as_many_parts_as_tasks_run_at_once(spark: SparkSession) -> None:
    staged = stage(spark, [make_event(offset, offset) for offset in range(2 * SMALL + 1)])
    assert staged.rows.rdd.getNumPartitions() <= SparkExecutor(spark).slots
    assert [name for name in staged.rows.columns if name.startswith("__")] == []
    assert staged.rows.selectExpr("count(DISTINCT id)", "sum(n)").collect() == [
        (20_001, 20_000 * 20_001 // 2)
    ]
