"""Lines with keys and more before their values: proven in blocks, they are read as each line alone is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.chunks import KnownOffsets
from schemaman.ingest.console_lines import are_plain_headers
from schemaman.ingest.line_batches import LineBatch, parse_items
from schemaman.io import files
from schemaman.store.edge_hashes import EdgeHashes
from tests.ingest.test_line_forms import count_parses, orders, print_line, read_parts, repeat, require_same
from tests.support.checkout import PROOF
from tests.support.damage import Mutator
from tests.support.recordings import registry

RUN = "postgres/shop-json"
TOPIC = "shopdb.shop.orders"
PARTS = (("key",), ("timestamp", "partition", "offset", "headers", "key"), ("partition", "offset"), ())
ALL_PARTS = (*PARTS, ("headers", "key"), ("timestamp", "key"), ("partition", "key"), ("headers",))
BETWEEN = (b"", b" \t", b"{}", b'{"a":\t1}', b"null", b"null\tnull", b"a:1\tb\tc\td", b"Offset:1\tk\tv")
HEADERS = (b"NO_HEADERS", b"a:1", b"apicurio.value.globalId:12345678", b"a", b"NO_HEADERS,b:2")


@pytest.mark.parametrize("parts", PARTS)
def test_most_lines_are_not_parsed(tmp_path: Path, parts: tuple[str, ...]) -> None:
    path = tmp_path / "records.ndjson"
    found = [replace(r, headers=()) for r in repeat(orders()[:1], 200)]
    path.write_bytes(b"".join(print_line(r, *parts) + b"\n" for r in found) + b"\t{}\n")
    assert count_parsed_lines(path, KnownOffsets()) < 30
    known = KnownOffsets({(TOPIC, 0): ((0, 199),)}, EdgeHashes())
    assert count_parsed_lines(path, known) < 4


def test_partitions_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "records.ndjson"
    lines = [
        print_line(replace(record, partition=number % 3, offset=number // 3), *PARTS[1])
        for number, record in enumerate(repeat(orders()[:1], 300))
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    assert count_parsed_lines(path, KnownOffsets()) < 40
    require_same(path, RUN, topic=TOPIC)


def test_blocks_with_and_without_tabs(tmp_path: Path) -> None:
    found = list(repeat(orders()[:1], 150))
    apart = [replace(record, partition=1, offset=number) for number, record in enumerate(found[50:100])]
    items: list[LineBatch] = []
    for number, records in enumerate((found[:50], apart, found[100:])):
        path = tmp_path / f"{number}.ndjson"
        parts = PARTS[1] if number == 1 else ()
        path.write_bytes(b"".join(print_line(r, *parts) + b"\n" for r in records))
        read = files.read_batches(files.find_file(str(path)), topic=TOPIC)
        batches = (item for item in read if isinstance(item, LineBatch))
        items += (replace(batch, number=batch.number + 50 * number) for batch in batches)
    whole = read_parts(parse_items(items), RUN, KnownOffsets(), 1000)
    assert read_parts(items, RUN, KnownOffsets(), 1000) == whole


@pytest.mark.parametrize("parts", [("key",), ("timestamp", "key")])
def test_what_stands_between_proven_lines(tmp_path: Path, parts: tuple[str, ...]) -> None:
    path = tmp_path / "records.ndjson"
    lines = [print_line(r, *parts) for r in repeat(orders()[:1], 40)]
    head, _, payload = lines[0].rpartition(b'"payload":')
    between = [*BETWEEN, b" \t", head + b'"payload":\t' + payload]
    alone = replace(orders()[0], offset=len(between) * 43 + 40)
    between.append(print_line(alone, "offset", *parts))
    path.write_bytes(b"".join(line + b"\n" for one in between for line in (*lines, one, *lines[:2])))
    assert require_same(path, RUN, topic=TOPIC, size=10_000) > 42 * len(between)


def count_parsed_lines(path: Path, known: KnownOffsets) -> int:
    parsed: list[int] = []
    items = files.read_batches(files.find_file(str(path)), topic=TOPIC)
    read_parts((count_parses(item, parsed.append) for item in items), RUN, known, 10_000)
    return len(parsed)


def test_lines_that_are_otherwise_than_they_look(tmp_path: Path) -> None:
    path = tmp_path / "records.ndjson"
    for seed in range(40 if PROOF else 2):
        lines = list(make_lines(random.Random(seed), 20_000 if PROOF else 500))
        path.write_bytes(b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines))
        assert require_same(path, RUN, topic=TOPIC, size=230 if seed % 2 else 100_000) > len(lines) // 2


def make_lines(chance: random.Random, count: int) -> Iterator[bytes]:
    """Lines of orders, often with the parts of the line before, and lines that are not what they seem."""
    mutator = Mutator(chance, registry(RUN))
    last = orders()[1]
    values = [(last.value or b"").replace(b"27079488", b"2707949%d" % number) for number in range(4)]
    records, offsets = [orders()[0], *(replace(last, value=value) for value in values)], [0, 0, 0]
    parts: tuple[str, ...] = PARTS[0]
    for number in range(count):
        parts = chance.choice(ALL_PARTS) if chance.random() < 0.04 else parts
        partition = chance.choice((0, 0, 0, 1, 2))
        offsets[0] = number
        offsets[partition] += chance.random() < 0.05 and partition
        last = last if chance.random() < 0.8 else chance.choice(records)
        record = replace(last, partition=partition, offset=offsets[partition])
        offsets[partition] += 1
        line = print_line(damage(record, mutator), *parts)
        if parts == ("headers",) and chance.random() < 0.9:
            line = line.replace(b"a:1,2,b:null", b"NO_HEADERS")
        yield change_line(line, chance) if chance.random() < 0.1 else line


def damage(record: Record, mutator: Mutator) -> Record:
    chance = mutator.chance.random()
    if chance < 0.04:
        damaged = mutator.damaged(record)[1]
        return replace(record, key=damaged.key, value=damaged.value)
    return replace(record, key=None) if chance < 0.08 else record


def change_line(line: bytes, chance: random.Random) -> bytes:
    kind, at = chance.randrange(9), chance.randrange(len(line) + 1)
    changed = [
        line[:at] + b"\t" + line[at:],
        line[:at] + line[at + 1 :],
        line.replace(b"\t", b"", 1),
        line.replace(b"a:1,2,b:null", chance.choice(HEADERS)),
        line.replace(b'"payload":{', b'"payload":\t{', 1),
        line + chance.choice((b"\r", b"\t", b" ", line)),
        line.replace(b"CreateTime:", b"Offset:", 1),
        chance.choice(BETWEEN),
        b" \t",
    ][kind]
    # a number that was cut would end the reading
    return changed if kind != 1 or not line[:at].count(b"Offset") or b"{" in line[:at] else line


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        (b"NO_HEADERS", True),
        (b"a:1,2", True),
        (b"a", False),
        (b"", False),
        (b"NO_HEADERSa:1", False),
        (b"a:1,apicurio.value.globalId:1", False),
    ],
)
def test_headers_that_determine_no_form(text: bytes, is_plain: bool) -> None:
    assert are_plain_headers(text) is is_plain
