"""Finds changed defaults that may hold only later than the rows whose events contain them.

A PostgreSQL record has the defaults at the time of reading. A changed default of a column is certain from the
first record that was committed after that reading, as for a key. For a new column, the uncertain nullability
covers its default.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage, which reads defaults through JDBC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from schemaman.debezium.connector import Connector
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.confirmation import find_read_time
from schemaman.history.fold.timeline import Point
from schemaman.history.versions import Proof, Revision
from schemaman.model.schema import Scalar, TableSchema

VersionRevisions = tuple[TableSchema, int, Sequence[Point], Sequence[Revision]]
"""A version before it is closed: schema, incarnation, points, revisions."""


@dataclass(frozen=True, slots=True)
class LateDefaults:
    """Of a version, the columns whose default nothing confirms, and where each later default is proven."""

    unconfirmed: tuple[str, ...]
    proofs: tuple[Proof, ...]


@dataclass(slots=True)
class _KnownDefault:
    """The default of a column, since which reading, and whether it is certain."""

    default: Scalar
    read_ms: int
    is_certain: bool


def find_late_defaults(
    versions: Sequence[VersionRevisions], find_connector: Callable[[str], Connector], ahead: int
) -> Iterator[LateDefaults]:
    """For each version, in order, the defaults that are not certain from their first record on.

    The database's clock is `ahead` milliseconds ahead.
    """
    if _has_same_defaults(versions):
        yield from (LateDefaults((), ()) for _ in versions)
        return
    known: dict[str, _KnownDefault] = {}
    columns: dict[str, int | None] = {}
    last_incarnation = 0
    for schema, number, points, revisions in versions:
        before, columns = columns, {c.name: c.id for c in schema.columns}
        # of another column of that name nothing is known yet
        known = {
            n: k for n, k in known.items() if number == last_incarnation and before.get(n) == columns.get(n)
        }
        last_incarnation = number
        numbers = {revision.at: revision.number for revision in revisions}
        proven: dict[tuple[str, int], Coordinates | None] = {
            (n, 0): None for n, k in known.items() if _is_open(k)
        }
        revision = 0
        for point in points:
            revision = numbers.get(point.coordinates, revision)
            if find_connector(point.observation.connector).late_facts:
                proven |= _learn_defaults(known, point, ahead, revision, proven)
        names = {c.name for r in revisions for c in r.schema.columns}
        unconfirmed = tuple(c.name for c in schema.columns if _is_open(known.get(c.name)))
        proofs = (Proof(f"default:{n}", r, at) for (n, r), at in proven.items() if n in names)
        yield LateDefaults(
            unconfirmed, tuple(p for p in proofs if p.revision or p.at != points[0].coordinates)
        )


def _has_same_defaults(versions: Sequence[VersionRevisions]) -> bool:
    """Whether all records have one default for each name: then nothing is read late."""
    found: dict[str, Scalar] = {}
    last: TableSchema | None = None
    for _, _, points, _ in versions:
        for schema in (point.observation.schema for point in points):
            if schema is None or schema is last:
                continue
            last = schema
            for column in schema.columns:
                known = found.setdefault(column.name, column.default)
                if known is not column.default and known != column.default:
                    return False
    return True


def _is_open(known: _KnownDefault | None) -> bool:
    return known is not None and not known.is_certain


DefaultProofs = dict[tuple[str, int], Coordinates | None]
"""Where the default that a column has since a revision is proven, if it is."""


def _learn_defaults(
    known: dict[str, _KnownDefault], point: Point, ahead: int, revision: int, proven: DefaultProofs
) -> DefaultProofs:
    """What a point changes about it."""
    observation, news = point.observation, DefaultProofs()
    for column in observation.schema.columns if observation.schema is not None else ():
        name, before = column.name, known.get(column.name)
        if before is None:
            known[name] = _KnownDefault(column.default, 0, is_certain=True)
        elif not _is_same_default(before.default, column.default):
            read_ms = find_read_time(point.coordinates) or 0
            known[name] = _KnownDefault(column.default, read_ms, is_certain=observation.snapshot)
            news[name, revision] = None if _is_open(known[name]) else point.coordinates
        elif not before.is_certain:
            before.is_certain = (
                observation.snapshot or _find_commit_time(point.coordinates) - ahead > before.read_ms
            )
            if (
                before.is_certain
                and (since := max((r for n, r in proven if n == name), default=None)) is not None
            ):
                news[name, since] = point.coordinates
    return news


def _is_same_default(one: Scalar, other: Scalar) -> bool:
    """Whether they are one default, as far as the scale of a number goes."""
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _find_commit_time(mark: Coordinates) -> int:
    return mark.ts_ms or 0
