"""Parts of files that processes read independently: ranges of lines, row groups of Parquet, or whole files.

Law: the merged parts of a file are the chunks that `read_chunks` reads of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from schemaman.debezium.raw_record import DecodeContext
from schemaman.debezium.wire_format import Forms, SchemaId
from schemaman.errors import SchemamanError
from schemaman.ingest.chunks import (
    CHUNK,
    END,
    ChunkPart,
    KnownOffsets,
    build_reading,
    merge_parts,
    read_chunks,
)
from schemaman.ingest.line_batches import Item
from schemaman.ingest.line_forms import LineForms
from schemaman.io.file_work import is_divisible
from schemaman.io.files import (
    File,
    has_record_columns,
    measure_row_groups,
    read_batches,
    read_row_groups,
)
from schemaman.io.line_ranges import RANGE_BYTES, LineRange, split_into_ranges
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

    `chunk` counts from the beginning of the file. `bytes` were read for it, and `texts` are the schemas that
    stood before it. A last one without `part` has the bytes after the last item.
    """

    chunk: int
    part: ChunkPart | None
    bytes: int
    texts: tuple[tuple[SchemaId, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PartReading:
    """What is needed to read parts of files; `size` is the number of items of a chunk."""

    topic: str | None
    limit: int
    known: KnownOffsets
    schemas: FileSchemas
    forms: Forms
    size: int = CHUNK
    part_bytes: int = RANGE_BYTES


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

    def count_bytes(number: int) -> None:
        counts[0] += number

    def note_schema(id: SchemaId, text: str) -> None:
        reading.schemas.note(id, text)
        texts.append((id, text))

    items = _open_part(part, reading, count_bytes, note_schema)
    start, size, first = 0, reading.size, 0
    if isinstance(span, LineRange):
        first = span.chunk
        start, size = (span.first_item, reading.size) if span.end is None else (0, END)
    elif isinstance(span, RowGroups):
        start = span.first_row
    context = build_reading(reading.schemas, reading.forms)
    for chunk, found in read_chunks(items, reading.known, context, start=start, size=size, learned=learned):
        yield ReadPart(first + chunk, found, counts[0], tuple(texts))
        counts[0] = 0
        texts.clear()
    if isinstance(span, LineRange):
        counts[0] = (part.file.bytes if span.end is None else span.end) - span.begin
    yield ReadPart(-1, None, counts[0], tuple(texts))


def merge_read_parts(parts: Iterable[ReadPart], merging: DecodeContext) -> Iterator[tuple[int, ChunkPart]]:
    """Merges the parts of a file, in order, into its chunks."""
    found = ((each.chunk, each.part) for each in parts if each.part is not None)
    for chunk, group in groupby(found, key=lambda pair: pair[0]):
        merged = merge_parts((part for _, part in group), merging)
        yield chunk, merged
        if merged.refusal is not None:
            return


def _divide_file(file: File, reading: PartReading) -> Iterator[LineRange | RowGroups]:
    """Divides a file of lines or Parquet. What cannot be opened has no parts: the reading says why."""
    try:
        if file.kind == "lines":
            yield from split_into_ranges(file.path, reading.size, reading.limit, reading.part_bytes)
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
    if isinstance(span, LineRange):
        return read_batches(part.file, topic=reading.topic, limit=reading.limit, lines=span)
    return read_batches(
        part.file, topic=reading.topic, limit=reading.limit, count_bytes=count_bytes, note_schema=note_schema
    )
