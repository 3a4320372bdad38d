"""Compares a connector's own schema history with the versions from better evidence.

Law: its records of one incarnation support no version of another incarnation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.event_match import fit_columns, has_nullability
from schemaman.history.fold.naming_epochs import restore_own_names
from schemaman.history.fold.version_builder import OpenVersion, fingerprint_names, is_untyped
from schemaman.history.versions import INTERNAL_NULLABILITY, TableEvent
from schemaman.model.schema import TableId, TableSchema, fingerprint

INTERNAL_DIFFERS = "internal-differs"


def match_internal_schema(
    observation: Observation,
    schema: TableSchema,
    table: TableId,
    versions: Sequence[OpenVersion],
    events: Sequence[TableEvent],
) -> tuple[OpenVersion, str, str | None]:
    """Find the version that it supports, or the one that it contradicts, with the kind and a message."""
    position = observation.first.position
    candidates = versions
    if observation.table == table:
        low, high = _find_incarnations(observation.first, events)
        candidates = [v for v in versions if low <= v.incarnation <= high]
    begun = [
        v for v in candidates if v.at.position.kind != position.kind or v.at.position.rank <= position.rank
    ]
    nearly: tuple[OpenVersion, str] | None = None
    for version in (*reversed(begun), *candidates):
        if is_schema_of(version, schema) or fit_columns(schema, version.schema).is_exact:
            others = _list_nullability_differences(version, schema)
            if not others:
                return version, INTERNAL_DIFFERS, None
            nearly = nearly or (version, ", ".join(others))
    if nearly is not None:
        return nearly[0], INTERNAL_NULLABILITY, f"the connector's own schema history has {nearly[1]}"
    message = f"the connector's own schema history has the columns {', '.join(schema.names)}"
    if not candidates:
        return versions[-1], INTERNAL_DIFFERS, f"{message}, of a table that no record shows"
    return (begun[-1] if begun else candidates[-1]), INTERNAL_DIFFERS, message


def _list_nullability_differences(version: OpenVersion, schema: TableSchema) -> tuple[str, ...]:
    """List the columns that are nullable in only one of two schemas with the same columns."""
    if not version.is_declared and is_untyped(version.points[0].observation):
        return ()
    names = fit_columns(schema, version.schema).names
    pairs = ((schema.column(name), version.schema.column(other)) for name, other in names.items())
    return tuple(
        f"{internal_column.name} {'NULL' if internal_column.nullable else 'NOT NULL'}"
        for internal_column, shown_column in pairs
        if internal_column is not None
        and shown_column is not None
        and internal_column.nullable != shown_column.nullable
        if has_nullability(shown_column.type)
    )


def _find_incarnations(mark: Coordinates, events: Sequence[TableEvent]) -> tuple[int, float]:
    """The first and the last incarnation that can have existed at a position."""
    low, high = 0, math.inf
    for event in events:
        at, position = event.at.position, mark.position
        if event.kind == "truncated" or at.kind != position.kind:
            continue
        if at.rank <= position.rank:
            low = max(low, event.incarnation + (event.kind != "created"))
        elif event.kind != "created":
            high = min(high, event.incarnation)
    return low, high


def is_schema_of(version: OpenVersion, schema: TableSchema) -> bool:
    """Whether a structure, as emitted or declared, is that of the version."""
    if version.is_declared:
        return fingerprint(schema) == version.id or fit_columns(version.schema, schema).is_exact
    if is_untyped(version.points[0].observation):
        return fingerprint_names(schema) == version.id
    return fingerprint(restore_own_names(version.schema, schema, vouched=True)) == version.id
