"""Converts values to the lake's type: the same value, or the reason why the type cannot hold it.

Law: reading the lake's value back as the source's type gives the source's value; nothing is rounded, cut or
made null. The projection chooses the types; this module checks only values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal as Number
from functools import lru_cache
from typing import Any

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
from schemaman.sink.values.to_lake_options import choose_converter, fit_nearest, has_assigned_meaning
from schemaman.sink.values.values import (
    BESIDE,
    EXACT,
    Convert,
    MissingField,
    OutOfRange,
    UnfitColumn,
    UnfitValue,
    Value,
    abbreviate_value,
)

_BEYOND = '`local_timestamp = "string"` keeps such values in a new table'
_FINER = re.compile(r"(?!0000)[0-9]{4}-[^.]*\.[0-9]{7}")
"""The beginning of a time of the years 1 to 9999 that is finer than microseconds."""


def make_fitter(source: Type, lake: Type) -> Convert:
    """Make the converter from a source's type to a lake's type; it raises UnfitValue for an unfit value.

    Results are bool, int, float, Decimal of the lake's scale, str, bytes, date, datetime (aware for
    TIMESTAMP, naive for TIMESTAMP_NTZ), list for an array, dict for maps and structs (under the lake's
    names).
    """
    other = choose_converter(source, lake)
    if other is not None:
        return other
    match lake:
        case Array(element) if isinstance(source, Array):
            return _make_array_fitter(make_fitter(source.element, element))
        case Map(key, value) if isinstance(source, Map):
            return _make_map_fitter(make_fitter(source.key, key), make_fitter(source.value, value))
        case Struct(fields) if isinstance(source, Struct):
            return _make_struct_fitter(source.fields, fields)
        case String(length):
            return _make_text_fitter(length)
        case Boolean() if isinstance(source, Boolean):
            return _fit_boolean
        case Boolean() if isinstance(source, Integer):
            return _fit_flag
        case Integer(bits, True) if isinstance(source, Integer | Decimal | Numeric | Boolean):
            return _make_integer_fitter(bits)
        case Decimal(precision, scale) if isinstance(source, Integer | Decimal | Numeric | Boolean):
            return _make_decimal_fitter(precision, scale)
        case Floating(bits) if isinstance(source, Integer | Decimal | Numeric | Floating):
            return _make_floating_fitter(bits)
        case Binary(length) if isinstance(source, Binary | Bits):
            return _make_bytes_fitter(length)
        case Date() if isinstance(source, Date):
            return _fit_date
        case Timestamp(_, zoned) if isinstance(source, Timestamp) and source.zoned == zoned:
            return _make_timestamp_fitter(zoned)
        case Timestamp(_, False) if isinstance(source, Date):
            return _fit_midnight
        case _:
            return _make_refusal(f"{format_type(lake)} holds no values of {format_type(source)}")


def fit_value(
    value: Value,
    source: Type,
    lake: Type,
    column: str,
    *,
    rounded: bool = False,
    has_meanings: bool = False,
) -> Value | UnfitColumn:
    """Convert one value to a lake's type, or return why it does not fit; None stays None.

    `rounded`: a person accepted that a floating-point type has the nearest number. `has_meanings`: versions
    of the column mean different values by the same one of the lake, so that none is assumed. The reason ends
    with `BESIDE` if a text holds the value.
    """
    if value is None:
        return None
    try:
        if rounded and isinstance(lake, Floating):
            return fit_nearest(value, lake.bits)
        if has_meanings and has_assigned_meaning(source, lake):
            raise UnfitValue(
                f"{abbreviate_value(value)} is a {format_type(source)}, and the lake's {format_type(lake)} "
                "has values that mean something else"
            )
        return make_cached_fitter(source, lake)(value)
    except MissingField as reason:
        return UnfitColumn(column, str(reason))
    except UnfitValue as reason:
        beside = "" if isinstance(lake, String) or fit_text(value, source) is None else BESIDE
        return UnfitColumn(column, f"{reason}{beside}")


make_cached_fitter = lru_cache(1 << 12)(make_fitter)
"""Cached, since most columns share a few pairs of types."""


def fit_column(values: Sequence[object], source: Type, lake: Type) -> Sequence[object]:
    """Convert values as `make_fitter` does, those that stay as they are all at once; None stays None.

    Raises:
        UnfitValue: a value does not fit.
    """
    if choose_converter(source, lake) is None and _stay(values, source, lake):
        return values
    fit = make_cached_fitter(source, lake)
    return [None if value is None else fit(value) for value in values]


def _stay(values: Sequence[Any], source: Type, lake: Type) -> bool:
    """Whether a lake's type has all of some values, but for None, as they are; False if it is not known."""
    kinds = set(map(type, values)) - {type(None)}
    found = [value for value in values if value is not None] if None in values else values
    match lake:
        case Integer(bits, True) if isinstance(source, Integer) and kinds == {int}:
            return bool(-(1 << (bits - 1)) <= min(found) and max(found) < 1 << (bits - 1))
        case Floating(64) if isinstance(source, Floating):
            return kinds == {float}
        case Boolean() if isinstance(source, Boolean):
            return kinds == {bool}
        case String(None) if kinds == {str}:
            return _is_unicode("".join(found))
        case _:
            return False


def fit_text(value: Value, source: Type) -> str | None:
    """The value as text, as the source spells it; None where text does not hold it either."""
    try:
        return str(make_cached_fitter(source, String())(value))
    except UnfitValue:
        return None


def _make_refusal(reason: str) -> Convert:
    def convert(value: object) -> Value:
        raise UnfitValue(reason)

    return convert


def _fit_boolean(value: object) -> Value:
    if not isinstance(value, bool):
        raise UnfitValue(f"{abbreviate_value(value)} is neither true nor false")
    return value


def _fit_flag(value: object) -> Value:
    if value in (0, 1):
        return value == 1
    raise UnfitValue(f"{abbreviate_value(value)} is neither 0 nor 1, and the lake holds a BOOLEAN")


def _make_integer_fitter(bits: int) -> Convert:
    limit = 1 << (bits - 1)
    name = format_type(Integer(bits))

    def convert(value: object) -> Value:
        if isinstance(value, Number):
            value = _require_whole(value)
        if not isinstance(value, int) or not -limit <= value < limit:
            raise UnfitValue(f"{abbreviate_value(value)} does not fit {name}")
        return int(value)

    return convert


def _require_whole(value: Number) -> int:
    if not value.is_finite() or value != EXACT.to_integral_value(value):
        raise UnfitValue(f"{numbers.abbreviate_number(value)} is no whole number")
    return int(value)


def _make_decimal_fitter(precision: int, scale: int) -> Convert:
    limit = Number(10) ** (precision - scale)
    name = format_type(Decimal(precision, scale))

    def convert(value: object) -> Value:
        if not isinstance(value, int | Number):
            raise UnfitValue(f"{abbreviate_value(value)} is no number")
        number = Number(value)
        if not number.is_finite():
            raise UnfitValue(f"{name} has no {number}")
        if not -limit < number < limit:
            raise UnfitValue(f"{numbers.abbreviate_number(number)} has too many digits for {name}")
        return numbers.rescale_number(number, scale)

    return convert


def _make_floating_fitter(bits: int) -> Convert:
    name = format_type(Floating(bits))

    def convert(value: object) -> Value:
        number = numbers.read_double(value)
        if bits == 32:
            number = numbers.read_single(number)
        if number == value or number != number:
            return number
        raise UnfitValue(f"{abbreviate_value(value)} is not exactly a number of {name}")

    return convert


def _make_bytes_fitter(length: int | None) -> Convert:
    def convert(value: object) -> Value:
        if type(value) is not bytes:
            raise UnfitValue(f"{abbreviate_value(value)} is no bytes")
        if length is not None and len(value) > length:
            raise UnfitValue(f"{len(value)} bytes are more than {length}")
        return value

    return convert


def _fit_date(value: object) -> Value:
    if type(value) is date:
        return value
    raise UnfitValue(_explain_out_of_range(value, "DATE"))


def _fit_midnight(value: object) -> Value:
    if type(value) is date:
        return datetime.combine(value, time())
    raise UnfitValue(_explain_out_of_range(value, "TIMESTAMP_NTZ"))


def _make_timestamp_fitter(zoned: bool) -> Convert:
    name = "TIMESTAMP" if zoned else "TIMESTAMP_NTZ"

    def convert(value: object) -> Value:
        if type(value) is datetime and (value.tzinfo is not None) == zoned:
            return value
        raise UnfitValue(_explain_out_of_range(value, name))

    return convert


def _explain_out_of_range(value: object, name: str) -> str:
    if isinstance(value, OutOfRange) and _FINER.match(value.text):
        instead = '`nanoseconds = "string"` keeps such values in a new table'
        return f"{value.text} is finer than the microseconds of {name}; {instead}"
    if isinstance(value, OutOfRange):
        text = f"{value.text} is no {name} of a lake: the years 1 to 9999, in microseconds"
        return f"{text}; {_BEYOND}" if name == "TIMESTAMP_NTZ" else text
    return f"{abbreviate_value(value)} is no {name}"


def _make_text_fitter(length: int | None) -> Convert:
    def convert(value: object) -> Value:
        text = value if type(value) is str else _format_value(value)
        if not _is_unicode(text):
            raise UnfitValue("a text with half a surrogate pair, which is no Unicode")
        if length is not None and len(text) > length:
            raise UnfitValue(f"a text of {len(text)} characters is longer than {length}")
        return text

    return convert


def _is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _format_value(value: object) -> str:
    """Format a value exactly, for a text column of the lake."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case Number():
            return format(value, "f")
        case OutOfRange(text):
            return text
        case datetime():
            # The same text as a recipe writes: without trailing zeros.
            text = value.isoformat().removesuffix("+00:00")
            return (text.rstrip("0") if value.microsecond else text) + ("Z" if value.tzinfo else "")
        case date():
            return value.isoformat()
        case _:
            raise UnfitValue(f"{abbreviate_value(value)} is no text")


def _make_array_fitter(element: Convert) -> Convert:
    def convert(value: object) -> Value:
        if not isinstance(value, tuple | list):
            raise UnfitValue(f"{abbreviate_value(value)} is no array")
        return [None if one is None else element(one) for one in value]

    return convert


def _make_map_fitter(key: Convert, fit_value_: Convert) -> Convert:
    def convert(value: object) -> Value:
        if not isinstance(value, Mapping):
            raise UnfitValue(f"{abbreviate_value(value)} is no map")
        if None in value:
            raise UnfitValue("a map with a null for a key")
        return {key(k): None if v is None else fit_value_(v) for k, v in value.items()}

    return convert


def _make_struct_fitter(source: tuple[Field, ...], lake: tuple[Field, ...]) -> Convert:
    """Pair fields by name without regard to case, as the lake does."""
    source_fields = {f.name.lower(): f for f in source}
    pairs = []
    for field in lake:
        own = source_fields.pop(field.name.lower(), None)
        pairs.append((field.name, None, _make_refusal("")) if own is None else _pair_fields(field, own))
    unmapped = tuple(field.name for field in source_fields.values())

    def convert(value: object) -> Value:
        if not isinstance(value, Mapping):
            raise UnfitValue(f"{abbreviate_value(value)} is no struct")
        extra = next((name for name in unmapped if value.get(name) is not None), None)
        if extra is not None:
            raise MissingField(f"the lake's struct has no field {extra!r}")
        found: dict[str, Value] = {}
        for name, own, fit_field in pairs:
            one = None if own is None else value.get(own)
            found[name] = None if one is None else fit_field(one)
        return found

    return convert


def _pair_fields(lake: Field, own: Field) -> tuple[str, str | None, Convert]:
    return lake.name, own.name, make_fitter(own.type, lake.type)
