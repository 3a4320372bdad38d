"""What a connector's own schema history says, weighed against the versions that better witnesses made.

Law: what it says of one incarnation supports no version of another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemaman.evidence import Mark, Observation
from schemaman.fold.faces import match
from schemaman.fold.open_version import Open
from schemaman.fold.shown import shows
from schemaman.schema import TableId, TableSchema
from schemaman.versions import TableEvent


def weighed(
    said: Observation,
    schema: TableSchema,
    table: TableId,
    versions: Sequence[Open],
    events: Sequence[TableEvent],
) -> tuple[Open, str | None]:
    """The version that it supports, or the one that it contradicts and in which words."""
    position = said.first.position
    there = versions
    if said.table == table:
        low, high = _lives(said.first, events)
        there = [v for v in versions if low <= v.incarnation <= high]
    begun = [v for v in there if v.at.position.kind != position.kind or v.at.position.rank <= position.rank]
    for version in (*reversed(begun), *there):
        if shows(version, schema) or match(schema, version.schema).exact:
            return version, None
    told = f"the connector's own schema history has the columns {', '.join(schema.names)}"
    if not there:
        return versions[-1], f"{told}, of a table that no record shows"
    return (begun[-1] if begun else there[-1]), told


def _lives(mark: Mark, events: Sequence[TableEvent]) -> tuple[int, float]:
    """The first and the last incarnation that can have stood at a place."""
    low, high = 0, math.inf
    for event in events:
        at, place = event.at.position, mark.position
        if event.kind == "truncated" or at.kind != place.kind:
            continue
        if at.rank <= place.rank:
            low = max(low, event.incarnation + (event.kind != "created"))
        elif event.kind != "created":
            high = min(high, event.incarnation)
    return low, high
