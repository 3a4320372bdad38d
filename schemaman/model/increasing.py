"""The longest increasing part of a sequence: what moved is the rest."""

from __future__ import annotations

from bisect import bisect_left


def find_longest_increasing(values: list[int]) -> set[int]:
    """Find the elements of a longest increasing subsequence, by patience sorting."""
    tops: list[int] = []
    piles: list[tuple[int, int]] = []
    for value in values:
        pile = bisect_left(tops, value)
        tops[pile : pile + 1] = [value]
        piles.append((pile, value))
    if len(tops) == len(values):
        return set(values)
    wanted, kept, least = len(tops) - 1, set[int](), None
    for pile, value in reversed(piles):
        if pile == wanted and (least is None or value < least):
            kept.add(value)
            wanted, least = wanted - 1, value
    return kept
