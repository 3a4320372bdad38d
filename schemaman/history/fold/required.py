"""Columns that may be NOT NULL only in the eyes of a connector, since an index makes them its key.

Source: Debezium MySQL connector 1.4 and 1.9, recorded: every column of a unique index that serves as key is
declared and emitted as required, also where it takes nulls; 2.5 passes over such an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.fold.encoding import release_of
from schemaman.fold.points import Point
from schemaman.names import Release
from schemaman.schema import TableSchema

_ONLY_REQUIRED: Release = (2, 5)
"""The first release of which it is known that it takes no index with nulls for a key."""

Told = tuple[TableSchema, int, Sequence[Point]]
"""A version as told: structure, incarnation, points."""


def made_required(versions: Sequence[Told]) -> Iterator[tuple[str, ...]]:
    """For each version, in order, the columns that are NOT NULL since they came into the key, and no more."""
    doubted: set[int | None] = set()
    before, life = None, 0
    for schema, number, points in versions:
        if number != life:
            doubted, before, life = set(), None, number
        required = {c.id: c.name for c in schema.columns if not c.nullable and c.name in schema.key}
        doubted = doubted & required.keys()
        if before is not None and _takes_nulls_for_a_key(points[0]):
            doubted |= required.keys() & {c.id for c in before.columns if c.nullable}
        before = schema
        yield tuple(required[id] for id in required if id in doubted)


def _takes_nulls_for_a_key(point: Point) -> bool:
    """Whether an index may have been taken for the key; a statement may say that it is a primary key."""
    said = point.observation
    old = said.connector == "mysql" and release_of(said.connector_version) < _ONLY_REQUIRED
    return old and "PRIMARY" not in (said.ddl or "").upper()
