"""Orders the observations of one table: observations → points in source order.

Each run has two edges. An edge is a repeated delivery after a restart if its position is before one that the
same partition has already delivered; it supports versions and begins none. Reads of the table itself
(snapshots) follow the last streamed record before them. Runs that only repetitions cut are joined, so that
repeated records do not make an edge more exact.

Law: the result is a function of the set of observations, not of their order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, groupby
from operator import attrgetter, itemgetter

from schemaman.debezium.inference import extract_content, merge_inferred_fields, merge_row_schemas
from schemaman.debezium.observation import ALTERNATIONS, STATEMENT_KINDS, Observation
from schemaman.debezium.records import Coordinates, Position, PositionKind, Rank
from schemaman.model.schema import TableSchema, fingerprint

StretchKey = tuple[int, PositionKind, int | None]
"""The common value of neighbouring edges of one run: what was read before them, and the number of their
content; None for observations that stay separate."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Points in source order, and the observations that only repeat what had been delivered."""

    points: tuple[Point, ...]
    repeated: tuple[Observation, ...]


def build_timeline(observations: Iterable[Observation]) -> Timeline:
    """The points of one table in the order of its source."""
    runs = merge_runs(observations)
    kinds = _find_kind_starts(runs)
    points: list[Point] = []
    repeated: list[Observation] = []
    read: list[TableRead] = []
    for _, partition in groupby(runs, key=_find_partition):
        _add_partition_points(list(partition), kinds, points, repeated, read)
    streamed, copies = _split_copies(sorted(points, key=_find_order))
    repeated += dict.fromkeys(p.observation for p in copies)
    read_points = place_reads(read, streamed)
    if read_points:
        streamed = sorted([*streamed, *read_points], key=_find_order)
    return Timeline(tuple(streamed), tuple(repeated))


def _split_copies(points: Iterable[Point]) -> tuple[list[Point], list[Point]]:
    """Split points in order: those that happened, and actions that another topic or partition shows again.

    One position has each action of a table once; rows of equal content may share it.
    """
    happened: list[Point] = []
    copies: list[Point] = []
    seen: dict[tuple[Observation, Position], tuple[str, int]] = {}
    for point in points:
        run, position = point.observation, point.coordinates.position
        is_action = run.evidence in STATEMENT_KINDS or run.action != "image"
        if is_action and position.kind != "none":
            partition = _find_partition(run)
            if seen.setdefault((extract_content(run), position), partition) != partition:
                copies.append(point)
                continue
        happened.append(point)
    return happened, copies


def merge_runs(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return the observations with each run joined again, however many ingests cut it.

    Two neighbours of a partition with the same facts, whose positions do not decrease, are one run: there is
    no record of this table between them.
    """
    merged: list[Observation] = []
    latest: dict[str, int] = {}
    for observation in _sort_observations(observations):
        # runs of two writers overlap: each continues its own
        index = latest.get(observation.writer)
        if index is not None and _is_continuation(merged[index], observation):
            merged[index] = join_runs(merged[index], observation, observation.last)
        else:
            latest[observation.writer] = len(merged)
            merged.append(observation)
    result = _sort_observations(merged) if len(latest) > 1 else merged
    return tuple(o for _, runs in groupby(result, key=_find_partition) for o in _collapse_runs(list(runs)))


def _collapse_runs(runs: list[Observation]) -> list[Observation]:
    """The runs of a partition, or one counted interval a structure if they alternate too often.

    A scanner collapses what it saw at once, by the same measure; here that is done to what several have
    seen, so that the history does not depend on how the records were cut.
    """
    images = [o for o in runs if o.evidence not in STATEMENT_KINDS]
    if len(images) <= ALTERNATIONS and not any(o.interrupted for o in images):
        return runs
    intervals: dict[Observation, Observation] = {}
    for run in images:
        key = replace(extract_content(run), interrupted=True)
        known = intervals.get(key)
        if known is None:
            intervals[key] = replace(run, interrupted=True)
            continue
        last = max(known.last, run.last, key=lambda mark: mark.offset)
        intervals[key] = join_runs(known, run, last)
    return _sort_observations([*(o for o in runs if o.evidence in STATEMENT_KINDS), *intervals.values()])


def join_runs(run: Observation, other: Observation, last: Coordinates) -> Observation:
    """Two observations of the same content as one, which ends at `last`."""
    inferred = [o.inferred for o in (run, other) if o.inferred is not None]
    schema = run.schema
    if schema is not None and other.schema is not None and run.evidence == "inferred":
        schema = merge_row_schemas(schema, other.schema)
    count = run.count + other.count
    return replace(
        run,
        last=last,
        count=count,
        inferred=merge_inferred_fields(inferred) if inferred else None,
        schema=schema,
    )


def _find_partition(observation: Observation) -> tuple[str, int]:
    return (observation.first.topic, observation.first.partition)


def _sort_observations(observations: Iterable[Observation]) -> list[Observation]:
    """Sort the observations by position and offsets, each once; equal positions by all their facts."""
    extents: dict[tuple[str, int, int, int], list[Observation]] = {}
    for observation in observations:
        extents.setdefault(_find_extent(observation), []).append(observation)
    result: list[Observation] = []
    for extent in sorted(extents):
        found = extents[extent]
        result += found if len(found) == 1 else sorted(set(found), key=_order_alike)
    return result


def _order_alike(observation: Observation) -> tuple[bool, str, bool, str]:
    """The sort key of observations of one extent: all values; those without inferred fields come first.

    A statement that renames a table and changes its columns is two observations, the rename first.
    """
    facts = repr(replace(observation, inferred=None))
    return (observation.action != "rename", facts, observation.inferred is not None, repr(observation))


def _find_extent(observation: Observation) -> tuple[str, int, int, int]:
    first, last = observation.first, observation.last
    return (first.topic, first.partition, first.offset, last.offset)


def _is_continuation(last: Observation, following: Observation) -> bool:
    if last.evidence in STATEMENT_KINDS or last.interrupted or following.interrupted:
        return False
    if _find_partition(last) != _find_partition(following) or following.first.offset <= last.last.offset:
        return False
    if following.first.position.rank < last.last.position.rank:
        return False
    return _has_same_content(last, following)


def _has_same_content(one: Observation, other: Observation) -> bool:
    """Whether two observations differ at most in coordinates, counts, and types that nulls may hide."""
    if one.evidence != "inferred" and one.schema is not other.schema and one.schema != other.schema:
        return False  # most neighbours have other schemas, and comparing the rest takes longer
    return extract_content(one) == extract_content(other)


def _find_kind_starts(runs: Sequence[Observation]) -> dict[PositionKind, int]:
    """When each kind of position first appeared: kinds never compare, so they follow in time."""
    starts: dict[PositionKind, int] = {}
    for mark in (mark for run in runs for mark in _list_edges(run)):
        kind, at = mark.position.kind, find_time(mark)
        starts[kind] = min(starts.get(kind, at), at)
    return starts


def _add_partition_points(
    runs: list[Observation],
    kinds: dict[PositionKind, int],
    points: list[Point],
    repeated: list[Observation],
    read_points: list[TableRead],
) -> None:
    high: dict[PositionKind, Rank] = {}
    position: tuple[int, Rank] = (0, ())
    taken: set[int] = set()
    streamed: list[tuple[StretchKey, Point]] = []
    latest: Observation | None = None
    content = 0
    processed_ms = -1
    is_repeating = False
    seen: set[tuple[Observation, Position, int | None, int | None]] = set()
    # By offset, edge after edge: interrupted runs overlap, and what one shows last lifts nothing before.
    edges = sorted((m.offset, i) for i, run in enumerate(runs) for m in _list_edges(run))
    for offset, index in edges:
        run = runs[index]
        mark = run.first if run.first.offset == offset else run.last
        kind = mark.position.kind
        if run.snapshot or kind == "none":
            late = run.snapshot and _is_late_read(mark, high, processed_ms)
            read = (extract_content(run), mark.position, mark.ts_ms, mark.read_ms)
            if late and read in seen:
                continue
            seen.add(read)
            taken.add(index)
            behind = position if high and not late else (kinds[kind], mark.position.rank)
            # a snapshot declares schemas before it reads rows; older releases give no time for that
            point = _make_point(run, mark, behind, tier=0 if run.evidence == "declared" else 1)
            if run.snapshot:
                read_points.append(TableRead(point, is_after_stream=bool(high) and not late))
            else:
                points.append(point)
            continue
        rank, before = mark.position.rank, high.get(kind, ())
        if rank != before:
            is_repeating = rank < before
        if is_repeating or (rank == before and index not in taken and not _is_sibling(run, latest)):
            continue
        if run.evidence in STATEMENT_KINDS:
            statement = (extract_content(run), mark.position, None, None)
            if statement in seen:
                continue
            seen.add(statement)
        if latest is None or (run is not latest and not _is_joinable(latest, run)):
            content += 1
        latest = run
        # reads in between follow an edge, which stays an edge
        between = len(read_points) + len(points)
        key = None if _is_separate(run) else content
        streamed.append(((between, kind, key), _make_point(run, mark, (kinds[kind], rank), tier=0)))
        taken.add(index)
        processed_ms = max(processed_ms, -1 if mark.read_ms is None else mark.read_ms)
        high[kind] = rank
        position = (kinds[kind], rank)
    points += _join_points(streamed)
    repeated += (run for index, run in enumerate(runs) if index not in taken)


def _is_late_read(mark: Coordinates, high: Mapping[PositionKind, Rank], processed_ms: int) -> bool:
    """Whether a read of the table is older than what its partition had already delivered, by its own account.

    Such a read comes from a copy of the stream: the topic was restored, mirrored, or read again.
    `processed_ms` is the latest time at which a streamed record before it was processed.
    """
    if mark.position.kind in high:
        return mark.position.rank < high[mark.position.kind]
    return mark.read_ms is not None and mark.read_ms < processed_ms


def _join_points(streamed: Sequence[tuple[StretchKey, Point]]) -> Iterator[Point]:
    """The streamed points of a partition; runs of the same content with nothing new between are one run.

    A run that passes over gaps may reach beyond what fills them: then each stays what it is.
    """
    edges: Counter[Observation] | None = None
    for (*_, key), same in groupby(streamed, key=itemgetter(0)):
        stretch = [point for _, point in same]
        run = stretch[0].observation
        if key is None or all(point.observation is run for point in stretch):
            yield from stretch
            continue
        runs = Counter(point.observation for point in stretch)
        edges = edges or Counter(point.observation for _, point in streamed)
        if len(runs) == 1 or any(edges[run] > count for run, count in runs.items()):
            yield from stretch
            continue
        whole = reduce(lambda run, following: join_runs(run, following, stretch[-1].coordinates), runs)
        yield from (replace(point, observation=whole) for point in (stretch[0], stretch[-1]))


def _is_joinable(run: Observation, following: Observation) -> bool:
    """Whether two runs may be one run, if nothing is between them."""
    return not _is_separate(run) and not _is_separate(following) and _has_same_content(run, following)


def _is_separate(run: Observation) -> bool:
    """Whether an observation stays separate from others of the same content."""
    return run.evidence in STATEMENT_KINDS or run.interrupted


def _is_sibling(run: Observation, before: Observation | None) -> bool:
    """Whether a record at the position of the last one is its sibling and not its repetition.

    A delete and a create of one changed key share a position and a shape; the same position
    with another shape is the same record delivered again, with a later catalogue. Several
    declared images at one position are parts of one statement.
    """
    return run.evidence in STATEMENT_KINDS or (before is not None and _has_same_content(run, before))


def _list_edges(run: Observation) -> list[Coordinates]:
    return [run.first] if run.first == run.last else [run.first, run.last]


def _make_point(run: Observation, mark: Coordinates, position: tuple[int, Rank], tier: int) -> Point:
    order = (position[0], position[1], tier, find_time(mark), mark.topic, mark.partition, mark.offset)
    return Point(order, mark, run)


OrderKey = tuple[int, Rank, int, int, str, int, int]
_find_order = attrgetter("order")

_BEFORE_ALL: tuple[int, Rank] = (-1, ())


@dataclass(frozen=True, slots=True)
class Point:
    """One edge of an observation, at its position in the order of the source."""

    order: OrderKey
    coordinates: Coordinates
    observation: Observation


def find_time(mark: Coordinates) -> int:
    """When a record was processed, else written, else when its change was committed; 0 if untold."""
    if mark.read_ms is not None:
        return mark.read_ms
    return mark.ts_ms or 0 if mark.timestamp_ms is None else mark.timestamp_ms


@dataclass(frozen=True, slots=True)
class TableRead:
    """A point that was read from the table; `is_after_stream` if its partition had streamed before."""

    point: Point
    is_after_stream: bool


def place_reads(read: Sequence[TableRead], streamed: Sequence[Point]) -> tuple[Point, ...]:
    """Place the points that were read, each after the last streamed point that it follows.

    A read follows the records that the connector had processed before it, in any partition. If the read shows
    another schema than these, it also follows records of the old schema that were committed before the read:
    these were only delivered late. `streamed` is in order.
    """
    if not read:
        return ()
    observations = (p.observation for p in (*streamed, *(r.point for r in read)))
    declared = any(o.evidence in STATEMENT_KINDS and o.schema is not None for o in observations)
    followed = _StreamedPoints(streamed, declared)
    points = [followed.place_read(one) for one in read]
    # reads outside of the stream have no position: without streamed records they follow the first snapshot
    anchors = sorted(p.order for p in points if p.coordinates.position.kind != "none")
    return tuple(_place_behind_snapshot(p, anchors) if p.order[0] < 0 else p for p in points)


def _place_behind_snapshot(point: Point, anchors: Sequence[OrderKey]) -> Point:
    before = [order for order in anchors if order[3] <= point.order[3]]
    return replace(point, order=(*before[-1][:2], *point.order[2:])) if before else point


def _place_before_stream(point: Point) -> Point:
    beside = point.coordinates.position.kind == "none"
    kinds, rank = point.order[:2]
    return replace(point, order=(-1 if beside else kinds, rank, -1, *point.order[3:]))


class _StreamedPoints:
    """The streamed points of a table, in order; `declared` if schema-change records declare its schemas."""

    def __init__(self, streamed: Sequence[Point], declared: bool) -> None:
        points = self._points = [p for p in streamed if p.observation.evidence not in STATEMENT_KINDS]
        self._statements: dict[PositionKind, list[tuple[Rank, int]]] = {}
        for statement in (p for p in streamed if p.observation.evidence in STATEMENT_KINDS):
            position = statement.coordinates.position
            self._statements.setdefault(position.kind, []).append((position.rank, statement.order[0]))
        self._is_declared = declared
        self._places = [p.order[:2] for p in points]
        # positions never decrease, but times may, after a restart
        self._times = list(accumulate((find_time(p.coordinates) for p in points), max))
        self._offsets: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for index, point in enumerate(points):
            partition = (point.coordinates.topic, point.coordinates.partition)
            self._offsets.setdefault(partition, []).append((point.coordinates.offset, index))
        self._shapes: dict[TableSchema, str] = {}

    def place_read(self, read: TableRead) -> Point:
        """Place a point after its predecessor; its rank is negative without position and predecessor."""
        point = read.point
        if point.observation.evidence in STATEMENT_KINDS:
            # declarations of a connector keep their order: all are in one partition
            return point
        at = bisect_right(self._places, point.order[:2]) - 1 if read.is_after_stream else -1
        if point.coordinates.read_ms is not None:
            at = max(
                at,
                min(
                    self._find_processed(point, point.coordinates.read_ms),
                    self._find_next(point.coordinates) - 1,
                ),
            )
        if at >= 0 or (point.coordinates.position.kind == "none" and not self._is_declared):
            at = self._skip_late(at, point)
        if at < 0:
            return point if self._is_declared else _place_before_stream(point)
        return replace(
            point,
            order=(*max(self._places[at], self._find_last_statement(point.coordinates)), *point.order[2:]),
        )

    def _find_last_statement(self, mark: Coordinates) -> tuple[int, Rank]:
        """The position of the last statement up to the read's own position: it was made before the read."""
        statements = self._statements.get(mark.position.kind, []) if mark.position.kind != "none" else []
        at = bisect_right(statements, mark.position.rank, key=lambda one: one[0])
        return (statements[at - 1][1], statements[at - 1][0]) if at else _BEFORE_ALL

    def _find_processed(self, point: Point, read_ms: int) -> int:
        """The last point that was processed before the read.

        Within one millisecond the order is unknown: then the read is placed where it changes nothing.
        """
        surely, perhaps = bisect_left(self._times, read_ms) - 1, bisect_right(self._times, read_ms) - 1
        neighbour = self._points[max(surely, 0)] if self._points else None
        same = neighbour is not None and self._find_shape(neighbour) == self._find_shape(point)
        return surely if same else perhaps

    def _find_next(self, mark: Coordinates) -> int:
        """The first point after the read in its own partition: it was not processed before the read."""
        here = self._offsets.get((mark.topic, mark.partition), ())
        return min((index for offset, index in here if offset > mark.offset), default=len(self._points))

    def _skip_late(self, at: int, point: Point) -> int:
        """The last point after `at` that was committed before the read, up to one with its schema."""
        own = self._find_shape(point)
        if at >= 0 and self._find_shape(self._points[at]) in (None, own):
            return at
        read_ms = min(t for t in (point.coordinates.ts_ms, find_time(point.coordinates)) if t is not None)
        for index in range(at + 1, len(self._points)):
            following = self._points[index]
            shape, committed = self._find_shape(following), following.coordinates.ts_ms
            if shape is None:
                continue
            if shape == own or committed is None or committed > read_ms:
                break
            at = index
        return at

    def _find_shape(self, point: Point) -> str | None:
        schema = point.observation.schema
        if schema is None:
            return None
        if schema not in self._shapes:
            self._shapes[schema] = fingerprint(schema)
        return self._shapes[schema]


ObservationSplit = tuple[tuple[Observation, ...], tuple[Observation, ...]]


def split_by_precedence(observations: Iterable[Observation]) -> ObservationSplit:
    """Split the observations that make the history from the schemas that are only compared with it.

    Without declarations, the connector's own schema history still shows that a table was dropped, renamed or
    created again; its schemas are not used.
    """
    known = tuple(observations)
    public = tuple(o for o in known if o.evidence != "internal")
    internal = tuple(o for o in known if o.evidence == "internal")
    if not any(o.schema is not None for o in public):
        return known, ()
    if any(o.evidence == "declared" for o in public):
        return public, internal
    if not any(o.action in ("drop", "rename") for o in internal):
        return public, internal
    incarnation_facts = tuple(replace(o, schema=None) for o in internal if o.action in _INCARNATION_ACTIONS)
    return (*public, *incarnation_facts), internal


_INCARNATION_ACTIONS = ("drop", "rename", "create", "image")


def is_incarnation_only(observation: Observation) -> bool:
    """Whether it only shows that a table exists: the rest of a schema in the connector's own history."""
    internal = observation.evidence == "internal" and observation.schema is None
    return internal and observation.previous is None and observation.action in ("create", "image")
