"""From what a record carries to the type of the source: another mode of the connector changes no value.

Law: a conversion is exact, or it refuses; where a mode has lost something, that is said and not made good.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import NoReturn

from schemaman.model.ddl import format_type
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
    Uuid,
    Xml,
    without_labels,
)
from schemaman.sink.values import decimals as numbers
from schemaman.sink.values import temporal
from schemaman.sink.values.connector_modes import UNTOLD, BinaryMode, Modes
from schemaman.sink.values.from_connect import from_base64
from schemaman.sink.values.values import Convert, UnfitValue, Value, told

_TEXTS = (String, Uuid, Json, Xml, Enum, EnumSet)


@dataclass(frozen=True, slots=True)
class NotCarried:
    """Takes no value: what has the one type is no column of the other, also where its value is null."""

    wire: Type
    source: Type

    @property
    def reason(self) -> str:
        """Why, in words."""
        return f"{format_type(self.wire)} does not carry {format_type(self.source)}"

    def __call__(self, value: object) -> NoReturn:
        """Refuse whatever it is. Raises UnfitValue."""
        raise UnfitValue(self.reason)


def converter(wire: Type, source: Type, modes: Modes = UNTOLD) -> Convert | None:
    """How a value of a wire type becomes one of the source's type; None where it is one already.

    `modes` are those of the connector that somebody told.

    Source: Debezium JdbcValueConverters and the value converters of each connector, in all their modes.
    """
    if without_labels(wire) == without_labels(source):
        return None
    if isinstance(source, Boolean | Integer | Decimal | Numeric | Floating):
        return _number(wire, source)
    match source, wire:
        case Bits(1), Boolean():
            return _byte
        case Time(_, zoned), String():
            return temporal.zoned_time if zoned else temporal.local_time
        case Time(_, zoned), Time(_, other) if zoned == other:
            return None
        case Timestamp(_, zoned), String():
            return temporal.zoned_timestamp if zoned else temporal.iso_timestamp
        case Timestamp(_, zoned), Timestamp(_, other) if zoned == other:
            return None
        case Date(), String():
            return temporal.iso_day
        case Interval(), Interval() | String():
            return None
        case ((Binary() | Bits()), (Binary() | Bits())):
            return None
        case Binary(), String():
            return _bytes_of_text(modes.binary)
        case Map(), Json() | String():
            return _map_of_text(source)
        case ((String() | Json()), Map()):
            return _text_of_map
        case String(), Decimal() | Numeric():
            return _text_of_number
        case _, _ if isinstance(source, _TEXTS) and isinstance(wire, _TEXTS):
            return None
        case Array(element, _), Array(other_element, _):
            return _array(converter(other_element, element, modes))
        case Map(key, value, _), Map(other_key, other_value, _):
            return _mapped(converter(other_key, key, modes), converter(other_value, value, modes))
        case Struct(fields), Struct(others):
            return _struct(fields, others, modes)
        case Unknown(), _:
            return None
        case _:
            return NotCarried(wire, source)


def _number(wire: Type, source: Boolean | Integer | Decimal | Numeric | Floating) -> Convert:
    """How a value becomes a number, or a Boolean, of the source's type."""
    match source, wire:
        case Integer(64, False), Integer(64, True):
            return _unsigned
        case Integer(bits, signed), Integer():
            return _within(bits, signed)
        case Integer(bits, signed), Decimal() | Numeric():
            return _integral(bits, signed)
        case Integer() | Decimal(), Boolean():
            return _flag_lost
        case Boolean(), Integer():
            return _flag
        case Boolean(), Bits():
            return _bit
        case ((Decimal() | Numeric()), (Decimal() | Numeric() | Integer())):
            return _rescaled(source)
        case Decimal(_, scale), Floating(64):
            return numbers.of_double(scale)
        case Numeric(), Floating():
            return _never("a double does not tell the digits of a number without declared scale")
        case ((Decimal() | Numeric()), String()):
            return _of_text(source)
        case Floating(64), Decimal() | Numeric():
            return _float_of_number
        case Floating(64), Floating(32) | Integer():
            return numbers.double
        case Floating(32), Floating(64) | Integer():
            return numbers.single
        case Floating(), String():
            return _float_of_text
        case _:
            return NotCarried(wire, source)


def _never(reason: str) -> Convert:
    def convert(value: object) -> Value:
        raise UnfitValue(reason)

    return convert


def _bytes_of_text(mode: BinaryMode | None) -> Convert:
    """How bytes are read that a mode wrote as text.

    Source: Debezium BinaryHandlingMode: Base64 of java.util, with padding; lower-case hexadecimal digits.
    """
    match mode:
        case "base64":
            return from_base64
        case "base64-url-safe":
            return _from_url_safe
        case "hex":
            return _from_hex
        case _:
            return _never(
                "bytes arrive as text, and nobody told binary.handling.mode: base64, base64-url-safe or hex"
            )


def _from_url_safe(value: object) -> Value:
    return from_base64(str(value).translate(_URL_SAFE))


_URL_SAFE = {ord("-"): "+", ord("_"): "/", ord("+"): "!", ord("/"): "!"}
"""The two characters that differ; those of the other alphabet become one of none."""


def _from_hex(value: object) -> Value:
    text = str(value)
    try:
        if text.split() == [text] or not text:
            return bytes.fromhex(text)
    except ValueError:
        pass
    raise UnfitValue(f"{told(value)} is no bytes in hexadecimal digits")


def _unsigned(value: object) -> Value:
    """BIGINT UNSIGNED in mode `long`: the upper half arrives as negative numbers, and loses nothing."""
    number = temporal.whole(value)
    return number + (1 << 64) if number < 0 else number


def _within(bits: int, signed: bool) -> Convert:
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)

    def convert(value: object) -> Value:
        number = temporal.whole(value)
        if not low <= number < high:
            raise UnfitValue(f"{number} is none of {bits} bits{'' if signed else ' without a sign'}")
        return number

    return convert


def _integral(bits: int, signed: bool) -> Convert:
    within = _within(bits, signed)

    def convert(value: object) -> Value:
        if not isinstance(value, Number):
            raise UnfitValue(f"{told(value)} is no number")
        number = numbers.rescaled(value, 0)
        if not number.is_finite():
            raise UnfitValue(f"{number} is no whole number")
        return within(int(number))

    return convert


def _flag(value: object) -> Value:
    if value in (0, 1):
        return value == 1
    raise UnfitValue(f"{told(value)} is neither 0 nor 1, which a Boolean is")


def _flag_lost(value: object) -> Value:
    if value is False:
        return 0
    raise UnfitValue(
        "the field tells of a number only that it is not 0: its connector turns TINYINT(1) into Booleans "
        "(converters, TinyIntOneToBooleanConverter), and the table has numbers"
    )


def _bit(value: object) -> Value:
    assert isinstance(value, bytes)
    return _flag(int.from_bytes(value, "little"))


def _byte(value: object) -> Value:
    return b"\1" if value else b"\0"


def _rescaled(source: Decimal | Numeric) -> Convert:
    from_number = _plain_decimal
    if isinstance(source, Numeric):
        return from_number
    scale = source.scale

    def convert(value: object) -> Value:
        return numbers.rescaled(_plain_decimal(value), scale)

    return convert


def _plain_decimal(value: object) -> Number:
    if isinstance(value, int | float | str | Number):
        return Number(value)
    raise UnfitValue(f"{told(value)} is no number")


def _of_text(source: Decimal | Numeric) -> Convert:
    if isinstance(source, Numeric):
        return numbers.of_text
    scale = source.scale

    def convert(value: object) -> Value:
        return numbers.rescaled(numbers.of_text(value), scale)

    return convert


def _text_of_number(value: object) -> Value:
    """The digits of a column that travelled as text before: an epoch changes how, and no value."""
    if not isinstance(value, Number):
        raise UnfitValue(f"{told(value)} is no number")
    return format(value, "f")


def _float_of_number(value: object) -> Value:
    if not isinstance(value, Number):
        raise UnfitValue(f"{told(value)} is no number")
    return _float_of_text(format(value, "f"))


def _float_of_text(value: object) -> Value:
    number = numbers.of_text(value)
    converted = float(number)
    if Number(repr(converted)) != number and converted == converted:
        raise UnfitValue(f"{told(value)} has more digits than a floating-point number")
    return converted


def _map_of_text(source: Map) -> Convert:
    def convert(value: object) -> Value:
        try:
            found = json.loads(str(value))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnfitValue(f"{told(value)} is no map in JSON")
        return found

    return convert


def _text_of_map(value: object) -> Value:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _array(element: Convert | None) -> Convert | None:
    if element is None or isinstance(element, NotCarried):
        return element

    def convert(value: object) -> Value:
        assert isinstance(value, tuple)
        return tuple([None if one is None else element(one) for one in value])

    return convert


def _mapped(key: Convert | None, member: Convert | None) -> Convert | None:
    if key is None and member is None:
        return None
    for part in (key, member):
        if isinstance(part, NotCarried):
            return part

    def convert(value: object) -> Value:
        assert isinstance(value, Mapping)
        return {
            (key(k) if key else k): (member(v) if member and v is not None else v) for k, v in value.items()
        }

    return convert


def _struct(fields: tuple[Field, ...], others: tuple[Field, ...], modes: Modes) -> Convert | None:
    """Members by name; newer releases add some, such as the `extensions` of a geometry."""
    there = {f.name: f.type for f in others}
    own = {f.name: converter(there[f.name], f.type, modes) for f in fields if f.name in there}
    if [f.name for f in fields] == [f.name for f in others] and not any(own.values()):
        return None
    for member in own.values():
        if isinstance(member, NotCarried):
            return member
    names = tuple(f.name for f in fields)

    def convert(value: object) -> Value:
        assert isinstance(value, Mapping)
        extra = next((n for n, one in value.items() if n not in names and one is not None), None)
        if extra is not None:
            raise UnfitValue(f"the struct has a member {extra!r}, which the table does not have")
        found: dict[str, Value] = {}
        for name in names:
            one, change = value.get(name), own.get(name)
            found[name] = change(one) if change is not None and one is not None else one
        return found

    return convert
