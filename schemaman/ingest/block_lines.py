"""The whole lines of a block of bytes, which are cut out of it only when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from schemaman.ingest.probe_patterns import Texts

Matched = tuple[int, Texts | None]
"""The offset of a line, and the texts of its position; None for a record that was read before."""

MatchLine = Callable[[bytes, int, int], Matched | None]
"""Matches the line between two indexes of a block."""


class BlockLines(Sequence[bytes]):
    """The lines of a block from the index `begin` up to its `end`, in order and without their line ends.

    Each line but the last one ends with a newline, and the last one ends before `end`. There is at least one.
    """

    __slots__ = ("_ends", "begin", "block", "end")

    def __init__(self, block: bytes, begin: int, end: int, ends: list[int] | None = None) -> None:
        self.block = block
        self.begin = begin
        self.end = end
        self._ends = ends

    @property
    def ends(self) -> list[int]:
        """The index behind the last byte of each line."""
        if self._ends is None:
            self._ends = _find_ends(self.block, self.begin, self.end)
        return self._ends

    @property
    def has_tabs(self) -> bool:
        """Whether there is a tab in the lines; JSON that is not indented has none."""
        return self.block.find(b"\t", self.begin, self.end) >= 0

    def find_begin(self, number: int) -> int:
        """Finds where the line with this number begins, counted from 0."""
        return self.ends[number - 1] + 1 if number else self.begin

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.block[self.begin : self.end].split(b"\n"))

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(at, int):
            number = at if at >= 0 else len(self) + at
            return self.block[self.find_begin(number) : self.ends[number]]
        numbers = range(len(self))[at]
        if not numbers or numbers.step != 1:
            return [self[number] for number in numbers]
        ends = self.ends[numbers.start : numbers.stop]
        return BlockLines(self.block, self.find_begin(numbers.start), ends[-1], ends)


def _find_ends(block: bytes, begin: int, end: int) -> list[int]:
    ends: list[int] = []
    find, add = block.find, ends.append
    at = find(b"\n", begin, end)
    while at >= 0:
        add(at)
        at = find(b"\n", at + 1, end)
    add(end)
    return ends
