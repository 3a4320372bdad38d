"""Logical types of columns, the same for all sources and targets, and which type changes lose no value.

Laws: `widens` is reflexive and transitive; every value of `old` is exactly a value of
`new` when `widens(old, new)`. Text form: `ddl.format_type` and `ddl.parse_type`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, assert_never


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number of 8, 16, 32 or 64 bits."""

    bits: int
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Floating:
    """An IEEE 754 number of 32 or 64 bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal number of `precision` digits, `scale` of them after the decimal point."""

    precision: int
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Numeric:
    """A decimal number without declared precision; each value has its own scale."""


@dataclass(frozen=True, slots=True)
class String:
    """Text; `length` in characters, None for unbounded; `fixed` for CHAR."""

    length: int | None = None
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes; `length` in bytes, None for unbounded."""

    length: int | None = None


@dataclass(frozen=True, slots=True)
class Bits:
    """A bit string of `length` bits, None for unbounded."""

    length: int | None = None


@dataclass(frozen=True, slots=True)
class Date:
    """A calendar day."""


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day with `precision` fractional digits; `zoned` if it carries an offset."""

    precision: int = 6
    zoned: bool = False


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A date and time with `precision` fractional digits; `zoned` means an instant."""

    precision: int = 6
    zoned: bool = True


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time; `parts` names the units that it counts, empty for all units from years to seconds."""

    parts: Literal["", "YEAR TO MONTH", "DAY TO SECOND"] = ""


@dataclass(frozen=True, slots=True)
class Uuid:
    """A universally unique identifier."""


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON document as text."""


@dataclass(frozen=True, slots=True)
class Xml:
    """An XML document as text."""


@dataclass(frozen=True, slots=True)
class Enum:
    """One label out of `values`. An empty tuple means that no record has the labels."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnumSet:
    """Any number of labels out of `values`."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Array:
    """A list of `element`."""

    element: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Map:
    """A map from `key` to `value`; `nullable` is the nullability of the value."""

    key: Type
    value: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """A nested field: a named field of a struct."""

    name: str
    type: Type
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of nested fields, in order."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A column or nested field with values of several types, as in documents; `find_common_type` builds it.

    `members` are two or more types in the order of their names. None of them is a union, and none holds all
    values of another. So equal unions are equal values.
    """

    members: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A type that schemaman does not know; `name` is the database's own word for it."""

    name: str


Type = (
    Boolean
    | Integer
    | Floating
    | Decimal
    | Numeric
    | String
    | Binary
    | Bits
    | Date
    | Time
    | Timestamp
    | Interval
    | Uuid
    | Json
    | Xml
    | Enum
    | EnumSet
    | Array
    | Map
    | Struct
    | Union
    | Unknown
)

_DIGITS = {(8, True): 3, (8, False): 3, (16, True): 5, (16, False): 5}
_DIGITS |= {(32, True): 10, (32, False): 10, (64, True): 19, (64, False): 20}
_MANTISSA_BITS = {32: 24, 64: 53}


def count_digits(type: Integer) -> int:
    """Count the decimal digits that every value of an integer type fits in."""
    return _DIGITS[type.bits, type.signed]


def widens(old: Type, new: Type) -> bool:
    """Return whether every value of `old` is, unchanged, a value of `new`."""
    if old == new:
        return True
    if isinstance(old, Union):
        return all(widens(member, new) for member in old.members)
    if isinstance(new, Union):
        return any(widens(old, member) for member in new.members)
    match old:
        case Integer():
            return _integer_fits(old, new)
        case Floating(bits):
            return isinstance(new, Floating) and new.bits >= bits
        case Decimal(precision, scale):
            if isinstance(new, Decimal):
                return new.scale >= scale and new.precision - new.scale >= precision - scale
            return isinstance(new, Numeric)
        case String(length, fixed):
            return isinstance(new, String) and _is_as_long(length, new.length) and (fixed or not new.fixed)
        case Binary(length):
            return isinstance(new, Binary) and _is_as_long(length, new.length)
        case Bits(length):
            return isinstance(new, Bits) and _is_as_long(length, new.length)
        case Date():
            return isinstance(new, Timestamp) and not new.zoned
        case Time(precision, zoned) | Timestamp(precision, zoned):
            return type(new) is type(old) and new.zoned == zoned and new.precision >= precision
        case Enum(values):
            return _labels_fit(values, new)
        case EnumSet(values):
            return isinstance(new, EnumSet) and bool(values) and set(values) <= set(new.values)
        case Array(element, nullable):
            return isinstance(new, Array) and widens(element, new.element) and new.nullable >= nullable
        case Map(key, value, nullable):
            return (
                isinstance(new, Map)
                and widens(key, new.key)
                and widens(value, new.value)
                and new.nullable >= nullable
            )
        case Struct(fields):
            return isinstance(new, Struct) and _fields_fit(fields, new.fields)
        case Interval():
            return new == Interval()
        case Boolean() | Numeric() | Uuid() | Json() | Xml() | Unknown():
            return isinstance(new, String) and new.length is None and isinstance(old, Uuid | Json | Xml)
        case _:
            assert_never(old)


def list_members(type: Type) -> tuple[Type, ...]:
    """List the types that a value of this type may have: the members of a union, else the type itself."""
    return type.members if isinstance(type, Union) else (type,)


def has_labels(type: Type) -> bool:
    """Whether a type may have the labels of enums; nearly all types of columns have none."""
    return isinstance(type, _WITH_LABELS)


def without_labels(type: Type) -> Type:
    """Return the type without the labels of its enums: labels are attributes, not shape."""
    if not isinstance(type, _WITH_LABELS):
        return type
    match type:
        case Enum():
            return Enum()
        case EnumSet():
            return EnumSet()
        case Array(element, nullable):
            return Array(without_labels(element), nullable)
        case Map(key, value, nullable):
            return Map(without_labels(key), without_labels(value), nullable)
        case Struct(fields):
            return Struct(tuple(replace(f, type=without_labels(f.type), comment=None) for f in fields))
        case Union(members):
            return Union(tuple(without_labels(m) for m in members))
        case _:
            return type


_WITH_LABELS = (Enum, EnumSet, Array, Map, Struct, Union)


def _integer_fits(old: Integer, new: Type) -> bool:
    match new:
        case Integer(bits, signed):
            if old.signed:
                return signed and bits >= old.bits
            return bits > old.bits if signed else bits >= old.bits
        case Floating(bits):
            return old.bits - old.signed <= _MANTISSA_BITS[bits]
        case Decimal(precision, scale):
            return precision - scale >= count_digits(old)
        case Numeric():
            return True
        case _:
            return False


def _is_as_long(old: int | None, new: int | None) -> bool:
    return new is None or (old is not None and new >= old)


def _labels_fit(values: tuple[str, ...], new: Type) -> bool:
    match new:
        case Enum(others):
            return bool(values) and set(values) <= set(others)
        case String(length, False):
            return length is None or (bool(values) and all(len(v) <= length for v in values))
        case _:
            return False


def _fields_fit(old: tuple[Field, ...], new: tuple[Field, ...]) -> bool:
    if tuple(f.name for f in old) != tuple(f.name for f in new):
        return False
    return all(widens(a.type, b.type) and b.nullable >= a.nullable for a, b in zip(old, new, strict=True))
