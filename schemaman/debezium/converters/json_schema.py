"""Conversion of JSON Schemas of Confluent's JsonSchemaConverter to the Connect schemas that they came from.

The node form is that of `converters.connect`, so that all other readers need one schema language only.
Source: Confluent JsonSchemaData.fromConnectSchema and toConnectSchema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemaman.debezium.raw_record import parse_json
from schemaman.errors import UnreadableInput

Node = dict[str, Any]

_TYPES = {"boolean": "boolean", "integer": "int64", "number": "double", "string": "string"}
"""The Connect types of JSON types without a `connect.type`."""

_CONNECT_TYPES = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "float32": "float",
    "float64": "double", "bytes": "bytes",
}  # fmt: skip


def to_connect(schema_text: str) -> Node:
    """Convert a JSON Schema to a Connect schema in the form of JsonConverter.

    `title`, `description`, `default`, `connect.type`, `connect.version`, `connect.parameters` and
    `connect.index` become attributes and the order of fields. A choice with null becomes optional; so does a
    property that a `required` list leaves out.

    Raises:
        UnreadableInput: the text is no JSON Schema, or one that Connect cannot express.
    """
    try:
        schema = parse_json(schema_text.encode())
        return _JsonSchemaReader(schema).read_node(schema, ())
    except (ValueError, RecursionError) as fault:
        raise UnreadableInput(f"the JSON Schema cannot be read: {fault or 'nested too deeply'}") from None


class _JsonSchemaReader:
    """Reads one schema; `whole` is the document that references are relative to."""

    def __init__(self, whole: object) -> None:
        self.whole = whole

    def read_node(self, schema: object, above: tuple[str, ...]) -> Node:
        """Read a schema as a Connect node, which always has `optional`; `above` are the references around it.

        Raises:
            ValueError: the schema is none that Connect can express.
        """
        if not isinstance(schema, dict):
            raise ValueError(f"{str(schema)[:60]} describes no type")
        if isinstance(reference := schema.get("$ref"), str):
            return self.read_node(self.find_definition(reference, above), (*above, reference))
        for choice in ("oneOf", "anyOf"):
            if isinstance(branches := schema.get(choice), list):
                return self.read_choice(branches, above)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.read_choice([{**schema, "type": one} for one in kind], above)
        return {**self.read_type(kind, schema, above), "optional": False, **_read_properties(schema)}

    def find_definition(self, reference: str, above: tuple[str, ...]) -> object:
        """Find the schema that a reference inside the document names."""
        if reference in above:
            raise ValueError(f"{reference} contains itself; Connect has no such type")
        found = self.whole
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step:
                found = found.get(step) if isinstance(found, dict) else None
        if not reference.startswith("#") or not isinstance(found, dict):
            raise ValueError(f"it refers to {reference}, which it does not contain")
        return found

    def read_choice(self, branches: list[object], above: tuple[str, ...]) -> Node:
        """Read a choice of null and one type as an optional type; other choices as a struct of them all."""
        some = [b for b in branches if not (isinstance(b, dict) and b.get("type") == "null")]
        optional = len(some) < len(branches)
        if len(some) == 1:
            return {**self.read_node(some[0], above), "optional": optional}
        fields = [
            {**self.read_node(branch, above), "field": f"field.{number}", "optional": True}
            for number, branch in enumerate(some)
        ]
        return {"type": "struct", "optional": optional, "fields": fields}

    def read_type(self, kind: object, schema: Mapping[str, Any], above: tuple[str, ...]) -> Node:
        """Read the structure of a type without its name, its default and the like."""
        connect_type = schema.get("connect.type")
        match kind:
            case "object" if connect_type == "map":
                values = self.read_node(schema.get("additionalProperties"), above)
                return {"type": "map", "keys": {"type": "string", "optional": False}, "values": values}
            case "object":
                return {"type": "struct", "fields": self.read_fields(schema, above)}
            case "array" if connect_type == "map":
                entry = schema.get("items")
                parts = entry.get("properties") if isinstance(entry, dict) else None
                keys, values = (self.read_node((parts or {}).get(part), above) for part in ("key", "value"))
                return {"type": "map", "keys": keys, "values": values}
            case "array":
                return {"type": "array", "items": self.read_node(schema.get("items"), above)}
            case None if isinstance(schema.get("enum"), list):
                return {"type": "string"}
            case str() if kind in _TYPES:
                return {"type": _CONNECT_TYPES.get(str(connect_type), _TYPES[kind])}
            case _:
                raise ValueError(f"{str(kind)[:60]} is no type of JSON Schema that Connect has")

    def read_fields(self, schema: Mapping[str, Any], above: tuple[str, ...]) -> list[Node]:
        """Read the properties of an object as fields, in the order of `connect.index`."""
        found = schema.get("properties")
        properties = found if isinstance(found, dict) else {}
        required = schema.get("required")
        names = sorted(properties, key=lambda name: _read_index(properties[name], list(properties), name))
        fields: list[Node] = []
        for name in names:
            node = self.read_node(properties[name], above)
            if isinstance(required, list) and name not in required:
                node["optional"] = True
            fields.append({**node, "field": name})
        return fields


def _read_index(schema: object, names: list[str], name: str) -> int:
    index = schema.get("connect.index") if isinstance(schema, dict) else None
    return index if isinstance(index, int) else names.index(name)


def _read_properties(schema: Mapping[str, Any]) -> Node:
    """Read the attributes of a Connect schema that JsonSchemaData keeps beside the type."""
    attributes = (("title", "name"), ("connect.version", "version"), ("description", "doc"))
    node: Node = {name: schema[property] for property, name in attributes if property in schema}
    if schema.get("default") is not None:
        node["default"] = schema["default"]
    parameters = schema.get("connect.parameters")
    if isinstance(parameters, dict):
        node["parameters"] = {name: str(value) for name, value in parameters.items()}
    return node
