"""Two faces of a table: whether what an event carries can be what the database declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.names import adjusted_forms
from schemaman.schema import Column, TableSchema
from schemaman.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Floating,
    Integer,
    Interval,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
    widens,
)


@dataclass(frozen=True, slots=True)
class Match:
    """How an emitted structure fits a declared one.

    `names` maps declared to emitted names; `missing` are declared columns that no event
    carries; `wrong` are emitted fields that no declared column explains.
    """

    names: Mapping[str, str]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether both have the same columns."""
        return not self.missing and not self.wrong


def match(declared: TableSchema, emitted: TableSchema) -> Match:
    """The fit of the columns; keys and nullability are compared by who asks."""
    names: dict[str, str] = {}
    free = {c.name: c for c in emitted.columns}
    for column in declared.columns:
        found = _field_for(column, free)
        if found is not None:
            names[column.name] = found
            del free[found]
    missing = tuple(n for n in declared.names if n not in names)
    return Match(names, missing, tuple(free))


def _field_for(column: Column, free: Mapping[str, Column]) -> str | None:
    if column.name in free:
        return column.name if carries(column.type, free[column.name].type) else None
    forms = adjusted_forms(column.name)
    return next((n for n, c in free.items() if n in forms and carries(column.type, c.type)), None)


def carries(source: Type, wire: Type) -> bool:
    """Whether a field of type `wire` is a way in which Debezium writes a `source` column.

    Source: Debezium JdbcValueConverters, TemporalPrecisionMode, DecimalHandlingMode,
    BinaryHandlingMode and the value converters of each connector, in all their modes.
    """
    if widens(source, wire):
        return True
    match source:
        case Integer(bits, signed):
            # BIGINT UNSIGNED travels as int64 in mode `long`
            return isinstance(wire, Integer) and wire.signed and wire.bits >= bits and not signed
        case Decimal() | Numeric():
            return wire in (Floating(64), String()) or isinstance(wire, Numeric | Decimal)
        case Floating():
            return isinstance(wire, Floating)
        case Time(_, zoned):
            return (isinstance(wire, Time) and wire.zoned == zoned) or wire == String()
        case Timestamp(precision, zoned):
            return _carries_timestamp(precision, zoned, wire)
        case Date():
            return wire == String() or isinstance(wire, Integer)
        case Binary():
            return wire in (String(), Binary())
        case Bits(length):
            return isinstance(wire, Bits | Binary) or (length == 1 and isinstance(wire, Boolean))
        case Boolean():
            return isinstance(wire, Integer)
        case Interval():
            return wire in (Integer(64), String())
        case Enum() | EnumSet():
            return isinstance(wire, type(source) | String)
        case String():
            return isinstance(wire, String | Enum)
        case Array(element, _):
            return isinstance(wire, Array) and carries(element, wire.element)
        case Struct() | Unknown():
            return isinstance(wire, Struct | Unknown | Binary | String)
        case _:
            return wire == String()


def _carries_timestamp(precision: int, zoned: bool, wire: Type) -> bool:
    if isinstance(wire, Timestamp):
        # time.precision.mode=connect cuts to milliseconds; a zoned text has no fixed precision
        return wire.zoned == zoned and (zoned or wire.precision >= min(precision, 3))
    return wire == String()
