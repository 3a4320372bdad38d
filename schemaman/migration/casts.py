"""SQL that converts the values of a column to another type, and finds the values that cannot be converted.

Laws: a value has one unambiguous conversion, or none. A conversion that would lose something is found by
`write_exactness`; a value never changes silently.
"""

from __future__ import annotations

from schemaman.migration.spark_sql import literal, type_name
from schemaman.migration.targets._types import has_map
from schemaman.model.ddl import quote_name
from schemaman.model.types import (
    Array,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
)

_NUMBER = "'^([+-]?)([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]+))?$'"
_BIGINT_LIMIT = "9.223372036854775808E18D"
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def is_convertible(old: Type, new: Type) -> bool:
    """Whether values of `old` have one unambiguous conversion to `new`.

    They have none if a time zone, an encoding or the spelling of a document would be a guess.
    """
    match old, new:
        case _ if old == new:
            return True
        case Array(a), Array(b):
            return is_convertible(a, b)
        case Map(key, a), Map(new_key, b):
            return is_convertible(key, new_key) and is_convertible(a, b)
        case Struct(fields), Struct(others):
            names = {field.name.lower() for field in others}
            kept = all(field.name.lower() in names for field in fields)
            return kept and all(
                is_convertible(a.type, b.type) for a, b in _pair_fields(fields, others) if a is not None
            )
        case (Integer() | Decimal() | Floating() | Boolean(), Integer() | Decimal() | Floating() | Boolean()):
            return Boolean() not in (old, new) or isinstance(old, Integer) or isinstance(new, Integer)
        case ((Integer() | Decimal() | Floating() | Boolean() | Date() | Timestamp() | String()), String()):
            return True
        case String(), (Integer() | Decimal() | Floating() | Boolean() | Date()):
            return True
        case (Date(), Timestamp(_, False)) | (Timestamp(_, False), Date()):
            return True
        case _:
            return False


def is_spelled_alike(old: Type, new: Type) -> bool:
    """Whether all writers convert a value of `old` to the same value of `new`, so that a key finds its row.

    They do not if a text has several spellings: `1` and `1.0000000000`, `T` or a blank before the time.
    """
    match old, new:
        case _ if old == new:
            return True
        case ((Array() | Map() | Struct()), _):
            return False
        case Decimal(_, scale), String():
            return scale == 0
        case ((Boolean() | Date() | Timestamp() | Floating()), String()):
            return False
        case _:
            return True


def write_conversion(value: str, old: Type, new: Type, depth: int = 0) -> str:
    """Write SQL that converts a value to the new type; a leaf that does not fit becomes NULL.

    Raises:
        ValueError: there is no conversion; call `is_convertible` first.
    """
    if old == new:
        return value
    each = f"x{depth}"
    match old, new:
        case Array(a), Array(b):
            return f"transform({value}, {each} -> {write_conversion(each, a, b, depth + 1)})"
        case Map(key, a), Map(new_key, b):
            key_sql = f"{write_conversion(f'{each}.key', key, new_key, depth + 1)}"
            inner = write_conversion(f"{each}.value", a, b, depth + 1)
            return f"map_from_entries(transform(map_entries({value}), {each} -> struct({key_sql}, {inner})))"
        case Struct(fields), Struct(others):
            parts = ", ".join(
                f"{literal(field.name)}, {_write_field(value, found, field, depth)}"
                for found, field in _pair_fields(fields, others)
            )
            return f"if({value} IS NULL, NULL, named_struct({parts}))"
        case _:
            return _write_leaf(value, old, new)


def write_exactness(value: str, old: Type, new: Type, depth: int = 0) -> str:
    """Write an SQL condition, never NULL: the conversion of the value loses nothing."""
    if old == new:
        return "true"
    each = f"x{depth}"
    match old, new:
        case Array(a), Array(b):
            return f"coalesce(forall({value}, {each} -> {write_exactness(each, a, b, depth + 1)}), true)"
        case Map(key, a), Map(new_key, b):
            both = f"{write_exactness(f'{each}.key', key, new_key, depth + 1)} AND "
            both += write_exactness(f"{each}.value", a, b, depth + 1)
            kept = f"forall(map_entries({value}), {each} -> {both})"
            if key != new_key:
                converted = write_conversion(each, key, new_key, depth + 1)
                keys = f"transform(map_keys({value}), {each} -> {converted})"
                kept += f" AND size(array_distinct({keys})) = size({value})"
            return f"coalesce({kept}, true)"
        case Struct(fields), Struct(others):
            pairs = [(found, field) for found, field in _pair_fields(fields, others) if found is not None]
            conditions = [
                write_exactness(f"{value}.{quote_name(found.name)}", found.type, field.type, depth)
                for found, field in pairs
            ]
            return f"({' AND '.join(t for t in conditions if t != 'true') or 'true'})"
        case _:
            return f"({value} IS NULL OR coalesce({_write_leaf_exactness(value, old, new)}, false))"


def write_equality(one: str, other: str, type: Type) -> str:
    """Write an SQL condition, never NULL: two values of one type are equal. Maps are compared as JSON."""
    if has_map(type):
        shown = [f"to_json(struct({v} AS v), map('ignoreNullFields', 'false'))" for v in (one, other)]
        return f"({shown[0]} <=> {shown[1]})"
    return f"({one} <=> {other})"


def _write_leaf(value: str, old: Type, new: Type) -> str:
    match old, new:
        case Timestamp(_, True), String():
            # Spark would print in the zone of the session; the microseconds since 1970 have no zone.
            seconds = f"CAST(CAST(unix_micros({value}) AS DECIMAL(20,0)) * 0.000001 AS DECIMAL(18,6))"
            printed = f"CAST({_EPOCH} + make_dt_interval(0, 0, 0, {seconds}) AS STRING)"
            return f"concat(replace({printed}, ' ', 'T'), 'Z')"
        case Timestamp(_, False), String():
            # The sink writes it so, too: with a `T`, and without trailing zeros.
            return f"replace(CAST({value} AS STRING), ' ', 'T')"
        case _ if is_convertible(old, new):
            return f"try_cast({value} AS {type_name(new)})"
        case _:
            raise ValueError(f"no conversion from {old!r} to {new!r}")


def _write_leaf_exactness(value: str, old: Type, new: Type) -> str:
    """Write a condition: the converted leaf is not NULL, and converted back it is the old value."""
    converted = _write_leaf(value, old, new)
    match old, new:
        case (String() | Decimal(), Floating()) | (String(), Integer() | Decimal()):
            digits = [_write_digits(f"CAST({each} AS STRING)") for each in (converted, value)]
            return " = ".join(digits)
        case (Integer(), Floating()) | (Floating(), Integer()):
            # Spark casts the binary number 2^63 to the greatest BIGINT, which is one less.
            binary = converted if isinstance(new, Floating) else value
            return f"{binary} < {_BIGINT_LIMIT} AND try_cast({converted} AS {type_name(old)}) = {value}"
        case String(), Boolean():
            return f"{converted} IS NOT NULL"
        case String(_, fixed), String():
            return f"rtrim({converted}) = rtrim({value})" if fixed else f"{converted} = {value}"
        case _:
            return f"try_cast({converted} AS {type_name(old)}) = {value}"


def _write_digits(text: str) -> str:
    """Write a printed number in a normal form: sign, digits without outer zeros, power of ten.

    Any other text, such as `NaN`, is kept. A DECIMAL cannot be compared instead, since it rounds what does
    not fit. A binary number is compared by its print, the shortest text that is read as the same number.
    """
    part = [f"regexp_extract(n, {_NUMBER}, {group})" for group in range(5)]
    digits = f"trim(LEADING '0' FROM concat({part[2]}, {part[3]}))"
    whole = f"trim(TRAILING '0' FROM {digits})"
    power = (
        f"coalesce(try_cast({part[4]} AS BIGINT), 0) - length({part[3]}) + length({digits}) - length({whole})"
    )
    normalized = f"if({whole} = '', '0', concat(if({part[1]} = '-', '-', ''), {whole}, 'E', {power}))"
    return f"transform(array(trim({text})), n -> if(n RLIKE {_NUMBER}, {normalized}, n))[0]"


def _write_field(value: str, found: Field | None, field: Field, depth: int) -> str:
    if found is None:
        return f"CAST(NULL AS {type_name(field.type)})"
    return write_conversion(f"{value}.{quote_name(found.name)}", found.type, field.type, depth)


def _pair_fields(fields: tuple[Field, ...], others: tuple[Field, ...]) -> list[tuple[Field | None, Field]]:
    """Pair each field of the new struct with the old field of its name, without regard to case."""
    named = {field.name.lower(): field for field in fields}
    return [(named.get(field.name.lower()), field) for field in others]
