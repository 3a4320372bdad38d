"""How cells without a schema travel: by the type of their column and the modes of the connector.

Law: where two modes could have written a cell, the mode is configured, or the cell is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from schemaman.debezium.converters.connect import DECIMAL, Node
from schemaman.model.ddl import format_type
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
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

_T, _D = "io.debezium.time.", "io.debezium.data."

DecimalMode = Literal["precise", "string", "double"]
TimeMode = Literal[
    "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
]
BinaryMode = Literal["bytes", "base64", "base64-url-safe", "hex"]
IntervalMode = Literal["numeric", "string"]
HstoreMode = Literal["json", "map"]
UnsignedMode = Literal["long", "precise"]


@dataclass(frozen=True, slots=True)
class ConnectorModes:
    """The settings of a connector that decide how values travel; None if unknown.

    They matter where records bring no schema, and `binary` also where bytes travel as text. Source: Debezium
    `decimal.handling.mode`, `time.precision.mode`, `binary.handling.mode`, `interval.handling.mode`,
    `hstore.handling.mode`, `bigint.unsigned.handling.mode`.
    """

    decimal: DecimalMode | None = None
    time: TimeMode | None = None
    binary: BinaryMode | None = None
    interval: IntervalMode | None = None
    hstore: HstoreMode | None = None
    unsigned: UnsignedMode | None = None


UNKNOWN_MODES = ConnectorModes()
Mode = TypeVar("Mode", bound=str)


class UnknownMode(ValueError):
    """A cell could have been written in several modes; the message is the reason."""


def build_node(type: Type, modes: ConnectorModes) -> Node:
    """The schema that a cell of that type would have brought.

    Source: Debezium JdbcValueConverters, TemporalPrecisionMode, BinlogValueConverters.

    Raises:
        UnknownMode: the mode is not configured, or the type travels in no known way.
    """
    match type:
        case Boolean():
            return {"type": "boolean"}
        case Integer(64, False):
            return _build_unsigned(_require_mode(modes.unsigned, "bigint.unsigned.handling.mode"))
        case Integer():
            # the next larger number holds all that have no sign; JSON tells them apart by nothing
            return {"type": "int64"}
        case Floating(bits):
            return {"type": "float" if bits == 32 else "double"}
        case Decimal(_, scale):
            return _build_decimal(_require_mode(modes.decimal, "decimal.handling.mode"), scale)
        case Numeric():
            return _build_numeric(_require_mode(modes.decimal, "decimal.handling.mode"))
        case String() | Enum() | EnumSet():
            return {"type": "string"}
        case Json() | Uuid() | Xml():
            return {"type": "string", "name": f"{_D}{type.__class__.__name__}"}
        case Binary():
            return {
                "type": "bytes"
                if _require_mode(modes.binary, "binary.handling.mode") == "bytes"
                else "string"
            }
        case Bits():
            return {"type": "bytes", "name": f"{_D}Bits"}
        case Date() | Time() | Timestamp():
            return _build_temporal(type, modes.time)
        case Interval():
            name = {"numeric": "MicroDuration", "string": "Interval"}
            return {
                "type": "int64" if modes.interval == "numeric" else "string",
                "name": _T + name[_require_mode(modes.interval, "interval.handling.mode")],
            }
        case Array(element, _):
            return {"type": "array", "items": build_node(element, modes)}
        case Map(key, value, _):
            if _require_mode(modes.hstore, "hstore.handling.mode") == "json":
                return {"type": "string", "name": f"{_D}Json"}
            return {"type": "map", "keys": build_node(key, modes), "values": build_node(value, modes)}
        case Struct(fields):
            # No mode changes what is written inside of one. Source: Debezium io.debezium.data.geometry.
            inside = replace(modes, binary="bytes")
            parts = [{**build_node(f.type, inside), "field": f.name} for f in fields]
            return {"type": "struct", "fields": parts}
        case Union() | Unknown():
            raise UnknownMode(f"the type is unknown: {format_type(type)}")


def _require_mode(mode: Mode | None, setting: str) -> Mode:
    if mode is None:
        raise UnknownMode(f"it came without a schema, and {setting} is not configured")
    return mode


def _build_unsigned(mode: UnsignedMode) -> Node:
    return {"type": "int64"} if mode == "long" else _build_decimal("precise", 0)


def _build_decimal(mode: DecimalMode, scale: int) -> Node:
    match mode:
        case "precise":
            return {"type": "bytes", "name": DECIMAL, "parameters": {"scale": str(scale)}}
        case "string":
            return {"type": "string"}
        case "double":
            return {"type": "double"}


def _build_numeric(mode: DecimalMode) -> Node:
    if mode != "precise":
        return _build_decimal(mode, 0)
    value: Mapping[str, object] = {"type": "bytes", "field": "value"}
    scale: Mapping[str, object] = {"type": "int32", "field": "scale"}
    return {"type": "struct", "name": f"{_D}VariableScaleDecimal", "fields": [scale, value]}


def _build_temporal(type: Date | Time | Timestamp, mode: TimeMode | None) -> Node:
    if isinstance(type, Time | Timestamp) and type.zoned:
        return {"type": "string", "name": f"{_T}Zoned{type.__class__.__name__}"}
    kind, time_mode = type.__class__.__name__, _require_mode(mode, "time.precision.mode")
    if time_mode == "isostring":
        return {"type": "string", "name": f"{_T}Iso{kind}"}
    return {"type": "int64", "name": _T + _choose_unit(type, time_mode) + kind}


def _choose_unit(type: Date | Time | Timestamp, mode: str) -> str:
    if isinstance(type, Date):
        return ""
    match mode:
        case "connect":
            return ""
        case "microseconds":
            return "Micro"
        case "nanoseconds":
            return "Nano"
        case "adaptive_time_microseconds" if isinstance(type, Time):
            return "Micro"
        case _:
            return "" if type.precision <= 3 else "Micro" if type.precision <= 6 else "Nano"
