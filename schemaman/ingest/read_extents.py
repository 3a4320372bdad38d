"""The offsets that sources have covered since the known offsets were loaded."""

from __future__ import annotations

from bisect import bisect_left, insort
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
        """Adds the extents of parts that have not met others."""
        for part in parts:
            for topic, number, low, high in part.extents:
                insort(self._by_partition.setdefault((topic, number), []), (low, high))

    def _meets(self, partition: Partition, low: int, high: int) -> bool:
        """Returns whether an extent has an offset of another one, or has it in between."""
        added = self._by_partition.get(partition, [])
        at = bisect_left(added, (low,))
        is_after = at > 0 and added[at - 1][1] >= low
        return is_after or (at < len(added) and added[at][0] <= high)
