"""Placeholders for a large value that did not change; a placeholder is never a value.

PostgreSQL does not repeat such a value in its log, so the connector writes a placeholder instead. Source:
Debezium UnchangedToastedPlaceholder, in all releases: the text itself; its bytes; a map of the text to
itself; in the newest sources also shapes of PostGIS. Arrays have a placeholder only if
UnchangedToastedReplicationMessageColumn names their type: of text, json and bytea one element, of integer,
bigint and date one number for each byte of the text, of UUIDs the one from its MD5. An array of any other
type, such as Booleans, is always a value: the connector leaves out an unchanged one, which arrives as NULL.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from schemaman.debezium.converters.connect import DECIMAL, Node
from schemaman.sink.values.from_connect import CellEncoding

PLACEHOLDER = b"__debezium_unavailable_value"
"""Source: Debezium `unavailable.value.placeholder`, its default."""
PARAMETER = "__debezium.unavailable.value.placeholder"
"""The schema parameter that has the placeholder in the newest releases. Source: Debezium
UnavailableValuePlaceholderParameter.
"""

Placeholders = tuple[object, ...]

_FAR_COORDINATE = -99_999_999.0
_GEOMETRY = {"wkb": bytes.fromhex("0101000020e6100000000000fc83d797c1000000fc83d797c1"), "srid": 4326}
_GEOGRAPHY = {"wkb": bytes.fromhex("0101000020e61000000c21e7fdff7f66401842cefbff7f5640"), "srid": 4326}
_POINT = {
    "x": _FAR_COORDINATE,
    "y": _FAR_COORDINATE,
    "wkb": struct.pack("<BIdd", 1, 1, _FAR_COORDINATE, _FAR_COORDINATE),
    "srid": None,
}
_SHAPES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "io.debezium.data.geometry.Geometry": (_GEOMETRY, _GEOGRAPHY),
    "io.debezium.data.geometry.Geography": (_GEOGRAPHY, _GEOMETRY),
    "io.debezium.data.geometry.Point": (_POINT,),
}
"""Placeholder shapes: outside of their reference system, or a millionth of a degree from its edge.

Source: Debezium UnchangedToastedPlaceholder, in its newest sources; `Point.createWKB`.
"""


def parse_placeholder(text: str) -> bytes:
    """Parse the setting `unavailable.value.placeholder`: a text, or `hex:` and digits.

    Source: Debezium RelationalDatabaseConnectorConfig.getUnavailableValuePlaceholder.

    Raises:
        ValueError: there are no hexadecimal digits after `hex:`.
    """
    return bytes.fromhex(text.removeprefix("hex:")) if text.startswith("hex:") else text.encode()


def list_placeholders(node: Node, written: CellEncoding, placeholder: bytes = PLACEHOLDER) -> Placeholders:
    """List the raw placeholders of an unavailable value in cells of a schema node; empty if there is none."""
    return _list_placeholders(json.dumps(node, sort_keys=True, default=str), written, placeholder)


@lru_cache(maxsize=1 << 14)
def _list_placeholders(text: str, written: CellEncoding, placeholder: bytes) -> Placeholders:
    node = json.loads(text)
    kind, name = str(node.get("type")).lower(), node.get("name")
    word = placeholder.decode(errors="replace")
    match kind:
        case "string" if name == "io.debezium.data.Json":
            return (word, json.dumps({word: word}, separators=(",", ":"), ensure_ascii=False))
        case "string":
            # bytes may also be written as text, by the mode of the connector
            coded = (base64.b64encode(placeholder), base64.urlsafe_b64encode(placeholder))
            return tuple(dict.fromkeys((word, *(c.decode() for c in coded), placeholder.hex())))
        case "bytes":
            return (_write_bytes(placeholder, written),)
        case "map":
            return ({word: word}, [[word, word]], [{"key": word, "value": word}])
        case "array" if isinstance(node.get("items"), dict):
            return _list_array_placeholders(node["items"], written, placeholder)
        case "struct" if name == "io.debezium.data.VariableScaleDecimal":
            return ({"scale": 0, "value": _write_bytes(placeholder, written)},)
        case "struct" if isinstance(name, str) and name in _SHAPES:
            shapes = ({**shape, "wkb": _write_bytes(shape["wkb"], written)} for shape in _SHAPES[name])
            return tuple(shapes)
        case _:
            return ()


def _list_array_placeholders(items: Node, written: CellEncoding, placeholder: bytes) -> Placeholders:
    kind, name = str(items.get("type")).lower(), items.get("name")
    word = placeholder.decode(errors="replace")
    match kind:
        case "string" if name == "io.debezium.data.Uuid":
            return ([_make_uuid(placeholder)], [word])
        case "string":
            forms = _list_placeholders(json.dumps(dict(items), default=str), written, placeholder)
            return tuple([form] for form in forms)
        case "bytes" if name != DECIMAL:
            return ([_write_bytes(placeholder, written)],)
        case "int32" | "int64":
            return ([_to_signed_byte(byte) for byte in placeholder],)
        case _:
            return ()


def _to_signed_byte(byte: int) -> int:
    """Convert a byte to a signed one, as in Java."""
    return byte - 256 if byte > 127 else byte


def _write_bytes(data: bytes, written: CellEncoding) -> object:
    return base64.b64encode(data).decode() if written == "json" else data


def _make_uuid(placeholder: bytes) -> str:
    """Make a UUID as Java's UUID.nameUUIDFromBytes does: version 3 from the bytes alone."""
    return str(UUID(bytes=hashlib.md5(placeholder, usedforsecurity=False).digest(), version=3))
