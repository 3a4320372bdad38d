"""Incremental snapshots across which a table changed: what was read may be of two structures, or a part.

Rows that are read beside the stream carry no position. Source: Debezium, incremental snapshots of PostgreSQL
(`snapshot` is `incremental`, `lsn` is left out), whose documentation rules out schema changes while one runs:
the connector ends it without a record that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from schemaman.fold.points import Point

KIND = "changed-while-read"
Told = tuple[int, Sequence[Point]]
"""A version as told: incarnation and points."""


def changed_while_read(versions: Sequence[Told]) -> Iterator[tuple[int, str, Point]]:
    """For each change that followed on incremental reads: the version's index, what it means, the point."""
    for index, ((incarnation, before), (following, after)) in enumerate(pairwise(versions), start=1):
        if incarnation != following or not any(map(_beside_the_stream, before)):
            continue
        if any(map(_beside_the_stream, after)):
            told = f"incremental reads show this version and version {index}: the table changed between them"
            yield index, told, after[0]
        elif not any(p.observation.snapshot for p in after):
            told = (
                f"rows had been read incrementally under version {index} and none since: "
                "if that snapshot was still running, the change ended it without a word"
            )
            yield index, told, after[0]


def _beside_the_stream(point: Point) -> bool:
    said = point.observation
    return said.snapshot and said.witness == "emitted" and point.mark.position.kind == "none"
