"""Tracks the read records, and selects the new outcomes of a reading for the log.

Law: the content of the log is a function of the set of records, however often they were read.
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
from schemaman.store.edge_hashes import EdgeHashes, is_same_hash, list_hashes
from schemaman.store.log import Entry, NoteEntry, ObservationEntry, RejectEntry
from schemaman.store.ranges import GAPS as GAPS
from schemaman.store.ranges import CoveredRange
from schemaman.store.ranges import Partition as Partition
from schemaman.store.ranges import Ranges as Ranges

NO_EDGES: Mapping[str, EdgeHashes] = MappingProxyType({})

RangesByPartition = Mapping[tuple[str, str, int], Ranges]
Extent = tuple[str, str, int, int, int]
LoggedOutcome = Observation | Reject | Note
RejectKey = tuple[str, str, int, int, str, str]


@dataclass(frozen=True, slots=True)
class Admission:
    """What may enter: `entries` in their order in the log; `known_count` outcomes were known."""

    entries: tuple[Entry, ...]
    known_count: int


def merge_ranges(covered: Iterable[CoveredRange]) -> tuple[CoveredRange, ...]:
    """Join ranges into as few entries as possible, in order of stream, topic, partition, offset.

    Ranges that touch, or are in the gaps of another one, are joined. The joined range keeps the hashes of its
    outer edges and the sum of skipped records, so that its size does not grow with its runs.

    Raises:
        Conflict: two ranges cover the same offset.
    """
    groups: list[list[CoveredRange]] = []
    end = 0
    for following in sorted(covered, key=_order_key):
        if (
            groups
            and _find_partition(groups[-1][0]) == _find_partition(following)
            and following.first <= end + 1
        ):
            groups[-1].append(following)
            end = max(end, following.last)
        else:
            groups.append([following])
            end = following.last
    return tuple(replace(group[0], edges=()) if len(group) == 1 else _join_ranges(group) for group in groups)


def list_spans(covered: CoveredRange) -> Ranges:
    """The offsets that an entry covers: what its gaps leave."""
    starts = (covered.first, *(end + 1 for _, end in covered.gaps))
    ends = (*(start - 1 for start, _ in covered.gaps), covered.last)
    return tuple(zip(starts, ends, strict=True))


def group_ranges(covered: Iterable[CoveredRange]) -> Mapping[Partition, Ranges]:
    """The offsets that have been read, by topic and partition."""
    return {(topic, partition): found for (_, topic, partition), found in _group_spans(covered).items()}


def find_read_again(read: Iterable[CoveredRange], known: Iterable[CoveredRange]) -> tuple[CoveredRange, ...]:
    """Select the read ranges that meet `known` ranges."""
    before = _group_spans(known)
    return tuple(one for one in read if _find_ranges((*_find_partition(one), one.first, one.last), before))


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets that were not read and in which a version may have begun; `head`: nothing before them was."""

    version: int
    topic: str
    partition: int
    first: int
    last: int
    head: bool


def find_holes(history: TableHistory, known: Mapping[Partition, Ranges]) -> tuple[Hole, ...]:
    """Find uncertain beginnings of versions: records directly before them were not read.

    Partitions with more than `GAPS` gaps are ignored: such gaps come from compaction or transactions.
    """
    found: list[Hole] = []
    for version in history.versions:
        partition = (version.at.topic, version.at.partition)
        read = known.get(partition, ())
        if len(read) <= GAPS + 1:
            lacking = find_missing(_find_open_start(version, read), version.at.offset - 1, read)
            found += (Hole(version.number, *partition, a, b, a < read[0][0]) for a, b in lacking)
    return tuple(found)


def _find_open_start(version: SchemaVersion, read: Ranges) -> int:
    """The first offset of its partition at which a version may have begun."""
    at, after = version.at, version.after
    if after is None:
        return 0
    if (after.topic, after.partition) == (at.topic, at.partition):
        return after.offset + 1
    # the interval ends in another partition: only offsets directly before the record are certainly in it
    start = next((start for start, end in read if start <= at.offset <= end), at.offset)
    return at.offset if start < at.offset else max((end + 1 for _, end in read if end < start), default=0)


def find_missing(first: int, last: int, known: Ranges) -> Ranges:
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


def find_stray_rejects(outcomes: Iterable[Outcome], read: Iterable[CoveredRange]) -> tuple[Reject, ...]:
    """Find the rejects outside of all read ranges: a broken line of a file has no offset."""
    ranges = _group_spans(read)
    rejects = (o for o in outcomes if isinstance(o, Reject))
    return tuple(r for r in rejects if not _find_ranges(_find_extent(r), ranges))


def select_open_rejects(rejects: Iterable[Reject], known: Iterable[CoveredRange]) -> tuple[Reject, ...]:
    """Select the rejects that are still open, given the `known` read ranges: each once, in order.

    A record that waited for its schema has been read if it is in a range now. The last of several reasons to
    wait is valid.
    """
    ranges, last = _group_spans(known), dict[Extent, Reject]()
    once = {_make_reject_key(reject): reject for reject in rejects}
    for reject in once.values():
        if is_awaiting_schema(reject.reason):
            last[_find_extent(reject)] = reject
    return tuple(
        r
        for r in once.values()
        if not is_awaiting_schema(r.reason)
        or (last[_find_extent(r)] is r and not _find_ranges(_find_extent(r), ranges))
    )


def admit_outcomes(
    outcomes: Iterable[Outcome],
    read: Iterable[CoveredRange],
    known: Iterable[CoveredRange],
    rejected: Iterable[Reject] = (),
    edges: Mapping[str, EdgeHashes] = NO_EDGES,
) -> Admission:
    """Select the new outcomes of a reading, given the `known` read ranges of all its streams.

    A range with only known records is skipped with its outcomes. A reject without a range is skipped if it is
    among those `rejected` before, or if its record has been read since. `edges` are the known hashes of each
    stream; `known` has those of the outer edges. Entries are in order of topic, partition and offset.

    Raises:
        Conflict: a range is partly known; the missing part has to be read again alone.
        UsageError: a record differs from the known record at its offset: this is another stream.
        ValueError: an observation is outside of the read ranges, or these ranges overlap.
    """
    new: list[CoveredRange] = []
    seen: list[CoveredRange] = []
    known = tuple(known)
    before, hashes = _group_spans(known), _index_hashes(known)
    for one in _require_disjoint(read):
        _check_edges(one, hashes, edges.get(one.stream, EdgeHashes()))
        known_ranges = _find_ranges((*_find_partition(one), one.first, one.last), before)
        lacking = (
            tuple(piece for span in list_spans(one) for piece in find_missing(*span, known_ranges))
            if known_ranges
            else ()
        )
        if not known_ranges:
            new.append(one)
        elif not lacking:
            seen.append(one)
        else:
            raise Conflict(
                f"{_format_span(one)}: another process has read a part of it meanwhile; "
                f"still missing: {_format_spans(lacking)}",
                hint="run the command again: it reads only the missing records",
            )
    logged = [o for o in outcomes if not isinstance(o, Skipped)]
    fresh, old = _list_extents(new), _list_extents(seen)
    before_rejects = {_make_reject_key(r) for r in rejected}
    entering = [o for o in logged if _is_new(o, fresh, old, before, before_rejects)]
    entries = [_make_entry(o) for o in sorted(entering, key=_find_extent)]
    return Admission((*entries, *new), len(logged) - len(entering))


def _require_disjoint(read: Iterable[CoveredRange]) -> list[CoveredRange]:
    ordered = sorted(read, key=_order_key)
    for one, following in pairwise(ordered):
        if _find_partition(one) == _find_partition(following) and following.first <= one.last:
            raise ValueError(f"{_format_span(one)} and {_format_span(following)} overlap")
    return ordered


def _index_hashes(known: Iterable[CoveredRange]) -> Mapping[tuple[tuple[str, str, int], int], str]:
    return {(_find_partition(c), offset): hash for c in known for offset, hash in list_hashes(c).items()}


def _check_edges(
    one: CoveredRange, hashes: Mapping[tuple[tuple[str, str, int], int], str], edges: EdgeHashes
) -> None:
    for offset, found in list_hashes(one).items():
        expected = hashes.get((_find_partition(one), offset)) or edges.hash(one.topic, one.partition, offset)
        if expected is not None and not is_same_hash(found, expected):
            raise UsageError(
                f"{one.topic}[{one.partition}]@{offset}: differs from the record at this offset in stream "
                f"{one.stream!r}",
                hint="use another stream for a recreated topic or another cluster: --stream NAME",
            )


def _is_new(
    outcome: LoggedOutcome,
    new: RangesByPartition,
    seen: RangesByPartition,
    known: RangesByPartition,
    rejected: Container[RejectKey],
) -> bool:
    extent = _find_extent(outcome)
    fresh, old = _find_ranges(extent, new), _find_ranges(extent, seen)
    if fresh and old:
        raise Conflict(
            f"{extent[1]}[{extent[2]}]@{extent[3]}..{extent[4]}: another process has read a part of it",
            hint="run the command again: it reads only the missing records",
        )
    if not fresh and not old:
        if isinstance(outcome, Reject):
            return _make_reject_key(outcome) not in rejected and not _find_ranges(extent, known)
        raise ValueError(f"{extent[1]}[{extent[2]}]@{extent[3]} is outside of the read ranges")
    return bool(fresh)


def _find_ranges(extent: Extent, places: RangesByPartition) -> Ranges:
    """The ranges of a partition that an extent meets."""
    stream, topic, partition, first, last = extent
    partition_ranges = places.get((stream, topic, partition), ())
    start = bisect_left(partition_ranges, first, key=lambda span: span[1])
    end = bisect_right(partition_ranges, last, lo=start, key=lambda span: span[0])
    return tuple(partition_ranges[start:end])


def _make_reject_key(reject: Reject) -> RejectKey:
    return (reject.stream, reject.topic, reject.partition, reject.offset, reject.sha256, reject.reason)


def _find_extent(outcome: LoggedOutcome) -> Extent:
    match outcome:
        case Observation(table=table, first=first, last=last):
            return (table.stream, first.topic, first.partition, first.offset, last.offset)
        case Reject() | Note():
            o = outcome
            return (o.stream, o.topic, o.partition, o.offset, o.offset)


def _make_entry(outcome: LoggedOutcome) -> Entry:
    match outcome:
        case Observation():
            return ObservationEntry(outcome)
        case Reject():
            return RejectEntry(outcome)
        case Note():
            return NoteEntry(outcome)


def _join_ranges(group: Sequence[CoveredRange]) -> CoveredRange:
    """Join entries that touch or are in each other's gaps."""
    skipped: Counter[str] = Counter()
    for one in group:
        for kind, count in one.skipped_counts:
            skipped[kind] += count
    pieces = sorted(span for one in group for span in list_spans(one))
    gaps: list[tuple[int, int]] = []
    for (_, end), (start, _) in pairwise(pieces):
        if start <= end:
            one, other = (next(c for c in group if c.first <= o <= c.last) for o in (end, start))
            raise Conflict(
                f"{_format_span(other)} overlaps the known range {_format_span(one)}",
                hint="run the command again: it reads only the missing records",
            )
        if start > end + 1:
            gaps.append((end + 1, start - 1))
    last = max(group, key=lambda one: one.last)
    return replace(
        group[0],
        last=last.last,
        last_hash=last.last_hash,
        skipped_counts=tuple(sorted(skipped.items())),
        gaps=tuple(gaps),
        edges=(),
    )


def _group_spans(covered: Iterable[CoveredRange]) -> RangesByPartition:
    """The offsets of each partition, in order, in as few ranges as possible."""
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for one in covered:
        found.setdefault(_find_partition(one), []).extend(list_spans(one))
    for partition, pieces in found.items():
        whole: list[tuple[int, int]] = []
        for start, end in sorted(pieces):
            if whole and start == whole[-1][1] + 1:
                whole[-1] = (whole[-1][0], end)
            else:
                whole.append((start, end))
        found[partition] = whole
    return {partition: tuple(pieces) for partition, pieces in found.items()}


def _list_extents(covered: Iterable[CoveredRange]) -> RangesByPartition:
    """First and last offset of each entry, in order; the runs in it pass over its gaps."""
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for one in sorted(covered, key=_order_key):
        found.setdefault(_find_partition(one), []).append((one.first, one.last))
    return {partition: tuple(pieces) for partition, pieces in found.items()}


def _find_partition(covered: CoveredRange) -> tuple[str, str, int]:
    return (covered.stream, covered.topic, covered.partition)


def _order_key(covered: CoveredRange) -> tuple[str, str, int, int]:
    return (covered.stream, covered.topic, covered.partition, covered.first)


def _format_span(covered: CoveredRange) -> str:
    return f"{covered.topic}[{covered.partition}]@{covered.first}..{covered.last}"


def _format_spans(spans: Ranges) -> str:
    return ", ".join(f"{first}..{last}" for first, last in spans)
