"""Joins neighbouring chunks with few runs, so that each table of theirs is folded once for all of them.

Law: the groups depend on the chunks alone. So every engine records the same, and a group is what a reading of
larger chunks gives.
"""

from __future__ import annotations

from schemaman.debezium.raw_record import DecodeContext
from schemaman.ingest.chunks import ChunkPart, merge_parts

CHUNKS = 8
"""The largest number of chunks that are recorded in one transaction."""

_RUNS = 2_048
"""The number of runs from which on a group takes no more chunks: each run keeps a record in memory."""

_RECORDS_PER_RUN = 64
"""The records of a run, on average, from which on a chunk has few runs."""


class ChunkGroup:
    """Chunks of one source, in order, that are recorded together.

    A chunk with many runs is recorded alone. So is one with a refusal, with lines that are no records, or
    with records whose schema is not known yet: what is decoded later may be decoded with more schemas.
    """

    def __init__(self, reading: DecodeContext) -> None:
        self._reading = reading
        self._whole = ChunkPart()
        self._chunks = 0
        self._is_full = False

    @property
    def is_full(self) -> bool:
        """Whether the group takes no more chunks."""
        return self._is_full

    def has_room(self, chunk: ChunkPart) -> bool:
        """Whether the next chunk can be added; an empty group takes every chunk."""
        if not self._chunks:
            return True
        return not self._is_full and _has_few_runs(chunk) and self._is_before(chunk)

    def add(self, chunk: ChunkPart) -> None:
        """Adds the next chunk."""
        self._whole = merge_parts((self._whole, chunk), self._reading) if self._chunks else chunk
        self._chunks += 1
        self._is_full = (
            self._chunks >= CHUNKS or not _has_few_runs(chunk) or _count_runs(self._whole) >= _RUNS
        )

    def take(self) -> ChunkPart | None:
        """Returns the chunks as one, and empties the group; None if it is empty."""
        whole, count = self._whole, self._chunks
        self._whole, self._chunks, self._is_full = ChunkPart(), 0, False
        return whole if count else None

    def _is_before(self, chunk: ChunkPart) -> bool:
        """Whether the offsets go on in each partition; if not, the chunk is refused and the group is not."""
        ends = {(topic, partition): last for topic, partition, _, last in self._whole.extents}
        return all(ends.get((topic, number), -1) < first for topic, number, first, _ in chunk.extents)


def _has_few_runs(chunk: ChunkPart) -> bool:
    if chunk.refusal is not None or chunk.waiting or chunk.unreadable:
        return False
    return _count_runs(chunk) * _RECORDS_PER_RUN <= chunk.read


def _count_runs(chunk: ChunkPart) -> int:
    return sum(len(stretch.runs) for stretch in chunk.stretches)
