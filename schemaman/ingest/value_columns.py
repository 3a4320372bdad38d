"""Columns of values: each is bytes of its own, or all lie in one block. A test goes over the whole column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import add, sub


@dataclass(frozen=True, slots=True)
class WholeValues:
    """Values that are bytes of their own."""

    values: Sequence[bytes]

    def measure(self) -> list[int]:
        """Measures the bytes of each value."""
        return list(map(len, self.values))

    def select_first(self, count: int) -> WholeValues:
        """Selects the first values, at most `count`."""
        return self if count >= len(self.values) else WholeValues(self.values[:count])

    def have_prefix(self, prefix: bytes) -> list[bool]:
        """Returns whether each value begins with the prefix."""
        return list(map(bytes.startswith, self.values, repeat(prefix)))

    def find(self, text: bytes, start: int) -> list[int]:
        """Finds a text in each value behind a number of bytes; -1 where it is not."""
        return list(map(bytes.find, self.values, repeat(text), repeat(start)))

    def match(
        self, match: Callable[..., re.Match[bytes] | None], places: Sequence[int]
    ) -> list[re.Match[bytes] | None]:
        """Matches the rest of each value from the place on that `find` has found."""
        return list(map(match, self.values, places))

    def find_ends(self, size: int) -> list[int]:
        """Finds the last `size` bytes of each value; none is shorter."""
        return list(map(sub, self.measure(), repeat(size)))

    def cut(self, places: Sequence[int], start: int) -> list[bytes]:
        """Cuts what is between a number of bytes and the place that was found."""
        return list(map(bytes.__getitem__, self.values, map(slice, repeat(start), places)))

    def join_ends(self, size: int) -> bytes:
        """Joins the last `size` bytes of each value; none is shorter."""
        return b"".join(map(bytes.__getitem__, self.values, repeat(slice(-size, None))))


@dataclass(frozen=True, slots=True)
class BlockValues:
    """Values in one block; value i is `block[begins[i]:ends[i]]`. The methods are those of `WholeValues`."""

    block: bytes
    begins: Sequence[int]
    ends: Sequence[int]

    def measure(self) -> list[int]:
        """Measures the bytes of each value."""
        return list(map(sub, self.ends, self.begins))

    def select_first(self, count: int) -> BlockValues:
        """Selects the first values, at most `count`."""
        if count >= len(self.ends):
            return self
        return BlockValues(self.block, self.begins[:count], self.ends[:count])

    def have_prefix(self, prefix: bytes) -> list[bool]:
        """Returns whether each value begins with the prefix, which may lead beyond a short value."""
        return list(map(self.block.startswith, repeat(prefix), self.begins))

    def find(self, text: bytes, start: int) -> list[int]:
        """Finds a text in each value behind a number of bytes; -1 where it is not."""
        return list(map(self.block.find, repeat(text), map(add, self.begins, repeat(start)), self.ends))

    def match(
        self, match: Callable[..., re.Match[bytes] | None], places: Sequence[int]
    ) -> list[re.Match[bytes] | None]:
        """Matches the rest of each value from the place on that `find` has found."""
        return list(map(match, repeat(self.block), places, self.ends))

    def find_ends(self, size: int) -> list[int]:
        """Finds the last `size` bytes of each value; none is shorter."""
        return list(map(sub, self.ends, repeat(size)))

    def cut(self, places: Sequence[int], start: int) -> list[bytes]:
        """Cuts what is between a number of bytes and the place that was found."""
        cuts = map(slice, map(add, self.begins, repeat(start)), places)
        return list(map(self.block.__getitem__, cuts))

    def join_ends(self, size: int) -> bytes:
        """Joins the last `size` bytes of each value; none is shorter."""
        cuts = map(slice, map(sub, self.ends, repeat(size)), self.ends)
        return b"".join(map(self.block.__getitem__, cuts))


ValueColumn = WholeValues | BlockValues
