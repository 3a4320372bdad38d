"""Values as the lake's type holds them: the same value, or the reason why it cannot be held.

Law: reading the lake's value back as the source's type gives the source's value; nothing is rounded, cut or
made null. What the types decide is `projection`'s; here only values are asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal as Number
from functools import lru_cache

from schemaman.model.ddl import format_type
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    Numeric,
    String,
    Struct,
    Timestamp,
    Type,
)
from schemaman.sink.values import decimals as numbers
from schemaman.sink.values.to_lake_options import chosen
from schemaman.sink.values.values import EXACT, Beyond, Convert, Unfit, UnfitValue, Value, told

_BEYOND = '`local_timestamp = "string"` keeps such values in a new table'
_FINER = re.compile(r"(?!0000)[0-9]{4}-[^.]*\.[0-9]{7}")
"""How a time of the years 1 to 9999 begins that is finer than microseconds."""


def fitter(source: Type, lake: Type) -> Convert:
    """How values of a source's type become those of a lake's type; it raises UnfitValue for one that cannot.

    What comes out: bool, int, float, Decimal of the lake's scale, str, bytes, date, datetime (aware for
    TIMESTAMP, naive for TIMESTAMP_NTZ), list for an array, dict for maps and structs (under the lake's
    names).
    """
    other = chosen(source, lake)
    if other is not None:
        return other
    match lake:
        case Array(element) if isinstance(source, Array):
            return _array(fitter(source.element, element))
        case Map(key, member) if isinstance(source, Map):
            return _map(fitter(source.key, key), fitter(source.value, member))
        case Struct(fields) if isinstance(source, Struct):
            return _struct(source.fields, fields)
        case String(length):
            return _text(length)
        case Boolean() if isinstance(source, Boolean):
            return _truth
        case Boolean() if isinstance(source, Integer):
            return _boolean
        case Integer(bits, True) if isinstance(source, Integer | Decimal | Numeric | Boolean):
            return _integer(bits)
        case Decimal(precision, scale) if isinstance(source, Integer | Decimal | Numeric | Boolean):
            return _decimal(precision, scale)
        case Floating(bits) if isinstance(source, Integer | Decimal | Numeric | Floating):
            return _floating(bits)
        case Binary(length) if isinstance(source, Binary | Bits):
            return _bytes(length)
        case Date() if isinstance(source, Date):
            return _date
        case Timestamp(_, zoned) if isinstance(source, Timestamp) and source.zoned == zoned:
            return _timestamp(zoned)
        case Timestamp(_, False) if isinstance(source, Date):
            return _midnight
        case _:
            return _never(f"{format_type(lake)} holds no values of {format_type(source)}")


def fit(value: Value, source: Type, lake: Type, column: str) -> Value | Unfit:
    """One value as a lake's type holds it, or why it cannot; None is None."""
    if value is None:
        return None
    try:
        return _fitter(source, lake)(value)
    except UnfitValue as reason:
        return Unfit(column, str(reason))


_fitter = lru_cache(1 << 12)(fitter)
"""Made once for each pair of types."""


def _never(reason: str) -> Convert:
    def convert(value: object) -> Value:
        raise UnfitValue(reason)

    return convert


def _truth(value: object) -> Value:
    if not isinstance(value, bool):
        raise UnfitValue(f"{told(value)} is neither true nor false")
    return value


def _boolean(value: object) -> Value:
    if value in (0, 1):
        return value == 1
    raise UnfitValue(f"{told(value)} is neither 0 nor 1, and the lake holds a BOOLEAN")


def _integer(bits: int) -> Convert:
    limit = 1 << (bits - 1)
    name = format_type(Integer(bits))

    def convert(value: object) -> Value:
        if isinstance(value, Number):
            value = _whole(value)
        if not isinstance(value, int) or not -limit <= value < limit:
            raise UnfitValue(f"{told(value)} does not fit {name}")
        return int(value)

    return convert


def _whole(value: Number) -> int:
    if not value.is_finite() or value != EXACT.to_integral_value(value):
        raise UnfitValue(f"{numbers.told_number(value)} is no whole number")
    return int(value)


def _decimal(precision: int, scale: int) -> Convert:
    limit = Number(10) ** (precision - scale)
    name = format_type(Decimal(precision, scale))

    def convert(value: object) -> Value:
        if not isinstance(value, int | Number):
            raise UnfitValue(f"{told(value)} is no number")
        number = Number(value)
        if not number.is_finite():
            raise UnfitValue(f"{name} has no {number}")
        if not -limit < number < limit:
            raise UnfitValue(f"{numbers.told_number(number)} has too many digits for {name}")
        return numbers.rescaled(number, scale)

    return convert


def _floating(bits: int) -> Convert:
    name = format_type(Floating(bits))

    def convert(value: object) -> Value:
        number = numbers.double(value)
        if bits == 32:
            number = numbers.single(number)
        if number == value or number != number:
            return number
        raise UnfitValue(f"{told(value)} is not exactly a number of {name}")

    return convert


def _bytes(length: int | None) -> Convert:
    def convert(value: object) -> Value:
        if type(value) is not bytes:
            raise UnfitValue(f"{told(value)} is no bytes")
        if length is not None and len(value) > length:
            raise UnfitValue(f"{len(value)} bytes are more than {length}")
        return value

    return convert


def _date(value: object) -> Value:
    if type(value) is date:
        return value
    raise UnfitValue(_outside(value, "DATE"))


def _midnight(value: object) -> Value:
    if type(value) is date:
        return datetime.combine(value, time())
    raise UnfitValue(_outside(value, "TIMESTAMP_NTZ"))


def _timestamp(zoned: bool) -> Convert:
    name = "TIMESTAMP" if zoned else "TIMESTAMP_NTZ"

    def convert(value: object) -> Value:
        if type(value) is datetime and (value.tzinfo is not None) == zoned:
            return value
        raise UnfitValue(_outside(value, name))

    return convert


def _outside(value: object, name: str) -> str:
    if isinstance(value, Beyond) and _FINER.match(value.text):
        instead = '`nanoseconds = "string"` keeps such values in a new table'
        return f"{value.text} is finer than the microseconds of {name}; {instead}"
    if isinstance(value, Beyond):
        text = f"{value.text} is no {name} of a lake: the years 1 to 9999, in microseconds"
        return f"{text}; {_BEYOND}" if name == "TIMESTAMP_NTZ" else text
    return f"{told(value)} is no {name}"


def _text(length: int | None) -> Convert:
    def convert(value: object) -> Value:
        text = value if type(value) is str else _as_text(value)
        if not text.isascii():
            _check_unicode(text)
        if length is not None and len(text) > length:
            raise UnfitValue(f"a text of {len(text)} characters is longer than {length}")
        return text

    return convert


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnfitValue("a text with half a surrogate pair, which is no Unicode") from None


def _as_text(value: object) -> str:
    """A value of a source in words that tell it exactly, where a lake's column is text."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case Number():
            return format(value, "f")
        case Beyond(text):
            return text
        case datetime():
            # As a recipe writes what it turns into text: without zeros at the end.
            text = value.isoformat().removesuffix("+00:00")
            return (text.rstrip("0") if value.microsecond else text) + ("Z" if value.tzinfo else "")
        case date():
            return value.isoformat()
        case _:
            raise UnfitValue(f"{told(value)} is no text")


def _array(element: Convert) -> Convert:
    def convert(value: object) -> Value:
        if not isinstance(value, tuple | list):
            raise UnfitValue(f"{told(value)} is no array")
        return [None if one is None else element(one) for one in value]

    return convert


def _map(key: Convert, member: Convert) -> Convert:
    def convert(value: object) -> Value:
        if not isinstance(value, Mapping):
            raise UnfitValue(f"{told(value)} is no map")
        if None in value:
            raise UnfitValue("a map with a null for a key")
        return {key(k): None if v is None else member(v) for k, v in value.items()}

    return convert


def _struct(source: tuple[Field, ...], lake: tuple[Field, ...]) -> Convert:
    """Members belong together by name, without regard to case, as the lake knows names."""
    there = {f.name.lower(): f for f in source}
    pairs = []
    for field in lake:
        own = there.pop(field.name.lower(), None)
        pairs.append((field.name, None, _never("")) if own is None else _pair(field, own))
    left = tuple(field.name for field in there.values())

    def convert(value: object) -> Value:
        if not isinstance(value, Mapping):
            raise UnfitValue(f"{told(value)} is no struct")
        extra = next((name for name in left if value.get(name) is not None), None)
        if extra is not None:
            raise UnfitValue(f"the lake's struct has no member {extra!r}")
        found: dict[str, Value] = {}
        for name, own, member in pairs:
            one = None if own is None else value.get(own)
            found[name] = None if one is None else member(one)
        return found

    return convert


def _pair(lake: Field, own: Field) -> tuple[str, str | None, Convert]:
    return lake.name, own.name, fitter(own.type, lake.type)
