"""Encodes schemas, coordinates and names as JSON, and decodes them; all codecs use these functions.

Law: `x_from_json(x_to_json(x)) == x`. Default values are omitted; types have the syntax of `ddl`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from schemaman.debezium.records import NO_POSITION, Coordinates, Position
from schemaman.errors import SchemamanError, StoreUnavailable
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.schema import Column, Scalar, TableId, TableSchema
from schemaman.plugins import defer

if TYPE_CHECKING:
    from schemaman.store.quick_json import encode_quickly
else:
    encode_quickly = defer("schemaman.store.quick_json:encode_quickly")

VERSION = 1
"""The layout that is written; a reader refuses every other one."""

Json = dict[str, object]
Parsed = Mapping[str, Any]
V = TypeVar("V")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
UPGRADE = "this store was written by another schemaman: upgrade schemaman, or use the one that wrote it"
_DAMAGED = "the store is damaged: run `schemaman store check`, and restore a copy or read the records again"


def encode_canonical(value: object) -> bytes:
    """A JSON value as bytes that are the same for equal values: sorted keys, no spaces, ASCII.

    ASCII, because names out of broken JSON may hold lone surrogates, which UTF-8 cannot carry.
    """
    quick = encode_quickly(value)
    return _CANONICAL.encode(value).encode("ascii") if quick is None else quick


def loads(body: bytes | str, where: str) -> object:
    """The JSON value of stored bytes. Raises `StoreUnavailable` if they are none."""
    try:
        return json.loads(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreUnavailable(f"{where}: not JSON: {error}", hint=_DAMAGED) from error


def require_version(value: object, where: str) -> Parsed:
    """The JSON object, if it is of the layout that this code knows. Raises `StoreUnavailable`."""
    if not isinstance(value, dict):
        raise StoreUnavailable(f"{where}: not a JSON object", hint=_DAMAGED)
    if value.get("v") != VERSION:
        raise StoreUnavailable(f"{where}: layout version {value.get('v')!r}, not {VERSION}", hint=UPGRADE)
    return value


def read_object(read: Callable[[Parsed], V], value: Parsed, where: str) -> V:
    """Decode a JSON object with `read`. Raises `StoreUnavailable` for a missing or wrong field."""
    try:
        return read(value)
    except KeyError as error:
        raise StoreUnavailable(f"{where}: no field {error}", hint=_DAMAGED) from error
    except (TypeError, ValueError, AttributeError, SchemamanError) as error:
        raise StoreUnavailable(f"{where}: {error}", hint=_DAMAGED) from error


def drop_nones(**members: object) -> Json:
    """Select the fields that are not None."""
    return {name: members[name] for name in members if members[name] is not None}


def convert_optional(convert: Callable[[Any], V], value: Any) -> V | None:
    """Convert a value; None stays None."""
    return None if value is None else convert(value)


def position_to_json(position: Position) -> Json:
    """A source position: `kind`, `value` as the connector prints it, `commit` where there is one."""
    return {"kind": position.kind, "value": position.value, **drop_nones(commit=position.commit)}


def position_from_json(value: Parsed) -> Position:
    """The position that `position_to_json` wrote."""
    return Position(value["kind"], value["value"], value.get("commit"))


def coordinates_to_json(mark: Coordinates) -> Json:
    """Encode the coordinates of a record; times are epoch milliseconds."""
    members: Json = {"topic": mark.topic, "partition": mark.partition, "offset": mark.offset}
    position = mark.position
    if position.kind != "none" or position != NO_POSITION:  # to compare texts takes half as long
        known: Json = {"kind": position.kind, "value": position.value}
        if position.commit is not None:
            known["commit"] = position.commit
        members["position"] = known
    # no value is encoded more often, and `drop_nones` takes twice as long
    if mark.ts_ms is not None:
        members["ts_ms"] = mark.ts_ms
    if mark.read_ms is not None:
        members["read_ms"] = mark.read_ms
    if mark.timestamp_ms is not None:
        members["timestamp_ms"] = mark.timestamp_ms
    return members


def coordinates_from_json(value: Parsed) -> Coordinates:
    """Decode the output of `coordinates_to_json`."""
    return Coordinates(
        value["topic"],
        value["partition"],
        value["offset"],
        convert_optional(position_from_json, value.get("position")) or NO_POSITION,
        value.get("ts_ms"),
        value.get("read_ms"),
        value.get("timestamp_ms"),
    )


def table_to_json(table: TableId) -> Json:
    """The identity of a table, part by part; `schema` is empty where the database has none."""
    return {
        "stream": table.stream,
        "server": table.server,
        "database": table.database,
        "schema": table.schema,
        "table": table.table,
    }


def table_from_json(value: Parsed) -> TableId:
    """The identity that `table_to_json` wrote."""
    return TableId(value["server"], value["database"], value["schema"], value["table"], value["stream"])


def column_to_json(column: Column) -> Json:
    """Encode a column; its type is formatted by `ddl.format_type`. Do not alter the result: it is shared."""
    # The defaults 1, 1.0 and true are equal and not the same.
    plain = column.default is None or isinstance(column.default, str)
    return _known_column(column) if plain else _column_to_json(column)


def _column_to_json(column: Column) -> Json:
    return {
        "name": column.name,
        "type": _write_type(column.type),
        "nullable": column.nullable,
        **drop_nones(
            default=_scalar_to_json(column.default),
            comment=column.comment,
            source_type=column.source_type,
            emitted_name=column.emitted_name,
            id=column.id,
        ),
    }


def column_from_json(value: Parsed) -> Column:
    """The column that `column_to_json` wrote. Raises `BadReference` for a type that is none."""
    return _make_column(
        value["name"],
        value["type"],
        value["nullable"],
        _scalar_from_json(value.get("default")),
        value.get("comment"),
        value.get("source_type"),
        value.get("emitted_name"),
        value.get("id"),
    )


def schema_to_json(schema: TableSchema) -> Json:
    """The structure of a table: `columns` in order, `key` in key order, `comment`."""
    columns = [
        _known_column(c) if c.default is None else column_to_json(c)  # most columns have none
        for c in schema.columns
    ]
    return {"columns": columns, **drop_nones(key=list(schema.key) or None, comment=schema.comment)}


def schema_from_json(value: Parsed) -> TableSchema:
    """The structure that `schema_to_json` wrote."""
    columns = tuple(column_from_json(c) for c in value["columns"])
    return TableSchema(columns, tuple(value.get("key", ())), value.get("comment"))


@lru_cache(maxsize=1 << 16, typed=True)
def _make_column(name: str, type: str, nullable: bool, default: Scalar, *rest: Any) -> Column:
    # Versions of a table share nearly all of their columns: reading a type once is ten times as fast.
    # `typed`, because the defaults 1, 1.0 and true are equal and not the same.
    return Column(name, _read_type(type), nullable, default, *rest)


_known_column = lru_cache(maxsize=1 << 16)(_column_to_json)
_read_type = lru_cache(maxsize=1 << 14)(parse_type)
_write_type = lru_cache(maxsize=1 << 14)(format_type)


def _scalar_to_json(value: Scalar) -> object:
    # JSON has no infinity and no NaN, and other programs do not read Python's spelling of them.
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _scalar_from_json(value: Any) -> Scalar:
    found: Scalar = float(value["float"]) if isinstance(value, dict) else value
    return found
