"""Lines and rows of a block are proven where they stand, and cut out only when they are needed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from schemaman.debezium.records import Record
from schemaman.ingest import block_prover
from schemaman.ingest.block_lines import BlockLines
from schemaman.ingest.chunks import KnownOffsets, build_reading, read_chunks
from schemaman.ingest.column_matching import count_contents
from schemaman.ingest.column_rows import ColumnRows
from schemaman.ingest.line_batches import RowBatch
from schemaman.ingest.line_forms import is_json_text, is_string_content
from schemaman.io import files
from schemaman.store.edge_hashes import EdgeHashes, collect_edges
from schemaman.store.log import CoveredRange
from tests.ingest.test_line_forms import orders, print_line, repeat, require_same
from tests.support.checkout import PROOF
from tests.support.damage import Mutator
from tests.support.damaged_lines import format_line, make_lines
from tests.support.recordings import registry

RUN = "postgres/shop-json"


def test_lines_of_a_block() -> None:
    block = b"rest\none\n\nthree\r\nnext"
    lines = BlockLines(block, 5, 16)
    found = [b"one", b"", b"three\r"]
    assert list(lines) == found
    assert [lines[i] for i in (0, 1, 2, -1)] == [*found, found[-1]]
    assert list(lines[1:]) == found[1:]
    assert list(lines[1:][:1]) == found[1:2]
    assert list(lines[3:]) == []


def move(record: Record, table: int, partition: int, offset: int) -> Record:
    """The record in another table and partition."""
    key, value = (
        None if part is None else part.replace(b"orders", b"orders_%d" % table)
        for part in (record.key, record.value)
    )
    return replace(
        record, topic=f"shop.{table}", partition=partition, offset=offset, key=key, value=value, headers=()
    )


def alternate(tables: int, partitions: int, records: int) -> Iterator[Record]:
    """Records of all tables and partitions in turn, of two schemas each."""
    first, second = orders()[0], orders()[-1]
    for offset in range(records):
        for table in range(tables):
            for partition in range(partitions):
                yield move(first if offset < records // 2 else second, table, partition, offset)


def test_tables_and_partitions_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    found = list(alternate(3, 2, 40))
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in found))
    assert require_same(path, RUN, size=100) == len(found)


def test_lines_in_turn_that_are_otherwise_than_they_look(tmp_path: Path) -> None:
    """Sound and damaged lines of tables in any order, with another schema midway and tails of many sizes.

    Some lines name another table or version of the connector, and some have an unknown escape.
    """
    path = tmp_path / "records.jsonl"
    for seed in range(20 if PROOF else 1):
        mutator = Mutator(random.Random(seed), registry(RUN))
        places = []
        for table, partition in ((0, 0), (0, 1), (1, 0), (2, 5)):
            found = [move(r, table, partition, 0) for r in (orders()[0], orders()[-1]) for _ in range(60)]
            found = [replace(r, value=change_tail(r.value or b"", i)) for i, r in enumerate(found)]
            places.append(make_lines(found, mutator, len(found)))
        lines = list[bytes]()
        while places:
            place = mutator.chance.choice(places)
            line = next(place, None)
            if line is None:
                places.remove(place)
                continue
            if len(lines) % 20 == 19:
                line = line.replace(b'customer_id\\":', b'customer\\q\\":')
            lines.append(line.replace(b"\n", b" ") + b"\n")
        path.write_bytes(b"".join(lines))
        assert require_same(path, RUN, size=150) > 300


def test_lines_in_long_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns of up to 150 lines of tables and partitions, two schemas each, with a few damaged lines.

    A lane that comes again is matched in columns from its next line on.
    """
    at_once: list[int] = []
    extend = block_prover._extend_by_lines

    def note_proven(lane: Any, *args: Any) -> int:
        is_at_once = lane.wanted == block_prover._AT_ONCE
        end = extend(lane, *args)
        at_once.extend([end - args[1]] * is_at_once)
        return end

    monkeypatch.setattr(block_prover, "_extend_by_lines", note_proven)
    path = tmp_path / "records.jsonl"
    for seed in range(40 if PROOF else 2):
        mutator = Mutator(random.Random(seed), registry(RUN))
        places = []
        for table, partition in ((0, 0), (0, 1), (1, 0)):
            found = [move(r, table, partition, 0) for r in (orders()[0], orders()[-1]) for _ in range(400)]
            found = [replace(r, value=change_tail(r.value or b"", i // 50)) for i, r in enumerate(found)]
            changed = make_lines(found, mutator, len(found), damaged=0.01)
            places.append(filter(partial(keeps_partition, partition), changed))
        lines = list[bytes]()
        while places:
            place = mutator.chance.choice(places)
            turn = list(islice(place, mutator.chance.randint(1, 150)))
            lines += (line.replace(b"\n", b" ") + b"\n" for line in turn)
            if not turn:
                places.remove(place)
        path.write_bytes(b"".join(lines))
        assert require_same(path, RUN, size=900) > 2000
    assert sum(at_once) > 100


def keeps_partition(partition: int, line: bytes) -> bool:
    """Whether a line is of this partition or of none: in another one its offset would end the reading."""
    try:
        document = json.loads(line)
    except ValueError:
        return True
    return not isinstance(document, dict) or document.get("partition") == partition


def change_tail(value: bytes, number: int) -> bytes:
    """The value with a shorter time in some records, and other bytes in its source block in a few."""
    head, mark, tail = value.rpartition(b'"ts_ms":')
    value = head + mark + tail[: 13 - number // 7 % 3] + tail[13:]
    old, new = {17: (b'"orders', b'"ordera'), 19: (b"Final", b"Finas")}.get(number, (b"", b""))
    head, mark, tail = value.rpartition(b'"source":')
    return head + mark + tail.replace(old, new, 1) if old else value


@pytest.mark.parametrize("layout", ["kcat", "value", "key and value"])
def test_lines_of_one_table_are_proven_in_columns(
    tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that its column does not match is proven alone, and columns go on behind it."""
    proven: list[int] = []
    extend = block_prover._extend_by_lines

    def note_proven(*args: Any) -> int:
        end = extend(*args)
        proven.append(end - args[2])
        return end

    monkeypatch.setattr(block_prover, "_extend_by_lines", note_proven)
    found = [replace(record, headers=()) for record in repeat(orders()[:1], 300)]
    found[100] = replace(found[100], value=(found[100].value or b"").replace(b'"op":"c"', b'"op":"r"'))
    path = tmp_path / "records.ndjson"
    parts = ("key",) if layout == "key and value" else ()
    lines = [format_line(record) if layout == "kcat" else print_line(record, *parts) for record in found]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    require_same(path, RUN, topic=None if layout == "kcat" else found[0].topic)
    assert sum(proven) > 250


@pytest.mark.parametrize(
    ("pieces", "valid"),
    [([b"a", b"b"], 2), ([b"a\\", b"n"], 0), ([b"\xc3", b"\xa9"], 0), ([b"a", b'"', b"b"], 1)],
)
@pytest.mark.parametrize("is_content", [is_string_content, is_json_text])
def test_contents_are_valid_each_for_itself(
    pieces: list[bytes], valid: int, is_content: Callable[[bytes], bool]
) -> None:
    assert count_contents(pieces, is_content) == valid


def test_halves_of_an_escaped_character_are_no_contents() -> None:
    assert count_contents([rb"\u00e9", rb"\ud83d", rb"\ude00"], is_json_text) == 1
    assert count_contents([rb"\u00", b"e9"], is_json_text) == 0


def test_what_stands_between_proven_lines(tmp_path: Path) -> None:
    """A blank line, a line of another topic, a gap, a spaced line, and a last line without an end."""
    path = tmp_path / "records.jsonl"
    lines = [format_line(r) for r in repeat(orders()[:1], 60)]
    lines[30:30] = [b"", b"  ", b"{", format_line(move(orders()[0], 1, 0, 0))]
    lines[45] = format_line(repeat(orders()[:1], 60)[41], spaced=True)
    del lines[50]
    path.write_bytes(b"\n".join(lines))
    assert require_same(path, RUN, size=25) == 60


def write_rows(path: Path, records: Sequence[Record]) -> None:
    columns = {
        "topic": [r.topic for r in records],
        "partition": [r.partition for r in records],
        "offset": [r.offset for r in records],
        "timestamp": arrow.array([r.timestamp_ms for r in records], arrow.timestamp("ms")),
        "key": arrow.array([r.key for r in records], arrow.binary()),
        "value": arrow.array([r.value for r in records], arrow.binary()),
    }
    parquet.write_table(arrow.table(columns), path, row_group_size=300)


def test_rows_of_tables_and_partitions_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    found = list(alternate(3, 2, 40))
    write_rows(path, found)
    assert require_same(path, RUN, size=100) == len(found)


def test_rows_that_are_otherwise_than_they_look(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    for seed in range(20 if PROOF else 1):
        mutator = Mutator(random.Random(seed), registry(RUN))
        records: list[Record] = []
        for record in repeat(orders(), 60 if PROOF else 2):
            kind = mutator.chance.random()
            plain = replace(record, headers=())
            if kind < 0.1:
                plain = replace(mutator.damaged(plain)[1], headers=(), is_key_known=True)
            elif kind < 0.15:
                plain = replace(plain, value=None)
            elif kind < 0.2:
                plain = replace(plain, key=None)
            records.append(plain)
        write_rows(path, records)
        assert require_same(path, RUN, size=len(records) // 2) == len(records)


def test_values_stay_in_their_column(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    found = [replace(r, headers=()) for r in repeat(orders()[:2], 3)]
    found[3] = replace(found[3], value=None, key=None)
    write_rows(path, found)
    (batch,) = files.read_batches(files.find_file(str(path)))
    assert isinstance(batch, RowBatch)
    assert isinstance(batch.rows, ColumnRows)
    assert not batch.rows.breaks
    assert [Record(*row) for row in batch.rows] == found
    assert [Record(*row) for row in batch.rows[2:][:3]] == found[2:5]
    assert [Record(*row) for row in batch.rows[::2]] == found[::2]
    for change in ({"partition": 1}, {"offset": found[-1].offset + 1}, {"topic": "t"}):
        write_rows(path, [*found[:-1], replace(found[-1], **change)])
        (batch,) = files.read_batches(files.find_file(str(path)))
        assert isinstance(batch, RowBatch)
        assert isinstance(batch.rows, ColumnRows)
        assert batch.rows.breaks


@pytest.mark.parametrize("is_parquet", [False, True])
def test_known_records_are_not_parsed_but_edges_are(tmp_path: Path, is_parquet: bool) -> None:
    """Each of 100 known records is passed by its bytes, except at the edges, whose hashes are compared."""
    path = tmp_path / ("records.parquet" if is_parquet else "records.jsonl")
    found = [replace(r, headers=()) for r in repeat(orders()[:1], 100)]
    if is_parquet:
        write_rows(path, found)
    else:
        path.write_bytes(b"".join(format_line(r) + b"\n" for r in found))
    place = (found[0].topic, 0)
    edge = CoveredRange("s", *place, 0, 99, "", "", (), (), ((50, "f" * 16),))
    known = KnownOffsets({place: ((0, 99),)}, collect_edges([edge]))
    file = files.find_file(str(path))
    ((_, part),) = read_chunks(files.read_batches(file), known, build_reading(registry(RUN)))
    assert "50: differs from the known record" in str(part.refusal)
    known = KnownOffsets({place: ((0, 99),)}, EdgeHashes())
    ((_, part),) = read_chunks(files.read_batches(file), known, build_reading(registry(RUN)))
    assert (part.read, part.stretches) == (100, ())
