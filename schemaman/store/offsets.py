"""Which records have been read already, and what of a new reading may enter the log.

Law: what has entered is a function of the set of records, whoever read them and how often.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    Reject,
    Skipped,
    is_awaiting_schema,
)
from schemaman.errors import Conflict, UsageError
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.store.edge_hashes import EdgeHashes, hashes_of, same
from schemaman.store.log import Covered, Entry, Noted, Observed, Rejected

Place = tuple[str, int]
"""A topic and a partition."""

Ranges = tuple[tuple[int, int], ...]
"""Offsets as (first, last) pairs, both inclusive, in order, with gaps between them."""

GAPS = 256
"""A partition with more gaps than these in its offsets is one of compaction or transactions: nothing fills
them, and its runs pass over them, so that the log grows with facts and not with gaps."""

NO_EDGES: Mapping[str, EdgeHashes] = MappingProxyType({})

ByPlace = Mapping[tuple[str, str, int], Ranges]
Extent = tuple[str, str, int, int, int]
Told = Observation | Reject | Note
RejectKey = tuple[str, str, int, int, str, str]


@dataclass(frozen=True, slots=True)
class Admitted:
    """What may enter: `entries` in their order in the log; `skipped` outcomes were known."""

    entries: tuple[Entry, ...]
    skipped: int


def merge(covered: Iterable[Covered]) -> tuple[Covered, ...]:
    """The same coverage in as few entries as possible, in order of stream, topic, partition, offset.

    What touches or lies in the gaps of another one joins it; the whole keeps the hashes of its outer edges
    and the sum of the asides, so that it does not grow with the runs in it.

    Raises:
        Conflict: two of them cover the same offset.
    """
    groups: list[list[Covered]] = []
    end = 0
    for following in sorted(covered, key=_order):
        if groups and _place(groups[-1][0]) == _place(following) and following.first <= end + 1:
            groups[-1].append(following)
            end = max(end, following.last)
        else:
            groups.append([following])
            end = following.last
    return tuple(replace(group[0], edges=()) if len(group) == 1 else _joined(group) for group in groups)


def spans(covered: Covered) -> Ranges:
    """The offsets that an entry covers: what its gaps leave."""
    starts = (covered.first, *(end + 1 for _, end in covered.gaps))
    ends = (*(start - 1 for start, _ in covered.gaps), covered.last)
    return tuple(zip(starts, ends, strict=True))


def ranges(covered: Iterable[Covered]) -> Mapping[Place, Ranges]:
    """The offsets that have been read, by topic and partition."""
    return {(topic, partition): found for (_, topic, partition), found in _by_place(covered).items()}


def again(read: Iterable[Covered], known: Iterable[Covered]) -> tuple[Covered, ...]:
    """Those of what was read that meet what is `known` to have been read."""
    before = _by_place(known)
    return tuple(one for one in read if _inside((*_place(one), one.first, one.last), before))


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets that were not read and in which a version may have begun; `head`: nothing before them was."""

    version: int
    topic: str
    partition: int
    first: int
    last: int
    head: bool


def holes(history: TableHistory, known: Mapping[Place, Ranges]) -> tuple[Hole, ...]:
    """Where the beginnings of versions are open, since records right before them were not read.

    Of a partition with more than `GAPS` gaps nothing is said: those are of compaction or transactions.
    """
    found: list[Hole] = []
    for version in history.versions:
        place = (version.at.topic, version.at.partition)
        read = known.get(place, ())
        if len(read) <= GAPS + 1:
            lacking = missing(_open_from(version, read), version.at.offset - 1, read)
            found += (Hole(version.number, *place, a, b, a < read[0][0]) for a, b in lacking)
    return tuple(found)


def _open_from(version: SchemaVersion, read: Ranges) -> int:
    """The first offset of its partition at which a version may have begun."""
    at, after = version.at, version.after
    if after is None:
        return 0
    if (after.topic, after.partition) == (at.topic, at.partition):
        return after.offset + 1
    # the end of the interval lies elsewhere: only what is right before the record is surely in it
    start = next((start for start, end in read if start <= at.offset <= end), at.offset)
    return at.offset if start < at.offset else max((end + 1 for _, end in read if end < start), default=0)


def missing(first: int, last: int, known: Ranges) -> Ranges:
    """The parts of `first`..`last` that are not in `known`."""
    found: list[tuple[int, int]] = []
    for start, end in known:
        if start > last or end < first:
            continue
        if start > first:
            found.append((first, start - 1))
        first = end + 1
    if first <= last:
        found.append((first, last))
    return tuple(found)


def strays(outcomes: Iterable[Outcome], read: Iterable[Covered]) -> tuple[Reject, ...]:
    """The rejects that lie in no range that was read: a torn line of a file has no offset."""
    places = _by_place(read)
    rejects = (o for o in outcomes if isinstance(o, Reject))
    return tuple(r for r in rejects if not _inside(_extent(r), places))


def standing(rejects: Iterable[Reject], known: Iterable[Covered]) -> tuple[Reject, ...]:
    """The rejects that still hold, given what is `known` to have been read: each once, in their order.

    A record that waited for its schema has been read if it lies in a range now; of several reasons to
    wait the last one holds.
    """
    places, last = _by_place(known), dict[Extent, Reject]()
    once = {_reject_key(reject): reject for reject in rejects}
    for reject in once.values():
        if is_awaiting_schema(reject.reason):
            last[_extent(reject)] = reject
    return tuple(
        r
        for r in once.values()
        if not is_awaiting_schema(r.reason) or (last[_extent(r)] is r and not _inside(_extent(r), places))
    )


def admit(
    outcomes: Iterable[Outcome],
    read: Iterable[Covered],
    known: Iterable[Covered],
    rejected: Iterable[Reject] = (),
    edges: Mapping[str, EdgeHashes] = NO_EDGES,
) -> Admitted:
    """What of a reading is new, given what is `known` to have been read (of every stream concerned).

    A range that is known with all its records is skipped with what it taught, and a reject without
    a range (`strays`) if the same is among those `rejected` before, or if its record has been read since.
    `edges` are the hashes known of each stream; those of the outer edges are told by `known`.
    The order of the entries follows topic, partition and offset, whoever read them.

    Raises:
        Conflict: a range is known in part; what is missing has to be read again by itself.
        UsageError: other bytes stand at an offset that has been read: this is another stream.
        ValueError: an observation lies in no range that was read, or those ranges overlap.
    """
    new: list[Covered] = []
    seen: list[Covered] = []
    known = tuple(known)
    before, hashes = _by_place(known), _hashes(known)
    for one in _disjoint(read):
        _check_edges(one, hashes, edges.get(one.stream, EdgeHashes()))
        there = _inside((*_place(one), one.first, one.last), before)
        lacking = tuple(piece for span in spans(one) for piece in missing(*span, there)) if there else ()
        if not there:
            new.append(one)
        elif not lacking:
            seen.append(one)
        else:
            raise Conflict(
                f"{_span(one)}: a part of it has been read meanwhile; still missing: {_spelled(lacking)}",
                hint="read again: only what is missing will be taken",
            )
    told = [o for o in outcomes if not isinstance(o, Skipped)]
    fresh, old = _extents(new), _extents(seen)
    before_rejects = {_reject_key(r) for r in rejected}
    entering = [o for o in told if _enters(o, fresh, old, before, before_rejects)]
    entries = [_entry(o) for o in sorted(entering, key=_extent)]
    return Admitted((*entries, *new), len(told) - len(entering))


def _disjoint(read: Iterable[Covered]) -> list[Covered]:
    ordered = sorted(read, key=_order)
    for one, following in pairwise(ordered):
        if _place(one) == _place(following) and following.first <= one.last:
            raise ValueError(f"{_span(one)} and {_span(following)} were read at once")
    return ordered


def _hashes(known: Iterable[Covered]) -> Mapping[tuple[tuple[str, str, int], int], str]:
    return {(_place(c), offset): hash for c in known for offset, hash in hashes_of(c).items()}


def _check_edges(
    one: Covered, hashes: Mapping[tuple[tuple[str, str, int], int], str], edges: EdgeHashes
) -> None:
    for offset, found in hashes_of(one).items():
        expected = hashes.get((_place(one), offset)) or edges.hash(one.topic, one.partition, offset)
        if expected is not None and not same(found, expected):
            raise UsageError(
                f"{one.topic}[{one.partition}]@{offset}: other bytes than those read before in stream "
                f"{one.stream!r}",
                hint="a topic that was created again, or another cluster, is another stream: --stream NAME",
            )


def _enters(
    outcome: Told, new: ByPlace, seen: ByPlace, known: ByPlace, rejected: Container[RejectKey]
) -> bool:
    extent = _extent(outcome)
    fresh, old = _inside(extent, new), _inside(extent, seen)
    if fresh and old:
        raise Conflict(
            f"{extent[1]}[{extent[2]}]@{extent[3]}..{extent[4]}: a part of this run has been read meanwhile",
            hint="read again: only what is missing will be taken",
        )
    if not fresh and not old:
        if isinstance(outcome, Reject):
            return _reject_key(outcome) not in rejected and not _inside(extent, known)
        raise ValueError(f"{extent[1]}[{extent[2]}]@{extent[3]} lies in no range that was read")
    return bool(fresh)


def _inside(extent: Extent, places: ByPlace) -> Ranges:
    """The ranges of a partition that an extent meets."""
    stream, topic, partition, first, last = extent
    ranges = places.get((stream, topic, partition), ())
    start = bisect_left(ranges, first, key=lambda span: span[1])
    end = bisect_right(ranges, last, lo=start, key=lambda span: span[0])
    return tuple(ranges[start:end])


def _reject_key(reject: Reject) -> RejectKey:
    return (reject.stream, reject.topic, reject.partition, reject.offset, reject.sha256, reject.reason)


def _extent(outcome: Told) -> Extent:
    match outcome:
        case Observation(table=table, first=first, last=last):
            return (table.stream, first.topic, first.partition, first.offset, last.offset)
        case Reject() | Note():
            o = outcome
            return (o.stream, o.topic, o.partition, o.offset, o.offset)


def _entry(outcome: Told) -> Entry:
    match outcome:
        case Observation():
            return Observed(outcome)
        case Reject():
            return Rejected(outcome)
        case Note():
            return Noted(outcome)


def _joined(group: Sequence[Covered]) -> Covered:
    """Entries that touch or lie in each other's gaps, as one."""
    asides: Counter[str] = Counter()
    for one in group:
        for kind, count in one.asides:
            asides[kind] += count
    pieces = sorted(span for one in group for span in spans(one))
    gaps: list[tuple[int, int]] = []
    for (_, end), (start, _) in pairwise(pieces):
        if start <= end:
            one, other = (next(c for c in group if c.first <= o <= c.last) for o in (end, start))
            raise Conflict(
                f"{_span(other)} overlaps {_span(one)}, which has been read",
                hint="read again: only what is missing will be taken",
            )
        if start > end + 1:
            gaps.append((end + 1, start - 1))
    last = max(group, key=lambda one: one.last)
    return replace(
        group[0],
        last=last.last,
        last_hash=last.last_hash,
        asides=tuple(sorted(asides.items())),
        gaps=tuple(gaps),
        edges=(),
    )


def _by_place(covered: Iterable[Covered]) -> ByPlace:
    """The offsets of each partition, in order, in as few ranges as possible."""
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for one in covered:
        found.setdefault(_place(one), []).extend(spans(one))
    for place, pieces in found.items():
        whole: list[tuple[int, int]] = []
        for start, end in sorted(pieces):
            if whole and start == whole[-1][1] + 1:
                whole[-1] = (whole[-1][0], end)
            else:
                whole.append((start, end))
        found[place] = whole
    return {place: tuple(pieces) for place, pieces in found.items()}


def _extents(covered: Iterable[Covered]) -> ByPlace:
    """First and last offset of each entry, in order; the runs in it pass over its gaps."""
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for one in sorted(covered, key=_order):
        found.setdefault(_place(one), []).append((one.first, one.last))
    return {place: tuple(pieces) for place, pieces in found.items()}


def _place(covered: Covered) -> tuple[str, str, int]:
    return (covered.stream, covered.topic, covered.partition)


def _order(covered: Covered) -> tuple[str, str, int, int]:
    return (covered.stream, covered.topic, covered.partition, covered.first)


def _span(covered: Covered) -> str:
    return f"{covered.topic}[{covered.partition}]@{covered.first}..{covered.last}"


def _spelled(spans: Ranges) -> str:
    return ", ".join(f"{first}..{last}" for first, last in spans)
