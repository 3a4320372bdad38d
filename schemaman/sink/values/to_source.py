"""Converts the values of a record to the type of the source, so no mode of the connector changes a value.

Law: a conversion is exact, or it refuses. If a mode has lost something, the value is refused, not guessed.
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
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, BinaryMode, ConnectorModes
from schemaman.sink.values.from_connect import read_base64
from schemaman.sink.values.values import Convert, UnfitValue, Value, abbreviate_value

_TEXTS = (String, Uuid, Json, Xml, Enum, EnumSet)


@dataclass(frozen=True, slots=True)
class IncompatibleType:
    """Refuses every value, also null: a field of the event's type cannot belong to such a column."""

    event_type: Type
    source_type: Type

    @property
    def reason(self) -> str:
        """The reason of the refusal."""
        return f"{format_type(self.event_type)} does not carry {format_type(self.source_type)}"

    def __call__(self, value: object) -> NoReturn:
        """Refuse any value. Raises UnfitValue."""
        raise UnfitValue(self.reason)


def make_converter(wire: Type, source: Type, modes: ConnectorModes = UNKNOWN_MODES) -> Convert | None:
    """Make the converter from the type in the event to the source's type; None if no conversion is needed.

    `modes` are the configured modes of the connector.

    Source: Debezium JdbcValueConverters and the value converters of each connector, in all their modes.
    """
    if without_labels(wire) == without_labels(source):
        return None
    if isinstance(source, Boolean | Integer | Decimal | Numeric | Floating):
        return _make_number_converter(wire, source)
    match source, wire:
        case Bits(1), Boolean():
            return _boolean_to_bits
        case Time(_, zoned), String():
            return temporal.read_zoned_time if zoned else temporal.read_local_time
        case Time(_, zoned), Time(_, other) if zoned == other:
            return None
        case Timestamp(_, zoned), String():
            return temporal.read_zoned_timestamp if zoned else temporal.read_iso_timestamp
        case Timestamp(_, zoned), Timestamp(_, other) if zoned == other:
            return None
        case Date(), String():
            return temporal.read_iso_date
        case Interval(), Interval() | String():
            return None
        case ((Binary() | Bits()), (Binary() | Bits())):
            return None
        case Binary(), String():
            return _make_bytes_reader(modes.binary)
        case Map(), Json() | String():
            return _make_map_reader()
        case ((String() | Json()), Map()):
            return _format_map
        case String(), Decimal() | Numeric():
            return _format_number
        case _, _ if isinstance(source, _TEXTS) and isinstance(wire, _TEXTS):
            return None
        case Array(element, _), Array(other_element, _):
            return _make_array_converter(make_converter(other_element, element, modes))
        case Map(key, value, _), Map(other_key, other_value, _):
            return _make_map_converter(
                make_converter(other_key, key, modes), make_converter(other_value, value, modes)
            )
        case Struct(fields), Struct(others):
            return _make_struct_converter(fields, others, modes)
        case Unknown(), _:
            return None
        case _:
            return IncompatibleType(wire, source)


def _make_number_converter(wire: Type, source: Boolean | Integer | Decimal | Numeric | Floating) -> Convert:
    """Make the converter to a number, or a Boolean, of the source's type."""
    match source, wire:
        case Integer(64, False), Integer(64, True):
            return _restore_unsigned
        case Integer(bits, signed), Integer():
            return _make_range_check(bits, signed)
        case Integer(bits, signed), Decimal() | Numeric():
            return _make_integer_converter(bits, signed)
        case Integer() | Decimal(), Boolean():
            return _refuse_boolean
        case Boolean(), Integer():
            return _to_boolean
        case Boolean(), Bits():
            return _bits_to_boolean
        case ((Decimal() | Numeric()), (Decimal() | Numeric() | Integer())):
            return _make_decimal_converter(source)
        case Decimal(_, scale), Floating(64):
            return numbers.make_double_reader(scale)
        case Numeric(), Floating():
            return _make_refusal("a double does not hold the digits of a number without declared scale")
        case ((Decimal() | Numeric()), String()):
            return _make_decimal_text_reader(source)
        case Floating(64), Decimal() | Numeric():
            return _number_to_float
        case Floating(64), Floating(32) | Integer():
            return numbers.read_double
        case Floating(32), Floating(64) | Integer():
            return numbers.read_single
        case Floating(), String():
            return _text_to_float
        case _:
            return IncompatibleType(wire, source)


def _make_refusal(reason: str) -> Convert:
    def convert(value: object) -> Value:
        raise UnfitValue(reason)

    return convert


def _make_bytes_reader(mode: BinaryMode | None) -> Convert:
    """Make the reader of bytes that a mode wrote as text.

    Source: Debezium BinaryHandlingMode: Base64 of java.util, with padding; lower-case hexadecimal digits.
    """
    match mode:
        case "base64":
            return read_base64
        case "base64-url-safe":
            return _read_url_safe
        case "hex":
            return _read_hex
        case _:
            return _make_refusal(
                "bytes arrive as text, and binary.handling.mode (base64, base64-url-safe or hex) is not "
                "configured"
            )


def _read_url_safe(value: object) -> Value:
    return read_base64(str(value).translate(_URL_SAFE))


_URL_SAFE = {ord("-"): "+", ord("_"): "/", ord("+"): "!", ord("/"): "!"}
"""The two characters that differ; those of the other alphabet become an invalid one."""


def _read_hex(value: object) -> Value:
    text = str(value)
    try:
        if text.split() == [text] or not text:
            return bytes.fromhex(text)
    except ValueError:
        pass
    raise UnfitValue(f"{abbreviate_value(value)} is no bytes in hexadecimal digits")


def _restore_unsigned(value: object) -> Value:
    """Restore a BIGINT UNSIGNED of mode `long`: the upper half arrives as negative numbers, without loss."""
    number = temporal.require_whole(value)
    return number + (1 << 64) if number < 0 else number


def _make_range_check(bits: int, signed: bool) -> Convert:
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)

    def convert(value: object) -> Value:
        number = temporal.require_whole(value)
        if not low <= number < high:
            raise UnfitValue(f"{number} does not fit into {bits} bits{'' if signed else ' without a sign'}")
        return number

    return convert


def _make_integer_converter(bits: int, signed: bool) -> Convert:
    within = _make_range_check(bits, signed)

    def convert(value: object) -> Value:
        if not isinstance(value, Number):
            raise UnfitValue(f"{abbreviate_value(value)} is no number")
        number = numbers.rescale_number(value, 0)
        if not number.is_finite():
            raise UnfitValue(f"{number} is no whole number")
        return within(int(number))

    return convert


def _to_boolean(value: object) -> Value:
    if value in (0, 1):
        return value == 1
    raise UnfitValue(f"{abbreviate_value(value)} is neither 0 nor 1, so it is no Boolean")


def _refuse_boolean(value: object) -> Value:
    if value is False:
        return 0
    raise UnfitValue(
        "the field shows only that the number is not 0: its connector turns TINYINT(1) into Booleans "
        "(converters, TinyIntOneToBooleanConverter), and the table has numbers"
    )


def _bits_to_boolean(value: object) -> Value:
    assert isinstance(value, bytes)
    return _to_boolean(int.from_bytes(value, "little"))


def _boolean_to_bits(value: object) -> Value:
    return b"\1" if value else b"\0"


def _make_decimal_converter(source: Decimal | Numeric) -> Convert:
    from_number = _to_decimal
    if isinstance(source, Numeric):
        return from_number
    scale = source.scale

    def convert(value: object) -> Value:
        return numbers.rescale_number(_to_decimal(value), scale)

    return convert


def _to_decimal(value: object) -> Number:
    if isinstance(value, int | float | str | Number):
        return Number(value)
    raise UnfitValue(f"{abbreviate_value(value)} is no number")


def _make_decimal_text_reader(source: Decimal | Numeric) -> Convert:
    if isinstance(source, Numeric):
        return numbers.read_decimal_text
    scale = source.scale

    def convert(value: object) -> Value:
        return numbers.rescale_number(numbers.read_decimal_text(value), scale)

    return convert


def _format_number(value: object) -> Value:
    """Format a number of a column that was sent as text before: another epoch changes only the encoding."""
    if not isinstance(value, Number):
        raise UnfitValue(f"{abbreviate_value(value)} is no number")
    return format(value, "f")


def _number_to_float(value: object) -> Value:
    if not isinstance(value, Number):
        raise UnfitValue(f"{abbreviate_value(value)} is no number")
    return _text_to_float(format(value, "f"))


def _text_to_float(value: object) -> Value:
    number = numbers.read_decimal_text(value)
    converted = float(number)
    if Number(repr(converted)) != number and converted == converted:
        raise UnfitValue(f"{abbreviate_value(value)} has more digits than a floating-point number")
    return converted


def _make_map_reader() -> Convert:
    def convert(value: object) -> Value:
        try:
            found = json.loads(str(value))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnfitValue(f"{abbreviate_value(value)} is no map in JSON")
        return found

    return convert


def _format_map(value: object) -> Value:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _make_array_converter(element: Convert | None) -> Convert | None:
    if element is None or isinstance(element, IncompatibleType):
        return element

    def convert(value: object) -> Value:
        assert isinstance(value, tuple)
        return tuple([None if one is None else element(one) for one in value])

    return convert


def _make_map_converter(key_converter: Convert | None, value_converter: Convert | None) -> Convert | None:
    if key_converter is None and value_converter is None:
        return None
    for part in (key_converter, value_converter):
        if isinstance(part, IncompatibleType):
            return part

    def convert(value: object) -> Value:
        assert isinstance(value, Mapping)
        return {
            (key_converter(k) if key_converter else k): (
                value_converter(v) if value_converter and v is not None else v
            )
            for k, v in value.items()
        }

    return convert


def _make_struct_converter(
    fields: tuple[Field, ...], others: tuple[Field, ...], modes: ConnectorModes
) -> Convert | None:
    """Pair fields by name; newer releases add some, such as the `extensions` of a geometry."""
    there = {f.name: f.type for f in others}
    own = {f.name: make_converter(there[f.name], f.type, modes) for f in fields if f.name in there}
    if [f.name for f in fields] == [f.name for f in others] and not any(own.values()):
        return None
    for field_converter in own.values():
        if isinstance(field_converter, IncompatibleType):
            return field_converter
    names = tuple(f.name for f in fields)

    def convert(value: object) -> Value:
        assert isinstance(value, Mapping)
        extra = next((n for n, one in value.items() if n not in names and one is not None), None)
        if extra is not None:
            raise UnfitValue(f"the struct has a field {extra!r}, which the table does not have")
        found: dict[str, Value] = {}
        for name in names:
            one, change = value.get(name), own.get(name)
            found[name] = change(one) if change is not None and one is not None else one
        return found

    return convert
