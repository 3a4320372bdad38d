"""The canonical cell: what a value of the wire is, as a plain Python value, whatever carried it.

| source says | canonical cell |
|---|---|
| nothing | `None` |
| boolean, bit(1) | `bool` |
| whole numbers, YEAR | `int` |
| real / FLOAT | `float`, rounded to 32 bits |
| double | `float` |
| numeric, decimal, money | `decimal.Decimal`, exact; equal numbers are equal whatever their scale |
| date | `datetime.date` |
| timestamp, DATETIME | naive `datetime.datetime` |
| timestamptz, TIMESTAMP of MySQL | aware `datetime.datetime` in UTC |
| time of day, numeric interval | `datetime.timedelta` |
| text, char, uuid, json, xml, enum, set, timetz, interval as text | `str`, as sent |
| bytea, BLOB, bit(n) | `bytes` |
| arrays | `tuple` of cells |
| hstore as map, points, other structs | `dict` of cells |
| a date or time that Python cannot hold (infinity) | `Beyond(what, raw)` |
| a big value that did not change and was not sent | `UNAVAILABLE` (never in a last state) |
| the same, and no event before told it either | `UNTOLD` |

Source of the encodings: Debezium documentation, "Data type mappings" of the PostgreSQL, MySQL and MariaDB
connectors; `org.apache.kafka.connect.data.Decimal` of Apache Kafka; AvroData of Confluent for `connect.*`.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

PLACEHOLDER = "__debezium_unavailable_value"


class Absent(Enum):
    """A value that is not there, although the database has one."""

    UNAVAILABLE = "unavailable"
    UNTOLD = "untold"


UNAVAILABLE = Absent.UNAVAILABLE
UNTOLD = Absent.UNTOLD


@dataclass(frozen=True, slots=True)
class Beyond:
    """A date or time outside of what Python holds, as the wire spelled it: infinity and its like."""

    what: str
    raw: int | str


Cell = object


@dataclass(frozen=True, slots=True)
class Wire:
    """How one field travels: its Connect kind, its semantic name, and what lies inside.

    `coded`: bytes travel as Base64 text (JSON), not as bytes (Avro).
    """

    kind: str
    name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    inside: Mapping[str, Wire] = field(default_factory=dict)
    coded: bool = True


KINDS = {
    "boolean": "boolean", "int8": "int", "int16": "int", "int32": "int", "int64": "int", "int": "int",
    "long": "int", "float": "float32", "float32": "float32", "double": "float64", "float64": "float64",
    "string": "string", "bytes": "bytes", "array": "array", "map": "map", "struct": "struct",
    "record": "struct", "enum": "string",
}  # fmt: skip


def connect_wire(schema: Mapping[str, Any]) -> Wire:
    """A field as the JSON converter of Kafka Connect describes it."""
    kind = KINDS[schema["type"]]
    inside = {f["field"]: connect_wire(f) for f in schema.get("fields", ())}
    if kind == "array":
        inside = {"": connect_wire(schema["items"])}
    if kind == "map":
        inside = {"": connect_wire(schema["values"])}
    return Wire(kind, schema.get("name") or "", schema.get("parameters") or {}, inside)


def avro_wire(schema: Any, named: dict[str, Any]) -> Wire:
    """A field as an Avro schema of Confluent's converter describes it; `named`: records seen so far."""
    if isinstance(schema, list):
        return avro_wire(next(s for s in schema if s != "null"), named)
    if isinstance(schema, str):
        if schema not in named:
            return Wire(KINDS[schema], coded=False)
        schema = named[schema]
    kind = KINDS[schema["type"]] if isinstance(schema["type"], str) else ""
    if not kind:
        return avro_wire(schema["type"], named)
    inside: dict[str, Wire] = {}
    if kind == "struct":
        space = schema.get("namespace")
        named[schema["name"]] = schema
        named[f"{space}.{schema['name']}" if space else schema["name"]] = schema
        inside = {f["name"]: avro_wire(f["type"], named) for f in schema["fields"]}
    elif kind in ("array", "map"):
        inside = {"": avro_wire(schema["items" if kind == "array" else "values"], named)}
    parameters = dict(schema.get("connect.parameters") or {})
    if "scale" in schema:
        parameters.setdefault("scale", str(schema["scale"]))
    return Wire(kind, schema.get("connect.name") or "", parameters, inside, coded=False)


def cell(wire: Wire, raw: Any) -> Cell:
    """The canonical cell of a raw value."""
    if raw is None:
        return None
    if _is_placeholder(wire, raw):
        return UNAVAILABLE
    if wire.name in _NAMED:
        return _NAMED[wire.name](wire, raw)
    match wire.kind:
        case "boolean":
            return bool(raw)
        case "int":
            return int(raw)
        case "float32":
            return float32(float(raw))
        case "float64":
            return float(raw)
        case "bytes":
            return _bytes(wire, raw)
        case "array":
            return tuple(cell(wire.inside[""], item) for item in raw)
        case "map":
            return {str(name): cell(wire.inside[""], item) for name, item in raw.items()}
        case "struct":
            return {name: cell(part, raw.get(name)) for name, part in wire.inside.items()}
        case _:
            return str(raw)


def float32(number: float) -> float:
    """The nearest number of 32 bits."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _is_placeholder(wire: Wire, raw: Any) -> bool:
    """Whether this is the marker of a value that was not sent.

    Source: Debezium PostgreSQL connector, `UnchangedToastedReplicationMessageColumn` and its placeholders.
    """
    match wire.kind:
        case "array":
            return len(raw) == 1 and raw[0] is not None and _is_placeholder(wire.inside[""], raw[0])
        case "map":
            return dict(raw) == {PLACEHOLDER: PLACEHOLDER}
        case "bytes":
            return not wire.name and _bytes(wire, raw) == PLACEHOLDER.encode()
        case "string":
            return bool(raw == PLACEHOLDER)
        case _:
            return False


def _bytes(wire: Wire, raw: Any) -> bytes:
    return base64.b64decode(raw) if wire.coded else bytes(raw)


def _days(wire: Wire, raw: int) -> Cell:
    try:
        return date(1970, 1, 1) + timedelta(days=raw)
    except OverflowError:
        return Beyond("date", raw)


def _since_epoch(micros: int, remainder: int, raw: int) -> Cell:
    if remainder:
        return Beyond("timestamp", raw)
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 – the wall clock
    except OverflowError:
        return Beyond("timestamp", raw)


def _millis(wire: Wire, raw: int) -> Cell:
    return _since_epoch(raw * 1000, 0, raw)


def _micros(wire: Wire, raw: int) -> Cell:
    return _since_epoch(raw, 0, raw)


def _nanos(wire: Wire, raw: int) -> Cell:
    return _since_epoch(raw // 1000, raw % 1000, raw)


def _instant(wire: Wire, raw: str) -> Cell:
    return instant(raw)


def instant(raw: str) -> Cell:
    """A moment from its ISO text with an offset."""
    text = raw
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else Beyond("instant", raw)
    except (ValueError, OverflowError):
        return Beyond("instant", raw)


def _decimal(wire: Wire, raw: Any) -> Cell:
    return _scaled(_bytes(wire, raw), int(wire.parameters.get("scale", "0")))


def _variable(wire: Wire, raw: Mapping[str, Any]) -> Cell:
    return _scaled(_bytes(wire, raw["value"]), int(raw["scale"]))


def _scaled(unscaled: bytes, scale: int) -> Decimal:
    number = int.from_bytes(unscaled, "big", signed=True)
    while scale > 38 and number % 10 == 0 and number:  # a negative scale that was read as a huge one
        number, scale = number // 10, scale - 1
    sign, digits = int(number < 0), tuple(int(d) for d in str(abs(number)))
    return Decimal((sign, digits, -scale if number else 0))


def _span(unit: int) -> Any:
    return lambda wire, raw: timedelta(microseconds=raw * unit)


def _nano_span(wire: Wire, raw: int) -> Cell:
    return Beyond("time", raw) if raw % 1000 else timedelta(microseconds=raw // 1000)


_NAMED: dict[str, Any] = {
    "io.debezium.time.Date": _days,
    "org.apache.kafka.connect.data.Date": _days,
    "io.debezium.time.Timestamp": _millis,
    "org.apache.kafka.connect.data.Timestamp": _millis,
    "io.debezium.time.MicroTimestamp": _micros,
    "io.debezium.time.NanoTimestamp": _nanos,
    "io.debezium.time.ZonedTimestamp": _instant,
    "io.debezium.time.Time": _span(1000),
    "org.apache.kafka.connect.data.Time": _span(1000),
    "io.debezium.time.MicroTime": _span(1),
    "io.debezium.time.NanoTime": _nano_span,
    "io.debezium.time.MicroDuration": _span(1),
    "io.debezium.time.NanoDuration": _nano_span,
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "io.debezium.data.VariableScaleDecimal": _variable,
}
