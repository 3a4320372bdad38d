"""Which facts of a version may be from the future.

A PostgreSQL record has the columns and types of its own place in the log. Its key and its
nullability are those of the moment when it was read. Such a fact is confirmed for a version
when one of its records was committed after the fact had first been read, or when the fact was
read in a snapshot: then fact and structure are of one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schemaman.evidence import Dialect
from schemaman.schema import TableSchema
from schemaman.timeline import Point

Fact = tuple[str, object]
Told = tuple[TableSchema, int, Sequence[Point]]
"""A version as told: structure, incarnation, points."""


def unconfirmed_facts(
    versions: Sequence[Told], dialect_of: Callable[[str], Dialect]
) -> tuple[tuple[str, ...], ...]:
    """For each version the names of its unconfirmed facts: `key`, `nullable:<column>`."""
    first_read: dict[Fact, int] = {}
    incarnation = 0
    result: list[tuple[str, ...]] = []
    for schema, number, points in versions:
        facts = _facts(schema)
        if number != incarnation:
            first_read, incarnation = {}, number
        first_read = {f: t for f, t in first_read.items() if f in facts}
        late = [p for p in points if dialect_of(p.observation.connector).late_facts]
        read = [p.mark.read_ms for p in late if p.mark.read_ms is not None]
        for fact in facts:
            first_read.setdefault(fact, min(read, default=0))
        sure = len(late) < len(points) or any(p.observation.snapshot for p in points)
        committed = max((p.mark.ts_ms or 0 for p in late), default=0)
        open_facts = () if sure else tuple(f[0] for f in facts if first_read[f] >= committed)
        result.append(open_facts)
    return tuple(result)


def _facts(schema: TableSchema) -> list[Fact]:
    """Facts in order; the position among equal names does not matter."""
    return [("key", schema.key), *((f"nullable:{c.name}", c.nullable) for c in schema.columns)]
