"""Lines that are proven by their bytes give the same parts as lines that are parsed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.chunks import ChunkPart, KnownOffsets, build_reading, read_chunks
from schemaman.ingest.line_batches import Item, LineBatch, UnreadableItem
from schemaman.ingest.line_forms import is_string_content
from schemaman.io import files
from schemaman.store.edge_hashes import EdgeHashes
from tests.support.checkout import CAPTURES, PROOF
from tests.support.damage import Mutator
from tests.support.damaged_lines import format_line, make_lines
from tests.support.recordings import recorded, registry

RUNS = sorted(str(path.parent.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*/records.*"))
LINES = 50_000 if PROOF else 700


Parts = list[tuple[int, ChunkPart]]


def read_parts(items: Iterable[Item], run: str, known: KnownOffsets, size: int) -> Parts:
    return list(read_chunks(items, known, build_reading(registry(run)), size=size))


def require_same(path: Path, run: str, *, topic: str | None = None, size: int = 400) -> int:
    """Read a file in both ways, then again with half of its offsets known; return the number of records.

    Records that are parsed have no ends of sections between them.
    """
    file, whole = files.find_file(str(path)), path.stat().st_size + 1
    known = KnownOffsets()
    for _ in range(2):
        parsed = read_parts(files.read_records(file, topic=topic), run, known, size)
        batches = files.read_batches(file, topic=topic, section_bytes=whole)
        assert read_parts(batches, run, known, size) == parsed
        known = know_half(part for _, part in parsed)
    return sum(part.read for _, part in parsed)


def know_half(parts: Iterable[ChunkPart]) -> KnownOffsets:
    ranges: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for stretch in (stretch for part in parts for stretch in part.stretches):
        middle = (stretch.first + stretch.last) // 2
        ranges.setdefault((stretch.topic, stretch.partition), []).append((stretch.first, middle))
    return KnownOffsets({place: tuple(found) for place, found in ranges.items()}, EdgeHashes())


def as_text(records: Iterable[Record]) -> list[Record]:
    """The records that a line of JSON can hold."""
    return [r for r in records if b"\0" not in ((r.key or b"")[:1], (r.value or b"")[:1])]


@pytest.mark.parametrize("run", RUNS)
def test_recordings_in_lines(tmp_path: Path, run: str) -> None:
    found = as_text(recorded(run))
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(format_line(r, spaced=not i % 50) + b"\n" for i, r in enumerate(found)))
    assert require_same(path, run) == len(found)


@pytest.mark.parametrize("run", RUNS)
def test_recordings_in_parquet(tmp_path: Path, run: str) -> None:
    found = recorded(run)
    columns = {
        "topic": [r.topic for r in found],
        "partition": [r.partition for r in found],
        "offset": [r.offset for r in found],
        "timestamp": arrow.array([r.timestamp_ms for r in found], arrow.timestamp("ms")),
        "key": arrow.array([r.key for r in found], arrow.binary()),
        "value": arrow.array([r.value for r in found], arrow.binary()),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "records.parquet", row_group_size=300)
    assert require_same(tmp_path / "records.parquet", run) == len(found)


def repeat(records: Sequence[Record], times: int) -> list[Record]:
    return [replace(r, offset=i) for i, r in enumerate(list(records) * times)]


def orders(run: str = "postgres/shop-json") -> list[Record]:
    return [r for r in recorded(run) if b'"table":"orders"' in (r.value or b"")]


def test_values_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.ndjson"
    values = [r.value or b"" for r in orders()]
    path.write_bytes(b"\n".join([*values, b"", b" ", values[0] + b"\r", b"{", *values]) + b"\n" + values[0])
    require_same(path, "postgres/shop-json", topic="shopdb.shop.orders")


def test_lines_that_are_otherwise_than_they_look(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    for seed in range(20 if PROOF else 1):
        mutator = Mutator(random.Random(seed), registry("postgres/shop-json"))
        lines = make_lines(orders(), mutator, LINES)
        path.write_bytes(b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines))
        require_same(path, "postgres/shop-json", size=LINES // 2)


@pytest.mark.parametrize("is_spaced", [False, True])
def test_most_lines_are_not_parsed(tmp_path: Path, is_spaced: bool) -> None:
    path = tmp_path / "records.jsonl"
    found = repeat([space(orders()[0]) if is_spaced else orders()[0]], 200)
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in found))
    read, parsed = count_parsed_lines(path, KnownOffsets())
    assert (read, parsed < 30) == (200, True)


def test_lines_with_escapes_by_code_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    record = replace(orders()[0], value=(orders()[0].value or b"").replace(b'"new"', '"né😀"'.encode()))
    lines = [format_line(r, escaped=True) for r in repeat([record], 200)]
    assert all(rb"\u00e9\ud83d\ude00" in line for line in lines)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    read, parsed = count_parsed_lines(path, KnownOffsets())
    assert (read, parsed < 30) == (200, True)
    halves = [line.replace(rb"\ude00", b"") if i % 3 else line for i, line in enumerate(lines)]
    path.write_bytes(b"".join(line + b"\n" for line in halves))
    assert require_same(path, "postgres/shop-json", size=1000) == 67


def test_a_source_block_that_escapes_hide(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    hidden = rb"\u0022source\u0022:{\"a\":1}"
    for record in (replace(orders()[1], headers=()), space(orders()[1])):
        lines = [format_line(r) for r in repeat([record], 120)]
        colon = rb"\": " if b'"before": ' in (record.value or b"") else rb"\":"
        null = rb"\"before" + colon + b"null"
        changed = [
            line.replace(null, null.replace(b"null", b"{" + hidden + b"}")) if 20 < i % 40 < 25 else line
            for i, line in enumerate(lines)
        ]
        assert changed != lines
        path.write_bytes(b"".join(line + b"\n" for line in changed))
        assert require_same(path, "postgres/shop-json", size=1000) == 120


def space(record: Record) -> Record:
    """The record with a space behind each colon and comma of its value, and without headers."""
    return replace(record, headers=(), value=json.dumps(json.loads(record.value or b"")).encode())


def test_source_blocks_of_both_spellings(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    plain, spaced = replace(orders()[1], headers=()), space(orders()[1])
    value, nested = spaced.value or b"", b'"before": {"a": {}, "source":{"a": 1}}'
    both = [
        replace(spaced, value=value.replace(b'"before": null', nested)),
        replace(spaced, value=value.replace(b'"source": {', b'"source":{')),
        replace(spaced, value=value.replace(b'"transaction": null', b'"transaction": ' + nested[17:-1])),
        replace(plain, value=(plain.value or b"").replace(b'"before":null', nested.replace(b'":{', b'": {'))),
    ]
    assert all(one.value not in (value, plain.value) for one in both)
    mixed = [record for one in both for record in (*[spaced] * 20, one, *[plain] * 20, one)]
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in repeat(mixed, 1)))
    assert require_same(path, "postgres/shop-json", size=1000) == len(mixed)


def count_parsed_lines(path: Path, known: KnownOffsets) -> tuple[int, int]:
    """Count the records of a file, and the lines that are parsed."""
    parsed: list[int] = []
    items = (count_parses(item, parsed.append) for item in files.read_batches(files.find_file(str(path))))
    parts = read_parts(items, "postgres/shop-json", known, 10_000)
    return sum(part.read for _, part in parts), len(parsed)


def test_lines_that_were_read_before_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    kinds = [replace(orders()[0], value=(orders()[0].value or b"").replace(b"total", name)) for name in NAMES]
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in repeat(kinds, 100)))
    known = KnownOffsets({(kinds[0].topic, 0): ((0, 100 * len(NAMES) - 1),)}, EdgeHashes())
    assert count_parsed_lines(path, known) == (100 * len(NAMES), len(NAMES))


NAMES = (b"total", b"amount", b"price")


def test_the_second_table_of_a_connector_is_learned_from_few_records(tmp_path: Path) -> None:
    first = orders()[0]
    key, value = ((part or b"").replace(b"orders", b"invoices") for part in (first.key, first.value))
    second = replace(first, topic="shopdb.shop.invoices", key=key, value=value)
    path = tmp_path / "records.jsonl"
    counts = []
    for tables in ([first], [first, second]):
        found = [record for one in tables for record in repeat([one], 200)]
        path.write_bytes(b"".join(format_line(r) + b"\n" for r in found))
        counts.append(count_parsed_lines(path, KnownOffsets())[1])
    assert counts[1] - counts[0] <= 4


def count_parses(item: Item, note: Callable[[int], None]) -> Item:
    if not isinstance(item, LineBatch):
        return item
    inner = item.parse

    def parse(number: int, line: bytes) -> Record | UnreadableItem:
        note(number)
        return inner(number, line)

    return replace(item, parse=parse)


@pytest.mark.parametrize(
    ("data", "is_content"),
    [
        (rb"a\"b", True),
        (rb"\\\"", True),
        (rb"\\", True),
        (rb"\n\/\\n", True),
        ("é".encode(), True),
        (b"", True),
        (b'a"', False),
        (rb"a\\" + b'"', False),
        (rb"\n" + b'"', False),
        (b"\\", False),
        (rb"\\\a", False),
        (rb"\u0041", False),
        (b"a\x1f", False),
        (b"\xff", False),
        (b"\xed\xa0\x80", False),
    ],
)
def test_the_content_of_a_json_string(data: bytes, is_content: bool) -> None:
    assert is_string_content(data) is is_content


def print_line(record: Record, *names: str) -> bytes:
    """The line that the console consumer prints with these properties."""
    parts = {
        "timestamp": b"CreateTime:%d" % (record.timestamp_ms or 0),
        "partition": b"Partition:%d" % record.partition,
        "offset": b"Offset:%d" % record.offset,
        "headers": b"a:1,2,b:null",
        "key": record.key or b"null",
    }
    return b"\t".join([*(text for name, text in parts.items() if name in names), record.value or b"null"])


@pytest.mark.parametrize(
    "names",
    [
        ("key",),
        ("timestamp", "partition", "offset", "headers", "key"),
        ("timestamp", "key"),
        ("partition", "offset"),
    ],
)
def test_lines_of_the_console_consumer(tmp_path: Path, names: tuple[str, ...]) -> None:
    found = [replace(r, headers=()) for r in repeat(orders(), 2)]
    path = tmp_path / "records.ndjson"
    path.write_bytes(b"".join(print_line(r, *names) + b"\n" for r in found))
    read = list(files.read_records(files.find_file(str(path)), topic=found[0].topic))
    has_key, has_time = "key" in names, "timestamp" in names
    assert read == [
        replace(
            r,
            key=r.key if has_key else None,
            is_key_known=has_key,
            headers=(("a", b"1,2"), ("b", None)) if "headers" in names else (),
            timestamp_ms=r.timestamp_ms if has_time else None,
        )
        for r in found
    ]
    require_same(path, "postgres/shop-json", topic=found[0].topic)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Partition:0\tk\tv", "only one of partition and offset"),
        (b"a\tb\tc\td", "contains tabs"),
        (b"a\tb\tc", "neither headers nor a key"),
    ],
)
def test_lines_with_uncertain_parts(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "records.ndjson"
    path.write_bytes(line + b"\n{\t}\n")
    bad, good = files.read_records(files.find_file(str(path)), topic="t")
    assert isinstance(bad, UnreadableItem)
    assert reason in bad.reason
    assert good == Record("t", 0, 1, None, None, b"{\t}", is_key_known=False)
