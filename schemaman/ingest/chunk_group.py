"""Joins neighbouring chunks with few runs, so that each table of theirs is folded once for all of them.

Law: the groups depend on the chunks alone. So every engine records the same, and a group is what a reading of
larger chunks gives.
"""

from __future__ import annotations

from schemaman.debezium.raw_record import DecodeContext
from schemaman.ingest.chunks import CHUNK, ChunkPart, merge_parts
from schemaman.store.ranges import Partition

CHUNKS = 8
"""The largest number of chunks of one source that are recorded in one transaction."""

_RECORDS = CHUNKS * CHUNK
"""The number of records from which on a group takes no more chunks."""

_RUNS = 2_048
"""The number of runs from which on a group takes no more chunks: each run keeps a record in memory."""

_RECORDS_PER_RUN = 64
"""The records of a run, on average, from which on a chunk has few runs."""

_FEW_RUNS = 16
"""The number of runs up to which a chunk has few, however small it is."""


class ChunkGroup:
    """Up to `chunks` chunks, in order, that are recorded together.

    A chunk with many runs is recorded alone. So is one with a refusal, with lines that are no records, or
    with records whose schema is not known yet: what is decoded later may be decoded with more schemas.
    """

    def __init__(self, reading: DecodeContext, chunks: int = CHUNKS) -> None:
        self._reading = reading
        self._most = chunks
        self._parts: list[ChunkPart] = []
        self._ends: dict[Partition, int] = {}
        self._chunks = self._records = self._runs = 0

    @property
    def is_full(self) -> bool:
        """Whether the group takes no more chunks."""
        return (
            self._chunks >= self._most
            or self._records >= _RECORDS
            or self._runs >= _RUNS
            or (self._chunks == 1 and not has_few_runs(self._parts[0]))
        )

    def has_room(self, chunk: ChunkPart) -> bool:
        """Whether the next chunk can be added; an empty group takes every chunk."""
        if not self._chunks:
            return True
        return not self.is_full and has_few_runs(chunk) and self._is_before(chunk)

    def add(self, chunk: ChunkPart) -> None:
        """Adds the next chunk."""
        self._parts.append(chunk)
        self._ends |= {(topic, partition): last for topic, partition, _, last in chunk.extents}
        self._chunks += 1
        self._records += chunk.read
        self._runs += _count_runs(chunk)
        if self._runs >= _RUNS and len(self._parts) > 1:
            self._parts = [merge_parts(self._parts, self._reading)]
            self._runs = _count_runs(self._parts[0])

    def take(self) -> ChunkPart | None:
        """Returns the chunks as one, and empties the group; None if it is empty."""
        parts = self._parts
        self._parts, self._ends = [], {}
        self._chunks = self._records = self._runs = 0
        return merge_parts(parts, self._reading) if parts else None

    def _is_before(self, chunk: ChunkPart) -> bool:
        """Whether the offsets go on in each partition; if not, the chunk is refused and the group is not."""
        return all(self._ends.get((topic, number), -1) < first for topic, number, first, _ in chunk.extents)


def has_few_runs(chunk: ChunkPart) -> bool:
    """Returns whether a chunk can be recorded together with others."""
    if chunk.refusal is not None or chunk.waiting or chunk.unreadable:
        return False
    runs = _count_runs(chunk)
    return runs <= _FEW_RUNS or runs * _RECORDS_PER_RUN <= chunk.read


def _count_runs(chunk: ChunkPart) -> int:
    return sum(len(stretch.runs) for stretch in chunk.stretches)
