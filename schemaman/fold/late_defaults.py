"""Defaults that a column got later, and that may be from the future of the rows that tell them.

A PostgreSQL record has the defaults of the moment when it was read. Another default of a column is certain
from the first record that was committed after it had been read, as for a key. With a column that is new comes
the doubt about its nullability, which says the same.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage, which reads defaults through JDBC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from schemaman.evidence import Dialect, Mark
from schemaman.fold.confirmation import clock_ahead, read_of
from schemaman.fold.points import Point
from schemaman.schema import Scalar, TableSchema

Told = tuple[TableSchema, int, Sequence[Point]]
"""A version as told: structure, incarnation, points."""


@dataclass(slots=True)
class _Known:
    """The default of a column, since which reading, and whether it is certain."""

    default: Scalar
    read_ms: int
    certain: bool


def late_defaults(
    versions: Sequence[Told], dialect_of: Callable[[str], Dialect]
) -> Iterator[tuple[str, ...]]:
    """For each version, in order, the columns whose default nothing confirms."""
    ahead = clock_ahead(point for _, _, points in versions for point in points)
    known: dict[str, _Known] = {}
    life = 0
    for schema, number, points in versions:
        if number != life:
            known, life = {}, number
        for point in points:
            if dialect_of(point.observation.connector).late_facts:
                _learn(known, point, ahead)
        yield tuple(c.name for c in schema.columns if c.default is not None and _open(known.get(c.name)))


def _open(known: _Known | None) -> bool:
    return known is not None and known.default is not None and not known.certain


def _learn(known: dict[str, _Known], point: Point, ahead: int) -> None:
    said = point.observation
    for column in said.schema.columns if said.schema is not None else ():
        before = known.get(column.name)
        if before is None:
            known[column.name] = _Known(column.default, 0, certain=True)
        elif not _same(before.default, column.default):
            read_ms = read_of(point.mark) or 0
            known[column.name] = _Known(column.default, read_ms, certain=said.snapshot)
        elif not before.certain:
            before.certain = said.snapshot or _committed(point.mark) - ahead > before.read_ms


def _same(one: Scalar, other: Scalar) -> bool:
    """Whether they are one default, as far as the scale of a number goes."""
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _committed(mark: Mark) -> int:
    return mark.ts_ms or 0
