"""The hashes of records at the edges of runs; they reveal a different record at a known offset.

Law: each hash of the log is found at its offset, however ranges were joined later.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from schemaman.store.ranges import CoveredRange

_WIDTH = 16
"""Hexadecimal digits of a hash."""


Extents = Mapping[tuple[str, int], tuple[int, int]]
"""The first and the last offset, by topic and partition."""


class EdgeSource(Protocol):
    """What is known of the records at edges of one stream."""

    def hash(self, topic: str, partition: int, offset: int) -> str | None:
        """The hash of the record at that offset, if it is the edge of a run that was read."""

    def find_edge(self, topic: str, partition: int, offset: int) -> int | None:
        """The first offset of an edge from an offset on; None if there is none."""

    def load_all(self) -> EdgeHashes:
        """The same at hand, for a process that cannot ask the store."""

    def select_extents(self, extents: Extents) -> EdgeHashes:
        """The hashes in some offset ranges, for a process without access to the store."""


@dataclass(frozen=True, slots=True)
class _PartitionEdges:
    """Offsets in order, and the hash of each, in 24 bytes together: a store may know millions."""

    offsets: array[int]
    hashes: bytes

    def hash(self, offset: int) -> str | None:
        at = bisect_left(self.offsets, offset)
        if at == len(self.offsets) or self.offsets[at] != offset:
            return None
        return self.hashes[at * _WIDTH : (at + 1) * _WIDTH].decode().rstrip()

    def find_edge(self, offset: int) -> int | None:
        at = bisect_left(self.offsets, offset)
        return None if at == len(self.offsets) else self.offsets[at]

    def select_offsets(self, first: int, last: int) -> _PartitionEdges:
        begin, end = bisect_left(self.offsets, first), bisect_right(self.offsets, last)
        return _PartitionEdges(self.offsets[begin:end], self.hashes[begin * _WIDTH : end * _WIDTH])


@dataclass(frozen=True, slots=True)
class EdgeHashes:
    """The hashes at edges by topic and partition; can be sent to other processes."""

    places: Mapping[tuple[str, int], _PartitionEdges] = field(default_factory=dict)

    def hash(self, topic: str, partition: int, offset: int) -> str | None:
        """The hash of the record at that offset, if it is the edge of a run that was read."""
        edges = self.places.get((topic, partition))
        return None if edges is None else edges.hash(offset)

    def find_edge(self, topic: str, partition: int, offset: int) -> int | None:
        """The first offset of an edge from an offset on; None if there is none."""
        edges = self.places.get((topic, partition))
        return None if edges is None else edges.find_edge(offset)

    def load_all(self) -> EdgeHashes:
        """Itself."""
        return self

    def select_extents(self, extents: Extents) -> EdgeHashes:
        """The hashes in some offset ranges."""
        known = ((partition, self.places[partition]) for partition in extents if partition in self.places)
        return EdgeHashes(
            {partition: found.select_offsets(*extents[partition]) for partition, found in known}
        )


class EdgesOnDemand:
    """The hashes at edges, read when the first is asked for: most readings meet no record that is known."""

    def __init__(self, load: Callable[[], EdgeHashes]) -> None:
        self._load = load
        self._loaded: EdgeHashes | None = None

    def hash(self, topic: str, partition: int, offset: int) -> str | None:
        """The hash of the record at that offset, if it is the edge of a run that was read."""
        return self.load_all().hash(topic, partition, offset)

    def find_edge(self, topic: str, partition: int, offset: int) -> int | None:
        """The first offset of an edge from an offset on; None if there is none."""
        return self.load_all().find_edge(topic, partition, offset)

    def load_all(self) -> EdgeHashes:
        """What was read, now or before."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def select_extents(self, extents: Extents) -> EdgeHashes:
        """The hashes in some offset ranges; without ranges nothing is read."""
        return self.load_all().select_extents(extents) if extents else EdgeHashes()


def list_hashes(covered: CoveredRange) -> Mapping[int, str]:
    """The hashes in an entry of the log, by offset, without empty ones."""
    ends = {covered.first: covered.first_hash, covered.last: covered.last_hash}
    return {offset: hash for offset, hash in (ends | dict(covered.edges)).items() if hash}


def collect_edges(covered: Iterable[CoveredRange]) -> EdgeHashes:
    """Collect the hashes in entries of the log for one stream."""
    building: dict[tuple[str, int], tuple[array[int], bytearray]] = {}
    for one in covered:
        offsets, hashes = building.setdefault((one.topic, one.partition), (array("q"), bytearray()))
        for offset, hash in sorted(list_hashes(one).items()):
            offsets.append(offset)
            hashes += f"{hash:{_WIDTH}.{_WIDTH}}".encode("ascii", "replace")
    return EdgeHashes({partition: _sort_edges(*found) for partition, found in building.items()})


def is_same_hash(hash: str, other: str) -> bool:
    """Whether two hashes are of the same bytes."""
    return hash[:_WIDTH] == other[:_WIDTH]


def _sort_edges(offsets: array[int], hashes: bytearray) -> _PartitionEdges:
    """Parts of a partition may have been read in any order."""
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    pieces = (hashes[at * _WIDTH : (at + 1) * _WIDTH] for at in order)
    return _PartitionEdges(array("q", (offsets[at] for at in order)), b"".join(pieces))
