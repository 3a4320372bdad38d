"""Ranges of a file of lines that processes read independently; each ends behind a line.

Law: the items of all ranges of a chunk are the next `size` items of the file, as `read_chunks` counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 1 << 20
RANGE_BYTES = 16 * 2**20
"""The size from which a range ends with the next line."""

_BLANK = re.compile(rb"[ \t\r\x0b\x0c]*\n").match
_FOLLOWING_BLANKS = re.compile(rb"\n(?=[ \t\r\x0b\x0c]*\n)").findall
"""The ends of lines before blank lines, which are no items."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Bytes of a file from `begin` up to `end`; None is the end of the file.

    `number` is the first line, from 1. `chunk` is the number of the chunk whose items they are. A range
    without `end` has the later chunks, too.
    """

    begin: int
    end: int | None
    number: int
    chunk: int


def split_into_ranges(
    path: str, size: int, limit: int, range_bytes: int = RANGE_BYTES
) -> Iterator[LineRange]:
    """Splits a file into ranges of about `range_bytes`, in order.

    A line of more than `limit` bytes is never in memory as a whole: the chunk that has it, and all behind it,
    are the last range.
    """
    progress = _ChunkProgress(size, range_bytes)
    rest = b""
    with Path(path).open("rb") as file:
        while block := file.read(min(_BLOCK, range_bytes)):
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                if len(rest) > limit:
                    yield from progress.give_up()
                    return
                continue
            yield from progress.add(rest + block[:end])
            rest = block[end:]
    if rest.strip():
        yield from progress.add(rest)
    yield from progress.finish()


class _ChunkProgress:
    """The ranges of the current chunk, which are passed on when no long line can stand in the chunk."""

    def __init__(self, size: int, range_bytes: int) -> None:
        self._size = size
        self._range_bytes = range_bytes
        self._room = size
        self._chunk = 0
        self._at = 0
        self._number = 1
        self._begin = self._first = (0, 1)
        self._ranges: list[LineRange] = []

    def add(self, lines: bytes) -> Iterator[LineRange]:
        """Adds whole lines."""
        while lines:
            items, ends = _count_items(lines)
            if items < self._room:
                self._advance(len(lines), ends)
                self._room -= items
                if self._at - self._begin[0] >= self._range_bytes:
                    self._end_range()
                return
            size, count = _find_item_end(lines, self._room)
            self._advance(size, count)
            yield from self.finish()
            lines = lines[size:]

    def finish(self) -> Iterator[LineRange]:
        """Ends the chunk."""
        self._end_range()
        yield from self._ranges
        self._ranges = []
        self._chunk, self._room, self._first = self._chunk + 1, self._size, self._begin

    def give_up(self) -> Iterator[LineRange]:
        """Makes one range of the chunk and of all that follows."""
        yield LineRange(self._first[0], None, self._first[1], self._chunk)

    def _advance(self, size: int, lines: int) -> None:
        self._at += size
        self._number += lines

    def _end_range(self) -> None:
        begin, number = self._begin
        if self._at > begin:
            self._ranges.append(LineRange(begin, self._at, number, self._chunk))
        self._begin = (self._at, self._number)


def _count_items(lines: bytes) -> tuple[int, int]:
    """Counts the items and the line ends; a last line without an end is an item."""
    ends = lines.count(b"\n")
    blanks = len(_FOLLOWING_BLANKS(lines)) + (_BLANK(lines) is not None)
    return ends - blanks + (not lines.endswith(b"\n")), ends


def _find_item_end(lines: bytes, items: int) -> tuple[int, int]:
    """Finds the end of an item, counted from 1: the number of bytes and of lines up to there."""
    at = 0
    for number, line in enumerate(lines.split(b"\n"), 1):
        at += len(line) + 1
        items -= bool(line) and not line.isspace()
        if not items:
            return min(at, len(lines)), number
    raise AssertionError("fewer items than were counted")
