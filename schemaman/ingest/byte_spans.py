"""Spans of bytes in columns: values that lie in one block, or each in bytes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import sub


@dataclass(frozen=True, slots=True)
class ByteSpans:
    """Spans in columns; span i is `blocks[i][begins[i]:ends[i]]`."""

    blocks: Sequence[bytes]
    begins: Sequence[int]
    ends: Sequence[int]

    def measure(self) -> list[int]:
        """Measures the bytes of each span."""
        return list(map(sub, self.ends, self.begins))

    def select_first(self, count: int) -> ByteSpans:
        """Selects the first spans, at most `count`."""
        if count >= len(self.ends):
            return self
        return ByteSpans(self.blocks[:count], self.begins[:count], self.ends[:count])

    def join_ends(self, size: int) -> bytes:
        """Joins the last `size` bytes of each span; none is shorter."""
        cuts = map(slice, map(sub, self.ends, repeat(size)), self.ends)
        return b"".join(map(bytes.__getitem__, self.blocks, cuts))


def span_values(values: Sequence[bytes | None]) -> ByteSpans:
    """Spans each value whole. Raises `TypeError` if one is null."""
    ends = list(map(len, values))  # type: ignore[arg-type]
    return ByteSpans(values, [0] * len(ends), ends)  # type: ignore[arg-type]


def span_block(block: bytes, bounds: Sequence[int], first: int, end: int) -> ByteSpans:
    """Spans the pieces of a block from the one with the number `first` to the one before `end`."""
    return ByteSpans([block] * (end - first), bounds[first:end], bounds[first + 1 : end + 1])
