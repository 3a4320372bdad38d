"""What a record without a schema of its own shows: paths and kinds, of documents and of rows.

MongoDB's documents travel as texts of Extended JSON, of which three dialects may meet in one record. An
event is evidence of what it wrote: `after`, or the fields that an update set; what it replaced or deleted was
counted when it was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from schemaman.debezium.inference import DEPTH, DOTTED, ELEMENT, KEY, Shown
from schemaman.debezium.raw_record import parse
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
"""Members of an object that stands for one value, and its kind as MongoDB's `$type` calls it.

Source: MongoDB Extended JSON v2 (canonical and relaxed) and v1 (strict), BsonType aliases."""

_UUID = frozenset({"03", "04", "3", "4"})
"""Subtypes of binary data that hold a UUID. Source: BSON specification."""

UNSURE_INTEGER = "integer"
"""The kind of a small whole number where the text does not tell 32 from 64 bits.
Source: Debezium writes `updatedFields` in relaxed Extended JSON."""

_OPERATORS = ("$set", "$unset", "$v", "diff")


def is_document_schema(schema: Mapping[str, object]) -> bool:
    """Whether a schema, of Connect or of Avro, is that of change events of documents.

    There the row is a text, which it never is elsewhere. Source: Debezium MongoDbSchema.
    """
    fields = schema.get("fields")
    if not isinstance(fields, list):
        return False
    named = {str(f.get("field", f.get("name"))): f for f in fields if isinstance(f, dict)}
    return "source" in named and "op" in named and _is_text(named.get("after"))


def shown_by_document(payload: Struct) -> frozenset[Shown]:
    """What a change event of a document shows; empty for one that wrote nothing.

    Raises:
        ValueError: a document in it cannot be read; the message says which.
    """
    after = _document(payload, "after")
    if after is not None:
        shown = set(_walk(after, ()))
        shown |= {(p, k) for p, k in _updated(payload) if DOTTED not in p and not _is_shown(p, k, shown)}
        return frozenset(shown)
    if payload.get("op") == "d":
        return frozenset()
    patch = _document(payload, "patch")
    if patch is None:
        return frozenset(_updated(payload))
    found = set(_patched(patch))
    found |= {shown for shown in _walk(_document(payload, "filter") or {}, ()) if shown[0][0] == KEY}
    return frozenset(found)


def shown_by_struct(row: Struct, schema: Mapping[str, Any] | None) -> frozenset[Shown]:
    """What a flattened document shows: kinds of its Connect schema, or of JSON where it has none.

    A text may have been an object id or a decimal number, a null anything.
    Source: Debezium MongoDataConverter; a null has the schema of a text.
    """
    return frozenset(_struct(row, schema, ()))


def _struct(value: object, schema: Mapping[str, Any] | None, path: Path) -> Iterator[Shown]:
    kind = _json_kind(value) if schema is None else _connect_kind(value, schema)
    if path:
        yield path, kind
    if len(path) >= DEPTH:
        return
    if kind == "object" and isinstance(value, dict):
        fields = {} if schema is None else _fields(schema)
        for name, inner in value.items():
            yield from _struct(inner, fields.get(name), (*path, _checked(name)))
    elif kind == "array" and isinstance(value, list):
        items = schema.get("items") if schema is not None else None
        for inner in value:
            yield from _struct(inner, items if isinstance(items, dict) else None, (*path, ELEMENT))


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema.get("fields")
    told = fields if isinstance(fields, list) else []
    return {str(f.get("field")): f for f in told if isinstance(f, dict)}


_CONNECT = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "double", "float32": "double",
    "float64": "double", "double": "double", "boolean": "bool", "bytes": "binData", "string": "string",
    "struct": "object", "map": "object", "array": "array",
}  # fmt: skip
_CONNECT_NAMES = {
    "org.apache.kafka.connect.data.Timestamp": "date",
    "org.apache.kafka.connect.data.Decimal": "decimal",
}


def _connect_kind(value: object, schema: Mapping[str, Any]) -> str:
    if value is None:
        return "null"
    named = _CONNECT_NAMES.get(str(schema.get("name")))
    return named or _CONNECT.get(str(schema.get("type"))) or _json_kind(value)


def _json_kind(value: object) -> str:
    kind = _json_type(value)
    return kind if kind in ("object", "array") else f"json:{kind}"


def shown_by_row(row: Struct) -> frozenset[Shown]:
    """The names of a row and the JSON types of its values; what is nested is not looked into."""
    return frozenset(((_checked(name),), f"json:{_json_type(value)}") for name, value in row.items())


def row_of(payload: Struct) -> Struct | None:
    """The row that a change event without a schema carries: the new one, else the old one."""
    if payload.get("op") not in ("c", "u", "d", "r"):
        return None
    return next((r for r in (payload.get("after"), payload.get("before")) if isinstance(r, dict)), None)


def _is_text(field: object) -> bool:
    """Whether a field has the type of a text, in the words of Connect or of Avro."""
    if not isinstance(field, dict):
        return False
    type = field.get("type")
    branches = type if isinstance(type, list) else [type]
    return any(b == "string" or (isinstance(b, dict) and b.get("type") == "string") for b in branches)


def _is_shown(path: Path, kind: str, shown: set[Shown]) -> bool:
    """Whether the document tells a whole number more exactly than the update does."""
    return kind == UNSURE_INTEGER and ((path, "int") in shown or (path, "long") in shown)


def _document(struct: Struct, member: str) -> Struct | None:
    """The document that a member holds as text; None where there is none."""
    value = struct.get(member)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = parse(value.encode(errors="surrogatepass"))
        except ValueError as error:
            raise ValueError(f"{member}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{member}: no document but {json.dumps(value)[:40]}")
    return value


def _updated(payload: Struct) -> Iterator[Shown]:
    """What the description of an update shows. Source: MongoDB change events, `updateDescription`."""
    update = payload.get("updateDescription")
    if not isinstance(update, dict):
        return
    for name, value in (_document(update, "updatedFields") or {}).items():
        for path, kind in _walk(value, _place(name)):
            yield path, UNSURE_INTEGER if kind == "int" else kind
    arrays = update.get("truncatedArrays")
    for array in arrays if isinstance(arrays, list) else []:
        if isinstance(array, dict) and isinstance(array.get("field"), str):
            yield _place(array["field"]), "array"


def _patched(patch: Struct) -> Iterator[Shown]:
    """What an entry of the oplog shows: operators, a difference, or a whole new document.

    Source: MongoDB oplog entries of updates, `$v` 1 and 2; Debezium 1.x writes them as `patch`.
    """
    if not any(member in patch for member in _OPERATORS):
        yield from _walk(patch, ())
        return
    fields = patch.get("$set")
    for name, value in fields.items() if isinstance(fields, dict) else ():
        yield from _walk(value, _place(name))
    difference = patch.get("diff")
    if isinstance(difference, dict):
        yield from _differing(difference, ())


def _differing(difference: Struct, path: Path) -> Iterator[Shown]:
    """A difference: `u` and `i` hold what was set, `s` with a name what differs below, `a` marks an array.

    Source: MongoDB `$v: 2` oplog entries, document_diff_serialization.
    """
    if len(path) >= DEPTH:
        return
    is_array = difference.get("a") is True
    if path:
        yield path, "array" if is_array else "object"
    for member, value in difference.items():
        if is_array and member[:1] == "u" and member[1:].isdecimal():
            yield from _walk(value, (*path, ELEMENT))
        elif is_array and member[:1] == "s" and isinstance(value, dict):
            yield from _differing(value, (*path, ELEMENT))
        elif member in ("u", "i") and isinstance(value, dict) and not is_array:
            for name, new in value.items():
                yield from _walk(new, (*path, _checked(name)))
        elif member[:1] == "s" and isinstance(value, dict) and not is_array:
            yield from _differing(value, (*path, _checked(member[1:])))


def _place(name: str) -> Path:
    """The path that a name of an update speaks of; with dots nobody can say of what."""
    first, *rest = _checked(name).split(".")
    return (first, DOTTED, *("0" if part.isdecimal() else part for part in rest)) if rest else (first,)


def _walk(value: object, path: Path) -> Iterator[Shown]:
    """Every path of a value with its kind, down to the depth that is looked at."""
    kind = _kind(value)
    if path:
        yield path, kind
    if len(path) >= DEPTH:
        return
    if kind == "object" and isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk(inner, (*path, _checked(name)))
    elif kind == "array" and isinstance(value, list):
        below = (*path, ELEMENT)
        for inner in value:
            yield from _walk(inner, below)


def _kind(value: object) -> str:
    """The kind of a value of Extended JSON, as MongoDB's `$type` calls it."""
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
            return "uuid" if kind == "binData" and _subtype(value) in _UUID else kind
        case _:
            raise ValueError(f"no value of JSON: {value!r}")


def _subtype(value: Struct) -> str:
    inner = value["$binary"]
    subtype = inner.get("subType") if isinstance(inner, dict) else value.get("$type")
    return str(subtype)


def _json_type(value: object) -> str:
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


def _checked(name: str) -> str:
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError("a name with half a surrogate pair, which is no Unicode") from None
    return name
