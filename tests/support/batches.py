"""The one generator for the law of batch boundaries: where a stream may be cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import TypeVar

from tests.support.checkout import PROOF

T = TypeVar("T")


def cuts(count: int) -> Iterator[tuple[int, ...]]:
    """Places where a stream of `count` records is cut.

    A proof has all of them. A small run has no cut, each single one, and all at once.
    """
    for size in range(count) if PROOF else sorted({0, min(1, count - 1), count - 1}):
        yield from combinations(range(1, count), size)


def cut(records: Sequence[T], ends: Sequence[int]) -> list[Sequence[T]]:
    """The batches between these places; none is empty unless the stream is."""
    inside = sorted({end for end in ends if 0 < end < len(records)})
    return [records[first:end] for first, end in pairwise((0, *inside, len(records)))]
