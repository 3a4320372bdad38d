"""Avro schemas and bodies, as Confluent's AvroConverter writes them, read as Connect schemas and JSON.

`to_connect` gives the node form of `languages.connect`, so that whatever comes after it knows one
language only. Source: Confluent AvroData.toConnectSchema and fromConnectSchema.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import fastavro

from schemaman.debezium.converters.connect import DECIMAL
from schemaman.errors import UnreadableInput

Node = dict[str, Any]

_PRIMITIVES = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
}
_UNNAMED = "io.confluent.connect.avro.ConnectDefault"
_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"
_UNION = "io.confluent.connect.avro.Union"
_ENUM = "io.debezium.data.Enum"
# A reason is the same whenever the same bytes are read: no address of an object stands in it.
_OBJECT = re.compile(r" from <[^>]* object at 0x[0-9a-f]+>")
_STRUCTURE = ("type", "name", "namespace", "fields", "items", "values", "symbols", "size")


def to_connect(schema_text: str) -> Node:
    """The Connect schema that an Avro schema stands for, in the form of JsonConverter.

    `connect.name`, `connect.parameters`, `connect.version`, `connect.type`, `connect.default` and
    `connect.doc` are taken back; a union with null is optional; Avro's own logical types, where no
    `connect.name` stands beside them, become the node's name. A default of bytes becomes base64.

    Raises:
        UnreadableInput: the text is no Avro schema, or one that Connect cannot express.
    """
    return _AvroReader().node(_parse_json(schema_text), "")


def reduce_schema(schema_text: str) -> str:
    """The same schema, reduced to what decides the bytes of a body.

    Logical types, defaults and properties are left out: AvroData writes decimals with a scale above
    their precision and defaults that are none, which parsers refuse although the bytes are sound.

    Raises:
        UnreadableInput: the text is no JSON, or is nested too deeply.
    """
    try:
        return json.dumps(_keep_structure(_parse_json(schema_text)), separators=(",", ":"))
    except RecursionError:
        raise UnreadableInput("the Avro schema is nested too deeply to be read") from None


def decode_body(reader_schema: str, data: bytes, start: int = 5) -> Any:
    """The value of an Avro body that begins at `start`: JSON values, and bytes for bytes.

    `reduce_schema` is what `reduce_schema()` gave; parsed schemas are kept by their text.

    Raises:
        UnreadableInput: the schema is none, the body does not fit it, or bytes are left over.
    """
    schema = _parse_schema(reader_schema)
    body = io.BytesIO(data)
    body.seek(start)
    try:
        value = fastavro.schemaless_reader(body, schema, None)
    except Exception as fault:  # whatever the decoder stumbles over, the fault is in the bytes
        raise UnreadableInput(f"the Avro body does not fit its schema: {_format_fault(fault)}") from fault
    left = len(data) - body.tell()
    if left:
        raise UnreadableInput(f"the Avro body does not fit its schema: {left} bytes are left after it")
    return value


def decode_json(reader_schema: str, data: bytes) -> Any:
    """The value of a body in Avro's JSON encoding, in the form of `decode_body`.

    Source: Avro specification, "JSON Encoding".

    Raises:
        UnreadableInput: the schema is none, the bytes are no JSON, or they do not fit it.
    """
    schema = _parse_schema(reader_schema)
    try:
        line = json.dumps(json.loads(data))  # the reader takes one value a line
        (value,) = fastavro.json_reader(io.StringIO(line), schema)
    except Exception as fault:  # whatever the decoder stumbles over, the fault is in the bytes
        raise UnreadableInput(
            f"the Avro body in JSON does not fit its schema: {_format_fault(fault)}"
        ) from fault
    return value


@lru_cache(maxsize=4096)
def _parse_schema(text: str) -> Any:
    try:
        schema = json.loads(text)
        _check_lists(_AvroReader().node(schema, ""))
        return fastavro.parse_schema(schema)
    except UnreadableInput as fault:
        raise UnreadableInput(f"not a valid Avro schema: {fault}") from None
    except Exception as fault:  # the parser raises its own and built-in errors
        raise UnreadableInput(f"not a valid Avro schema: {_format_fault(fault)}") from fault


def _check_lists(node: Node) -> None:
    """Items that take no byte could be claimed without end; what contains itself, `_AvroReader` refuses."""
    inner = [*node.get("fields", ()), *(node[m] for m in ("items", "keys", "values") if m in node)]
    if node["type"] in ("array", "map") and all(map(_is_empty, inner)):
        raise UnreadableInput("the Avro schema has a list of items that take no byte")
    for child in inner:
        _check_lists(child)


def _is_empty(node: Node) -> bool:
    return node["type"] == "struct" and not node["optional"] and all(map(_is_empty, node["fields"]))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise UnreadableInput(f"an Avro schema that is not JSON: {_format_fault(fault)}") from fault


def _format_fault(fault: Exception) -> str:
    text = _OBJECT.sub("", str(fault))
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def _keep_structure(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_keep_structure(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: schema[k] for k in _STRUCTURE if k in schema}
    for member in ("type", "items", "values"):
        if member in kept:
            kept[member] = _keep_structure(kept[member])
    if isinstance(kept.get("fields"), list):
        kept["fields"] = [_keep_structure(field) for field in kept["fields"]]
    return kept["type"] if set(kept) == {"type"} else kept


class _AvroReader:
    """One walk through a schema; `named` holds the nodes of the named types met so far."""

    def __init__(self) -> None:
        self.named: dict[str, Node | None] = {}

    def node(self, schema: Any, namespace: str) -> Node:
        """The Connect node of a schema inside a namespace; `optional` is always told."""
        match schema:
            case str():
                return self.reference(schema, namespace)
            case list():
                return self.union(schema, namespace)
            case {"type": dict() | list() as inner}:
                return {**self.node(inner, namespace), **_read_properties(schema)}
            case {"type": str() as kind}:
                return self.typed(kind, schema, namespace)
            case _:
                raise UnreadableInput(f"{schema!r} is no Avro schema")

    def reference(self, name: str, namespace: str) -> Node:
        """A primitive, or a named type that was described before."""
        if name in _PRIMITIVES:
            return {"type": _PRIMITIVES[name], "optional": False}
        for full in (_qualify_name(name, namespace), name):
            if full in self.named:
                node = self.named[full]
                if node is None:
                    raise UnreadableInput(f"the Avro type {full!r} contains itself; Connect has no such type")
                return dict(node)
        raise UnreadableInput(f"the Avro schema names a type {name!r} that it does not describe")

    def union(self, branches: list[Any], namespace: str) -> Node:
        """A union with null is an optional type; any other becomes a struct with a field per branch."""
        some = [b for b in branches if b != "null"]
        if not some:
            raise UnreadableInput("an Avro union without a type besides null")
        optional = len(some) < len(branches)
        nodes = [self.node(branch, namespace) for branch in some]
        if len(nodes) == 1:
            return {**nodes[0], "optional": optional or nodes[0]["optional"]}
        fields = [{**n, "optional": True, "field": n.get("name") or n["type"]} for n in nodes]
        return {"type": "struct", "name": _UNION, "fields": fields, "optional": optional}

    def typed(self, kind: str, schema: Mapping[str, Any], namespace: str) -> Node:
        """A schema written as an object."""
        match kind:
            case "record" | "error":
                return self.record(schema, namespace)
            case "fixed" if not isinstance(schema.get("size"), int) or schema["size"] < 1:
                raise UnreadableInput("an Avro type of a fixed size without a size")
            case "enum" | "fixed":
                full = _qualify_name(str(schema.get("name", "")), str(schema.get("namespace", namespace)))
                self.named[full] = _make_enum(schema) if kind == "enum" else _make_plain("bytes", schema)
                return self.reference(full, "")
            case "array":
                return self.array(schema, namespace)
            case "map":
                text = {"type": "string", "optional": False}
                return _make_map(text, self.node(schema.get("values"), namespace), schema)
            case _ if kind in _PRIMITIVES:
                return _make_plain(_choose_connect_type(kind, schema), schema)
            case _:
                return {**self.reference(kind, namespace), **_read_properties(schema)}

    def record(self, schema: Mapping[str, Any], namespace: str) -> Node:
        """A struct; it is known by its full name from then on."""
        full = _qualify_name(str(schema.get("name", "")), str(schema.get("namespace", namespace)))
        inside = full.rpartition(".")[0]
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise UnreadableInput(f"an Avro record {full!r} without fields")
        self.named[full] = None
        node: Node = {"type": "struct", "optional": False}
        node["fields"] = [self.field(f, inside) for f in fields]
        if not full.startswith(_UNNAMED):
            node["name"] = full
        node |= _read_properties(schema)
        self.named[full] = node
        return dict(node)

    def field(self, field: Any, namespace: str) -> Node:
        """A field's node, with its name, and its default unless that is null."""
        if not isinstance(field, dict) or not isinstance(field.get("name"), str):
            raise UnreadableInput("a field without a name in an Avro record")
        node = {**self.node(field.get("type"), namespace), "field": field["name"]}
        if field.get("default") is not None:
            node.setdefault("default", _convert_default(node["type"], field["default"]))
        if isinstance(field.get("doc"), str):
            node.setdefault("doc", field["doc"])
        return node

    def array(self, schema: Mapping[str, Any], namespace: str) -> Node:
        """A list; or a map whose keys are no plain strings, which AvroData writes as a list of entries.

        Source: Confluent AvroData.isMapEntry: the entries' record is called so, or says so of itself.
        """
        told = schema.get("items")
        items = self.node(told, namespace)
        members = {f["field"]: f for f in items.get("fields", ())}
        marked = isinstance(told, dict) and told.get("connect.internal.type") == "MapEntry"
        entry = items.get("name") == _MAP_ENTRY or marked
        if entry and set(members) == {"key", "value"}:
            return _make_map(members["key"], members["value"], schema)
        return {"type": "array", "items": items, "optional": False, **_read_properties(schema)}


def _qualify_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _choose_connect_type(kind: str, schema: Mapping[str, Any]) -> str:
    narrow = schema.get("connect.type")
    return narrow if kind == "int" and narrow in ("int8", "int16") else _PRIMITIVES[kind]


def _make_map(keys: Node, values: Node, schema: Mapping[str, Any]) -> Node:
    return {"type": "map", "keys": keys, "values": values, "optional": False, **_read_properties(schema)}


def _make_plain(connect_type: str, schema: Mapping[str, Any]) -> Node:
    node: Node = {"type": connect_type, "optional": False, **_read_properties(schema)}
    logical = schema.get("logicalType")
    if "name" not in node and isinstance(logical, str):
        node["name"] = DECIMAL if logical == "decimal" else logical
    if node.get("name") == DECIMAL and "parameters" not in node:
        scale, precision = schema.get("scale", 0), schema.get("precision")
        told = {"scale": str(scale)} | ({"connect.decimal.precision": str(precision)} if precision else {})
        node["parameters"] = told
    if "default" in node:
        node["default"] = _convert_default(connect_type, node["default"])
    return node


def _make_enum(schema: Mapping[str, Any]) -> Node:
    symbols = ",".join(str(s) for s in schema.get("symbols", ()))
    named = {"name": _ENUM, "parameters": {"allowed": symbols}}
    return {"type": "string", "optional": False, **named, **_read_properties(schema)}


def _read_properties(schema: Mapping[str, Any]) -> Node:
    """What AvroData keeps of a Connect schema beside the type."""
    told: Node = {}
    for member in ("name", "version", "default", "doc"):
        if f"connect.{member}" in schema:
            told[member] = schema[f"connect.{member}"]
    if isinstance(schema.get("connect.parameters"), dict):
        told["parameters"] = {k: str(v) for k, v in schema["connect.parameters"].items()}
    if "doc" not in told and isinstance(schema.get("doc"), str):
        told["doc"] = schema["doc"]
    return told


def _convert_default(connect_type: str, default: Any) -> Any:
    """Avro writes bytes as a text with one character a byte, Connect's JSON as base64."""
    if connect_type != "bytes" or not isinstance(default, str):
        return default
    try:
        return base64.b64encode(default.encode("latin-1")).decode()
    except UnicodeEncodeError:
        return default
