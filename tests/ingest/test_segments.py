"""Segments: records in any order and in any parts give the log of one reading in the order of offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from random import Random

import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.chunks import (
    RECORDS_BETWEEN_RETURNS,
    ChunkPart,
    KnownOffsets,
    build_reading,
    merge_segments,
    read_segments,
)
from schemaman.ingest.ingest import Intake, ingest
from schemaman.ingest.line_batches import RowBatch
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.support.recordings import recorded, registry

SHOP, AVRO = "postgres/shop-json", "postgres/shop-avro"


def _sorted(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (r.topic, r.partition, r.offset))


def _read_tasks(run: str, tasks: Sequence[Sequence[Record]], size: int) -> ChunkPart | None:
    reading = build_reading(registry(run))
    parts = [part for task in tasks for part in read_segments(task, KnownOffsets(), reading, size=size)]
    assert None not in parts
    return merge_segments([part for part in parts if part is not None], reading)


def _cut(records: Sequence[Record], random: Random, pieces: int) -> list[list[Record]]:
    at = sorted(random.sample(range(1, len(records)), pieces - 1))
    return [list(records[a:b]) for a, b in zip([0, *at], [*at, len(records)], strict=True)]


@pytest.mark.parametrize("run", [SHOP, AVRO])
@pytest.mark.parametrize("size", [50, 50_000])
def test_tasks_in_any_order_give_the_log_of_one_reading(run: str, size: int) -> None:
    records = _sorted(recorded(run))
    expected = MemoryStore(lambda: 0)
    whole = ingest(records, Registry(expected, lambda: 0), "main", registry(run))
    random = Random(3)
    pieces = _cut(records, random, 9)
    random.shuffle(pieces)
    tasks = [[*one, *other] for one, other in zip(pieces[::2], [*pieces[1::2], []], strict=True)]
    taken = _read_tasks(run, tasks, size)
    store = MemoryStore(lambda: 0)
    intake = Intake(Registry(store, lambda: 0), "main", registry(run))
    assert taken is not None
    intake.enter(taken)
    assert intake.summary == whole
    assert list(store.read()) == list(expected.read())


@pytest.mark.parametrize("size", [50, 50_000])
def test_rows_in_batches_give_the_parts_of_their_records(size: int) -> None:
    records = [replace(record, headers=()) for record in _sorted(recorded(SHOP))]
    mixed = [*records[70:], *records[:40], *records[40:70]]
    rows = [(r.topic, r.partition, r.offset, r.timestamp_ms, r.key, r.value) for r in mixed]
    batches = [
        RowBatch(rows[at : at + 33], 1, lambda _, row: Record(*row), 2**20) for at in range(0, len(rows), 33)
    ]
    reading = build_reading(registry(SHOP))
    found = list(read_segments(batches, KnownOffsets(), reading, size=size))
    assert found == list(read_segments(mixed, KnownOffsets(), reading, size=size))


def test_many_small_files_of_a_task_are_no_reason_to_sort() -> None:
    one = _sorted(recorded(SHOP))
    topic, partition = max(groupby(one, key=lambda r: (r.topic, r.partition)), key=lambda g: len(list(g[1])))[
        0
    ]
    records = [r for r in one if (r.topic, r.partition) == (topic, partition)]
    half = len(records) // 2
    reading = build_reading(registry(SHOP))
    parts = list(read_segments([*records[half:], *records[:half]], KnownOffsets(), reading, most=0))
    assert half >= RECORDS_BETWEEN_RETURNS
    assert None not in parts


def test_tasks_with_overlapping_offsets_must_be_sorted() -> None:
    records = _sorted(recorded(SHOP))
    assert _read_tasks(SHOP, [records[::2], records[1::2]], 1000) is None


def test_a_task_with_too_many_returns_stops() -> None:
    records = _sorted(recorded(SHOP))[::-1]
    reading = build_reading(registry(SHOP))
    parts = list(read_segments(records, KnownOffsets(), reading, most=5))
    assert parts[-1] is None
    assert len(parts) == 7


def test_a_refusal_is_the_result() -> None:
    records = _sorted(recorded(SHOP))
    store = MemoryStore(lambda: 0)
    known = Registry(store, lambda: 0)
    ingest(records, known, "main", registry(SHOP))
    other = [Record(records[0].topic, records[0].partition, records[0].offset, 0, b"k", b"another")]
    reading = build_reading(registry(SHOP))
    offsets = KnownOffsets(*known.known_offsets("main"))
    parts = [part for part in read_segments(other, offsets, reading) if part is not None]
    taken = merge_segments(parts, reading)
    assert taken is not None
    assert taken.refusal is not None
    assert "differs from the known record" in taken.refusal.message
