"""Matches the event schema of a table with its declared schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from schemaman.model.ddl import format_type
from schemaman.model.name_adjustment import list_adjusted_forms
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Field,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
    count_digits,
    widens,
)

S = TypeVar("S", bound="HasStructure")


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """The match of an event schema with a declared schema.

    `names` maps declared to emitted names; `missing` are declared columns that no event
    carries; `unexplained` are emitted fields that no declared column explains.
    """

    names: Mapping[str, str]
    missing: tuple[str, ...]
    unexplained: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Whether both have the same columns."""
        return not self.missing and not self.unexplained

    def translate_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Emitted names as the declared ones, where there are such."""
        declared = {emitted: name for name, emitted in self.names.items()}
        return tuple(declared.get(name, name) for name in names)


def fit_columns(declared: TableSchema, emitted: TableSchema) -> ColumnFit:
    """The fit of the columns; keys and nullability are compared by who asks."""
    names: dict[str, str] = {}
    free = {c.name: c for c in emitted.columns}
    for column in declared.columns:
        found = _find_field(column, free)
        if found is not None:
            names[column.name] = found
            del free[found]
    missing = tuple(n for n in declared.names if n not in names)
    return ColumnFit(names, missing, tuple(free))


class HasStructure(Protocol):
    """What has a structure."""

    @property
    def schema(self) -> TableSchema:
        """The structure."""

    @property
    def fields(self) -> frozenset[str]:
        """Every name under which a field of it may travel: what has others does not fit."""


def find_fitting(newest_first: Callable[[], Iterable[S]], emitted: TableSchema) -> tuple[S, ColumnFit]:
    """Choose the declared schema that an event schema matches, and the match; `newest_first` restarts.

    The choice is the newest schema with exactly its columns, else the newest that explains all its fields,
    else the newest of all. Usually the newest one matches, and no other one is compared.
    """
    newest = next(iter(newest_first()))
    first = fit_columns(newest.schema, emitted)
    if first.is_exact:
        return newest, first
    names = frozenset(emitted.names)
    likely = [one for one in newest_first() if names <= one.fields]
    for one in likely:
        if (
            len(one.schema.columns) == len(emitted.columns)
            and (fit := fit_columns(one.schema, emitted)).is_exact
        ):
            return one, fit
    for one in likely if first.unexplained else ():
        if not (fit := fit_columns(one.schema, emitted)).unexplained:
            return one, fit
    return newest, first


def list_differences(
    declared: TableSchema, emitted: TableSchema, fit: ColumnFit
) -> Iterator[tuple[str, str]]:
    """List the contradictions between events and the declaration with their columns, as (kind, message)."""
    key = tuple(fit.names.get(k, k) for k in declared.key)
    if key != emitted.key:
        message = f"events have the key ({', '.join(emitted.key)}), the declared key is ({', '.join(key)})"
        yield "key-differs", message
    for name, other in fit.names.items():
        declared_column, emitted_column = declared.column(name), emitted.column(other)
        if declared_column is None or emitted_column is None:
            continue
        if has_nullability(emitted_column.type) and declared_column.nullable != emitted_column.nullable:
            words = ("NOT NULL", "nullable")
            declared_word, emitted_word = words[declared_column.nullable], words[emitted_column.nullable]
            message = f"{name} is declared {declared_word} and emitted {emitted_word}"
            yield "nullability-differs", message
        missed = find_loss(declared_column.type, emitted_column.type, declared_column.source_type)
        if missed not in (None, _AS_TEXT):
            declared_type, emitted_type = format_type(declared_column.type), format_type(emitted_column.type)
            message = f"{name} is declared {declared_type} and sent as {emitted_type}"
            yield "values-not-carried", f"{message}: it loses {missed}"


def _find_field(column: Column, free: Mapping[str, Column]) -> str | None:
    if column.name in free:
        return column.name if is_carried_by(column.type, free[column.name].type) else None
    forms = list_adjusted_forms(column.name)
    return next((n for n, c in free.items() if n in forms and is_carried_by(column.type, c.type)), None)


def is_carried_by(source: Type, wire: Type) -> bool:
    """Whether a field of type `wire` is a way in which Debezium writes a `source` column.

    Source: Debezium JdbcValueConverters, TemporalPrecisionMode, DecimalHandlingMode,
    BinaryHandlingMode and the value converters of each connector, in all their modes.
    """
    if widens(source, wire):
        return True
    match source:
        case Integer(8) | Decimal(1, 0) if isinstance(wire, Boolean):
            # converters that ship with the connectors: TINYINT(1), NUMBER(1)
            return True
        case Integer(bits, signed):
            # BIGINT UNSIGNED travels as int64 in mode `long`
            return isinstance(wire, Integer) and wire.signed and wire.bits >= bits and not signed
        case Decimal(precision, scale) if isinstance(wire, Integer):
            # Oracle's NUMBER of few digits
            return scale == 0 and precision < count_digits(wire)
        case Decimal() | Numeric():
            return wire in (Floating(64), String()) or isinstance(wire, Numeric | Decimal)
        case Floating():
            return isinstance(wire, Floating)
        case Time(_, zoned):
            return (isinstance(wire, Time) and wire.zoned == zoned) or wire == String()
        case Timestamp(precision, zoned):
            return _is_carried_by_timestamp(precision, zoned, wire)
        case Date():
            return wire == String() or isinstance(wire, Integer)
        case Binary():
            return wire in (String(), Binary())
        case Bits(length):
            return isinstance(wire, Bits | Binary) or (length == 1 and isinstance(wire, Boolean))
        case Boolean():
            return isinstance(wire, Integer)
        case Interval():
            return isinstance(wire, Interval) or wire in (Integer(64), String())
        case Enum() | EnumSet():
            return isinstance(wire, type(source) | String)
        case String():
            return isinstance(wire, String | Enum)
        case Array(element, _):
            if isinstance(wire, Array):
                return is_carried_by(element, wire.element)
            # arrays of bits have the schema of one
            return isinstance(element, Bits) and isinstance(wire, Bits | Boolean)
        case Map():
            return wire == Json()
        case Struct(fields):
            return isinstance(wire, Struct) and _is_carried_by_struct(fields, wire)
        case Unknown():
            return True
        case _:
            return wire == String()


def find_loss(source: Type, wire: Type, spelled: str | None = None) -> str | None:
    """Describe what a field of type `wire` loses of a `source` column; None if it loses nothing.

    `spelled` is the type as the database writes it. Sizes that an event type cannot express (VARCHAR, BINARY)
    do not count: their values arrive unchanged.
    Source: Debezium SpecialValueDecimal, TemporalPrecisionMode, BinlogValueConverters, MicroDuration.
    """
    match source, wire:
        case Decimal(precision, _), Floating(64):
            return None if precision <= _DOUBLE_DIGITS else _DIGITS_LOST
        case Numeric(), Floating(64):
            return _DIGITS_LOST
        case Integer(bits, False), Integer(other, True) if bits == other and not _is_three_bytes(spelled):
            return f"numbers from 2^{bits - 1} on, which do not fit the field"
        case ((Integer() | Decimal()), Boolean()):
            return "numbers other than 0 and 1"
        case Floating(64), Floating(32):
            return "digits after the seventh"
        case (Time(own, False), Time(other, False)) | (Timestamp(own, False), Timestamp(other, False)):
            # isostring has more digits than its types, which have microseconds
            unless = ", unless they are texts" if other == _MICROSECONDS else ""
            return f"fractions of a second after digit {other}{unless}" if other < own else None
        case Interval("" | "YEAR TO MONTH"), Interval("DAY TO SECOND"):
            return "months, of which each counts as 30.4375 days"
        case Array(element, _), Array(other_element, _):
            return find_loss(element, other_element, spelled)
        case ((String() | Enum() | EnumSet() | Unknown()), _):
            return None
        case _, String():
            return _AS_TEXT
        case _:
            return None


_AS_TEXT = "the type: values arrive as text"
_OPTIONAL_STRUCTS = (("wkb", "srid"), ("wkb", "srid", "extensions"), ("center", "radius"), ("a", "b", "c"))
_THREE_BYTES = ("MEDIUMINT", "INT3", "MIDDLEINT")
_MICROSECONDS = 6
_DOUBLE_DIGITS = 15
_DIGITS_LOST = "digits after the fifteenth"


def _is_three_bytes(spelled: str | None) -> bool:
    """MySQL's numbers of 24 bits fit into 32 with a sign, and count as such of 32 here."""
    return spelled is not None and spelled.upper().startswith(_THREE_BYTES)


def has_nullability(wire: Type) -> bool:
    """Whether `optional` of a field proves that its column is nullable: geometric types are always optional.

    Source: Debezium io.debezium.data.geometry.Geometry, Circle and Line. For Geography it is a proof, but its
    type looks the same.
    """
    return not isinstance(wire, Struct) or tuple(f.name for f in wire.fields) not in _OPTIONAL_STRUCTS


def _is_carried_by_struct(fields: tuple[Field, ...], wire: Struct) -> bool:
    """Newer releases add fields, such as the `extensions` of a geometry."""
    there = {f.name: f.type for f in wire.fields}
    return all(f.name in there and is_carried_by(f.type, there[f.name]) for f in fields)


def _is_carried_by_timestamp(precision: int, zoned: bool, wire: Type) -> bool:
    if isinstance(wire, Timestamp):
        # time.precision.mode=connect cuts to milliseconds; a zoned text has no fixed precision
        return wire.zoned == zoned and (zoned or wire.precision >= min(precision, 3))
    return wire == String()
