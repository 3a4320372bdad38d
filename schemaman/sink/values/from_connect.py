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

from schemaman.debezium.converters.connect import DECIMAL, Node, fields_of, type_of
from schemaman.errors import UnreadableInput
from schemaman.sink.values import decimals as numbers
from schemaman.sink.values import temporal
from schemaman.sink.values.values import Convert, UnfitValue, Value, told

Written = Literal["json", "avro"]
"""By whom a cell was written: JsonConverter, or AvroConverter as `languages.avro` reads it."""

_T, _C = "io.debezium.time.", "org.apache.kafka.connect.data."
_NAMED: dict[str, Convert] = {
    f"{_T}Date": temporal.day,
    f"{_T}Time": temporal.time_ms,
    f"{_T}MicroTime": temporal.time_us,
    f"{_T}NanoTime": temporal.time_ns,
    f"{_T}Timestamp": temporal.timestamp_ms,
    f"{_T}MicroTimestamp": temporal.timestamp_us,
    f"{_T}NanoTimestamp": temporal.timestamp_ns,
    f"{_T}ZonedTime": temporal.zoned_time,
    f"{_T}ZonedTimestamp": temporal.zoned_timestamp,
    f"{_T}IsoDate": temporal.iso_day,
    f"{_T}IsoTime": temporal.local_time,
    f"{_T}IsoTimestamp": temporal.iso_timestamp,
    f"{_T}MicroDuration": temporal.duration_us,
    f"{_T}NanoDuration": temporal.duration_ns,
    f"{_C}Date": temporal.day,
    f"{_C}Time": temporal.time_ms,
    f"{_C}Timestamp": temporal.timestamp_ms,
    "date": temporal.day,
    "time-millis": temporal.time_ms,
    "time-micros": temporal.time_us,
    "timestamp-millis": temporal.instant_ms,
    "timestamp-micros": temporal.instant_us,
    "timestamp-nanos": temporal.instant_ns,
    "local-timestamp-millis": temporal.timestamp_ms,
    "local-timestamp-micros": temporal.timestamp_us,
    "local-timestamp-nanos": temporal.timestamp_ns,
}
_RANGES = {"int8": 1 << 7, "int16": 1 << 15, "int32": 1 << 31, "int64": 1 << 63}
PLAIN: dict[str, type] = {"boolean": bool, "string": str}
"""Connect types whose values are what JSON and Avro give, and the type of Python that they must have."""


def reader(node: Node, written: Written) -> Convert:
    """How the cells of a schema node are read.

    Raises:
        UnreadableInput: the node is no Connect schema.
    """
    name, kind = node.get("name"), str(node.get("type")).lower()
    if name == DECIMAL:
        return numbers.of_scale(_scale(node), _bytes(written))
    if name == "io.debezium.data.VariableScaleDecimal":
        return numbers.variable_scale(_bytes(written))
    if isinstance(name, str) and name in _NAMED:
        return _NAMED[name]
    if isinstance(name, str) and name.startswith(f"{_T}Structured"):
        return _never(f"values of {name} are not read")
    match kind:
        case "int8" | "int16" | "int32" | "int64":
            return _integer(_RANGES[kind], kind)
        case "float" | "float32":
            return numbers.single
        case "double" | "float64":
            return numbers.double
        case "bytes":
            return _bytes(written)
        case "array":
            return _array(node, written)
        case "map":
            return _map(node, written)
        case "struct":
            return _struct(node, written)
        case _:
            type_of(node)
            expected = PLAIN.get(kind)
            return _never(f"{kind!r} is no type of Connect") if expected is None else _plain(expected, kind)


def is_plain(node: Node) -> bool:
    """Whether values of a Boolean or a text are what they travel as."""
    name = node.get("name")
    return not (isinstance(name, str) and (name in _NAMED or name.startswith(f"{_T}Structured")))


def from_base64(value: object) -> bytes:
    """Bytes as JsonConverter writes them."""
    if type(value) is str:
        try:
            return base64.b64decode(value, validate=True)
        except (ValueError, binascii.Error):
            pass
    raise UnfitValue(f"{told(value)} is no base64")


def _raw_bytes(value: object) -> bytes:
    if type(value) is bytes:
        return value
    raise UnfitValue(f"{told(value)} is no bytes")


def _bytes(written: Written) -> numbers.ReadBytes:
    return from_base64 if written == "json" else _raw_bytes


def _scale(node: Node) -> int:
    """The scale as the schema tells it: negative ones of PostgreSQL travel as 2046, like their values."""
    type_of(node)  # refuses what is no scale of any database
    parameters = node.get("parameters")
    scale = str(parameters.get("scale") or 0) if isinstance(parameters, Mapping) else "0"
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", scale):
        raise UnreadableInput(f"a decimal with a scale of {scale}")
    return int(scale)


def _plain(expected: type, kind: str) -> Convert:
    def read(value: Any) -> Value:
        plain: Value = value
        if type(plain) is not expected:
            raise UnfitValue(f"{told(value)} is no {kind}")
        return plain

    return read


def _integer(limit: int, kind: str) -> Convert:
    def read(value: object) -> Value:
        if type(value) is not int or not -limit <= value < limit:
            raise UnfitValue(f"{told(value)} is no {kind}")
        return value

    return read


def _never(reason: str) -> Convert:
    def read(value: object) -> Value:
        raise UnfitValue(reason)

    return read


def _array(node: Node, written: Written) -> Convert:
    element = reader(node["items"], written)

    def read(value: object) -> Value:
        if type(value) is not list:
            raise UnfitValue(f"{told(value)} is no array")
        return tuple([None if one is None else element(one) for one in value])

    type_of(node)
    return read


def _map(node: Node, written: Written) -> Convert:
    type_of(node)
    read_key, read_value = reader(node["keys"], written), reader(node["values"], written)

    def read(value: object) -> Value:
        pairs = _pairs(value)
        found = {read_key(k): None if v is None else read_value(v) for k, v in pairs}
        if len(found) < len(pairs):
            raise UnfitValue("a map with one key twice")
        return found

    return read


def _pairs(value: object) -> list[tuple[object, object]]:
    """The entries of a map: JsonConverter writes pairs for keys that are no strings, AvroData records."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        if all(isinstance(one, list) and len(one) == 2 for one in value):
            return [(one[0], one[1]) for one in value]
        if all(isinstance(one, dict) and one.keys() == {"key", "value"} for one in value):
            return [(one["key"], one["value"]) for one in value]
    raise UnfitValue(f"{told(value)} is no map")


def _struct(node: Node, written: Written) -> Convert:
    members = [(f["field"], reader(f, written)) for f in fields_of(node)]
    return members_reader(members)


def members_reader(members: list[tuple[str, Callable[[object], Value]]]) -> Convert:
    """How a struct of those members is read; members that it does not have are an error."""

    def read(value: object) -> Value:
        if not isinstance(value, dict):
            raise UnfitValue(f"{told(value)} is no struct")
        found: dict[str, Value] = {}
        for name, convert in members:
            if name not in value:
                raise UnfitValue(f"the struct has no member {name!r}")
            one = value[name]
            found[name] = None if one is None else convert(one)
        return found

    return read
