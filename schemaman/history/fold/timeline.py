"""The order in which things were said of one table: observations → points in source order.

A run tells two edges. Edges whose position lies behind what the same partition has already
delivered are deliveries repeated after a restart: they support, they open nothing. What is
read from the table itself (snapshots) stands behind the last streamed record before it.
Runs that only repetitions cut are one, so that what is sent again sharpens no edge either.
The result is a function of the set of observations, not of their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import itemgetter

from schemaman.evidence import ALTERNATIONS, STATEMENTS, Mark, Observation, PositionKind, Rank
from schemaman.fold.points import Point, Read, behind_what_they_follow, time_of
from schemaman.inference import added, content, joined_rows

Stretch = tuple[int, PositionKind, Observation | None]
"""What neighbouring edges have in common whose runs are one: what was read before, and what they say."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Points in source order, and the observations that only repeat what had been delivered."""

    points: tuple[Point, ...]
    repeated: tuple[Observation, ...]


def timeline(observations: Iterable[Observation]) -> Timeline:
    """The points of one table in the order of its source."""
    runs = merged(observations)
    kinds = _kind_starts(runs)
    points: list[Point] = []
    repeated: list[Observation] = []
    read: list[Read] = []
    for _, partition in groupby(runs, key=_place):
        _partition_points(list(partition), kinds, points, repeated, read)
    streamed = sorted(points, key=lambda p: p.order)
    placed = behind_what_they_follow(read, streamed)
    return Timeline(tuple(sorted([*streamed, *placed], key=lambda p: p.order)), tuple(repeated))


def merged(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """The observations with each run in one piece again, however many ingests cut it.

    Two neighbours of a partition that say the same, and whose positions do not go back,
    are one: nothing about this table was said between them.
    """
    result: list[Observation] = []
    for observation in _sorted(observations):
        last = result[-1] if result else None
        if last is not None and _continues(last, observation):
            result[-1] = longer(last, observation, observation.last)
        else:
            result.append(observation)
    return tuple(o for _, runs in groupby(result, key=_place) for o in _collapsed(list(runs)))


def _collapsed(runs: list[Observation]) -> list[Observation]:
    """The runs of a partition, or one counted interval a structure if they alternate too often.

    A scanner collapses what it saw at once, by the same measure; here that is done to what several have
    seen, so that the history does not depend on how the records were cut.
    """
    images = [o for o in runs if o.witness not in STATEMENTS]
    if len(images) <= ALTERNATIONS and not any(o.interrupted for o in images):
        return runs
    intervals: dict[Observation, Observation] = {}
    for run in images:
        said = replace(content(run), interrupted=True)
        known = intervals.get(said)
        if known is None:
            intervals[said] = replace(run, interrupted=True)
            continue
        last = max(known.last, run.last, key=lambda mark: mark.offset)
        intervals[said] = longer(known, run, last)
    return _sorted([*(o for o in runs if o.witness in STATEMENTS), *intervals.values()])


def longer(run: Observation, other: Observation, last: Mark) -> Observation:
    """Two observations of the same content as one, which ends at `last`."""
    seen = [o.seen for o in (run, other) if o.seen is not None]
    schema = run.schema
    if schema is not None and other.schema is not None and run.witness == "inferred":
        schema = joined_rows(schema, other.schema)
    count = run.count + other.count
    return replace(run, last=last, count=count, seen=added(seen) if seen else None, schema=schema)


def _place(observation: Observation) -> tuple[str, int]:
    return (observation.first.topic, observation.first.partition)


def _sorted(observations: Iterable[Observation]) -> list[Observation]:
    """The observations in order of place and offsets, each once; what stands in one place by all it says."""
    result: list[Observation] = []
    for _, same in groupby(sorted(observations, key=_extent), key=_extent):
        found = list(same)
        result += found if len(found) == 1 else sorted(set(found), key=repr)
    return result


def _extent(observation: Observation) -> tuple[str, int, int, int]:
    first, last = observation.first, observation.last
    return (first.topic, first.partition, first.offset, last.offset)


def _continues(last: Observation, following: Observation) -> bool:
    if last.witness in STATEMENTS or last.interrupted or following.interrupted:
        return False
    if _place(last) != _place(following) or following.first.offset <= last.last.offset:
        return False
    if following.first.position.rank < last.last.position.rank:
        return False
    return content(following) == content(last)


def _kind_starts(runs: Sequence[Observation]) -> dict[PositionKind, int]:
    """When each kind of position first appeared: kinds never compare, so they follow in time."""
    starts: dict[PositionKind, int] = {}
    for mark in (mark for run in runs for mark in _edges(run)):
        kind, at = mark.position.kind, time_of(mark)
        starts[kind] = min(starts.get(kind, at), at)
    return starts


def _partition_points(
    runs: list[Observation],
    kinds: dict[PositionKind, int],
    points: list[Point],
    repeated: list[Observation],
    read: list[Read],
) -> None:
    high: dict[PositionKind, Rank] = {}
    place: tuple[int, Rank] = (0, ())
    told: set[int] = set()
    streamed: list[tuple[Stretch, Point]] = []
    latest: Observation | None = None
    # By offset, edge after edge: interrupted runs overlap, and what one shows last lifts nothing before.
    edges = sorted((m.offset, i) for i, run in enumerate(runs) for m in _edges(run))
    for offset, index in edges:
        run = runs[index]
        mark = run.first if run.first.offset == offset else run.last
        kind = mark.position.kind
        if run.snapshot or kind == "none":
            behind = place if high else (kinds[kind], mark.position.rank)
            # what a snapshot declares, it declares before it reads; older releases tell no time of it
            point = _point(run, mark, behind, tier=0 if run.witness == "declared" else 1)
            if run.snapshot:
                read.append(Read(point, followed=bool(high)))
            else:
                points.append(point)
            continue
        rank, before = mark.position.rank, high.get(kind, ())
        if rank < before or (rank == before and index not in told and not _sibling(run, latest)):
            continue
        latest = run
        # what is read in between stands behind an edge, which stays one
        between = len(read) + len(points)
        streamed.append(((between, kind, _joinable(run)), _point(run, mark, (kinds[kind], rank), tier=0)))
        told.add(index)
        high[kind] = rank
        place = (kinds[kind], rank)
    points += _in_one_piece(streamed)
    repeated += (
        run
        for index, run in enumerate(runs)
        if index not in told and not run.snapshot and run.first.position.kind != "none"
    )


def _in_one_piece(streamed: Sequence[tuple[Stretch, Point]]) -> Iterator[Point]:
    """The streamed points of a partition; runs of the same content with nothing new between are one run.

    A run that passes over gaps may reach beyond what fills them: then each stays what it is.
    """
    edges = Counter(point.observation for _, point in streamed)
    for (*_, said), alike in groupby(streamed, key=itemgetter(0)):
        stretch = [point for _, point in alike]
        runs = Counter(point.observation for point in stretch)
        if said is None or len(runs) == 1 or any(edges[run] > count for run, count in runs.items()):
            yield from stretch
            continue
        whole = reduce(lambda run, following: longer(run, following, stretch[-1].mark), runs)
        yield from (replace(point, observation=whole) for point in (stretch[0], stretch[-1]))


def _joinable(run: Observation) -> Observation | None:
    """What the runs that are joined have in common; None for what is told one by one."""
    return None if run.witness in STATEMENTS or run.interrupted else content(run)


def _sibling(run: Observation, before: Observation | None) -> bool:
    """Whether a record at the position of the last one is its sibling and not its repetition.

    A delete and a create of one changed key share a position and a shape; the same position
    with another shape is the same record delivered again, with a later catalogue. Several
    declared images at one position are parts of one statement.
    """
    return run.witness in STATEMENTS or (before is not None and content(run) == content(before))


def _edges(run: Observation) -> list[Mark]:
    return [run.first] if run.first == run.last else [run.first, run.last]


def _point(run: Observation, mark: Mark, place: tuple[int, Rank], tier: int) -> Point:
    order = (place[0], place[1], tier, time_of(mark), mark.topic, mark.partition, mark.offset)
    return Point(order, mark, run)
