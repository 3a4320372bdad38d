"""Readers of decimal numbers of Kafka Connect and Debezium, which keep every digit.

Source: `org.apache.kafka.connect.data.Decimal` (unscaled, big-endian two's complement; the scale is a
parameter of the schema), JsonConverter `decimal.format`, Debezium `io.debezium.data.VariableScaleDecimal`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from schemaman.sink.values.values import EXACT, Convert, UnfitValue, Value, abbreviate_value

ReadBytes = Callable[[object], bytes]
"""Converts a written value to its bytes. Raises UnfitValue."""

_SINGLE = struct.Struct("<f")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DOUBLE_DIGITS = 15
"""Doubles distinguish all decimal numbers of this many digits. Source: IEEE 754."""

_SCALES = 1 << 14
_DIGITS = 1 << 17
"""The limits of digits after the point, and before it. Source: PostgreSQL, numeric: 16383 and 131072."""


def read_unscaled(data: bytes, scale: int) -> Decimal:
    """Read a number with exactly this scale; a negative scale counts zeros before the point."""
    if not data:
        raise UnfitValue("a decimal number without bytes")
    return EXACT.scaleb(Decimal(int.from_bytes(data, "big", signed=True)), -scale)


def make_decimal_reader(scale: int, read_bytes: ReadBytes) -> Convert:
    """Make the reader of a Decimal of this scale: bytes, or a JSON number if `decimal.format` is NUMERIC."""

    def read(value: object) -> Value:
        if type(value) is int or type(value) is Decimal:
            return rescale_number(Decimal(value), scale)
        return read_unscaled(read_bytes(value), scale)

    return read


def make_variable_scale_reader(read_bytes: ReadBytes) -> Convert:
    """Make the reader of a VariableScaleDecimal: a struct of `scale` and `value`."""

    def read(value: object) -> Value:
        if not isinstance(value, Mapping) or type(value.get("scale")) is not int:
            raise UnfitValue(f"{abbreviate_value(value)} is no decimal number with its scale")
        if abs(value["scale"]) > _SCALES:
            raise UnfitValue(f"no decimal number has a scale of {value['scale']}")
        return read_unscaled(read_bytes(value.get("value")), value["scale"])

    return read


def rescale_number(number: Decimal, scale: int) -> Decimal:
    """Give a number this scale. Raises UnfitValue if digits would be lost."""
    if not number.is_finite():
        return number
    try:
        return EXACT.quantize(number, Decimal((0, (1,), -scale)))
    except ArithmeticError:
        raise UnfitValue(
            f"{abbreviate_number(number)} has more than {scale} digits after the point"
        ) from None


def read_decimal_text(value: object) -> Decimal:
    """Read a decimal number in digits, as mode `string` writes it; also NaN and the infinities."""
    try:
        if type(value) is not str:
            raise InvalidOperation
        number = Decimal(value)
    except InvalidOperation:
        raise UnfitValue(f"{abbreviate_value(value)} is no decimal number") from None
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and (exponent < -_SCALES or (number and number.adjusted() > _DIGITS)):
        raise UnfitValue(f"{abbreviate_value(value)} is greater or finer than the numbers of any database")
    return number


def make_double_reader(scale: int) -> Convert:
    """Make the reader of a number of this scale that mode `double` wrote as a double.

    The reader raises UnfitValue for sixteen digits or more: there, several numbers of this scale have the
    same double.
    """

    def read(value: object) -> Value:
        number = read_double(value)
        if not math.isfinite(number):
            return Decimal(number)
        exact = round(Decimal(number), max(scale, 0)) if scale < 400 else Decimal(number)
        digits = exact.adjusted() + 1 + scale if exact else 0
        if digits > _DOUBLE_DIGITS:
            lost = f"a double cannot hold a number of {digits} digits: {number!r}"
            raise UnfitValue(f"{lost}; set decimal.handling.mode = precise or string")
        if float(exact) != number:
            raise UnfitValue(f"{number!r} has more than {scale} digits after the point")
        return exact

    return read


def read_double(value: object) -> float:
    """Read a number of 64 bits; NaN and the infinities are texts, since JSON has no such numbers."""
    if type(value) is float:
        return value
    if type(value) is int or isinstance(value, Decimal):
        number = _to_float(value)
        if type(value) is int and int(number) != value:
            raise UnfitValue(f"{abbreviate_value(value)} is no number of 64 bits")
        return number
    if type(value) is str and value in _SPECIAL:
        return _SPECIAL[value]
    raise UnfitValue(f"{abbreviate_value(value)} is no floating-point number")


def read_single(value: object) -> float:
    """Read a number of 32 bits: JSON has only the digits that distinguish it from its neighbours."""
    number = read_double(value)
    try:
        (rounded,) = _SINGLE.unpack(_SINGLE.pack(number))
    except OverflowError:
        raise UnfitValue(f"{abbreviate_value(value)} is no number of 32 bits") from None
    return float(rounded)


def abbreviate_number(number: Decimal) -> str:
    """Abbreviate a number for a message."""
    text = format(number, "f")
    return text if len(text) <= 60 else f"{text[:59]}…"


def _to_float(value: int | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UnfitValue(f"{abbreviate_value(value)} is no number of 64 bits") from None
