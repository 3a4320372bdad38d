"""Records that are gathered, or spread over executors, are those of the batch, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as arrow
import pytest
from pyspark.sql import SparkSession

from schemaman.debezium.records import Record
from schemaman.spark.record_columns import COLUMNS
from schemaman.spark.streaming.gathered_batch import BatchGatherer, Prefixes
from schemaman.spark.streaming.record_frames import make_frame
from schemaman.spark.versions import collect_arrow
from tests.support.records import node, row_event

FIELDS = {"id": node("int64"), "s": node("string", optional=True)}


def make_records(count: int, tables: int = 2) -> list[Record]:
    """Events of some tables, and bodies without a value, without a schema, and cut off anywhere."""
    found = []
    for offset in range(count):
        table = f"t{offset % tables}"
        record = row_event(FIELDS, "c", {"id": offset, "s": f"ü {offset}"}, offset=offset, table=table)
        value = record.value or b""
        at = value.index(b'"payload":') + len(b'"payload":')
        odd = (None, b"", value[:at], value[: at - 1], value[1:], value + b" ", b"\xff" * 300, value[:200])
        if offset % 4 == 0:
            record = replace(record, value=odd[offset // 4 % len(odd)])
        if offset % 5 == 0:
            record = replace(record, key=(None, b"", b'{"id": 1}')[offset % 3])
        found.append(replace(record, headers=(("h", b"1"),) if offset % 7 == 0 else ()))
    return found


def list_rows(records: arrow.Table) -> list[object]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in records.to_pylist()), key=repr)


@pytest.mark.parametrize("tables", [2, 40])
def test_restored_records_are_those_that_were_stripped(spark: SparkSession, tables: int) -> None:
    batch = make_frame(spark, make_records(160, tables))
    whole = collect_arrow(batch)
    prefixes = Prefixes().learn(whole)
    assert len(prefixes.value) == min(tables, 32)
    assert prefixes.learn(whole) == prefixes
    for known in (Prefixes(), prefixes):
        stripped = known.strip(batch)
        assert list_rows(known.restore_table(collect_arrow(stripped))) == list_rows(whole)
        assert list_rows(collect_arrow(known.restore(stripped))) == list_rows(whole)
    sizes = [table["value"].nbytes for table in (collect_arrow(prefixes.strip(batch)), whole)]
    assert tables > 2 or sizes[0] * 2 < sizes[1]


def test_a_light_batch_after_another_is_read_once(spark: SparkSession) -> None:
    gatherer, read = BatchGatherer(small=20, most=60, most_bytes=1 << 20), spark.sparkContext.accumulator(0)

    def count_rows(parts: Iterable[arrow.RecordBatch]) -> Iterator[arrow.RecordBatch]:
        for part in parts:
            read.add(part.num_rows)
            yield part

    counts = []
    for size in (30, 30, 40, 80, 30, 30):
        before = read.value
        batch = make_frame(spark, make_records(size))
        with gatherer.gather(batch.mapInArrow(count_rows, batch.schema)) as gathered:
            assert isinstance(gathered, arrow.Table) is (size <= 60)
        counts.append((read.value - before) / size)
    assert counts[1:3] == [1, 1]
    assert counts[3] == 2
    assert counts[4:] == [1, 1]


def test_a_batch_is_gathered_by_its_size_whatever_came_before(spark: SparkSession) -> None:
    gatherer = BatchGatherer(small=20, most=60, most_bytes=70_000)
    for count, is_here in (
        (30, True),
        (5, True),
        (80, False),
        (20, True),
        (21, True),
        (0, True),
        (60, False),
        (30, True),
        (30, True),
        (40, True),
        (60, False),
        (40, True),
        (80, False),
        (40, True),
        (30, True),
        (20, True),
    ):
        records = make_records(count)
        with gatherer.gather(make_frame(spark, records)) as gathered:
            assert isinstance(gathered, arrow.Table) is is_here, count
            found = gathered if isinstance(gathered, arrow.Table) else collect_arrow(gathered)
            assert list_rows(found) == list_rows(collect_arrow(make_frame(spark, records)))
