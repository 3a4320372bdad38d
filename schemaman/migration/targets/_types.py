"""How table formats hold logical types: without loss where possible, else with a note of the loss.

Law: a lake type is held as itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.type_mapping import DEFAULT, MAX_DIGITS, MICROSECONDS, VARIANT, Representation
from schemaman.model.ddl import format_type
from schemaman.model.name_adjustment import explain_unusable_name
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
    Union,
    Unknown,
    Uuid,
    Xml,
    count_digits,
)

_NANOSECONDS = "values with nanoseconds do not fit: table formats hold microseconds"
_LEAVE_OUT = "add this type to the connector, or leave the column out"


@dataclass(frozen=True, slots=True)
class TypeHolder:
    """Holds types for one format. `smallest_integer`: bits of the narrowest integer that it stores."""

    representation: Representation = DEFAULT
    smallest_integer: int = 8

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Find how the format holds a type, and what that loses.

        Nested fields and elements are nullable in the lake, since a stream cannot guarantee their values.
        """
        match type:
            case Boolean() | Floating() | Date():
                return LakeType(type)
            case Integer():
                return self._integer(type)
            case Decimal(precision, scale):
                return self._decimal(precision, scale)
            case Numeric():
                return self._number("numbers without declared precision")
            case String() | Xml() | Enum():
                return LakeType(String())
            case Uuid():
                return LakeType(Binary() if self.representation.uuid == "binary" else String())
            case Json():
                return LakeType(VARIANT if self.representation.json == "variant" else String())
            case EnumSet():
                listed = self.representation.sets == "array" and self.representation.arrays == "array"
                return LakeType(Array(String()) if listed else String())
            case Time() | Interval():
                return self._span(type)
            case Timestamp():
                return self._timestamp(type)
            case Binary() | Bits():
                return LakeType(Binary())
            case Array() | Map() | Struct():
                return self._nested(type)
            case Union():
                reason = f"values of several types, {format_type(type)}, have no common type in a table"
                return Refusal("", reason, "agree on one type at the source, or leave the column out")
            case Unknown():
                return self._unknown(type)
            case _:
                assert_never(type)

    def _integer(self, type: Integer) -> LakeType:
        """Unsigned numbers need one size more; 64 unsigned bits need twenty digits."""
        if type.signed or type.bits < 64:
            return LakeType(Integer(max(self.smallest_integer, type.bits if type.signed else 2 * type.bits)))
        match self.representation.unsigned_bigint:
            case "decimal":
                return LakeType(Decimal(count_digits(type), 0))
            case "bigint":
                return LakeType(Integer(64), "numbers above 9223372036854775807 do not fit BIGINT")
            case "string":
                return LakeType(String(), "numbers are kept as text, digit by digit")

    def _decimal(self, precision: int, scale: int) -> LakeType:
        # PostgreSQL allows a scale outside 0..precision: room for the zeros keeps every value.
        behind = max(scale, 0)
        before = max(precision - scale, 0)
        if before + behind > MAX_DIGITS:
            return self._number(f"{before + behind} digits do not fit a DECIMAL({MAX_DIGITS}): numbers")
        return LakeType(Decimal(max(before + behind, 1), behind))

    def _number(self, what: str) -> LakeType:
        """Hold numbers for which no DECIMAL is declared."""
        if self.representation.numeric == "double":
            return LakeType(Floating(64), f"{what} are rounded to the nearest DOUBLE, about fifteen digits")
        decimal = self.representation.decimal
        if decimal is None:
            return LakeType(String(), f"{what} are kept as text, digit by digit")
        room = f"{decimal.precision - decimal.scale} digits before the point or {decimal.scale} after it"
        return LakeType(decimal, f"{what} with more than {room} do not fit")

    def _span(self, type: Time | Interval) -> LakeType:
        if isinstance(type, Time) and not type.zoned and self.representation.time == "bigint":
            lost = "; finer values do not fit" if type.precision > MICROSECONDS else ""
            return LakeType(Integer(64), f"{format_type(type)} is kept as microseconds since midnight{lost}")
        return LakeType(String(), f"{format_type(type)} is kept as text, no table format has it")

    def _timestamp(self, type: Timestamp) -> LakeType:
        if type.precision > MICROSECONDS and self.representation.nanoseconds == "string":
            return LakeType(String(), f"{format_type(type)} is kept as text, with its nanoseconds")
        lost = [_NANOSECONDS] if type.precision > MICROSECONDS else []
        if type.zoned or self.representation.local_timestamp == "timestamp_ntz":
            return LakeType(Timestamp(MICROSECONDS, type.zoned), "; ".join(lost) or None)
        if self.representation.local_timestamp == "string":
            return LakeType(String(), f"{format_type(type)} is kept as text")
        lost.append("local times are kept as if they were UTC; the fact that they have no zone is lost")
        return LakeType(Timestamp(MICROSECONDS), "; ".join(lost))

    def _nested(self, type: Array | Map | Struct) -> LakeType | Refusal:
        representation = self.representation
        match type:
            case Struct(fields) if representation.geometry != "struct" and is_geometry(type):
                if representation.geometry == "refuse":
                    instead = "set geometry = struct or wkb in a [[projection]], or leave the column out"
                    return Refusal("", "geometry = refuse", instead)
                others = ", ".join(f.name for f in fields if f.name != "wkb")
                return LakeType(Binary(), f"only the WKB of the geometry is kept, without {others}")
            case Array() if representation.arrays == "string":
                return self._as_json(type)
            case Array(element):
                return self._wrapped((element,), lambda held: Array(held[0]))
            case Map() | Struct() if representation.documents == "string":
                return self._as_json(type)
            case Map(key, value):
                return _require_writable_key(self._wrapped((key, value), lambda held: Map(held[0], held[1])))
            case Struct(fields):
                return self._struct(fields)

    def _as_json(self, type: Array | Map | Struct) -> LakeType | Refusal:
        """Hold a nested type as JSON text; a type with unknown parts is refused here, too."""
        inner = TypeHolder(
            replace(self.representation, arrays="array", documents="struct"), self.smallest_integer
        )
        answer = inner.hold_type(type)
        if isinstance(answer, Refusal):
            return answer
        return LakeType(String(), f"{format_type(type)} is kept as JSON text")

    def _wrapped(self, parts: Sequence[Type], build: Callable[[list[Type]], Type]) -> LakeType | Refusal:
        held: list[Type] = []
        notes: list[str] = []
        for part in parts:
            inner = self.hold_type(part)
            if isinstance(inner, Refusal):
                return inner
            held.append(inner.type)
            notes += [inner.note] if inner.note else []
        return LakeType(build(held), "; ".join(dict.fromkeys(notes)) or None)

    def _struct(self, fields: tuple[Field, ...]) -> LakeType | Refusal:
        names = [f.name.lower() for f in fields]
        if not fields:
            return Refusal("", "a struct without fields cannot be written", "wait until the source fills it")
        if len(names) != len(set(names)):
            reason = "two of its fields differ only by case"
            return Refusal("", reason, "leave the column out, or rename the fields at the source")
        reason = next(
            (f"its field {f.name!r}: {why}" for f in fields if (why := explain_unusable_name(f.name))), ""
        )
        if reason:
            return Refusal("", reason, "leave the column out, or rename the fields at the source")
        return self._wrapped(
            [f.type for f in fields],
            lambda held: Struct(
                tuple(
                    replace(f, type=t, nullable=True, comment=f.comment or None)
                    for f, t in zip(fields, held, strict=True)
                )
            ),
        )

    def _unknown(self, type: Unknown) -> LakeType | Refusal:
        if type == VARIANT and self.representation.json == "variant":
            return LakeType(VARIANT)
        return Refusal("", f"the type {type.name!r} is unknown", _LEAVE_OUT)


def is_geometry(type: Struct) -> bool:
    """Whether a struct is a shape of Debezium: well-known binary and its reference system.

    Source: Debezium `io.debezium.data.geometry.Geometry` and `Point`.
    """
    names = {f.name for f in type.fields}
    return {"wkb", "srid"} <= names <= {"wkb", "srid", "x", "y"}


def _require_writable_key(answer: LakeType | Refusal) -> LakeType | Refusal:
    """Refuse a map whose values cannot be written: Spark creates the table, but then refuses each key.

    Source: Spark's error condition `DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE`; Spark 4.1.1 tried.
    """
    if isinstance(answer, Refusal) or not isinstance(answer.type, Map):
        return answer
    key = answer.type.key
    if not has_map(key) and not has_variant(key):
        return answer
    instead = "set documents = string in a [[projection]], or leave the column out"
    return Refusal("", "the key of a map can hold no map or VARIANT", instead)


def has_part(type: Type, wanted: Callable[[Type], bool]) -> bool:
    """Whether a type, or a part of it, is wanted."""
    if wanted(type):
        return True
    match type:
        case Array(element):
            return has_part(element, wanted)
        case Map(key, value):
            return has_part(key, wanted) or has_part(value, wanted)
        case Struct(fields):
            return any(has_part(f.type, wanted) for f in fields)
        case _:
            return False


def has_map(type: Type) -> bool:
    """Whether a type is or contains a map."""
    return has_part(type, lambda part: isinstance(part, Map))


def has_variant(type: Type) -> bool:
    """Whether a type is or contains a VARIANT."""
    return has_part(type, lambda part: part == VARIANT)
