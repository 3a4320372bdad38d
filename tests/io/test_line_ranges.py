"""A file that is read in sections, and by several processes, gives the parts of one reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.debezium.wire_format import AUTO
from schemaman.ingest.chunks import KnownOffsets, build_reading, read_chunks
from schemaman.ingest.line_forms import LineForms
from schemaman.ingest.probe import Prober
from schemaman.io import files
from schemaman.io.file_parts import (
    PartReading,
    divide_files,
    merge_read_parts,
    read_part,
)
from schemaman.io.line_ranges import LineRange, split_into_sections
from schemaman.io.schema_registry import FileSchemas
from tests.ingest.test_line_forms import Parts, as_text, know_half
from tests.support.damaged_lines import format_line
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-json"
LIMIT = 1 << 20


def make_reading(size: int, section_bytes: int, topic: str | None = None) -> PartReading:
    schemas = FileSchemas(registry(RUN))
    return PartReading(topic, LIMIT, KnownOffsets(), schemas, AUTO, size, section_bytes=section_bytes)


def read_whole(path: Path, reading: PartReading) -> Parts:
    file = files.find_file(str(path))
    items = files.read_batches(
        file, topic=reading.topic, limit=reading.limit, section_bytes=reading.section_bytes
    )
    return list(read_chunks(items, reading.known, build_reading(reading.schemas), size=reading.size))


def require_same_parts(path: Path, reading: PartReading) -> Parts:
    """Requires that parts give the chunks of the whole; returns these."""
    context = build_reading(reading.schemas)
    learned = LineForms(Prober(context))
    divided = divide_files([files.find_file(str(path))], reading)
    found = ((part, read) for part in divided for read in read_part(part, reading, learned))
    whole = read_whole(path, reading)
    assert list(merge_read_parts(found, context, reading.size)) == whole
    return whole


def write_lines(path: Path) -> None:
    path.write_bytes(b"".join(format_line(r) + b"\n" for r in as_text(recorded(RUN))))


@pytest.mark.parametrize(("size", "section_bytes"), [(400, 20_000), (37, 1), (7, 100_000), (10**6, 300_000)])
def test_lines_of_a_recording(tmp_path: Path, size: int, section_bytes: int) -> None:
    path = tmp_path / "records.jsonl"
    write_lines(path)
    reading = make_reading(size, section_bytes)
    parts = require_same_parts(path, reading)
    assert all(size <= part.read + len(part.unreadable) < 2 * size for _, part in parts[:-1])
    require_same_parts(path, replace(reading, known=know_half(part for _, part in parts)))


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
    for section_bytes in (1, 3) if len(content) < LIMIT else (100_000,):
        require_same_parts(path, make_reading(size, section_bytes))
    require_same_parts(path, make_reading(size, 10**6, topic="t"))


@pytest.mark.parametrize("topic", [None, "t"])
def test_a_long_line_amid_a_chunk(tmp_path: Path, topic: str | None) -> None:
    path = tmp_path / "records.jsonl"
    lines = [format_line(replace(recorded(RUN)[0], offset=offset)) for offset in range(12)]
    lines[8] += b" " * len(EVENT)
    path.write_bytes(b"\n".join([b"", *lines]) + b"\n")
    reading = replace(make_reading(5, 1, topic), limit=len(EVENT) * 3 // 2)
    require_same_parts(path, reading)
    spans = [task.span for task in divide_files([files.find_file(str(path))], reading)]
    assert len(spans) == len(lines)
    numbers = [span.number for span in spans if isinstance(span, LineRange)]
    assert numbers == [None if topic is None else number for number in (1, *range(3, len(lines) + 2))]


def test_a_section_is_given_when_its_end_is_found(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    write_lines(path)
    whole = len(list(split_into_sections(str(path), 20_000, is_counted=False)))
    sections = split_into_sections(str(path), 20_000, is_counted=False)
    next(sections)
    path.write_bytes(b"")
    assert len(list(sections)) < 3 < whole
