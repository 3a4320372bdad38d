"""Cells as Debezium and its converters write them, made from values: written after the documentation alone.

Source: Debezium documentation, "Data type mappings" of the PostgreSQL and MySQL connectors with all their
handling modes; Kafka Connect JsonConverter and `org.apache.kafka.connect.data`; Confluent AvroData.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal as Number
from typing import Any

from hypothesis import strategies as st

from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
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
    Uuid,
)
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.sink.values.values import Value

T, D, C = "io.debezium.time.", "io.debezium.data.", "org.apache.kafka.connect.data."


@dataclass(frozen=True)
class Cell:
    """A value of a source's type, the schema of the field that carries it, and what converters write."""

    type: Type
    node: Mapping[str, Any]
    json: Any
    avro: Any
    value: Value
    modes: ConnectorModes = UNKNOWN_MODES


def node(type: str, name: str | None = None, **more: object) -> dict[str, Any]:
    return {"type": type, "optional": True, **({"name": name} if name else {}), **more}


def two_complement(number: int) -> bytes:
    """As java.math.BigInteger.toByteArray: big-endian, the fewest bytes that keep the sign."""
    length = 1
    while not -(1 << (8 * length - 1)) <= number < 1 << (8 * length - 1):
        length += 1
    return number.to_bytes(length, "big", signed=True)


def text64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def same(
    type: Type, told: dict[str, Any], wire: Any, value: Value, modes: ConnectorModes = UNKNOWN_MODES
) -> Cell:
    """A cell that both converters write in the same way."""
    return Cell(type, told, wire, wire, value, modes)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
LOCAL = st.datetimes().map(lambda at: at.replace(fold=0))
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone


@st.composite
def integers(draw: st.DrawFn) -> Cell:
    bits = draw(st.sampled_from([8, 16, 32, 64]))
    number = draw(st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
    return same(Integer(bits), node(f"int{bits}"), number, number)


@st.composite
def unsigned(draw: st.DrawFn) -> Cell:
    """BIGINT UNSIGNED in modes `long`, whose upper half is negative, and `precise`."""
    number = draw(st.integers(0, (1 << 64) - 1))
    if draw(st.booleans()):
        wire = number - (1 << 64) if number >= 1 << 63 else number
        return same(Integer(64, signed=False), node("int64"), wire, number)
    data = two_complement(number)
    told = node("bytes", f"{C}Decimal", parameters={"scale": "0", "connect.decimal.precision": "20"})
    return Cell(Integer(64, signed=False), told, text64(data), data, number)


@st.composite
def floats(draw: st.DrawFn) -> Cell:
    bits = draw(st.sampled_from([32, 64]))
    number = draw(st.floats(width=32) if bits == 32 else st.floats())
    # Jackson quotes what JSON has no number for; Java prints as few digits as tell it from its neighbours
    special = {math.inf: "Infinity", -math.inf: "-Infinity"}
    shortest = _shortest(number) if bits == 32 else number
    json = "NaN" if math.isnan(number) else special.get(number, shortest)
    return Cell(Floating(bits), node("float" if bits == 32 else "double"), json, number, number)


def _shortest(number: float) -> float:
    """The decimal number of the fewest digits that is this one when it is rounded to 32 bits."""
    for digits in range(1, 10):
        told = float(f"{number:.{digits}g}")
        try:
            if struct.pack("<f", told) == struct.pack("<f", number):
                return told
        except OverflowError:
            continue
    return number


@st.composite
def decimals(draw: st.DrawFn) -> Cell:
    precision = draw(st.integers(1, 40))
    scale = draw(st.integers(0, precision))
    unscaled = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    value = Number((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    mode = draw(st.sampled_from(["precise", "string", "double"]))
    type = Decimal(precision, scale)
    if mode == "string":
        return same(type, node("string"), format(value, "f"), value)
    if mode == "double" and precision <= 15:
        return same(type, node("double"), float(value), value if unscaled else Number((0, (0,), -scale)))
    data = two_complement(unscaled)
    told = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return Cell(type, node("bytes", f"{C}Decimal", parameters=told), text64(data), data, value)


@st.composite
def numerics(draw: st.DrawFn) -> Cell:
    scale = draw(st.integers(-5, 30))
    unscaled = draw(st.integers(-(10**30), 10**30))
    value = Number((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    if draw(st.booleans()):
        special = draw(st.sampled_from([value, Number("NaN"), Number("Infinity"), Number("-Infinity")]))
        return same(Numeric(), node("string"), str(special), special)
    data = two_complement(unscaled)
    fields = [{**node("int32"), "field": "scale"}, {**node("bytes"), "field": "value"}]
    told = node("struct", f"{D}VariableScaleDecimal", fields=fields)
    return Cell(
        Numeric(), told, {"scale": scale, "value": text64(data)}, {"scale": scale, "value": data}, value
    )


@st.composite
def binaries(draw: st.DrawFn) -> Cell:
    data = draw(st.binary(max_size=12))
    mode = draw(st.sampled_from(["bytes", "base64", "base64-url-safe", "hex"]))
    match mode:
        case "base64":
            return same(Binary(), node("string"), text64(data), data, ConnectorModes(binary="base64"))
        case "base64-url-safe":
            wire = base64.urlsafe_b64encode(data).decode()
            return same(Binary(), node("string"), wire, data, ConnectorModes(binary="base64-url-safe"))
        case "hex":
            return same(Binary(), node("string"), data.hex(), data, ConnectorModes(binary="hex"))
        case _:
            return Cell(Binary(), node("bytes"), text64(data), data, data)


@st.composite
def bits(draw: st.DrawFn) -> Cell:
    length = draw(st.integers(2, 40))
    number = draw(st.integers(0, (1 << length) - 1))
    data = number.to_bytes((length + 7) // 8, "little")
    told = node("bytes", f"{D}Bits", parameters={"length": str(length)})
    return Cell(Bits(length), told, text64(data), data, data)


@st.composite
def dates(draw: st.DrawFn) -> Cell:
    value = draw(DAYS)
    days = (value - date(1970, 1, 1)).days
    form = draw(st.sampled_from([f"{T}Date", f"{C}Date", f"{T}IsoDate"]))
    if form == f"{T}IsoDate":
        return same(Date(), node("string", form), f"{value.isoformat()}Z", value)
    return same(Date(), node("int32", form), days, value)


@st.composite
def times(draw: st.DrawFn) -> Cell:
    """MySQL's times may be negative and longer than a day."""
    form, kind, unit, digits = draw(
        st.sampled_from(
            [
                (f"{T}Time", "int32", 1_000_000, 3),
                (f"{C}Time", "int32", 1_000_000, 3),
                (f"{T}MicroTime", "int64", 1000, 6),
                (f"{T}NanoTime", "int64", 1, 9),
            ]
        )
    )
    hours = draw(st.integers(0, 838))
    seconds = hours * 3600 + draw(st.integers(0, 3599))
    fraction = draw(st.integers(0, 10**digits - 1))
    sign = draw(st.sampled_from([1, -1])) if form == f"{T}MicroTime" else 1
    count = sign * (seconds * 10**digits + fraction)
    assert count * unit == sign * (seconds * 10**9 + fraction * unit)
    told = f"{hours:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    behind = f"{fraction:0{digits}d}".rstrip("0")
    text = ("-" if count < 0 else "") + told + (f".{behind}" if behind else "")
    return same(Time(digits), node(kind, form), count, text)


@st.composite
def timestamps(draw: st.DrawFn) -> Cell:
    form, digits = draw(
        st.sampled_from(
            [(f"{T}Timestamp", 3), (f"{C}Timestamp", 3), (f"{T}MicroTimestamp", 6), (f"{T}NanoTimestamp", 9),
             (f"{T}IsoTimestamp", 6)]
        )
    )  # fmt: skip
    value = draw(LOCAL)
    if digits == 3:
        value = value.replace(microsecond=value.microsecond // 1000 * 1000)
    micros = (value - EPOCH) // timedelta(microseconds=1)
    type = Timestamp(digits, zoned=False)
    if form == f"{T}IsoTimestamp":
        return same(type, node("string", form), f"{value.isoformat()}Z", value)
    count = micros // 1000 if digits == 3 else micros if digits == 6 else micros * 1000
    return same(type, node("int64", form), count, value)


@st.composite
def instants(draw: st.DrawFn) -> Cell:
    value = draw(LOCAL).replace(tzinfo=UTC)
    shift = timedelta(minutes=draw(st.integers(-14 * 60, 14 * 60)))
    text = value.isoformat().replace("+00:00", "Z")
    if timedelta(days=1) < value - datetime.min.replace(tzinfo=UTC) and value.year < 9999:
        text = draw(st.sampled_from([text, value.astimezone(timezone(shift)).isoformat()]))
    return same(Timestamp(6), node("string", f"{T}ZonedTimestamp"), text, value)


@st.composite
def spans(draw: st.DrawFn) -> Cell:
    if draw(st.booleans()):
        text = f"P{draw(st.integers(-9, 9))}Y{draw(st.integers(0, 11))}M{draw(st.integers(0, 30))}DT1H2M3.5S"
        return same(Interval(), node("string", f"{T}Interval"), text, text)
    days = draw(st.integers(0, 10**5))
    told = node("int64", f"{T}MicroDuration")
    text = f"P{days}DT1H" if days else "PT1H"
    return same(Interval("DAY TO SECOND"), told, days * 86_400_000_000 + 3_600_000_000, text)


@st.composite
def texts(draw: st.DrawFn) -> Cell:
    word = draw(WORDS)
    made = [
        (String(), node("string"), word),
        (Enum(), node("string", f"{D}Enum", parameters={"allowed": "a,b"}), "a"),
        (Json(), node("string", f"{D}Json"), '{"a": 1.10}'),
        (Uuid(), node("string", f"{D}Uuid"), str(draw(st.uuids()))),
    ]
    type, told, text = draw(st.sampled_from(made))
    return same(type, told, text, text)


SCALARS = st.one_of(
    integers(), unsigned(), floats(), decimals(), numerics(), binaries(), bits(), dates(), times(),
    timestamps(), instants(), spans(), texts(),
    st.booleans().map(lambda b: same(Boolean(), node("boolean"), b, b)),
)  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Cell]) -> Cell:
    """An array of one cell, several times, and nulls."""
    one = draw(inner)
    kept = draw(st.lists(st.booleans(), max_size=4))
    return Cell(
        Array(one.type),
        node("array", items=one.node),
        [one.json if k else None for k in kept],
        [one.avro if k else None for k in kept],
        tuple(one.value if k else None for k in kept),
        one.modes,
    )


@st.composite
def maps(draw: st.DrawFn, inner: st.SearchStrategy[Cell]) -> Cell:
    one = draw(inner)
    names = draw(st.lists(WORDS, unique=True, max_size=3))
    told = node("map", keys=node("string"), values=one.node)
    told["keys"]["optional"] = False
    return Cell(
        Map(String(), one.type),
        told,
        dict.fromkeys(names, one.json),
        dict.fromkeys(names, one.avro),
        dict.fromkeys(names, one.value),
        one.modes,
    )


@st.composite
def structs(draw: st.DrawFn, inner: st.SearchStrategy[Cell]) -> Cell:
    members = {f"m{i}": cell for i, cell in enumerate(draw(st.lists(inner, min_size=1, max_size=3)))}
    told = node("struct", fields=[{**c.node, "field": n} for n, c in members.items()])
    modes = next((c.modes for c in members.values() if c.modes != UNKNOWN_MODES), UNKNOWN_MODES)
    kept = {n: c for n, c in members.items() if c.modes in (UNKNOWN_MODES, modes)}
    told["fields"] = [f for f in told["fields"] if f["field"] in kept]
    return Cell(
        Struct(tuple(Field(n, c.type) for n, c in kept.items())),
        told,
        {n: c.json for n, c in kept.items()},
        {n: c.avro for n, c in kept.items()},
        {n: c.value for n, c in kept.items()},
        modes,
    )


CELLS: st.SearchStrategy[Cell] = st.recursive(
    SCALARS, lambda inner: st.one_of(arrays(inner), maps(inner), structs(inner)), max_leaves=4
)
