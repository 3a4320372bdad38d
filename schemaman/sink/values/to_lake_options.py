"""Converts values to a form that a projection chose instead of the usual one.

Law: the form holds a value exactly, or the value is unfit. There is one exception, which the plan notes: if
the user chose DOUBLE for numbers without a DECIMAL, the nearest DOUBLE is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from math import isfinite
from uuid import UUID

from schemaman.migration.type_mapping import MAX_DIGITS
from schemaman.model.types import (
    Array,
    Binary,
    Decimal,
    EnumSet,
    Floating,
    Integer,
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
)
from schemaman.sink.values.decimals import read_single
from schemaman.sink.values.values import Convert, OutOfRange, UnfitValue, Value, abbreviate_value
from schemaman.sink.values.variant import check_document

_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")
_MICROSECONDS = 6


def _split_set(value: object) -> Value:
    return list[Value](str(value).split(",")) if value else []


def choose_converter(source: Type, lake: Type) -> Convert | None:
    """Choose the converter to the form that was chosen; None for the usual form."""
    match source, lake:
        case ((Array() | Map() | Struct()), String()):
            return format_json
        case Json(), Unknown("variant"):
            return check_document
        case Struct(), Binary():
            return _fit_geometry
        case Uuid(), Binary():
            return _fit_uuid
        case EnumSet(), Array(String()):
            return _split_set
        case Time(_, False), Integer(64):
            return _fit_microseconds
        case Timestamp(_, False), Timestamp(_, True):
            return _assume_utc
        case Numeric(), Floating(64):
            return fit_nearest
        case Decimal(precision, scale), Floating(64) if max(precision, precision - scale) > MAX_DIGITS:
            return fit_nearest
        case _:
            return None


def has_assigned_meaning(source: Type, lake: Type) -> bool:
    """Whether a lake's type has values of a source's only by a meaning that a setting gave it.

    A local time as if it were UTC, a time of day as microseconds, a geometry without its reference system:
    to a column with other values, too, such a value would be one of theirs.
    """
    match source, lake:
        case Array(element), Array(there):
            return has_assigned_meaning(element, there)
        case Map(key, value), Map(there_key, there_value):
            return has_assigned_meaning(key, there_key) or has_assigned_meaning(value, there_value)
        case Struct(fields), Struct(there_fields):
            types = {f.name.lower(): f.type for f in there_fields}
            pairs = ((f.type, types[f.name.lower()]) for f in fields if f.name.lower() in types)
            return any(has_assigned_meaning(own, there) for own, there in pairs)
        case _:
            return choose_converter(source, lake) in (_assume_utc, _fit_microseconds, _fit_geometry)


def format_json(value: object) -> Value:
    """Format a nested value as JSON: numbers with all digits, bytes as hexadecimal text, times as text."""
    return _format_json(value)


def _format_json(value: object) -> str:
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case float():
            # JSON has no NaN and no infinities.
            return repr(value) if isfinite(value) else json.dumps(str(value))
        case Number():
            return format(value, "f") if value.is_finite() else json.dumps(str(value))
        case bytes():
            return json.dumps(value.hex())
        case datetime():
            return json.dumps(value.isoformat().replace("+00:00", "Z"))
        case date():
            return json.dumps(value.isoformat())
        case OutOfRange(text):
            return json.dumps(text)
        case tuple() | list():
            return f"[{','.join(_format_json(one) for one in value)}]"
        case Mapping():
            entries = (
                f"{json.dumps(str(k), ensure_ascii=False)}:{_format_json(v)}" for k, v in value.items()
            )
            return "{" + ",".join(entries) + "}"
        case _:
            raise UnfitValue(f"{abbreviate_value(value)} is no JSON")


def _fit_uuid(value: object) -> Value:
    try:
        return UUID(str(value)).bytes
    except ValueError:
        raise UnfitValue(f"{abbreviate_value(value)} is no UUID") from None


def _fit_geometry(value: object) -> Value:
    shape = value.get("wkb") if isinstance(value, Mapping) else None
    if shape is None or isinstance(shape, bytes):
        return shape
    raise UnfitValue(f"{abbreviate_value(value)} is no geometry")


def _fit_microseconds(value: object) -> Value:
    """Convert a time to microseconds since midnight; MySQL's TIME may be negative and longer than a day."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise UnfitValue(f"{abbreviate_value(value)} is no time of day")
    sign, hours, minutes, seconds, digits = found.groups()
    digits = (digits or "").rstrip("0")
    if len(digits) > _MICROSECONDS:
        raise UnfitValue(f"{value} is finer than microseconds")
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int(digits.ljust(_MICROSECONDS, "0"))
    return -micros if sign else micros


def _assume_utc(value: object) -> Value:
    if type(value) is datetime and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    raise UnfitValue(
        f"{value.text if isinstance(value, OutOfRange) else abbreviate_value(value)} "
        "is no TIMESTAMP of a lake"
    )


def fit_nearest(value: object, bits: int = 64) -> Value:
    """The number of a floating-point type that is nearest to a value. Raises `UnfitValue`."""
    if isinstance(value, float):
        return read_single(value) if bits == 32 else value
    if isinstance(value, Number | int):
        number = float(value)
        number = read_single(number) if bits == 32 else number
        if isfinite(number) or not Number(value).is_finite():
            return number
    raise UnfitValue(f"{abbreviate_value(value)} is no number of DOUBLE")
