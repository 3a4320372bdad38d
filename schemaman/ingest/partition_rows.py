"""Rows of one partition whose keys and values are bytes of their own, as a Kafka client hands them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from schemaman.ingest.line_batches import Row


@dataclass(frozen=True, slots=True)
class PartitionRows(Sequence[Row]):
    """Rows of a partition with increasing offsets, in columns; there is at least one.

    `read_time` reads the time of the row with an index of this sequence, which most rows never need.
    """

    topic: str
    partition: int
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    read_time: Callable[[int], int | None]

    def read_value(self, at: int) -> bytes | None:
        """Reads the value of a row."""
        return self.values[at]

    def count_bytes(self) -> int:
        """Counts the bytes of all keys and values."""
        return sum(map(len, filter(None, self.keys))) + sum(map(len, filter(None, self.values)))

    def is_without_holes(self, begin: int, end: int) -> bool:
        """Returns whether the offsets of the rows from `begin` to `end` - 1 follow each other."""
        return self.offsets[end - 1] - self.offsets[begin] == end - 1 - begin

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[Row]:
        return (self[at] for at in range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return self._cut(range(len(self))[at])
        place = (self.topic, self.partition, self.offsets[at])
        return (*place, self.read_time(at), self.keys[at], self.values[at])

    def _cut(self, numbers: range) -> Sequence[Row]:
        if not numbers or numbers.step != 1:
            return [self[at] for at in numbers]
        begin, end = numbers.start, numbers.stop
        read_time = self.read_time
        return PartitionRows(
            self.topic,
            self.partition,
            self.offsets[begin:end],
            self.keys[begin:end],
            self.values[begin:end],
            lambda at: read_time(begin + at),
        )
