"""Conversion of Avro schemas and bodies of Confluent's AvroConverter to Connect schemas and JSON.

`to_connect` returns the node form of `converters.connect`, so that all other readers need one schema language
only. Source: Confluent AvroData.toConnectSchema and fromConnectSchema.
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
# The same bytes always give the same reason: addresses of objects are removed from it.
_OBJECT = re.compile(r" from <[^>]* object at 0x[0-9a-f]+>")
_STRUCTURE = ("type", "name", "namespace", "fields", "items", "values", "symbols", "size")


def to_connect(schema_text: str) -> Node:
    """Convert an Avro schema to the Connect schema that it came from, in the form of JsonConverter.

    `connect.name`, `connect.parameters`, `connect.version`, `connect.type`, `connect.default` and
    `connect.doc` become attributes of the node. A union with null becomes optional. Avro's own logical types
    become the node's name, unless there is a `connect.name`. A default of bytes becomes base64.

    Raises:
        UnreadableInput: the text is no Avro schema, or one that Connect cannot express.
    """
    return _AvroReader().read_node(_parse_json(schema_text), "")


def reduce_schema(schema_text: str) -> str:
    """Reduce a schema to the attributes that define the bytes of a body.

    Logical types, defaults and properties are left out. AvroData writes decimals with a scale above their
    precision and invalid defaults, which parsers refuse although the bodies are valid.

    Raises:
        UnreadableInput: the text is no JSON, or is nested too deeply.
    """
    try:
        return json.dumps(_keep_structure(_parse_json(schema_text)), separators=(",", ":"))
    except RecursionError:
        raise UnreadableInput("the Avro schema is nested too deeply to be read") from None


def decode_body(reader_schema: str, data: bytes, start: int = 5) -> Any:
    """Decode an Avro body that begins at `start`: to JSON values, and to bytes for bytes.

    `reduce_schema` is what `reduce_schema()` gave; parsed schemas are kept by their text.

    Raises:
        UnreadableInput: the schema is invalid, the body does not fit it, or bytes are left over.
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
    """Decode a body in Avro's JSON encoding to the value form of `decode_body`.

    Source: Avro specification, "JSON Encoding".

    Raises:
        UnreadableInput: the schema is invalid, the bytes are no JSON, or they do not fit the schema.
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
        _check_lists(_AvroReader().read_node(schema, ""))
        return fastavro.parse_schema(schema)
    except UnreadableInput as fault:
        raise UnreadableInput(f"not a valid Avro schema: {fault}") from None
    except Exception as fault:  # the parser raises its own and built-in errors
        raise UnreadableInput(f"not a valid Avro schema: {_format_fault(fault)}") from fault


def _check_lists(node: Node) -> None:
    """Refuse lists of items without bytes, of which a body could claim any number.

    `_AvroReader` refuses types that contain themselves.
    """
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
    """Reads one schema; `named` has the nodes of the named types read so far."""

    def __init__(self) -> None:
        self.named: dict[str, Node | None] = {}

    def read_node(self, schema: Any, namespace: str) -> Node:
        """Read a schema inside a namespace as a Connect node, which always has `optional`."""
        match schema:
            case str():
                return self.read_reference(schema, namespace)
            case list():
                return self.read_union(schema, namespace)
            case {"type": dict() | list() as inner}:
                return {**self.read_node(inner, namespace), **_read_properties(schema)}
            case {"type": str() as kind}:
                return self.read_typed(kind, schema, namespace)
            case _:
                raise UnreadableInput(f"{schema!r} is no Avro schema")

    def read_reference(self, name: str, namespace: str) -> Node:
        """Read the name of a primitive, or of a named type that was described before."""
        if name in _PRIMITIVES:
            return {"type": _PRIMITIVES[name], "optional": False}
        for full in (_qualify_name(name, namespace), name):
            if full in self.named:
                node = self.named[full]
                if node is None:
                    raise UnreadableInput(f"the Avro type {full!r} contains itself; Connect has no such type")
                return dict(node)
        raise UnreadableInput(f"the Avro schema names a type {name!r} that it does not describe")

    def read_union(self, branches: list[Any], namespace: str) -> Node:
        """Read a union: with null as an optional type, any other as a struct with a field per branch."""
        some = [b for b in branches if b != "null"]
        if not some:
            raise UnreadableInput("an Avro union without a type besides null")
        optional = len(some) < len(branches)
        nodes = [self.read_node(branch, namespace) for branch in some]
        if len(nodes) == 1:
            return {**nodes[0], "optional": optional or nodes[0]["optional"]}
        fields = [{**n, "optional": True, "field": n.get("name") or n["type"]} for n in nodes]
        return {"type": "struct", "name": _UNION, "fields": fields, "optional": optional}

    def read_typed(self, kind: str, schema: Mapping[str, Any], namespace: str) -> Node:
        """Read a schema written as an object."""
        match kind:
            case "record" | "error":
                return self.read_record(schema, namespace)
            case "fixed" if not isinstance(schema.get("size"), int) or schema["size"] < 1:
                raise UnreadableInput("an Avro type of a fixed size without a size")
            case "enum" | "fixed":
                full = _qualify_name(str(schema.get("name", "")), str(schema.get("namespace", namespace)))
                self.named[full] = _make_enum(schema) if kind == "enum" else _make_plain("bytes", schema)
                return self.read_reference(full, "")
            case "array":
                return self.read_array(schema, namespace)
            case "map":
                text = {"type": "string", "optional": False}
                return _make_map(text, self.read_node(schema.get("values"), namespace), schema)
            case _ if kind in _PRIMITIVES:
                return _make_plain(_choose_connect_type(kind, schema), schema)
            case _:
                return {**self.read_reference(kind, namespace), **_read_properties(schema)}

    def read_record(self, schema: Mapping[str, Any], namespace: str) -> Node:
        """Read a record as a struct, and remember it by its full name."""
        full = _qualify_name(str(schema.get("name", "")), str(schema.get("namespace", namespace)))
        inside = full.rpartition(".")[0]
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise UnreadableInput(f"an Avro record {full!r} without fields")
        self.named[full] = None
        node: Node = {"type": "struct", "optional": False}
        node["fields"] = [self.read_field(f, inside) for f in fields]
        if not full.startswith(_UNNAMED):
            node["name"] = full
        node |= _read_properties(schema)
        self.named[full] = node
        return dict(node)

    def read_field(self, field: Any, namespace: str) -> Node:
        """Read a field as a node with its name, and with its default unless that is null."""
        if not isinstance(field, dict) or not isinstance(field.get("name"), str):
            raise UnreadableInput("a field without a name in an Avro record")
        node = {**self.read_node(field.get("type"), namespace), "field": field["name"]}
        if field.get("default") is not None:
            node.setdefault("default", _convert_default(node["type"], field["default"]))
        if isinstance(field.get("doc"), str):
            node.setdefault("doc", field["doc"])
        return node

    def read_array(self, schema: Mapping[str, Any], namespace: str) -> Node:
        """Read a list, or a map whose keys are no plain strings, which AvroData writes as a list of entries.

        Source: Confluent AvroData.isMapEntry: the entries' record has that name or that internal type.
        """
        item_schema = schema.get("items")
        items = self.read_node(item_schema, namespace)
        members = {f["field"]: f for f in items.get("fields", ())}
        marked = isinstance(item_schema, dict) and item_schema.get("connect.internal.type") == "MapEntry"
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
        parameters = {"scale": str(scale)} | (
            {"connect.decimal.precision": str(precision)} if precision else {}
        )
        node["parameters"] = parameters
    if "default" in node:
        node["default"] = _convert_default(connect_type, node["default"])
    return node


def _make_enum(schema: Mapping[str, Any]) -> Node:
    symbols = ",".join(str(s) for s in schema.get("symbols", ()))
    named = {"name": _ENUM, "parameters": {"allowed": symbols}}
    return {"type": "string", "optional": False, **named, **_read_properties(schema)}


def _read_properties(schema: Mapping[str, Any]) -> Node:
    """Read the attributes of a Connect schema that AvroData keeps beside the type."""
    node: Node = {}
    for member in ("name", "version", "default", "doc"):
        if f"connect.{member}" in schema:
            node[member] = schema[f"connect.{member}"]
    if isinstance(schema.get("connect.parameters"), dict):
        node["parameters"] = {k: str(v) for k, v in schema["connect.parameters"].items()}
    if "doc" not in node and isinstance(schema.get("doc"), str):
        node["doc"] = schema["doc"]
    return node


def _convert_default(connect_type: str, default: Any) -> Any:
    """Convert a default: Avro writes bytes as a text with one character a byte, Connect's JSON as base64."""
    if connect_type != "bytes" or not isinstance(default, str):
        return default
    try:
        return base64.b64encode(default.encode("latin-1")).decode()
    except UnicodeEncodeError:
        return default
