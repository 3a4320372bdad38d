"""A file that is read in ranges, and by several processes, gives the parts of one reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import schemaman as sm
from schemaman.api.services import workspace_of
from schemaman.api.sources import find_sources, read_sources
from schemaman.debezium.wire_format import AUTO
from schemaman.ingest.chunks import KnownOffsets, build_reading, read_chunks
from schemaman.ingest.probe import Prober
from schemaman.io import files
from schemaman.io.line_ranges import split_into_ranges
from schemaman.io.reading_processes import RangeReading, merge_ranges, read_in_processes, read_range
from tests.ingest.test_line_forms import Parts, as_text, know_half
from tests.support.damaged_lines import format_line
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-json"
LIMIT = 1 << 20


def make_reading(path: Path, topic: str | None = None, known: KnownOffsets | None = None) -> RangeReading:
    file = files.find_file(str(path))
    return RangeReading(file, topic, LIMIT, known or KnownOffsets(), registry(RUN), AUTO)


def read_whole(reading: RangeReading, size: int) -> Parts:
    items = files.read_batches(reading.file, topic=reading.topic, limit=LIMIT)
    return list(read_chunks(items, reading.known, build_reading(reading.schemas), size=size))


def require_same_parts(reading: RangeReading, size: int, range_bytes: int) -> Parts:
    """Requires that ranges give the parts of the whole; returns these."""
    prober = Prober(build_reading(reading.schemas))
    ranges = split_into_ranges(reading.file.path, size, LIMIT, range_bytes)
    ranged = ((r, read_range(reading, prober, size, r)) for r in ranges)
    whole = read_whole(reading, size)
    assert list(merge_ranges(ranged, reading)) == whole
    return whole


def write_lines(path: Path) -> None:
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in as_text(recorded(RUN))))


@pytest.mark.parametrize(("size", "range_bytes"), [(400, 20_000), (37, 1), (10**6, 300_000)])
def test_lines_of_a_recording(tmp_path: Path, size: int, range_bytes: int) -> None:
    path = tmp_path / "records.jsonl"
    write_lines(path)
    parts = require_same_parts(make_reading(path), size, range_bytes)
    known = know_half(part for _, part in parts)
    require_same_parts(make_reading(path, known=known), size, range_bytes)


EVENT, NEXT = (format_line(replace(recorded(RUN)[0], offset=offset)) for offset in (5, 6))
TOO_LONG = b'{"topic":"t","partition":0,"offset":7,"payload":"' + b"x" * LIMIT + b'"}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"\xef\xbb\xbf" + EVENT + b"\n",
        b"\n".join([b"", EVENT, b"", b" \r", b"{", b"\t", NEXT]),
        b"\n".join([b"{}", b"{}", EVENT, TOO_LONG, b"{", b"", NEXT, b"{}", b""]),
        b"{}\n" * 5 + EVENT[:50],
        b"{}\n{}\n  ",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_lines_that_are_no_records(tmp_path: Path, content: bytes, size: int) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    require_same_parts(make_reading(path), size, 1 if len(content) < LIMIT else 100_000)
    require_same_parts(make_reading(path, topic="t"), size, 10**6)


def test_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    write_lines(path)
    reading, counted = make_reading(path), []
    parts = list(read_in_processes(reading, 2, lambda *counts: counted.append(counts), 200))
    assert parts == read_whole(reading, 200)
    assert [sum(column) for column in zip(*counted, strict=True)] == [
        path.stat().st_size,
        sum(part.read for _, part in parts),
    ]


def test_one_history_of_one_and_of_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    write_lines(path)
    logs = []
    for jobs in (1, 2):
        with sm.open(f"sqlite:///{tmp_path}/{jobs}.db", create=True) as opened:
            workspace = workspace_of(opened)
            found = replace(find_sources(workspace, (str(path),), jobs=jobs), shared_from=0)
            done = read_sources(workspace, opened, found)
            assert read_sources(workspace, opened, found).new == 0
            logs.append((done, opened.history("shop.orders"), opened.offsets("main")))
    assert logs[0] == logs[1]
