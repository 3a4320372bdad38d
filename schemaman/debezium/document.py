"""The paths and kinds of values in a record without a schema of its own: of documents and of rows.

Events have MongoDB's documents as texts of Extended JSON; one record may contain three variants of it. An
event is evidence of the values that it wrote: `after`, or the fields that an update set. Values that it
replaced or deleted were counted in the event that wrote them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from schemaman.debezium.inference import DEPTH, DOTTED, ELEMENT, KEY, FieldKind
from schemaman.debezium.raw_record import parse_json
from schemaman.model.schema import Path

Struct = dict[str, Any]

_WRAPPED: dict[frozenset[str], str] = {
    frozenset(members.split()): kind
    for members, kind in (
        ("$oid", "objectId"),
        ("$numberInt", "int"),
        ("$numberLong", "long"),
        ("$numberDouble", "double"),
        ("$numberDecimal", "decimal"),
        ("$date", "date"),
        ("$binary", "binData"),
        ("$binary $type", "binData"),
        ("$uuid", "uuid"),
        ("$timestamp", "timestamp"),
        ("$regex", "regex"),
        ("$regex $options", "regex"),
        ("$regularExpression", "regex"),
        ("$minKey", "minKey"),
        ("$maxKey", "maxKey"),
        ("$undefined", "undefined"),
        ("$symbol", "symbol"),
        ("$code", "javascript"),
        ("$code $scope", "javascriptWithScope"),
        ("$dbPointer", "dbPointer"),
    )
}
"""The members of an object that encodes one value, and the kind of the value as in MongoDB's `$type`.

Source: MongoDB Extended JSON v2 (canonical and relaxed) and v1 (strict), BsonType aliases."""

_UUID = frozenset({"03", "04", "3", "4"})
"""Subtypes of binary data that hold a UUID. Source: BSON specification."""

UNSURE_INTEGER = "integer"
"""The kind of a small whole number whose text does not distinguish 32 from 64 bits.
Source: Debezium writes `updatedFields` in relaxed Extended JSON."""

_OPERATORS = ("$set", "$unset", "$v", "diff")


def is_document_schema(schema: Mapping[str, object]) -> bool:
    """Return whether a schema, of Connect or of Avro, is the schema of change events of documents.

    Only there the row is a text. Source: Debezium MongoDbSchema.
    """
    fields = schema.get("fields")
    if not isinstance(fields, list):
        return False
    named = {str(f.get("field", f.get("name"))): f for f in fields if isinstance(f, dict)}
    return "source" in named and "op" in named and _is_text(named.get("after"))


def collect_document_kinds(payload: Struct) -> frozenset[FieldKind]:
    """Collect the paths and kinds of the values that a change event of a document wrote; empty for a delete.

    Raises:
        ValueError: a document of the event cannot be read; the message names it.
    """
    after = _read_document(payload, "after")
    if after is not None:
        shown = set(_walk_value(after, ()))
        shown |= {
            (p, k) for p, k in _walk_update(payload) if DOTTED not in p and not _is_known_exactly(p, k, shown)
        }
        return frozenset(shown)
    if payload.get("op") == "d":
        return frozenset()
    patch = _read_document(payload, "patch")
    if patch is None:
        return frozenset(_walk_update(payload))
    found = set(_walk_patch(patch))
    found |= {
        shown for shown in _walk_value(_read_document(payload, "filter") or {}, ()) if shown[0][0] == KEY
    }
    return frozenset(found)


def collect_struct_kinds(row: Struct, schema: Mapping[str, Any] | None) -> frozenset[FieldKind]:
    """Collect the paths and kinds of a flattened document, by its Connect schema or by its JSON values.

    A text may have been an object id or a decimal number, and a null any value.
    Source: Debezium MongoDataConverter; a null has the schema of a text.
    """
    return frozenset(_walk_struct(row, schema, ()))


def _walk_struct(value: object, schema: Mapping[str, Any] | None, path: Path) -> Iterator[FieldKind]:
    kind = _classify_json_value(value) if schema is None else _classify_connect_value(value, schema)
    if path:
        yield path, kind
    if len(path) >= DEPTH:
        return
    if kind == "object" and isinstance(value, dict):
        fields = {} if schema is None else _read_fields(schema)
        for name, inner in value.items():
            yield from _walk_struct(inner, fields.get(name), (*path, _check_name(name)))
    elif kind == "array" and isinstance(value, list):
        items = schema.get("items") if schema is not None else None
        for inner in value:
            yield from _walk_struct(inner, items if isinstance(items, dict) else None, (*path, ELEMENT))


def _read_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema.get("fields")
    nodes = fields if isinstance(fields, list) else []
    return {str(f.get("field")): f for f in nodes if isinstance(f, dict)}


_CONNECT = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "double", "float32": "double",
    "float64": "double", "double": "double", "boolean": "bool", "bytes": "binData", "string": "string",
    "struct": "object", "map": "object", "array": "array",
}  # fmt: skip
_CONNECT_NAMES = {
    "org.apache.kafka.connect.data.Timestamp": "date",
    "org.apache.kafka.connect.data.Decimal": "decimal",
}


def _classify_connect_value(value: object, schema: Mapping[str, Any]) -> str:
    if value is None:
        return "null"
    named = _CONNECT_NAMES.get(str(schema.get("name")))
    return named or _CONNECT.get(str(schema.get("type"))) or _classify_json_value(value)


def _classify_json_value(value: object) -> str:
    kind = _name_json_type(value)
    return kind if kind in ("object", "array") else f"json:{kind}"


def collect_row_kinds(row: Struct) -> frozenset[FieldKind]:
    """Collect the names of a row and the JSON types of its values, without nested fields."""
    return frozenset(((_check_name(name),), f"json:{_name_json_type(value)}") for name, value in row.items())


def find_row(payload: Struct) -> Struct | None:
    """Find the row in a change event without a schema: the new row, else the old one."""
    if payload.get("op") not in ("c", "u", "d", "r"):
        return None
    return next((r for r in (payload.get("after"), payload.get("before")) if isinstance(r, dict)), None)


def _is_text(field: object) -> bool:
    """Return whether the type of a field of a Connect or Avro schema is a text."""
    if not isinstance(field, dict):
        return False
    type = field.get("type")
    branches = type if isinstance(type, list) else [type]
    return any(b == "string" or (isinstance(b, dict) and b.get("type") == "string") for b in branches)


def _is_known_exactly(path: Path, kind: str, shown: set[FieldKind]) -> bool:
    """Return whether the document already has the exact kind of a whole number of the update."""
    return kind == UNSURE_INTEGER and ((path, "int") in shown or (path, "long") in shown)


def _read_document(struct: Struct, member: str) -> Struct | None:
    """Read the document that a member holds as text; None if the member is missing or null."""
    value = struct.get(member)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = parse_json(value.encode(errors="surrogatepass"))
        except ValueError as error:
            raise ValueError(f"{member}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{member}: no document but {json.dumps(value)[:40]}")
    return value


def _walk_update(payload: Struct) -> Iterator[FieldKind]:
    """Yield the paths and kinds in the description of an update.

    Source: MongoDB change events, `updateDescription`.
    """
    update = payload.get("updateDescription")
    if not isinstance(update, dict):
        return
    for name, value in (_read_document(update, "updatedFields") or {}).items():
        for path, kind in _walk_value(value, _split_update_name(name)):
            yield path, UNSURE_INTEGER if kind == "int" else kind
    arrays = update.get("truncatedArrays")
    for array in arrays if isinstance(arrays, list) else []:
        if isinstance(array, dict) and isinstance(array.get("field"), str):
            yield _split_update_name(array["field"]), "array"


def _walk_patch(patch: Struct) -> Iterator[FieldKind]:
    """Yield the paths and kinds in an oplog entry: operators, a difference, or a whole new document.

    Source: MongoDB oplog entries of updates, `$v` 1 and 2; Debezium 1.x writes them as `patch`.
    """
    if not any(member in patch for member in _OPERATORS):
        yield from _walk_value(patch, ())
        return
    fields = patch.get("$set")
    for name, value in fields.items() if isinstance(fields, dict) else ():
        yield from _walk_value(value, _split_update_name(name))
    difference = patch.get("diff")
    if isinstance(difference, dict):
        yield from _walk_difference(difference, ())


def _walk_difference(difference: Struct, path: Path) -> Iterator[FieldKind]:
    """Yield the paths and kinds in a difference.

    `u` and `i` hold the values that were set, `s` with a name the difference below, and `a` is true for
    arrays.

    Source: MongoDB `$v: 2` oplog entries, document_diff_serialization.
    """
    if len(path) >= DEPTH:
        return
    is_array = difference.get("a") is True
    if path:
        yield path, "array" if is_array else "object"
    for member, value in difference.items():
        if is_array and member[:1] == "u" and member[1:].isdecimal():
            yield from _walk_value(value, (*path, ELEMENT))
        elif is_array and member[:1] == "s" and isinstance(value, dict):
            yield from _walk_difference(value, (*path, ELEMENT))
        elif member in ("u", "i") and isinstance(value, dict) and not is_array:
            for name, new in value.items():
                yield from _walk_value(new, (*path, _check_name(name)))
        elif member[:1] == "s" and isinstance(value, dict) and not is_array:
            yield from _walk_difference(value, (*path, _check_name(member[1:])))


def _split_update_name(name: str) -> Path:
    """Split a name of an update into a path; a name with dots has no certain path."""
    first, *rest = _check_name(name).split(".")
    return (first, DOTTED, *("0" if part.isdecimal() else part for part in rest)) if rest else (first,)


def _walk_value(value: object, path: Path) -> Iterator[FieldKind]:
    """Yield every path of a value with its kind, down to `DEPTH`."""
    kind = _classify_value(value)
    if path:
        yield path, kind
    if len(path) >= DEPTH:
        return
    if kind == "object" and isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk_value(inner, (*path, _check_name(name)))
    elif kind == "array" and isinstance(value, list):
        below = (*path, ELEMENT)
        for inner in value:
            yield from _walk_value(inner, below)


def _classify_value(value: object) -> str:
    """Classify a value of Extended JSON by the words of MongoDB's `$type`."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int" if -(2**31) <= value < 2**31 else "long" if -(2**63) <= value < 2**63 else "double"
        case float():
            return "double"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            kind = _WRAPPED.get(frozenset(value), "object") if len(value) <= 2 else "object"
            return "uuid" if kind == "binData" and _read_subtype(value) in _UUID else kind
        case _:
            raise ValueError(f"no value of JSON: {value!r}")


def _read_subtype(value: Struct) -> str:
    inner = value["$binary"]
    subtype = inner.get("subType") if isinstance(inner, dict) else value.get("$type")
    return str(subtype)


def _name_json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_name(name: str) -> str:
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError("a name with half a surrogate pair, which is no Unicode") from None
    return name
