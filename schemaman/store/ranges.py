"""Ranges of offsets that have been read; the scan, which needs no history, loads no more of the store."""

from __future__ import annotations

from dataclasses import dataclass

Partition = tuple[str, int]
"""A topic and a partition."""

Ranges = tuple[tuple[int, int], ...]
"""Offsets as (first, last) pairs, both inclusive, in order, with gaps between them."""

GAPS = 256
"""A partition with more gaps than these in its offsets is one of compaction or transactions: nothing fills
them, and its runs pass over them, so that the log grows with facts and not with gaps."""


@dataclass(frozen=True, slots=True)
class CoveredRange:
    """The records from `first` to `last` of a topic-partition have been read, but for the `gaps`.

    `first_hash` and `last_hash` are SHA-256 prefixes of the edge records (key and value):
    other bytes at a known offset are another stream. `edges` are those at the edges of runs in between, as
    (offset, hash) in order of the offsets. `skipped_counts` counts what was no testimony.
    `gaps` are offsets in between, as inclusive pairs in order, at which nothing was read: compaction
    and the markers of transactions leave such holes, and so does a dump that is not whole.
    """

    stream: str
    topic: str
    partition: int
    first: int
    last: int
    first_hash: str
    last_hash: str
    skipped_counts: tuple[tuple[str, int], ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    edges: tuple[tuple[int, str], ...] = ()

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.last - self.first + 1 - sum(end - start + 1 for start, end in self.gaps)
