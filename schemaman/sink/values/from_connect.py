"""Cells as they travel, under the Connect schema of their own record, read as values of its logical type.

Law: `reader(node, written)` gives a value of `languages.connect.type_of(node)`, whoever wrote it; a cell
that is not as its schema says is never taken for something else.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from schemaman.debezium.converters.connect import DECIMAL, Node, read_fields, read_type
from schemaman.errors import UnreadableInput
from schemaman.sink.values import decimals as numbers
from schemaman.sink.values import temporal
from schemaman.sink.values.values import Convert, UnfitValue, Value, abbreviate_value

CellEncoding = Literal["json", "avro"]
"""By whom a cell was written: JsonConverter, or AvroConverter as `languages.avro` reads it."""

_T, _C = "io.debezium.time.", "org.apache.kafka.connect.data."
_NAMED: dict[str, Convert] = {
    f"{_T}Date": temporal.read_date,
    f"{_T}Time": temporal.read_time_ms,
    f"{_T}MicroTime": temporal.read_time_us,
    f"{_T}NanoTime": temporal.read_time_ns,
    f"{_T}Timestamp": temporal.read_timestamp_ms,
    f"{_T}MicroTimestamp": temporal.read_timestamp_us,
    f"{_T}NanoTimestamp": temporal.read_timestamp_ns,
    f"{_T}ZonedTime": temporal.read_zoned_time,
    f"{_T}ZonedTimestamp": temporal.read_zoned_timestamp,
    f"{_T}IsoDate": temporal.read_iso_date,
    f"{_T}IsoTime": temporal.read_local_time,
    f"{_T}IsoTimestamp": temporal.read_iso_timestamp,
    f"{_T}MicroDuration": temporal.read_duration_us,
    f"{_T}NanoDuration": temporal.read_duration_ns,
    f"{_C}Date": temporal.read_date,
    f"{_C}Time": temporal.read_time_ms,
    f"{_C}Timestamp": temporal.read_timestamp_ms,
    "date": temporal.read_date,
    "time-millis": temporal.read_time_ms,
    "time-micros": temporal.read_time_us,
    "timestamp-millis": temporal.read_instant_ms,
    "timestamp-micros": temporal.read_instant_us,
    "timestamp-nanos": temporal.read_instant_ns,
    "local-timestamp-millis": temporal.read_timestamp_ms,
    "local-timestamp-micros": temporal.read_timestamp_us,
    "local-timestamp-nanos": temporal.read_timestamp_ns,
}
_RANGES = {"int8": 1 << 7, "int16": 1 << 15, "int32": 1 << 31, "int64": 1 << 63}
PLAIN: dict[str, type] = {"boolean": bool, "string": str}
"""Connect types whose values are what JSON and Avro give, and the type of Python that they must have."""


def make_reader(node: Node, written: CellEncoding) -> Convert:
    """How the cells of a schema node are read.

    Raises:
        UnreadableInput: the node is no Connect schema.
    """
    name, kind = node.get("name"), str(node.get("type")).lower()
    if name == DECIMAL:
        return numbers.make_decimal_reader(_read_scale(node), _make_bytes_reader(written))
    if name == "io.debezium.data.VariableScaleDecimal":
        return numbers.make_variable_scale_reader(_make_bytes_reader(written))
    if isinstance(name, str) and name in _NAMED:
        return _NAMED[name]
    if isinstance(name, str) and name.startswith(f"{_T}Structured"):
        return _make_refusal(f"values of {name} are not read")
    match kind:
        case "int8" | "int16" | "int32" | "int64":
            return _make_integer_reader(_RANGES[kind], kind)
        case "float" | "float32":
            return numbers.read_single
        case "double" | "float64":
            return numbers.read_double
        case "bytes":
            return _make_bytes_reader(written)
        case "array":
            return _make_array_reader(node, written)
        case "map":
            return _make_map_reader(node, written)
        case "struct":
            return _make_struct_reader(node, written)
        case _:
            read_type(node)
            expected = PLAIN.get(kind)
            return (
                _make_refusal(f"{kind!r} is no type of Connect")
                if expected is None
                else _make_plain_reader(expected, kind)
            )


def is_plain(node: Node) -> bool:
    """Whether values of a Boolean or a text are what they travel as."""
    name = node.get("name")
    return not (isinstance(name, str) and (name in _NAMED or name.startswith(f"{_T}Structured")))


def read_base64(value: object) -> bytes:
    """Bytes as JsonConverter writes them."""
    if type(value) is str:
        try:
            return base64.b64decode(value, validate=True)
        except (ValueError, binascii.Error):
            pass
    raise UnfitValue(f"{abbreviate_value(value)} is no base64")


def _require_bytes(value: object) -> bytes:
    if type(value) is bytes:
        return value
    raise UnfitValue(f"{abbreviate_value(value)} is no bytes")


def _make_bytes_reader(written: CellEncoding) -> numbers.ReadBytes:
    return read_base64 if written == "json" else _require_bytes


def _read_scale(node: Node) -> int:
    """The scale as the schema tells it: negative ones of PostgreSQL travel as 2046, like their values."""
    read_type(node)  # refuses what is no scale of any database
    parameters = node.get("parameters")
    scale = str(parameters.get("scale") or 0) if isinstance(parameters, Mapping) else "0"
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", scale):
        raise UnreadableInput(f"a decimal with a scale of {scale}")
    return int(scale)


def _make_plain_reader(expected: type, kind: str) -> Convert:
    def read(value: Any) -> Value:
        plain: Value = value
        if type(plain) is not expected:
            raise UnfitValue(f"{abbreviate_value(value)} is no {kind}")
        return plain

    return read


def _make_integer_reader(limit: int, kind: str) -> Convert:
    def read(value: object) -> Value:
        if type(value) is not int or not -limit <= value < limit:
            raise UnfitValue(f"{abbreviate_value(value)} is no {kind}")
        return value

    return read


def _make_refusal(reason: str) -> Convert:
    def read(value: object) -> Value:
        raise UnfitValue(reason)

    return read


def _make_array_reader(node: Node, written: CellEncoding) -> Convert:
    element = make_reader(node["items"], written)

    def read(value: object) -> Value:
        if type(value) is not list:
            raise UnfitValue(f"{abbreviate_value(value)} is no array")
        return tuple([None if one is None else element(one) for one in value])

    read_type(node)
    return read


def _make_map_reader(node: Node, written: CellEncoding) -> Convert:
    read_type(node)
    read_key, read_value = make_reader(node["keys"], written), make_reader(node["values"], written)

    def read(value: object) -> Value:
        pairs = _list_entries(value)
        found = {read_key(k): None if v is None else read_value(v) for k, v in pairs}
        if len(found) < len(pairs):
            raise UnfitValue("a map with one key twice")
        return found

    return read


def _list_entries(value: object) -> list[tuple[object, object]]:
    """The entries of a map: JsonConverter writes pairs for keys that are no strings, AvroData records."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        if all(isinstance(one, list) and len(one) == 2 for one in value):
            return [(one[0], one[1]) for one in value]
        if all(isinstance(one, dict) and one.keys() == {"key", "value"} for one in value):
            return [(one["key"], one["value"]) for one in value]
    raise UnfitValue(f"{abbreviate_value(value)} is no map")


def _make_struct_reader(node: Node, written: CellEncoding) -> Convert:
    fields = [(f["field"], make_reader(f, written)) for f in read_fields(node)]
    return make_fields_reader(fields)


def make_fields_reader(fields: list[tuple[str, Callable[[object], Value]]]) -> Convert:
    """How a struct of those members is read; members that it does not have are an error."""

    def read(value: object) -> Value:
        if not isinstance(value, dict):
            raise UnfitValue(f"{abbreviate_value(value)} is no struct")
        found: dict[str, Value] = {}
        for name, convert in fields:
            if name not in value:
                raise UnfitValue(f"the struct has no field {name!r}")
            one = value[name]
            found[name] = None if one is None else convert(one)
        return found

    return read
