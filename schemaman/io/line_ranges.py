"""Ranges of a file of lines that processes read independently; each ends behind a line.

Law: the items of all ranges of a chunk are the next `size` items of the file, as `read_chunks` counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_BLOCK = 1 << 20
RANGE_BYTES = 32 * 2**20
"""The least size from which a range ends with the next line: each parses the first records of all tables."""

_FOUND_ENDS = 1000

_BLANK = re.compile(rb"[ \t\r\x0b\x0c]*\n").match
_FOLLOWING_BLANKS = re.compile(rb"\n(?=[ \t\r\x0b\x0c]*\n)").findall
"""The ends of lines before blank lines, which are no items."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Bytes of a file from `begin` up to `end`; None is the end of the file.

    `number` is the first line, from 1. `chunk` is the number of the chunk whose items they are, and
    `first_item` of its items stand before them. A range without `end` has the later chunks, too.
    """

    begin: int
    end: int | None
    number: int
    chunk: int
    first_item: int = 0


def split_into_ranges(
    path: str, size: int, limit: int, range_bytes: int = RANGE_BYTES
) -> Iterator[LineRange]:
    """Splits a file into ranges of about `range_bytes`, in order; each is given as soon as its end is found.

    A line of more than `limit` bytes is never in memory as a whole: the range that has it has all behind it.
    """
    chunk, begin = 0, _Cut(0, 1)
    for cut in _cut_lines(path, size, limit, range_bytes):
        is_long = cut.kind == "long line"
        if is_long or cut.at > begin.at:
            yield LineRange(begin.at, None if is_long else cut.at, begin.number, chunk, begin.items)
        begin = cut
        chunk += cut.kind == "chunk"


def count_lines(path: str, size: int) -> int:
    """Counts the ends of lines in the first `size` bytes of a file."""
    found = 0
    with Path(path).open("rb") as file:
        while block := file.read(min(_BLOCK, size)):
            found += _count_ends(block)[0]
            size -= len(block)
    return found


@dataclass(frozen=True, slots=True)
class _Cut:
    """A place behind a line: its offset in bytes, the number of the next line, and what ends there.

    `items` of the chunk stand before the place. A line over the limit has not ended: the place is its
    beginning.
    """

    at: int
    number: int
    items: int = 0
    kind: Literal["range", "chunk", "long line"] = "range"


def _cut_lines(path: str, size: int, limit: int, range_bytes: int) -> Iterator[_Cut]:
    """Finds the ends of ranges and chunks. A line counts where it ends, so no line is kept."""
    at, number, room, last_cut = 0, 1, size, 0
    line_bytes, has_text = 0, False  # of the line that has begun in an earlier block
    with Path(path).open("rb") as file:
        while block := file.read(min(_BLOCK, range_bytes)):
            while (found := _count_ends(block)) != (0, False):
                ends, may_be_blank = found
                is_blank = not has_text and _BLANK(block) is not None
                items = ends - is_blank - (len(_FOLLOWING_BLANKS(block)) if may_be_blank else 0)
                is_chunk = items >= room
                length, lines = (
                    _find_item_end(block, room, has_text) if is_chunk else (block.rfind(b"\n") + 1, ends)
                )
                at, number, block = at + line_bytes + length, number + lines, block[length:]
                line_bytes, has_text = 0, False
                room = size if is_chunk else room - items
                if is_chunk or at - last_cut >= range_bytes:
                    yield _Cut(at, number, (size - room) % size, "chunk" if is_chunk else "range")
                    last_cut = at
            line_bytes += len(block)
            has_text = has_text or bool(block.strip())
            if line_bytes > limit:
                yield _Cut(at, number, kind="long line")
                return
    yield _Cut(at + line_bytes if has_text else at, number, kind="chunk")


def _count_ends(block: bytes) -> tuple[int, bool]:
    """Counts the ends of lines, and tells whether a line behind one may be blank.

    To find the ends of long lines is faster than to compare each byte, as the pattern of blank lines does.
    """
    found, at, may_be_blank = 0, block.find(b"\n"), False
    while at >= 0:
        found += 1
        may_be_blank = may_be_blank or block[at + 1 : at + 2].isspace()
        if found == _FOUND_ENDS:
            return found + block.count(b"\n", at + 1), True
        at = block.find(b"\n", at + 1)
    return found, may_be_blank


def _find_item_end(block: bytes, items: int, has_text: bool) -> tuple[int, int]:
    """Finds the end of an item, counted from 1: the number of bytes and of lines up to there."""
    at = 0
    for number, line in enumerate(block.split(b"\n"), 1):
        at += len(line) + 1
        items -= has_text or bool(line.strip())
        has_text = False
        if not items:
            return at, number
    raise AssertionError("fewer items than were counted")
