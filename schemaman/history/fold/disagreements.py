"""Records of one table that contradict each other: two connectors at once, incremental snapshots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.timeline import Point, find_time
from schemaman.history.versions import Disagreement, SchemaVersion

CONNECTORS_AT_ONCE = "connectors-at-once"

ConnectorRelease = tuple[str, str]
"""Name and release."""

_MIN_TURNS = 4
"""As many changes from one to the other are more than a move, a way back and another move."""


def find_concurrent_connectors(
    runs: Iterable[Observation], versions: Sequence[SchemaVersion]
) -> tuple[Disagreement, ...]:
    """Find each pair of concurrent connectors, with the first coordinates that show it.

    `runs` are joined, however many readings cut them.
    """
    emitted_runs = [o for o in runs if o.evidence == "emitted" and o.connector_version]
    if len({_find_release(o) for o in emitted_runs}) < 2:
        return ()
    edges = sorted(
        ((mark, _find_release(o)) for o in emitted_runs for mark in dict.fromkeys((o.first, o.last))),
        key=lambda edge: (find_time(edge[0]), edge[0].topic, edge[0].partition, edge[0].offset),
    )
    turns = [next(same) for _, same in groupby(edges, key=lambda edge: edge[1])]
    pairs: dict[tuple[ConnectorRelease, ...], list[tuple[Coordinates, Coordinates]]] = defaultdict(list)
    for (before, one), (after, other) in pairwise(turns):
        pairs[tuple(sorted((one, other)))].append((before, after))
    return tuple(
        Disagreement(
            CONNECTORS_AT_ONCE, (_find_version(marks[0][1], versions),), _describe_turns(pair), marks[0]
        )
        for pair, marks in sorted(pairs.items())
        if len(marks) >= _MIN_TURNS
    )


def _find_release(observation: Observation) -> ConnectorRelease:
    return (observation.connector, observation.connector_version)


def _find_version(mark: Coordinates, versions: Sequence[SchemaVersion]) -> int:
    """The newest version that had begun by then."""
    return max((v.number for v in versions if find_time(v.at) <= find_time(mark)), default=1)


def _describe_turns(pair: tuple[ConnectorRelease, ...]) -> str:
    one, other = (f"{name} {release}" for name, release in pair)
    return f"events came from {one} and {other} in turns: two connectors write this table at the same time"


CHANGED_WHILE_READ = "changed-while-read"

IncarnationPoints = tuple[int, Sequence[Point]]
"""A version before it is closed: incarnation and points."""


def find_changes_while_read(versions: Sequence[IncarnationPoints]) -> Iterator[tuple[int, str, Point]]:
    """For each change that followed on incremental reads: the version's index, what it means, the point."""
    for index, ((incarnation, before), (following, after)) in enumerate(pairwise(versions), start=1):
        if incarnation != following or not any(map(_is_beside_stream, before)):
            continue
        if any(map(_is_beside_stream, after)):
            message = (
                f"incremental reads show this version and version {index}: the table changed between them"
            )
            yield index, message, after[0]
        elif not any(p.observation.snapshot for p in after):
            message = (
                f"rows had been read incrementally under version {index} and none since: "
                "if that snapshot was still running, the change ended it, and no record says so"
            )
            yield index, message, after[0]


def _is_beside_stream(point: Point) -> bool:
    observation = point.observation
    return (
        observation.snapshot
        and observation.evidence == "emitted"
        and point.coordinates.position.kind == "none"
    )
