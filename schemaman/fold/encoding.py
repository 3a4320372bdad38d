"""What changed on the wire alone: a structure of an event in the words of the one before it.

Law: a structure that the connector's settings and release do not explain is left as it is. What one table
cannot tell from a change of its own is left too: one column under a likely name, types under one release.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from schemaman.evidence import Observation
from schemaman.fold.naming import originals, under_own_names
from schemaman.names import Release
from schemaman.schema import TableSchema
from schemaman.types import (
    Array,
    Binary,
    Decimal,
    Floating,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
)

_VERSION = re.compile(r"(\d+)\.(\d+)")

KEYS_IN_TABLE_ORDER: Release = (1, 9)
"""The first release whose stream is known to keep the order of a composite key: 1.4 told the order of the
table there, and that of the key in a snapshot. Source: recordings of 1.4.2 and 1.9.8 with PostgreSQL 15."""

NAMES_READ_RIGHT: Release = (3, 5)
"""Up to 3.4 names beyond ASCII are misread in the stream; of a table so named the catalogue tells nothing.
Source: recordings of Debezium 1.4 to 3.6 against PostgreSQL 15."""


@dataclass(frozen=True, slots=True)
class Understood:
    """A structure as the table had it; `told` are (kind, message) of what the wire alone did to it."""

    schema: TableSchema
    told: tuple[tuple[str, str], ...] = ()


class Encoding:
    """How one table travels at present; it learns from each event that is read.

    `names` are all field names under which the table ever travelled, whenever that was.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._raws = {own for name in names for own in originals(name) if own != name}
        self._last: Observation | None = None
        self._types: dict[str, tuple[Type, Type]] = {}

    def begin(self, observation: Observation) -> None:
        """The first structure of a table, or of a new one under an old name."""
        self._last, self._types = observation, {}

    def read(self, observation: Observation, emitted: TableSchema, known: TableSchema) -> Understood:
        """The structure in the words of the known one, as far as the wire alone made the difference."""
        last, self._last = self._last or observation, observation
        upgraded = last.connector_version not in ("", observation.connector_version)
        told: list[tuple[str, str]] = []
        schema = self._named(last, _in_place(emitted, known, told), known, upgraded, told)
        schema = self._typed(schema, known, upgraded, told)
        return Understood(_facts_of(observation, schema, known, told), tuple(told))

    def _named(
        self,
        last: Observation,
        emitted: TableSchema,
        known: TableSchema,
        upgraded: bool,
        told: list[tuple[str, str]],
    ) -> TableSchema:
        if emitted.names == known.names:
            return emitted
        now = self._last or last
        oldest = min(release_of(o.connector_version) for o in (last, now))
        schema = under_own_names(
            known,
            emitted,
            vouched=upgraded
            or last.schema_name != now.schema_name
            or any(name in self._raws for name in known.names if name not in emitted.names),
            misreading=now.connector == "postgresql"
            and oldest < NAMES_READ_RIGHT
            and (upgraded or last.snapshot != now.snapshot),
        )
        before = {c.name: c.emitted_name or c.name for c in known.columns}
        fresh = [
            f"{own.name} as {wire.name}"
            for own, wire in zip(schema.columns, emitted.columns, strict=True)
            if own.name != wire.name != before[own.name]
        ]
        if fresh:
            pairs = ", ".join(fresh)
            told.append(("encoding-changed", f"events carry {pairs} from here on: the columns are the same"))
        return schema

    def _typed(
        self, emitted: TableSchema, known: TableSchema, upgraded: bool, told: list[tuple[str, str]]
    ) -> TableSchema:
        before = {c.name: c.type for c in known.columns}
        both = {c.name: (before[c.name], c.type) for c in emitted.columns if c.name in before}
        fresh = {n: pair for n, pair in both.items() if pair[0] != pair[1] and self._types.get(n) != pair}
        same = [now for was, now in both.values() if was == now]
        if fresh and upgraded and all(may_be_encoded(*pair, same) for pair in fresh.values()):
            self._types.update(fresh)
            names = ", ".join(fresh)
            told.append(("encoding-changed", f"events carry {names} in another form since an upgrade"))
        kept = {n: (was, now) for n, (was, now) in self._types.items() if before.get(n) == was}
        columns = tuple(
            replace(c, type=kept[c.name][0]) if c.name in kept and kept[c.name][1] == c.type else c
            for c in emitted.columns
        )
        return replace(emitted, columns=columns)


def release_of(version: str) -> Release:
    """Major and minor version of a connector; (0, 0) for a text that tells none."""
    found = _VERSION.match(version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def tells_no_facts(observation: Observation) -> bool:
    """Whether the connector cannot have found the table of an event: no key, and every column is optional."""
    schema, table = observation.schema, observation.table
    return (
        observation.connector == "postgresql"
        and not observation.snapshot
        and schema is not None
        and not (table.schema.isascii() and table.table.isascii())
        and release_of(observation.connector_version) < NAMES_READ_RIGHT
        and not schema.key
        and all(c.nullable for c in schema.columns)
    )


def keeps_no_key_order(observation: Observation) -> bool:
    """Whether a composite key comes in the order of the table's columns, whatever its own is."""
    schema = observation.schema
    if observation.connector != "postgresql" or observation.snapshot or schema is None:
        return False
    return len(schema.key) > 1 and release_of(observation.connector_version) < KEYS_IN_TABLE_ORDER


def _facts_of(
    observation: Observation, schema: TableSchema, known: TableSchema, told: list[tuple[str, str]]
) -> TableSchema:
    if tells_no_facts(observation):
        told.append(("facts-not-told", "the table's name was misread: events tell neither key nor NOT NULL"))
        nullable = {c.name: c.nullable for c in known.columns}
        columns = tuple(replace(c, nullable=nullable.get(c.name, c.nullable)) for c in schema.columns)
        key = known.key if set(known.key) <= set(schema.names) else ()
        return replace(schema, columns=columns, key=key)
    if (
        keeps_no_key_order(observation)
        and schema.key != known.key
        and sorted(schema.key) == sorted(known.key)
        and schema.key == tuple(n for n in schema.names if n in schema.key)
    ):
        told.append(("key-order-not-told", "events of this release tell the key in the order of the columns"))
        return replace(schema, key=known.key)
    return schema


def _in_place(emitted: TableSchema, known: TableSchema, told: list[tuple[str, str]]) -> TableSchema:
    """Columns that only the key carries, in the place where they were known."""
    away = [c for c in emitted.columns if c.emitted_name is None and known.column(c.name) is not None]
    if not away:
        return emitted
    told.append(
        ("column-excluded", f"only the key carries {', '.join(c.name for c in away)}: left out of the row")
    )
    places = {name: place for place, name in enumerate(known.names)}
    rest = [c for c in emitted.columns if c not in away]
    for column in sorted(away, key=lambda c: places[c.name]):
        before = next(
            (i for i, c in enumerate(rest) if places.get(c.name, -1) > places[column.name]), len(rest)
        )
        rest.insert(before, column)
    return replace(emitted, columns=tuple(rest))


def may_be_encoded(was: Type, now: Type, same: Collection[Type]) -> bool:
    """Whether a release may explain it: forms of one kind, and no column of that type kept its form."""
    return any(a == b for a in _kinds(was) for b in _kinds(now)) and was not in same


def _kinds(type: Type) -> Iterator[str]:
    """The settings under which a column may take this form.

    Source: Debezium TemporalPrecisionMode, DecimalHandlingMode, BinaryHandlingMode, HStoreHandlingMode,
    IntervalHandlingMode; Geometry has a member more in version 2.
    """
    match type:
        case Timestamp(_, zoned) | Time(_, zoned):
            yield f"{type.__class__.__name__} {zoned}"
        case Decimal() | Numeric() | Floating(64):
            yield "decimal"
        case Binary():
            yield "binary"
        case Json() | Map():
            yield "hstore"
        case Interval():
            yield "interval"
        case Array(element):
            yield from (f"array of {kind}" for kind in _kinds(element))
        case String():
            yield from ("decimal", "binary")
        case Struct(fields) if {"wkb", "srid"} <= {f.name for f in fields}:
            yield "geometry"
        case _:
            return
