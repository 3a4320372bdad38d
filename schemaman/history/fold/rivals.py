"""Two connectors that write one table at the same time: two witnesses where one is expected.

Whoever moves from one connector or release to another stops the first before the second starts, and may go
back. Two that write side by side take turns again and again, in the order in which records were made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from schemaman.evidence import Mark, Observation
from schemaman.fold.points import time_of
from schemaman.versions import Disagreement, SchemaVersion

KIND = "connectors-at-once"
Connector = tuple[str, str]
"""Name and release."""
_TURNS = 4
"""As many changes from one to the other are more than a move, a way back and another move."""


def rivals(runs: Iterable[Observation], versions: Sequence[SchemaVersion]) -> tuple[Disagreement, ...]:
    """Each pair of connectors that took turns, with the first marks that show it.

    `runs` are in one piece, however many reads cut them.
    """
    told = [o for o in runs if o.witness == "emitted" and o.connector_version]
    if len({_connector(o) for o in told}) < 2:
        return ()
    edges = sorted(
        ((mark, _connector(o)) for o in told for mark in dict.fromkeys((o.first, o.last))),
        key=lambda edge: (time_of(edge[0]), edge[0].topic, edge[0].partition, edge[0].offset),
    )
    turns = [next(same) for _, same in groupby(edges, key=lambda edge: edge[1])]
    pairs: dict[tuple[Connector, ...], list[tuple[Mark, Mark]]] = defaultdict(list)
    for (before, one), (after, other) in pairwise(turns):
        pairs[tuple(sorted((one, other)))].append((before, after))
    return tuple(
        Disagreement(KIND, (_version_at(marks[0][1], versions),), _told(pair), marks[0])
        for pair, marks in sorted(pairs.items())
        if len(marks) >= _TURNS
    )


def _connector(said: Observation) -> Connector:
    return (said.connector, said.connector_version)


def _version_at(mark: Mark, versions: Sequence[SchemaVersion]) -> int:
    """The newest version that had begun by then."""
    return max((v.number for v in versions if time_of(v.at) <= time_of(mark)), default=1)


def _told(pair: tuple[Connector, ...]) -> str:
    one, other = (f"{name} {release}" for name, release in pair)
    return f"events came from {one} and {other} in turns: two connectors write this table at the same time"
