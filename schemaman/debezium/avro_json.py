"""Avro's JSON encoding, as consumers print records: a value of a union is an object with its type's name.

Source: Avro 1.11 specification, "JSON Encoding": a value of a union is null or `{"<type>": value}`.
`kafka-avro-console-consumer` prints values so, and `kcat -J -s avro` keys, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.raw_record import JsonObject

_PRIMITIVES: Mapping[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (int, float, str),
    "double": (int, float, str),
    "bytes": str,
    "string": str,
    "array": list,
    "map": dict,
}
"""The names of types in unions, and the JSON values that they have; NaN and infinities are texts."""

_TEXTS = frozenset({"string", "array", "map"})
_ADDED = "__"


def is_avro_json(payload: JsonObject) -> bool:
    """Return whether an event or a flattened row has Avro's JSON encoding.

    Only places with one type in plain JSON count: the time of the event, its source block, the row of an
    event, and fields that flattening adds. A column may hold an object of texts, as PostgreSQL's hstore does.
    """
    if _is_branch(payload.get("ts_ms")) or _is_wrapped_row(payload) or _has_branches(payload):
        return True
    source = payload.get("source")
    if isinstance(source, dict) and any(map(_is_branch, source.values())):
        return True
    return any(name.startswith(_ADDED) and _is_branch(value) for name, value in payload.items())


def unwrap_unions(payload: JsonObject) -> JsonObject:
    """Unwrap the values of all unions: an object of the type's name and the value becomes the value."""
    images = {name: _unwrap_row(payload[name]) for name in ("before", "after") if name in payload}
    return {name: images[name] if name in images else _unwrap(value) for name, value in payload.items()}


def _is_wrapped_row(payload: JsonObject) -> bool:
    """Return whether an image of a row is wrapped in the name of its record, as Debezium names it."""
    if "op" not in payload:
        return False
    images = [row for name in ("before", "after") if isinstance(row := payload.get(name), dict)]
    return bool(images) and all(len(row) == 1 and _is_record_name(*row.items()) for row in images)


def _has_branches(payload: JsonObject) -> bool:
    """Return whether a value of a row in an event is one of a union, and no object of texts."""
    if "op" not in payload:
        return False
    rows = [row for name in ("before", "after") if isinstance(row := payload.get(name), dict)]
    values = [value for row in rows for value in row.values()]
    return any(_is_branch(value) and not value.keys() & _TEXTS for value in values)


def _is_record_name(entry: tuple[str, object]) -> bool:
    name, value = entry
    return isinstance(value, dict) and name.rpartition(".")[2] == "Value"


def _is_branch(value: object) -> bool:
    """Return whether a value is an object of the name of a primitive type and a value of that type."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((name, inner),) = value.items()
    expected = _PRIMITIVES.get(name)
    if expected is None or not isinstance(inner, expected):
        return False
    return expected is bool or not isinstance(inner, bool)


def _unwrap_row(row: object) -> object:
    """Unwrap an image of a row: the name of its record, whatever it is, and the values of its fields."""
    if isinstance(row, dict) and len(row) == 1 and not _is_branch(row):
        ((_, inner),) = row.items()
        if isinstance(inner, dict) and not _is_branch(inner):
            return _unwrap(inner)
    return _unwrap(row)


def _unwrap(value: object) -> object:
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if _is_branch(value) or ("." in name and isinstance(inner, dict | str)):
            return _unwrap(inner)
    return {name: _unwrap(inner) for name, inner in value.items()}
