"""Avro schemas of tables, as a registry has them for Debezium's events.

Law: the schema of every table without colliding names is valid Avro.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal as Number
from typing import assert_never

from schemaman.model.name_adjustment import adjust_field
from schemaman.model.schema import Column, Scalar, TableSchema
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
)

Avro = str | list["Avro"] | dict[str, object]
"""An Avro schema as JSON: a primitive's name, a union, or an object."""


def to_avro(schema: TableSchema, name: str) -> dict[str, object]:
    """Convert a table to the record schema of its rows; `name` is its full name.

    An optional column is a union with null and defaults to null. A required column has a default only if the
    table's default fits the type. Types are those of Debezium's default modes: precise decimals, adaptive
    time, unsigned BIGINT as long, unknown types as opaque bytes. Source: Confluent
    AvroData.fromConnectSchema; Debezium JdbcValueConverters.
    """
    known = {name}
    return _make_record(name, [_define_once(_make_field(c, name), known) for c in schema.columns])


def key_to_avro(schema: TableSchema, name: str) -> dict[str, object] | None:
    """Convert a table to the record schema of its key, in key order; None for a table without key."""
    columns = [c for k in schema.key if (c := schema.column(k)) is not None]
    known = {name}
    return (
        _make_record(name, [_define_once(_make_field(c, name), known) for c in columns]) if columns else None
    )


def make_field_name(column: Column) -> str:
    """Make the name of the column's Avro field: its field name in events, made legal for Avro."""
    return adjust_field(column.emitted_name or column.name, "avro")


def type_to_avro(type: Type, nullable: bool, name: str) -> Avro:
    """Convert a type to the schema of one value; `name` is the prefix of the records in it."""
    plain = _convert_type(type, name)
    return ["null", plain] if nullable else plain


def _make_record(name: str, fields: Sequence[dict[str, object]]) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _make_field(column: Column, owner: str) -> dict[str, object]:
    name = make_field_name(column)
    field: dict[str, object] = {"name": name}
    plain = _convert_type(column.type, f"{owner}.{name}")
    default = _convert_default(column.default, column.type, plain)
    if column.nullable:
        # A default must be of the first branch, so AvroData puts null second beside a real one.
        field["type"] = ["null", plain] if default is None else [plain, "null"]
        field["default"] = default
    else:
        field["type"] = plain
        if default is not None:
            field["default"] = default
    if column.comment:
        field["doc"] = column.comment
    return field


def _convert_default(value: Scalar, column_type: Type, type: Avro) -> Scalar:
    """Convert a default to Avro's form; None for a default that is no value of the type, as an expression.

    Schema change records have the text of the DDL for the default, which Debezium converts for events.
    Source: Debezium MySqlDefaultValueConverter.
    """
    if isinstance(column_type, Decimal):
        return _encode_decimal(value, column_type.scale)
    kind = _get_kind(type)
    parsed = _parse_default(value, column_type) if isinstance(value, str) else value
    match parsed:
        case bool():
            return parsed if kind == "boolean" else None
        case int() if kind in ("int", "long"):
            bits = 32 if kind == "int" else 64
            return parsed if -(2 ** (bits - 1)) <= parsed < 2 ** (bits - 1) else None
        case int() | float() if kind in ("float", "double"):
            finite = parsed == parsed and abs(parsed) != float("inf")
            return float(parsed) if finite else None
        case str() if kind == "string":
            return parsed
        case _:
            return None


def _parse_default(text: str, type: Type) -> Scalar:
    """Parse the text of a default as a value of the type; the text itself if it is none."""
    word = text.strip()
    try:
        match type:
            case Integer() if _INTEGER.fullmatch(word):
                return int(word)
            case Floating() if _NUMBER.fullmatch(word):
                return float(word)
            case Boolean() | Bits(1):
                return _BOOLEANS.get(word.lower(), text)
            case Date():
                return (date.fromisoformat(word) - _EPOCH.date()).days
            case Time(precision, False):
                return _count_units(datetime.combine(_EPOCH, time.fromisoformat(word)), precision)
            case Timestamp(precision, False):
                return _count_units(datetime.fromisoformat(word), precision)
            case _:
                return text
    except (ValueError, TypeError):  # a moment with a zone has no distance from one without
        return text


_INTEGER = re.compile(r"[+-]?\d{1,30}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BOOLEANS = {"true": True, "1": True, "b'1'": True, "false": False, "0": False, "b'0'": False}
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 local times have no zone


def _count_units(moment: datetime, precision: int) -> int:
    """Count milliseconds, microseconds or nanoseconds since the epoch, as the precision asks for."""
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    return microseconds // 1000 if precision <= 3 else microseconds * (1 if precision <= 6 else 1000)


def _encode_decimal(value: Scalar, scale: int) -> str | None:
    """Encode the unscaled number as big-endian bytes, one character a byte, as Avro writes them in JSON."""
    try:
        number = Number(str(value)).scaleb(scale)
        unscaled = int(number)
    except (ArithmeticError, ValueError):
        return None
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return unscaled.to_bytes(length, signed=True).decode("latin-1") if unscaled == number else None


def _convert_type(type: Type, name: str) -> Avro:
    match type:
        case Boolean() | Bits(1):
            return "boolean"
        case Integer(bits, signed):
            return _make_integer(bits, signed)
        case Floating(bits):
            return "float" if bits == 32 else "double"
        case Decimal(precision, scale):
            return _make_decimal(precision, scale)
        case Numeric():
            return _make_variable_scale_decimal()
        case Binary() | Union() | Unknown():
            return "bytes"
        case Bits(length):
            parameters = {} if length is None else {"connect.parameters": {"length": str(length)}}
            return _make_named("bytes", "io.debezium.data.Bits") | parameters
        case Date():
            return _make_named("int", "io.debezium.time.Date")
        case Time() | Timestamp():
            return _make_temporal(type)
        case Interval("DAY TO SECOND"):
            return _make_named("long", "io.debezium.time.MicroDuration")
        case Interval():
            return _make_named("string", "io.debezium.time.Interval")
        case Enum(values) | EnumSet(values):
            words = _make_named(
                "string", f"io.debezium.data.{'Enum' if isinstance(type, Enum) else 'EnumSet'}"
            )
            return words | {"connect.parameters": {"allowed": ",".join(map(_escape_label, values))}}
        case Uuid() | Json() | Xml():
            return _make_named("string", f"io.debezium.data.{_TEXTS[type]}")
        case String():
            return "string"
        case Array(element, nullable):
            return {"type": "array", "items": type_to_avro(element, nullable, name)}
        case Map(key, value, nullable):
            return _make_map(key, value, nullable, name)
        case Struct(fields):
            return _make_struct(fields, name)
        case _:
            assert_never(type)


_TEXTS: dict[Type, str] = {Uuid(): "Uuid", Json(): "Json", Xml(): "Xml"}


def _escape_label(value: str) -> str:
    """Escape a label for the list of labels; newer releases of Debezium put a backslash before commas."""
    return value.replace("\\", "\\\\").replace(",", "\\,")


def _make_named(type: str, name: str) -> dict[str, object]:
    """Make a primitive with the name of its Connect schema."""
    return {"type": type, "connect.name": name, "connect.version": 1}


def _make_integer(bits: int, signed: bool) -> Avro:
    """Make an integer; an unsigned one has the next larger type, the largest one a long."""
    width = bits if signed else min(64, bits * 2)
    if width >= 32:
        return "int" if width == 32 else "long"
    return {"type": "int", "connect.type": f"int{width}"}


def _make_decimal(precision: int, scale: int) -> Avro:
    return {
        **_make_named("bytes", "org.apache.kafka.connect.data.Decimal"),
        "scale": scale,
        "precision": precision,
        "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
        "logicalType": "decimal",
    }


def _make_variable_scale_decimal() -> Avro:
    fields: list[dict[str, object]] = [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}]
    return _make_record("io.debezium.data.VariableScaleDecimal", fields)


def _make_temporal(type: Time | Timestamp) -> Avro:
    """Make a time of milliseconds, microseconds or nanoseconds by the precision; zoned values are texts.

    Source: Debezium TemporalPrecisionMode.ADAPTIVE: milliseconds of a day are the only int.
    """
    word = "Time" if isinstance(type, Time) else "Timestamp"
    if type.zoned:
        return _make_named("string", f"io.debezium.time.Zoned{word}")
    if type.precision <= 3:
        return _make_named("int" if isinstance(type, Time) else "long", f"io.debezium.time.{word}")
    return _make_named("long", f"io.debezium.time.{'Micro' if type.precision <= 6 else 'Nano'}{word}")


def _make_map(key: Type, value: Type, nullable: bool, name: str) -> Avro:
    """Make a map; with keys that are no text, make a list of entries. Source: Confluent AvroData."""
    if isinstance(key, String):
        return {"type": "map", "values": type_to_avro(value, nullable, name)}
    values = type_to_avro(value, nullable, f"{name}.value")
    entry = _make_record(
        f"{name}.entry",
        [{"name": "key", "type": _convert_type(key, f"{name}.key")}, {"name": "value", "type": values}],
    )
    return {"type": "array", "items": entry | {"connect.internal.type": "MapEntry"}}


def _make_struct(members: Sequence[Field], name: str) -> Avro:
    fields: list[dict[str, object]] = []
    for member in members:
        inner = adjust_field(member.name, "avro")
        type = type_to_avro(member.type, member.nullable, f"{name}.{inner}")
        default = {"default": None} if member.nullable else {}
        fields.append({"name": inner, "type": type, **default})
    return _make_record(name, fields)


def _define_once(field: dict[str, object], known: set[str]) -> dict[str, object]:
    return field | {"type": _define_types_once(_get_part(field, "type"), known)}


def _define_types_once(schema: Avro, known: set[str]) -> Avro:
    """Describe each named type of a schema at its first use, and name it at the others."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return [_define_types_once(branch, known) for branch in schema]
    if schema["type"] == "record":
        name = str(schema["name"])
        if name in known:
            return name
        known.add(name)
        return schema | {"fields": [_define_once(f, known) for f in _get_fields(schema)]}
    inner = [member for member in ("items", "values") if member in schema]
    return schema | {member: _define_types_once(_get_part(schema, member), known) for member in inner}


_KINDS = ("boolean", "int", "long", "float", "double", "bytes", "string", "null", "array", "map", "record")


def _get_kind(schema: Avro) -> str:
    """Return the Avro type of a schema that is no union; the name of a record counts as a record."""
    kind = schema["type"] if isinstance(schema, dict) else schema
    return kind if isinstance(kind, str) and kind in _KINDS else "record"


def _get_part(schema: Mapping[str, object], member: str) -> Avro:
    part = schema[member]
    if not isinstance(part, str | list | dict):
        raise TypeError(f"{member} of an Avro schema is {part!r}")
    return part


def _get_fields(schema: Mapping[str, object]) -> list[dict[str, object]]:
    fields = schema["fields"]
    return fields if isinstance(fields, list) else []
