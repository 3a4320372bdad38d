"""Finds the facts of a version that may hold only later, and the records from which on they are certain.

A PostgreSQL record has the columns and types of its own position in the log. Its key and its nullability are
those at the time of reading. Such a fact is confirmed for a version if one of its records was committed after
the first reading of the fact. It is also confirmed if it was read in a snapshot: then fact and schema are of
the same time. So a version may begin, by its columns, before its key is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.encoding import has_no_facts, has_table_key_order, is_misread
from schemaman.history.fold.timeline import Point
from schemaman.history.versions import Proof
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema

Fact = tuple[str, object]
_NO_KEY: Fact = ("key", ())
VersionPoints = tuple[TableSchema, int, Sequence[Point]]
"""A version before it is closed: schema, incarnation, points."""


@dataclass(frozen=True, slots=True)
class VersionCertainty:
    """The certainty of a version: `unconfirmed` names uncertain facts, such as `key`, `nullable:<column>`.

    `proven_from` are the coordinates from which on key and nullability are certain; None while one of them is
    not. `proofs` list this for each fact that is not certain from the first point on.
    """

    unconfirmed: tuple[str, ...]
    proven_from: Coordinates | None
    proofs: tuple[Proof, ...] = ()


def assess_certainty(
    versions: Sequence[VersionPoints], find_connector: Callable[[str], Connector], clock_ahead: int
) -> tuple[VersionCertainty, ...]:
    """What is certain of each version, in order; the database's clock is `clock_ahead` milliseconds ahead."""
    clock = _Clock(find_connector, clock_ahead)
    first_read: dict[Fact, int] = {}
    settled: set[Fact] = set()
    incarnation, is_missing = 0, False
    result: list[VersionCertainty] = []
    for (schema, number, points), absent in zip(versions, find_absences(versions), strict=True):
        facts = _list_facts(schema, points)
        if number != incarnation:
            first_read, settled, incarnation = {}, set(), number
        before, is_missing = is_missing, _is_table_missing(schema, points)
        # two schemas may lack a key for two reasons: each shows only its own reading
        passed_on = {} if before or is_missing else first_read
        first_read = {f: passed_on[f] for f in facts if f in passed_on and f != _NO_KEY}
        every = clock.list_certainties(points, schema.names)
        earliest = clock.find_earliest_read(points)
        unknown = any(p.observation.is_key_unknown for p in points)
        # most facts of a version were certain before it, and their first reading is known
        is_usual = bool(passed_on) and absent is NOTHING_ABSENT and not unknown
        proven = {f: 0 for f in facts if f in settled} if is_usual else {}
        for fact in [f for f in facts if f not in proven] if proven else facts:
            telling, read = every, earliest
            if fact[0] == "key" and unknown:
                telling = tuple(each for each in every if not each[1].observation.is_key_unknown)
                read = clock.find_earliest_read(p for _, p, _ in telling)
            if absent is not NOTHING_ABSENT and (dropped_at := absent.find_start(*fact)) != NEVER:
                telling = tuple(each for each in telling if clock.is_read_before(dropped_at, each[1]))
                read = clock.find_earliest_read(p for _, p, _ in telling)
            if not telling:
                continue
            since = first_read.setdefault(fact, read)
            if fact in settled:
                proven[fact] = 0
                continue
            for index, _, certainties in telling:
                if certainties.find_certainty(fact) > since:
                    proven[fact] = index
                    break
        if not schema.key and _NO_KEY not in proven and clock.is_late(points[0]):
            # the connector may not have found the table or columns of its key: it reports those as nullable
            proven = {f: i for f, i in proven.items() if not (is_missing or _is_nullable_fact(f))}
        # a fact that a reading outside of the stream proves is certain for rows that were committed after it
        beside = points[0].coordinates.position.kind == "none" and clock.is_late(points[0])
        first = {f for f in facts if f not in settled} if beside else set()
        settled = {*proven}
        settled.discard(_NO_KEY)
        open_facts = tuple([f[0] for f in facts if f not in proven]) if len(proven) < len(facts) else ()
        whole = None if open_facts else points[max(proven.values())].coordinates
        key_read = first_read.get(facts[0], 0)
        key_read_ms = key_read + clock_ahead if key_read else None
        proofs = _list_proofs(facts, proven, points, first, key_read_ms)
        result.append(VersionCertainty(open_facts, whole, proofs))
    return tuple(result)


def _list_proofs(
    facts: Sequence[Fact],
    proven: Mapping[Fact, int],
    points: Sequence[Point],
    first: Collection[Fact],
    key_read_ms: int | None,
) -> tuple[Proof, ...]:
    """The coordinates that prove each fact; of the facts that the first point proves, only `first`.

    Points are the edges of runs, so the record that proves a key may be the last of many. Between two
    readings of one key, the table is taken to have it: another key that came and went there leaves no trace.
    So each record that was committed in that time has the key.
    """
    if not first and len(proven) == len(facts) and not any(proven.values()):
        return ()
    return tuple(
        Proof(fact[0], 0, points[proven[fact]].coordinates, key_read_ms if fact[0] == "key" else None)
        if fact in proven
        else Proof(fact[0], 0, None)
        for fact in facts
        if proven.get(fact) != 0 or fact in first
    )


def _is_table_missing(schema: TableSchema, points: Iterable[Point]) -> bool:
    """Whether the connector may not have found the table because it had been renamed or dropped.

    Then the connector reports no key, and every column as nullable. Source: Debezium, the recorded rows of a
    table that was renamed while the connector was stopped.
    """
    return (
        not schema.key
        and all(c.nullable for c in schema.columns)
        and not any(p.observation.snapshot for p in points)
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    """When the facts of a record were true; the database's clock may go `ahead` milliseconds."""

    find_connector: Callable[[str], Connector]
    ahead: int

    def is_late(self, point: Point) -> bool:
        """Whether its key and nullability are of the moment of reading."""
        return self.find_connector(point.observation.connector).late_facts

    def list_certainties(
        self, points: Sequence[Point], names: Sequence[str]
    ) -> tuple[tuple[int, Point, _Certainties], ...]:
        """When the facts of each record were true, with its place; `names` are the columns of the version."""
        is_ascii = "".join(names).isascii()
        return tuple([(i, p, self._find_certainties(p, names, is_ascii)) for i, p in enumerate(points)])

    def _find_certainties(self, point: Point, names: Sequence[str], is_ascii: bool) -> _Certainties:
        observation = point.observation
        if observation.snapshot or not self.is_late(point):
            return _Certainties(math.inf, math.inf, None, names)
        if has_no_facts(observation):
            return _Certainties(-1, -1, None, names)
        time = (point.coordinates.ts_ms or 0) - self.ahead
        key_time = -1 if has_table_key_order(observation) else time
        is_read = is_ascii or not any(is_misread(observation, name) for name in names)
        misreading = None if is_read else observation
        return _Certainties(time, key_time, misreading, names)

    def find_earliest_read(self, points: Iterable[Point]) -> int:
        """The time of the first reading of records with these facts; 0 if no record has it."""
        read = [find_read_time(p.coordinates) for p in points if self.is_late(p)]
        return min([t for t in read if t is not None], default=0)

    def is_read_before(self, dropped_at: float, point: Point) -> bool:
        """Whether the record was read while the catalogue still had what it lost at that moment."""
        if point.observation.snapshot or not self.is_late(point):
            return True
        read = find_read_time(point.coordinates)
        return read is None or read < dropped_at - self.ahead


@dataclass(frozen=True, slots=True)
class _Certainties:
    """Of one record, the times before which its facts must have been read to be valid for it; -1 if none.

    `key_time` is that of its key. `misreading` is its observation if that may have misread one of `names`.
    """

    time: float
    key_time: float
    misreading: Observation | None
    names: Sequence[str]

    def find_certainty(self, fact: Fact) -> float:
        """Find the time of one fact."""
        if self.misreading is not None and _is_misread_fact(fact, self.misreading, self.names):
            return -1
        return self.key_time if fact[0] == "key" else self.time


def _is_misread_fact(fact: Fact, observation: Observation, names: Sequence[str]) -> bool:
    """Whether a fact may be false since the connector misread the name of a column.

    A column that is required, or in the key, was found.
    """
    if fact[0] != "key":
        return _is_nullable_fact(fact) and is_misread(observation, fact[0].removeprefix("nullable:"))
    key = {name for name, _ in fact[1]} if isinstance(fact[1], tuple) else set()
    return any(name not in key and is_misread(observation, name) for name in names)


def _is_nullable_fact(fact: Fact) -> bool:
    """Whether the connector reports the same for a column that is missing in the catalogue."""
    return isinstance(fact[1], tuple) and fact[0] != "key" and fact[1][1] is True


def find_read_time(mark: Coordinates) -> int | None:
    """The latest possible time of reading: flattened rows rarely have it, but the broker's time is later."""
    return mark.timestamp_ms if mark.read_ms is None else mark.read_ms


def measure_clock_ahead(points: Iterable[Point]) -> int:
    """How far the database's clock is ahead at least: nothing is read before it was committed."""
    ahead = 0
    for point in points:
        mark = point.coordinates
        if mark.ts_ms is not None and mark.read_ms is not None and mark.ts_ms - mark.read_ms > ahead:
            ahead = ahead if point.observation.snapshot else mark.ts_ms - mark.read_ms
    return ahead


def _list_facts(schema: TableSchema, points: Sequence[Point]) -> list[Fact]:
    """Facts in order; the position among equal names does not matter.

    Inferred facts include a key, but no nullability. A column that came again under its old name has no known
    facts yet: the certain facts belong to the earlier column.
    """
    ids = {c.name: c.id for c in schema.columns if c.name in schema.key}
    key: Fact = ("key", tuple([(name, ids.get(name)) for name in schema.key]))
    if all(p.observation.evidence == "inferred" for p in points):
        return [key]
    return [key, *_list_nullable_facts(schema)]


@lru_cache(KEPT_SCHEMAS)
def _list_nullable_facts(schema: TableSchema) -> tuple[Fact, ...]:
    return tuple([(f"nullable:{c.name}", (c.id, c.nullable)) for c in schema.columns])


_Column = tuple[str, int | None]

NEVER = math.inf
"""The moment at which the catalogue lost what it still has."""


@dataclass(frozen=True, slots=True)
class Absences:
    """Of one version: since when a later structure shows that the catalogue had changed, by commit times.

    `dropped_columns` has the columns whose names the table no longer had; `replaced_columns` those whose name
    another one had; `key_change` is when it had columns of a later key that the version lacks.
    """

    dropped_columns: Mapping[_Column, float] = field(default_factory=dict)
    replaced_columns: Mapping[_Column, float] = field(default_factory=dict)
    key_change: float = NEVER

    def find_start(self, name: str, value: object) -> float:
        """The time from which on a reading proves nothing about a fact, named as in `unconfirmed`."""
        if not isinstance(value, tuple):
            return NEVER
        if name == "key":
            return min((self.key_change, *(self.replaced_columns.get(column, NEVER) for column in value)))
        id, nullable = value
        column = (name.removeprefix("nullable:"), id)
        absent = self.dropped_columns.get(column, NEVER) if nullable else NEVER
        return min(absent, self.replaced_columns.get(column, NEVER))


NOTHING_ABSENT = Absences()


def find_absences(versions: Sequence[tuple[TableSchema, int, Sequence[Point]]]) -> tuple[Absences, ...]:
    """What the versions after each one show about the catalogue at its readings, in order."""
    result: list[Absences] = []
    dropped: dict[_Column, float] = {}
    replaced: dict[_Column, float] = {}
    arrived: dict[str, float] = {}
    keys: set[str] = set()
    ids: dict[str, int | None] = {}
    begun, last_incarnation = NEVER, None
    for schema, incarnation, points in reversed(versions):
        own = {c.name: c.id for c in schema.columns}
        if incarnation != last_incarnation:
            dropped, replaced, arrived, keys, ids, begun = {}, {}, {}, set(), own, NEVER
        last_incarnation = incarnation
        if dropped or replaced or not own.items() <= ids.items():
            dropped = {c: dropped.get(c, NEVER) if c[0] in ids else begun for c in own.items()}
            dropped = {c: since for c, since in dropped.items() if since != NEVER}
            replaced = {
                c: begun if ids.get(c[0], c[1]) != c[1] else replaced.get(c, NEVER) for c in own.items()
            }
            replaced = {c: since for c, since in replaced.items() if since != NEVER}
        missing = min((arrived[name] for name in keys if name not in own and name in arrived), default=NEVER)
        has_any = dropped or replaced or missing != NEVER
        result.append(Absences(dropped, replaced, missing) if has_any else NOTHING_ABSENT)
        begun = min(
            (NEVER if p.coordinates.ts_ms is None else p.coordinates.ts_ms for p in points), default=NEVER
        )
        arrived |= dict.fromkeys(own, begun)
        keys |= {*schema.key}
        ids = own
    return tuple(reversed(result))
