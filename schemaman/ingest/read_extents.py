"""The offsets that sources have covered since the known offsets were loaded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from schemaman.ingest.chunks import ChunkPart
from schemaman.store.ranges import Partition


class ReadExtents:
    """The extents of chunk parts, for each partition apart from each other."""

    def __init__(self) -> None:
        self._by_partition: dict[Partition, list[tuple[int, int]]] = {}

    def __bool__(self) -> bool:
        """Returns whether parts were added."""
        return bool(self._by_partition)

    def has_met(self, part: ChunkPart) -> bool:
        """Returns whether records of a part lie beside or between offsets that were added.

        Such a part was read without knowing them. Others are those that a later reading would give.
        """
        return any(self._meets((topic, number), low, high) for topic, number, low, high in part.extents)

    def add(self, parts: Iterable[ChunkPart]) -> None:
        """Adds the extents of parts."""
        for part in parts:
            for topic, number, low, high in part.extents:
                self._add(self._by_partition.setdefault((topic, number), []), low, high)

    def _add(self, added: list[tuple[int, int]], low: int, high: int) -> None:
        """Adds an extent, joined with those that it meets."""
        begin = self._find(added, low)
        end = begin
        while end < len(added) and added[end][0] <= high:
            low, high = min(low, added[end][0]), max(high, added[end][1])
            end += 1
        added[begin:end] = [(low, high)]

    def _meets(self, partition: Partition, low: int, high: int) -> bool:
        """Returns whether an extent has an offset of another one, or has it in between."""
        added = self._by_partition.get(partition, [])
        at = self._find(added, low)
        return at < len(added) and added[at][0] <= high

    @staticmethod
    def _find(added: list[tuple[int, int]], low: int) -> int:
        """Finds the first extent that ends at `low` or behind it."""
        at = bisect_left(added, (low,))
        return at - 1 if at > 0 and added[at - 1][1] >= low else at
