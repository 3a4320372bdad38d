"""Parts of files that processes read independently: sections of lines, row groups of Parquet, or whole files.

Law: the merged parts of a file are the chunks that `read_chunks` reads of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from schemaman.debezium.raw_record import DecodeContext
from schemaman.debezium.wire_format import Forms, SchemaId
from schemaman.errors import SchemamanError
from schemaman.ingest.chunks import (
    CHUNK,
    ChunkPart,
    KnownOffsets,
    build_reading,
    merge_parts,
    read_chunks,
)
from schemaman.ingest.line_batches import Item, LineBatch
from schemaman.ingest.line_forms import LineForms
from schemaman.io.file_work import PART_BYTES, is_divisible
from schemaman.io.files import (
    File,
    has_record_columns,
    measure_row_groups,
    read_batches,
    read_row_groups,
)
from schemaman.io.line_ranges import SECTION_BYTES, LineRange, split_into_sections
from schemaman.io.schema_registry import FileSchemas


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Row groups of a Parquet file from `begin` to before `end`; `first_row` rows stand before them."""

    begin: int
    end: int
    first_row: int


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """A part of a file; `span` None is the whole file. `number` is that of the file in its sequence."""

    number: int
    file: File
    span: LineRange | RowGroups | None = None


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What was read of one chunk in a part of a file.

    `is_full`: the chunk ends there. `bytes` were read for it, and `texts` are the schemas that stood before
    it. A last one without `part` has the bytes after the last item, and the `lines` of the part if those
    before it were not counted.
    """

    part: ChunkPart | None
    bytes: int
    texts: tuple[tuple[SchemaId, str], ...] = ()
    is_full: bool = False
    lines: int = 0


@dataclass(frozen=True, slots=True)
class PartReading:
    """What is needed to read parts of files; `size` is the number of items of a chunk."""

    topic: str | None
    limit: int
    known: KnownOffsets
    schemas: FileSchemas
    forms: Forms
    size: int = CHUNK
    part_bytes: int = PART_BYTES
    section_bytes: int = SECTION_BYTES


def divide_files(files: Iterable[File], reading: PartReading) -> Iterator[ReadingTask]:
    """Divides files into parts, in order; each file has one at least."""
    for number, file in enumerate(files):
        is_whole = True
        for span in _divide_file(file, reading) if is_divisible(file) else ():
            yield ReadingTask(number, file, span)
            is_whole = False
        if is_whole:
            yield ReadingTask(number, file)


def read_part(part: ReadingTask, reading: PartReading, learned: LineForms) -> Iterator[ReadPart]:
    """Reads a part of a file, chunk by chunk. What parts of the same reading have `learned` is used.

    Raises:
        UnreadableInput: as `read_batches`.
    """
    span, counts, texts = part.span, [0], list[tuple[SchemaId, str]]()
    lines = [0]

    def count_bytes(number: int) -> None:
        counts[0] += 0 if isinstance(span, LineRange) else number

    def note_schema(id: SchemaId, text: str) -> None:
        reading.schemas.note(id, text)
        texts.append((id, text))

    items = _open_part(part, reading, count_bytes, note_schema)
    if isinstance(span, LineRange) and span.number is None:
        items = _count_lines(items, lines)
    start = read = span.first_row if isinstance(span, RowGroups) else 0
    context = build_reading(reading.schemas, reading.forms)
    chunks = read_chunks(items, reading.known, context, start=start, size=reading.size, learned=learned)
    for _, found in chunks:
        read += _count_items(found)
        is_full = span is None or read % reading.size == 0
        yield ReadPart(found, counts[0], tuple(texts), is_full)
        counts[0] = 0
        texts.clear()
    if isinstance(span, LineRange):  # the next range reads bytes behind the end, too
        counts[0] = (part.file.bytes if span.end is None else span.end) - span.begin
    yield ReadPart(None, counts[0], tuple(texts), lines=lines[0])


def merge_read_parts(
    parts: Iterable[tuple[ReadingTask, ReadPart]], merging: DecodeContext, size: int = CHUNK
) -> Iterator[tuple[int, ChunkPart]]:
    """Merges the parts of a file, in order, into its chunks of `size` items."""
    number = before = items = 0
    chunk: list[ChunkPart] = []
    for task, read in parts:
        if read.part is not None:
            chunk.append(_move_lines(read.part, before))
            items += _count_items(read.part)
        before += read.lines
        is_section_end = read.part is None and isinstance(task.span, LineRange)
        if read.is_full or (is_section_end and items >= size) or (chunk and chunk[-1].refusal is not None):
            merged = merge_parts(chunk, merging)
            yield number, merged
            if merged.refusal is not None:
                return
            number, items, chunk = number + 1, 0, []
    if chunk:
        yield number, merge_parts(chunk, merging)


def _count_items(part: ChunkPart) -> int:
    return part.read + len(part.unreadable)


def _move_lines(part: ChunkPart, before: int) -> ChunkPart:
    """Adds the number of lines before a part to the lines of its unreadable items."""
    moved = tuple(replace(item, line=item.line + before) for item in part.unreadable)
    return replace(part, unreadable=moved) if before and moved else part


def _count_lines(items: Iterable[Item], lines: list[int]) -> Iterator[Item]:
    for item in items:
        lines[0] += len(item.lines) if isinstance(item, LineBatch) else 1
        yield item


def _divide_file(file: File, reading: PartReading) -> Iterator[LineRange | RowGroups]:
    """Divides a file of lines or Parquet. What cannot be opened has no parts: the reading says why."""
    try:
        if file.kind == "lines":
            is_counted = reading.topic is not None or file.place is not None
            yield from split_into_sections(file.path, reading.section_bytes, is_counted=is_counted)
        elif has_record_columns(file):
            yield from _group_rows(measure_row_groups(file), reading.part_bytes)
    except (OSError, SchemamanError):
        return


def _group_rows(groups: Iterable[tuple[int, int]], part_bytes: int) -> Iterator[RowGroups]:
    """Joins row groups, given by rows and bytes, until they have `part_bytes`."""
    begin = number = first_row = rows = size = 0
    for number, (group_rows, group_bytes) in enumerate(groups, 1):
        rows, size = rows + group_rows, size + group_bytes
        if size >= part_bytes:
            yield RowGroups(begin, number, first_row)
            begin, first_row, rows, size = number, first_row + rows, 0, 0
    if number > begin:
        yield RowGroups(begin, number, first_row)


def _open_part(
    part: ReadingTask,
    reading: PartReading,
    count_bytes: Callable[[int], None],
    note_schema: Callable[[SchemaId, str], None],
) -> Iterator[Item]:
    span = part.span
    if isinstance(span, RowGroups):
        groups = range(span.begin, span.end)
        return read_row_groups(part.file, groups, reading.limit, count_bytes)
    return read_batches(
        part.file,
        topic=reading.topic,
        limit=reading.limit,
        count_bytes=count_bytes,
        note_schema=note_schema,
        lines=span,
        section_bytes=reading.section_bytes,
    )
