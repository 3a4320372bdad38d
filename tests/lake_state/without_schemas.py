"""How a field travels in a record without schemas: from the column's type and the connector's modes.

Source: Debezium documentation, "Data type mappings" of the PostgreSQL and MySQL connectors, and the
properties `decimal.handling.mode`, `time.precision.mode`, `binary.handling.mode`, `hstore.handling.mode`,
`interval.handling.mode` with their defaults.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.lake_state.cells import PLACEHOLDER, Wire
from tests.lake_state.recording import Event

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_PLAIN = {
    "boolean": "boolean", "bit(1)": "boolean", "tinyint(1)": "int", "real": "float32", "float": "float32",
    "double precision": "float64", "oid": "int", "bytea": "bytes", "blob": "bytes",
}  # fmt: skip


def spell_as_sent(event: Event) -> Event:
    """The event in which each value without a schema is the text of its JSON, and a text is itself."""
    if event.wires is not None:
        return event
    key, before, after = map(_spell_row, (event.key, event.before, event.after))
    return replace(event, key=key, before=before, after=after)


def _spell_row(image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if image is None else {name: _spell(value) for name, value in image.items()}


def _spell(value: Any) -> str | float | None:
    if value == base64.b64encode(PLACEHOLDER.encode()).decode():
        return PLACEHOLDER
    if value is None or isinstance(value, str | float):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def untold_wire(type: str, settings: Mapping[str, str]) -> Wire:
    """The encoding of a column of a type, in words of the database, under the settings of a connector."""
    if type.endswith("[]"):
        return Wire("array", inside={"": untold_wire(type[:-2], settings)})
    if type in _PLAIN:
        return Wire(_PLAIN[type])
    word = re.split(r"[ (]", type)[0]
    digits = [int(d) for d in re.findall(r"-?\d+", type)]
    if word in ("smallint", "integer", "bigint", "int", "tinyint", "mediumint", "year"):
        return Wire("int")
    if word in ("binary", "varbinary"):
        return Wire("bytes")
    if word == "bit":
        return Wire("bytes", "io.debezium.data.Bits")
    if word == "double":
        return Wire("float64")
    if word in ("numeric", "decimal", "money"):
        return _number(word, digits, settings.get("decimal.handling.mode", "precise"))
    if word == "point":
        inside = {"x": Wire("float64"), "y": Wire("float64"), "wkb": Wire("bytes"), "srid": Wire("int")}
        return Wire("struct", "io.debezium.data.geometry.Point", inside=inside)
    if word == "hstore" and settings.get("hstore.handling.mode") == "map":
        return Wire("map", inside={"": Wire("string")})
    if word == "interval" and settings.get("interval.handling.mode") != "string":
        return Wire("int", "io.debezium.time.MicroDuration")
    return _moment(type, word, digits, settings)


def _number(word: str, digits: list[int], mode: str) -> Wire:
    if mode == "double":
        return Wire("float64")
    if mode == "string":
        return Wire("string")
    if word == "numeric" and not digits:
        inside = {"scale": Wire("int"), "value": Wire("bytes")}
        return Wire("struct", "io.debezium.data.VariableScaleDecimal", inside=inside)
    scale = 2 if word == "money" else digits[1]
    return Wire("bytes", _DECIMAL, {"scale": str(scale)})


def _moment(type: str, word: str, digits: list[int], settings: Mapping[str, str]) -> Wire:
    mode = settings.get("time.precision.mode", "adaptive")
    of_mysql = "time zone" not in type
    default = 0 if of_mysql else 6
    millis = mode == "connect" or (digits[0] if digits else default) <= 3
    if word == "date":
        return Wire("int", "io.debezium.time.Date")
    if word == "datetime" or (type.endswith("without time zone") and word == "timestamp"):
        return Wire("int", "io.debezium.time.Timestamp" if millis else "io.debezium.time.MicroTimestamp")
    if type.endswith("without time zone") or (word == "time" and of_mysql):
        # MySQL's default mode sends every TIME in microseconds.
        coarse = millis and not of_mysql
        return Wire("int", "io.debezium.time.Time" if coarse else "io.debezium.time.MicroTime")
    if word == "timestamp":
        return Wire("string", "io.debezium.time.ZonedTimestamp")
    return Wire("string")
