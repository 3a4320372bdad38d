"""Defaults that a column got or lost later, and that may be from the future of the rows that tell them.

A PostgreSQL record has the defaults of the moment when it was read. Another default of a column, or none, is
certain from the first record that was committed after it had been read, as for a key. With a column that is
new comes the doubt about its nullability, which says the same.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage, which reads defaults through JDBC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from schemaman.debezium.connector import Connector
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.confirmation import clock_ahead, read_of
from schemaman.history.fold.timeline import Point
from schemaman.history.versions import Proof, Revision
from schemaman.model.schema import Scalar, TableSchema

Told = tuple[TableSchema, int, Sequence[Point], Sequence[Revision]]
"""A version as told: structure, incarnation, points, revisions."""


@dataclass(frozen=True, slots=True)
class LateDefaults:
    """Of a version, the columns whose default nothing confirms, and where each later default is proven."""

    unconfirmed: tuple[str, ...]
    proofs: tuple[Proof, ...]


@dataclass(slots=True)
class _Known:
    """The default of a column, since which reading, and whether it is certain."""

    default: Scalar
    read_ms: int
    certain: bool


def late_defaults(versions: Sequence[Told], dialect_of: Callable[[str], Connector]) -> Iterator[LateDefaults]:
    """What of the defaults of each version, in order, is not certain from where it was told first."""
    ahead = clock_ahead(point for _, _, points, _ in versions for point in points)
    known: dict[str, _Known] = {}
    columns: dict[str, int | None] = {}
    life = 0
    for schema, number, points, revisions in versions:
        before, columns = columns, {c.name: c.id for c in schema.columns}
        # of another column of that name nothing is known yet
        known = {n: k for n, k in known.items() if number == life and before.get(n) == columns.get(n)}
        life = number
        numbers = {revision.at: revision.number for revision in revisions}
        proven: dict[tuple[str, int], Coordinates | None] = {
            (n, 0): None for n, k in known.items() if _open(k)
        }
        revision = 0
        for point in points:
            revision = numbers.get(point.mark, revision)
            if dialect_of(point.observation.connector).late_facts:
                proven |= _learn(known, point, ahead, revision, proven)
        names = {c.name for r in revisions for c in r.schema.columns}
        unconfirmed = tuple(c.name for c in schema.columns if _open(known.get(c.name)))
        proofs = (Proof(f"default:{n}", r, at) for (n, r), at in proven.items() if n in names)
        yield LateDefaults(unconfirmed, tuple(p for p in proofs if p.revision or p.at != points[0].mark))


def _open(known: _Known | None) -> bool:
    return known is not None and not known.certain


Proven = dict[tuple[str, int], Coordinates | None]
"""Where the default that a column has since a revision is proven, if it is."""


def _learn(known: dict[str, _Known], point: Point, ahead: int, revision: int, proven: Proven) -> Proven:
    """What a point changes about it."""
    said, news = point.observation, Proven()
    for column in said.schema.columns if said.schema is not None else ():
        name, before = column.name, known.get(column.name)
        if before is None:
            known[name] = _Known(column.default, 0, certain=True)
        elif not _same(before.default, column.default):
            read_ms = read_of(point.mark) or 0
            known[name] = _Known(column.default, read_ms, certain=said.snapshot)
            news[name, revision] = None if _open(known[name]) else point.mark
        elif not before.certain:
            before.certain = said.snapshot or _committed(point.mark) - ahead > before.read_ms
            if (
                before.certain
                and (since := max((r for n, r in proven if n == name), default=None)) is not None
            ):
                news[name, since] = point.mark
    return news


def _same(one: Scalar, other: Scalar) -> bool:
    """Whether they are one default, as far as the scale of a number goes."""
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _committed(mark: Coordinates) -> int:
    return mark.ts_ms or 0
