"""Rows of a table of records whose values stay in one block of bytes until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from schemaman.ingest.line_batches import Row


@dataclass(frozen=True, slots=True)
class ColumnRows(Sequence[Row]):
    """The columns of rows in order; the value of row i is `block[bounds[i]:bounds[i + 1]]`.

    `has_value` has whether each value is not null; None if none is null. `read_times` reads the times, which
    most rows never need.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    block: bytes
    bounds: Sequence[int]
    has_value: Sequence[bool] | None
    read_times: Callable[[], Sequence[int | None]]

    def is_null(self, at: int) -> bool:
        """Returns whether the value of a row is null."""
        return self.has_value is not None and not self.has_value[at]

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
            return self._cut(*at.indices(len(self)))
        value = None if self.is_null(at) else self.block[self.bounds[at] : self.bounds[at + 1]]
        place = (self.topics[at], self.partitions[at], self.offsets[at])
        return (*place, self.read_times()[at], self.keys[at], value)

    def _cut(self, begin: int, end: int, step: int) -> Sequence[Row]:
        if step != 1:
            return [self[at] for at in range(begin, end, step)]
        return ColumnRows(
            self.topics[begin:end],
            self.partitions[begin:end],
            self.offsets[begin:end],
            self.keys[begin:end],
            self.block,
            self.bounds[begin : end + 1],
            None if self.has_value is None else self.has_value[begin:end],
            lambda: self.read_times()[begin:end],
        )
