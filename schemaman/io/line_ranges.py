"""Sections of a file of lines, which processes read independently; each ends behind a line.

A section ends behind the line that has the byte number `SECTION_BYTES` of the file, the next one behind the
line that has the byte with twice that number, and so on. So a process that begins amid a file finds the ends
of sections without the lines before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_BLOCK = 1 << 20
SECTION_BYTES = 128 * 2**20
"""The distance of the ends of sections: where many tables take turns, each section parses records of all."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Bytes of a file from `begin` up to `end`; None is the end of the file.

    `number` is the number of the first line, from 1; None if the lines before are not counted.
    """

    begin: int
    end: int | None
    number: int | None


def split_into_sections(path: str, section_bytes: int, *, is_counted: bool) -> Iterator[LineRange]:
    """Splits a file into its sections, in order; each is given as soon as its end is found.

    `is_counted`: the lines before each section are counted, for which the file is read.
    """
    begin, number = 0, 1
    with Path(path).open("rb") as file:
        while (end := _find_line_end(file, _find_next_cut(begin, section_bytes))) is not None:
            yield LineRange(begin, end, number if is_counted else None)
            number += _count_line_ends(file, begin, end) if is_counted else 0
            begin = end
        if file.seek(0, 2) > begin:
            yield LineRange(begin, None, number if is_counted else None)


def cut_into_sections(blocks: Iterable[bytes], begin: int, section_bytes: int) -> Iterator[bytes | None]:
    """Cuts blocks of a file from the byte `begin` on where sections end; None follows each section."""
    cut = _find_next_cut(begin, section_bytes)
    for whole in blocks:
        block, at = whole, begin
        begin += len(whole)
        while cut < begin and (end := block.find(b"\n", max(cut - at, 0)) + 1):
            yield block[:end]
            yield None
            block, at = block[end:], at + end
            cut = _find_next_cut(at, section_bytes)
        if block:
            yield block


def count_lines(path: str, size: int) -> int:
    """Counts the ends of lines in the first `size` bytes of a file."""
    with Path(path).open("rb") as file:
        return _count_line_ends(file, 0, size)


def _find_next_cut(begin: int, section_bytes: int) -> int:
    """Finds the first byte whose line ends a section that has the byte `begin`."""
    return max(-(-begin // section_bytes), 1) * section_bytes


def _find_line_end(file: BinaryIO, at: int) -> int | None:
    """Finds the end of the line that has the byte `at`; None if the file ends before."""
    file.seek(at)
    while block := file.read(_BLOCK):
        end = block.find(b"\n") + 1
        if end:
            return at + end
        at += len(block)
    return None


def _count_line_ends(file: BinaryIO, begin: int, end: int) -> int:
    found = 0
    file.seek(begin)
    while block := file.read(min(_BLOCK, end - begin)):
        begin += len(block)
        at = block.find(b"\n")
        while at >= 0:  # faster than `count` where lines are long
            found += 1
            at = block.find(b"\n", at + 1)
    return found
