"""Rows of a table of records whose values stay in one block of bytes until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from schemaman.ingest.line_batches import Row


@dataclass(frozen=True, slots=True)
class ColumnRows(Sequence[Row]):
    """The columns of rows in order; the value of row i is `block[bounds[i]:bounds[i + 1]]`.

    `has_value` has whether each value is not null; None if none is null. `read_times` reads the times, which
    most rows never need. `is_consecutive`: all rows are of one partition, without gaps between their offsets;
    False if that is not known.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    block: bytes
    bounds: Sequence[int]
    has_value: Sequence[bool] | None
    read_times: Callable[[], Sequence[int | None]]
    is_consecutive: bool = False

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
            self.is_consecutive,
        )


def build_column_rows(
    topics: list[str],
    partitions: list[int],
    offsets: list[int],
    keys: Sequence[bytes | None],
    values: Any,
    read_times: Callable[[], Sequence[int | None]],
) -> ColumnRows:
    """Builds rows from lists and a column of values, an Arrow array of type `binary` or `string`.

    There is at least one row. The values are copied at once. Source: Arrow "Columnar Format", variable-size
    binary layout.
    """
    _, bounds, data = values.buffers()
    ends = memoryview(bounds).cast("i")[values.offset : values.offset + len(values) + 1].tolist()
    block = b"" if data is None else data.slice(ends[0], ends[-1] - ends[0]).to_pybytes()
    return ColumnRows(
        topics,
        partitions,
        offsets,
        keys,
        block,
        [end - ends[0] for end in ends],
        values.is_valid().to_pylist() if values.null_count else None,
        read_times,
        _is_consecutive(topics, partitions, offsets),
    )


def _is_consecutive(topics: list[str], partitions: list[int], offsets: list[int]) -> bool:
    size, first = len(offsets), offsets[0]
    return (
        type(first) is int
        and topics.count(topics[0]) == size
        and partitions.count(partitions[0]) == size
        and offsets == list(range(first, first + size))
    )
