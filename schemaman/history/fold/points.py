"""Points of a table's log, and the place among them of what was read from the table itself.

Law: what was read moves no streamed record: it neither closes nor orders what the log told.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from schemaman.evidence import STATEMENTS, Mark, Observation, PositionKind, Rank
from schemaman.schema import TableSchema, fingerprint

OrderKey = tuple[int, Rank, int, int, str, int, int]
_BEFORE_ALL: tuple[int, Rank] = (-1, ())


@dataclass(frozen=True, slots=True)
class Point:
    """One edge of an observation, at its place in the order of the source."""

    order: OrderKey
    mark: Mark
    observation: Observation


def time_of(mark: Mark) -> int:
    """When a record was processed, else written, else when its change was committed; 0 if untold."""
    return next((t for t in (mark.read_ms, mark.timestamp_ms, mark.ts_ms) if t is not None), 0)


@dataclass(frozen=True, slots=True)
class Read:
    """A point that was read from the table; `followed` if its own partition had streamed something before."""

    point: Point
    followed: bool


def behind_what_they_follow(read: Sequence[Read], streamed: Sequence[Point]) -> tuple[Point, ...]:
    """The points that were read, each behind the last streamed one that it follows.

    A read follows what the connector had processed before it, in whatever partition. If it shows another
    structure than that, it follows the streamed records of the old one as well that were committed before
    the read: they only came late. `streamed` is in order.
    """
    said = (p.observation for p in (*streamed, *(r.point for r in read)))
    declared = any(o.witness in STATEMENTS and o.schema is not None for o in said)
    followed = _Streamed(streamed, declared)
    placed = [followed.place(one) for one in read]
    # beside the stream no position is told: before anything was streamed, it follows the first snapshot
    anchors = sorted(p.order for p in placed if p.mark.position.kind != "none")
    return tuple(_behind_snapshot(p, anchors) if p.order[0] < 0 else p for p in placed)


def _behind_snapshot(point: Point, anchors: Sequence[OrderKey]) -> Point:
    before = [order for order in anchors if order[3] <= point.order[3]]
    return replace(point, order=(*before[-1][:2], *point.order[2:])) if before else point


def _before_the_stream(point: Point) -> Point:
    beside = point.mark.position.kind == "none"
    kinds, rank = point.order[:2]
    return replace(point, order=(-1 if beside else kinds, rank, -1, *point.order[3:]))


class _Streamed:
    """The streamed points of a table, in order; `declared` if a witness declares its structures."""

    def __init__(self, streamed: Sequence[Point], declared: bool) -> None:
        points = self._points = [p for p in streamed if p.observation.witness not in STATEMENTS]
        self._statements: dict[PositionKind, list[tuple[Rank, int]]] = {}
        for told in (p for p in streamed if p.observation.witness in STATEMENTS):
            position = told.mark.position
            self._statements.setdefault(position.kind, []).append((position.rank, told.order[0]))
        self._declared = declared
        self._places = [p.order[:2] for p in points]
        # places never go back, but times may, after a restart
        self._times = list(accumulate((time_of(p.mark) for p in points), max))
        self._offsets: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for index, point in enumerate(points):
            place = (point.mark.topic, point.mark.partition)
            self._offsets.setdefault(place, []).append((point.mark.offset, index))
        self._shapes: dict[TableSchema, str] = {}

    def place(self, read: Read) -> Point:
        """The point behind what it follows; its place is negative if it has no position and follows none."""
        point = read.point
        if point.observation.witness in STATEMENTS:
            # what a connector declares keeps its place: it comes in one partition, in its own order
            return point
        at = bisect_right(self._places, point.order[:2]) - 1 if read.followed else -1
        if point.mark.read_ms is not None:
            at = max(
                at, min(self._processed_before(point, point.mark.read_ms), self._next_here(point.mark) - 1)
            )
        if at >= 0 or (point.mark.position.kind == "none" and not self._declared):
            at = self._past_late_ones(at, point)
        if at < 0:
            return point if self._declared else _before_the_stream(point)
        return replace(point, order=(*max(self._places[at], self._stated(point.mark)), *point.order[2:]))

    def _stated(self, mark: Mark) -> tuple[int, Rank]:
        """The place of the last statement up to the read's own position: it was made before the read."""
        told = self._statements.get(mark.position.kind, []) if mark.position.kind != "none" else []
        at = bisect_right(told, mark.position.rank, key=lambda one: one[0])
        return (told[at - 1][1], told[at - 1][0]) if at else _BEFORE_ALL

    def _processed_before(self, point: Point, read_ms: int) -> int:
        """The last point that was processed before the read.

        Of one millisecond nobody knows which came first: then the read stands where it changes nothing.
        """
        surely, perhaps = bisect_left(self._times, read_ms) - 1, bisect_right(self._times, read_ms) - 1
        neighbour = self._points[max(surely, 0)] if self._points else None
        same = neighbour is not None and self._shape(neighbour) == self._shape(point)
        return surely if same else perhaps

    def _next_here(self, mark: Mark) -> int:
        """The first point that stands behind the read in its own partition: it was not processed before."""
        here = self._offsets.get((mark.topic, mark.partition), ())
        return min((index for offset, index in here if offset > mark.offset), default=len(self._points))

    def _past_late_ones(self, at: int, point: Point) -> int:
        """The last point behind `at` that was committed before the read, until one shows what was read."""
        own = self._shape(point)
        if at >= 0 and self._shape(self._points[at]) in (None, own):
            return at
        read_ms = min(t for t in (point.mark.ts_ms, time_of(point.mark)) if t is not None)
        for index in range(at + 1, len(self._points)):
            following = self._points[index]
            shape, committed = self._shape(following), following.mark.ts_ms
            if shape is None:
                continue
            if shape == own or committed is None or committed > read_ms:
                break
            at = index
        return at

    def _shape(self, point: Point) -> str | None:
        schema = point.observation.schema
        if schema is None:
            return None
        if schema not in self._shapes:
            self._shapes[schema] = fingerprint(schema)
        return self._shapes[schema]
