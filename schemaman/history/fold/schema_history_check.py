"""What a connector's own schema history says, weighed against the versions that better witnesses made.

Law: what it says of one incarnation supports no version of another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.event_match import match, tells_nullability
from schemaman.history.fold.inferred_versions import hides_types, row_id
from schemaman.history.fold.naming_epochs import under_own_names
from schemaman.history.fold.version_builder import Open
from schemaman.history.versions import OTHER_NULLS, TableEvent
from schemaman.model.schema import TableId, TableSchema, fingerprint

KIND = "internal-differs"


def weighed(
    said: Observation,
    schema: TableSchema,
    table: TableId,
    versions: Sequence[Open],
    events: Sequence[TableEvent],
) -> tuple[Open, str, str | None]:
    """The version that it supports, or the one that it contradicts, of which kind and in which words."""
    position = said.first.position
    there = versions
    if said.table == table:
        low, high = _lives(said.first, events)
        there = [v for v in versions if low <= v.incarnation <= high]
    begun = [v for v in there if v.at.position.kind != position.kind or v.at.position.rank <= position.rank]
    nearly: tuple[Open, str] | None = None
    for version in (*reversed(begun), *there):
        if shows(version, schema) or match(schema, version.schema).exact:
            others = _other_nulls(version, schema)
            if not others:
                return version, KIND, None
            nearly = nearly or (version, ", ".join(others))
    if nearly is not None:
        return nearly[0], OTHER_NULLS, f"the connector's own schema history has {nearly[1]}"
    told = f"the connector's own schema history has the columns {', '.join(schema.names)}"
    if not there:
        return versions[-1], KIND, f"{told}, of a table that no record shows"
    return (begun[-1] if begun else there[-1]), KIND, told


def _other_nulls(version: Open, schema: TableSchema) -> tuple[str, ...]:
    """The columns that take nulls in one of two structures of the same columns, as the other one has them."""
    if not version.declared and hides_types(version.points[0].observation):
        return ()
    names = match(schema, version.schema).names
    pairs = ((schema.column(name), version.schema.column(other)) for name, other in names.items())
    return tuple(
        f"{said.name} {'NULL' if said.nullable else 'NOT NULL'}"
        for said, shown in pairs
        if said is not None and shown is not None and said.nullable != shown.nullable
        if tells_nullability(shown.type)
    )


def _lives(mark: Coordinates, events: Sequence[TableEvent]) -> tuple[int, float]:
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


def shows(version: Open, schema: TableSchema) -> bool:
    """Whether a structure, as emitted or declared, is that of the version."""
    if version.declared:
        return fingerprint(schema) == version.id or match(version.schema, schema).exact
    if hides_types(version.points[0].observation):
        return row_id(schema) == version.id
    return fingerprint(under_own_names(version.schema, schema, vouched=True)) == version.id
