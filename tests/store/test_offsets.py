"""Coverage against sets of offsets: whoever read what, no record enters twice and none is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import Conflict
from schemaman.store.log import CoveredRange
from schemaman.store.offsets import admit_outcomes, find_missing, group_ranges, list_spans, merge_ranges

OFFSETS = st.sets(st.integers(0, 30), min_size=1)


def covering(offsets: set[int]) -> CoveredRange:
    """What is said of records at these offsets that were read at once."""
    first, last = min(offsets), max(offsets)
    gaps = tuple((o + 1, then - 1) for o, then in pairwise(sorted(offsets)) if o + 1 < then)
    return CoveredRange("main", "t", 0, first, last, f"h{first}", f"h{last}", gaps=gaps)


def told(covered: tuple[CoveredRange, ...]) -> set[int]:
    return {o for c in covered for start, end in list_spans(c) for o in range(start, end + 1)}


@given(OFFSETS)
def test_an_entry_covers_what_its_gaps_leave(offsets: set[int]):
    one = covering(offsets)
    assert told((one,)) == offsets
    assert one.records == len(offsets)
    found = group_ranges([one])["t", 0]
    assert {o for start, end in found for o in range(start, end + 1)} == offsets
    assert all(start > end + 1 for (_, end), (start, _) in pairwise(found))


@given(st.lists(OFFSETS, max_size=5))
def test_merging_is_the_union_and_knows_the_edges(pieces: list[set[int]]):
    disjoint = [piece - set().union(*pieces[:n]) for n, piece in enumerate(pieces)]
    entries = [covering(piece) for piece in disjoint if piece]
    merged = merge_ranges(entries)
    assert told(merged) == set().union(*pieces)
    assert merge_ranges(reversed(merged)) == merged
    for one in merged:
        assert (one.first_hash, one.last_hash) == (f"h{one.first}", f"h{one.last}")


@given(OFFSETS, OFFSETS)
def test_what_is_covered_twice_is_a_conflict(one: set[int], other: set[int]):
    entries = [covering(one), covering(other)]
    if one & other:
        with pytest.raises(Conflict):
            merge_ranges(entries)
    else:
        assert told(merge_ranges(entries)) == one | other


@given(OFFSETS, OFFSETS)
def test_all_enters_or_nothing(known: set[int], read: set[int]):
    before, new = covering(known), covering(read)
    within = {o for o in known if min(read) <= o <= max(read)}
    if not within:
        assert admit_outcomes([], [new], [before]).entries == (new,)
    elif read <= known:
        assert admit_outcomes([], [new], [before]).entries == ()
    else:
        with pytest.raises(Conflict):
            admit_outcomes([], [new], [before])


@given(st.integers(0, 30), st.integers(0, 30), OFFSETS)
def test_what_is_missing(first: int, last: int, known: set[int]):
    lacking = find_missing(first, last, group_ranges([covering(known)])["t", 0])
    assert {o for a, b in lacking for o in range(a, b + 1)} == set(range(first, last + 1)) - known
