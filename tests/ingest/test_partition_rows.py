"""Rows of a partition are proven in columns only if each of them would be proven alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pyarrow as arrow
import pytest

from schemaman.debezium.records import Record
from schemaman.ingest import block_prover
from schemaman.ingest.chunks import ChunkPart, KnownOffsets, build_reading, merge_segments, read_segments
from schemaman.ingest.column_rows import ColumnRows, build_column_rows
from schemaman.ingest.line_batches import RowBatch
from schemaman.ingest.partition_rows import PartitionRows
from tests.ingest.test_blocks import alternate
from tests.ingest.test_line_forms import RUNS, know_half, orders, read_parts, repeat, space
from tests.support.checkout import PROOF
from tests.support.damage import Mutator
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-json"


def batch_rows(records: Sequence[Record], most: int, limit: int = sys.maxsize) -> Iterator[Record | RowBatch]:
    """The records in batches of one partition; those with headers are records of their own."""
    for (topic, partition, has_headers), group in groupby(
        records, lambda r: (r.topic, r.partition, bool(r.headers))
    ):
        found = list(group)
        for begin in range(0, len(found), most):
            piece = found[begin : begin + most]
            if has_headers:
                yield from piece
                continue
            columns = ([r.offset for r in piece], [r.key for r in piece], [r.value for r in piece])
            rows = PartitionRows(topic, partition, *columns, [r.timestamp_ms for r in piece].__getitem__)
            yield RowBatch(rows, 1, lambda _, row: Record(*row), limit)


def batch_blocks(
    records: Sequence[Record], most: int, limit: int = sys.maxsize
) -> Iterator[Record | RowBatch]:
    """The records in batches whose values lie in one block, whatever their partitions are."""
    for has_headers, group in groupby(records, lambda r: bool(r.headers)):
        found = list(group)
        for begin in range(0, len(found), most):
            piece = found[begin : begin + most]
            if has_headers:
                yield from piece
                continue
            yield RowBatch(build_rows(piece), 1, lambda _, row: Record(*row), limit)


def build_rows(records: Sequence[Record]) -> ColumnRows:
    return build_column_rows(
        [r.topic for r in records],
        [r.partition for r in records],
        [r.offset for r in records],
        [r.key for r in records],
        arrow.array([r.value for r in records], arrow.binary()),
        lambda: [r.timestamp_ms for r in records],
    )


def require_same(records: Sequence[Record], run: str = RUN, size: int = 400) -> None:
    """Read records in each way, then again with half of their offsets known."""
    known = KnownOffsets()
    for most in (7, 64):
        parsed = read_parts(iter(records), run, known, size)
        assert read_parts(batch_rows(records, most), run, known, size) == parsed
        assert read_parts(batch_blocks(records, most), run, known, size) == parsed
        known = know_half(part for _, part in parsed)


@pytest.mark.parametrize("run", RUNS)
def test_recordings(run: str) -> None:
    by_partition = sorted(recorded(run), key=lambda r: (r.topic, r.partition, r.offset))
    require_same(by_partition, run)


def test_tables_and_partitions_in_turn() -> None:
    require_same(list(alternate(3, 2, 40)), size=100)


def test_other_records_within_a_column() -> None:
    """A tombstone, a null key, another key, schema, version, damage, and a position that goes back."""
    plain = [replace(r, headers=()) for r in repeat(orders()[:1], 120)]
    value, key = plain[0].value or b"", plain[0].key or b""
    lsn = value.partition(b'"lsn":')[2].partition(b",")[0]
    others = [
        replace(plain[0], value=None),
        replace(plain[0], key=None),
        replace(plain[0], key=key.replace(b'"field":"id"', b'"field":"no"')),
        replace(plain[0], key=key[:-2]),
        replace(plain[0], value=value.replace(b'"field":"id"', b'"field":"no"', 1)),
        replace(plain[0], value=value.replace(b'"table":"orders"', b'"table":"borders"')),
        replace(plain[0], value=value.replace(b'"version":"', b'"version":"1')),
        replace(plain[0], value=value.replace(b'"snapshot":"', b'"snapshot":"x')),
        replace(plain[0], value=value.replace(lsn, b"1" + b"0" * (len(lsn) - 1))),
        replace(plain[0], value=value[:-1]),
        replace(plain[0], value=value + b" "),
        replace(plain[0], value=b""),
    ]
    mixed = [record for other in others for record in (*plain[:20], other)]
    require_same(repeat(mixed, 1), size=100)


@pytest.mark.parametrize("is_block", [False, True])
def test_values_with_spaces_are_proven_together(is_block: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = repeat([space(orders()[0])], 120)
    calls: list[int] = []
    prove = block_prover.BlockProver.prove_rows

    def count_call(prover: block_prover.BlockProver, rows: ColumnRows, limit: int, begin: int) -> int:
        calls.append(begin)
        return prove(prover, rows, limit, begin)

    monkeypatch.setattr(block_prover.BlockProver, "prove_rows", count_call)
    batches = batch_rows(found, len(found))
    if is_block:
        batches = batch_blocks(found, len(found))
    assert read_parts(batches, RUN, KnownOffsets(), 400) == read_parts(iter(found), RUN, KnownOffsets(), 400)
    assert len(calls) < 20


@pytest.mark.parametrize("is_spaced", [False, True])
def test_a_row_has_another_source_block_before_its_own(is_spaced: bool) -> None:
    """The block is no source block of the event; the record that follows is proven again."""
    plain = space(orders()[0]) if is_spaced else replace(orders()[0], headers=())
    before = b'"before": ' if is_spaced else b'"before":'
    for block in (b'{"source":{"lsn":1}}', b'{"source":{', b'{"source": {"lsn": 1}}', b'{"source": {'):
        other = replace(plain, value=(plain.value or b"").replace(before + b"null", before + block))
        assert other.value != plain.value
        require_same(repeat([*[plain] * 20, other] * 4, 1), size=100)


def test_damaged_records() -> None:
    for seed in range(20 if PROOF else 1):
        mutator = Mutator(random.Random(seed), registry(RUN))
        records: list[Record] = []
        for record in repeat(orders(), 60 if PROOF else 2):
            plain = replace(record, headers=())
            if mutator.chance.random() < 0.1:
                plain = replace(mutator.damaged(plain)[1], headers=(), is_key_known=True)
            records.append(plain)
        require_same(records, size=len(records) // 2)


def test_holes_and_long_values() -> None:
    found = [replace(r, headers=()) for r in repeat(orders()[:1], 90)]
    del found[70], found[33:35]
    require_same(found, size=50)
    longest = max(len(record.value or b"") for record in found)
    for batch, limit in ((batch_rows, 1), (batch_blocks, 1), (batch_blocks, longest - 1)):
        limited = batch(found, 30, limit)
        assert read_parts(limited, RUN, KnownOffsets(), 50) == read_parts(
            iter(found), RUN, KnownOffsets(), 50
        )


def test_segments_of_tasks() -> None:
    found = [replace(r, headers=()) for r in repeat(orders()[:1], 60)]
    del found[40]
    mixed = [*found[30:], *found[:30]]
    reading = build_reading(registry(RUN))

    def merge_all(items: Iterator[Record | RowBatch]) -> ChunkPart | None:
        return merge_segments(filter(None, read_segments(items, KnownOffsets(), reading)), reading)

    assert merge_all(batch_rows(mixed, 7)) == merge_all(iter(mixed))


def test_spans_of_rows_in_one_block() -> None:
    (one,) = repeat(orders()[:1], 1)
    places = [("a", 0, 5), ("a", 0, 6), ("a", 0, 8), ("a", 1, 9), ("b", 1, 10), ("b", 1, 11), ("b", 0, 12)]
    found = [replace(one, topic=t, partition=p, offset=o, headers=()) for t, p, o in places]
    rows = build_rows(found)
    assert [rows.find_span_end(at) for at in range(7)] == [2, 2, 3, 4, 6, 6, 7]
    later = rows[1:5]
    assert isinstance(later, ColumnRows)
    assert [later.find_span_end(at) for at in range(4)] == [1, 2, 3, 4]
    offsets: list[Any] = [None, 1, 2]
    unplaced = build_column_rows(["a"] * 3, [0] * 3, offsets, [None] * 3, arrow.array([b""] * 3), list)
    assert [unplaced.find_span_end(at) for at in range(3)] == [1, 2, 3]


def test_rows_are_a_sequence_of_rows() -> None:
    found = [replace(r, headers=()) for r in repeat(orders()[:3], 3)]
    (batch,) = batch_rows(found, len(found))
    assert isinstance(batch, RowBatch)
    assert [Record(*row) for row in batch.rows] == found
    assert [Record(*row) for row in batch.rows[2:][:3]] == found[2:5]
    assert [Record(*row) for row in batch.rows[::2]] == found[::2]
    assert isinstance(batch.rows, PartitionRows)
    assert batch.rows.count_bytes() == sum(len(r.key or b"") + len(r.value or b"") for r in found)
