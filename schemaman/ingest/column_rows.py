"""Rows of a table of records whose values stay in one block of bytes until they are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import ne, sub
from typing import Any, overload

from schemaman.ingest.line_batches import Row


@dataclass(frozen=True, slots=True)
class ColumnRows(Sequence[Row]):
    """The columns of rows in order; the value of row i is `block[bounds[i]:bounds[i + 1]]`.

    `has_value` has whether each value is not null; None if none is null. `read_times` reads the times, which
    most rows never need. `breaks` are the numbers of the rows that begin a span, but for row 0: the rows of a
    span are of one partition, without gaps between their offsets.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    block: bytes
    bounds: Sequence[int]
    has_value: Sequence[bool] | None
    read_times: Callable[[], Sequence[int | None]]
    breaks: Sequence[int]

    def find_span_end(self, at: int) -> int:
        """Finds the end of the span of a row: the number of the first row behind it."""
        behind = bisect_right(self.breaks, at)
        return self.breaks[behind] if behind < len(self.breaks) else len(self)

    def read_value(self, at: int) -> bytes | None:
        """Reads the value of a row."""
        return None if self.is_null(at) else self.block[self.bounds[at] : self.bounds[at + 1]]

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
        place = (self.topics[at], self.partitions[at], self.offsets[at])
        return (*place, self.read_times()[at], self.keys[at], self.read_value(at))

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
            [each - begin for each in self.breaks if begin < each < end],
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
        [end - ends[0] for end in ends] if ends[0] else ends,
        values.is_valid().to_pylist() if values.null_count else None,
        read_times,
        _find_breaks(topics, partitions, offsets),
    )


def list_integers(column: Any) -> Sequence[int | None]:
    """Lists an Arrow column of 64-bit integers, or of timestamps as integers in their unit.

    Source: Arrow "Columnar Format", fixed-size primitive layout.
    """
    size = len(column)
    if column.null_count == size:
        return [None] * size
    if column.null_count or not str(column.type).startswith(("int64", "timestamp")):
        found: list[int | None] = column.cast("int64").to_pylist()
        return found
    begin, end = 8 * column.offset, 8 * (column.offset + size)
    return memoryview(column.buffers()[1])[begin:end].cast("q").tolist()


def _find_breaks(topics: list[str], partitions: list[int], offsets: list[int]) -> Sequence[int]:
    """Finds the rows that do not follow the row before; a row without an offset is a span of its own."""
    size = len(offsets)
    if type(offsets[0]) is not int:
        return range(1, size)
    is_one_partition = topics.count(topics[0]) == size and partitions.count(partitions[0]) == size
    if is_one_partition and offsets == list(range(offsets[0], offsets[0] + size)):
        return ()
    try:
        steps = list(map(sub, islice(offsets, 1, None), offsets))
    except TypeError:
        return range(1, size)
    if is_one_partition:
        return [i for i, step in enumerate(steps, 1) if step != 1]
    changes = zip(
        steps,
        map(ne, islice(topics, 1, None), topics),
        map(ne, islice(partitions, 1, None), partitions),
        strict=True,
    )
    return [i for i, (step, *is_other) in enumerate(changes, 1) if step != 1 or any(is_other)]
