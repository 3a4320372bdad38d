"""Confluent's JSON Schema converter: the Connect schema comes back, and so does the history.

Source: Confluent JsonSchemaData (`connect.*` properties); wire format: a zero byte, four bytes of id, JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.converters.registered import decode_body, mark_text, to_connect
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Framing
from schemaman.errors import UnreadableInput
from schemaman.ingest.ingest import ingest
from schemaman.registry import Registry
from schemaman.sink.payloads import BodyReader
from schemaman.store.memory import MemoryStore
from tests.cases.connector import told
from tests.support import recordings

Node = Mapping[str, Any]

TYPES = {"string": "string", "boolean": "boolean", "bytes": "string", "float": "number", "double": "number"}
MARKS = {"float": "float32", "double": "float64", "int8": "int8", "int16": "int16", "int32": "int32",
         "int64": "int64", "bytes": "bytes"}  # fmt: skip


def write(node: Node, index: int | None = None) -> dict[str, Any]:
    """The JSON Schema that JsonSchemaData.fromConnectSchema writes for a Connect schema."""
    kind = node["type"]
    told: dict[str, Any]
    match kind:
        case "struct":
            fields = enumerate(node["fields"])
            told = {"type": "object", "properties": {f["field"]: write(f, number) for number, f in fields}}
        case "array":
            told = {"type": "array", "items": write(node["items"])}
        case "map":
            told = {"type": "object", "connect.type": "map", "additionalProperties": write(node["values"])}
        case _:
            told = {"type": TYPES.get(kind, "integer")}
            told |= {"connect.type": MARKS[kind]} if kind in MARKS else {}
    members = {"name": "title", "version": "connect.version", "doc": "description", "default": "default",
               "parameters": "connect.parameters"}  # fmt: skip
    told |= {other: node[name] for name, other in members.items() if name in node}
    if node.get("optional"):
        told = {"oneOf": [{"type": "null"}, told]}
    return told if index is None else {**told, "connect.index": index}


class Converter:
    """Writes records as JsonSchemaConverter does; the texts of its registry have shuffled properties."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def write(self, record: Record) -> Record:
        return replace(record, key=self.frame(record.key), value=self.frame(record.value))

    def frame(self, data: bytes | None) -> bytes | None:
        body = None if data is None else json.loads(data)
        if not isinstance(body, dict) or not isinstance(body.get("schema"), dict):
            return data
        text = json.dumps(write(body["schema"]), sort_keys=True)
        id = self.ids.setdefault(text, len(self.ids) + 1)
        return b"\0" + id.to_bytes(4, "big") + json.dumps(body["payload"]).encode()

    def __call__(self, id: object) -> str | None:
        return next((mark_text("JSON", text, id) for text, known in self.ids.items() if known == id), None)


@pytest.mark.parametrize(
    "run", ["postgres/shop-modes", "db2/shop-3.4.1-json", "mongodb/inventory-2.5.4-update-full"]
)
def test_a_recording_in_json_schema_has_the_same_history(run: str):
    records, converter = recordings.recorded(run), Converter()
    again = [converter.write(r) for r in records]
    registry = Registry(MemoryStore(), lambda: 0)
    ingest(again, registry, "main", converter)
    assert registry.rejects() == ()
    assert {h.table.table: h.versions for h in registry.tables()} == {
        name: h.versions for name, h in told(records).histories.items()
    }


def test_bodies_have_the_values_of_connects_json():
    converter = Converter()
    (record,) = (r for r in recordings.recorded("postgres/shop-json")[:1])
    framed = converter.write(record)
    assert framed.value is not None
    assert record.value is not None
    read, form = BodyReader(converter).read(framed, framed.value, "value")
    expected, plain = BodyReader(converter).read(record, record.value, "value")
    assert (read, form.encoding, form.name) == (expected, plain.encoding, plain.name)


@pytest.mark.parametrize(("schema", "node"), [
    ({"type": "integer"}, {"type": "int64", "optional": False}),
    ({"type": "number", "title": "Decimal", "connect.type": "bytes", "connect.parameters": {"scale": 2}},
     {"type": "bytes", "optional": False, "name": "Decimal", "parameters": {"scale": "2"}}),
    ({"type": ["null", "string"], "default": "x"}, {"type": "string", "optional": True, "default": "x"}),
    ({"enum": ["a", "b"]}, {"type": "string", "optional": False}),
    ({"type": "object", "required": ["b"],
      "properties": {"a": {"type": "boolean"}, "b": {"$ref": "#/definitions/t"}},
      "definitions": {"t": {"type": "string"}}},
     {"type": "struct", "optional": False, "fields": [
         {"type": "boolean", "optional": True, "field": "a"},
         {"type": "string", "optional": False, "field": "b"}]}),
    ({"type": "array", "connect.type": "map", "items": {"type": "object", "properties": {
        "key": {"type": "integer", "connect.type": "int32"}, "value": {"type": "string"}}}},
     {"type": "map", "optional": False, "keys": {"type": "int32", "optional": False},
      "values": {"type": "string", "optional": False}}),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]},
     {"type": "struct", "optional": False, "fields": [
         {"type": "string", "optional": True, "field": "field.0"},
         {"type": "int64", "optional": True, "field": "field.1"}]}),
])  # fmt: skip
def test_schemas_that_others_wrote(schema: Node, node: Node):
    assert to_connect(mark_text("JSON", json.dumps(schema), 1)) == node


@pytest.mark.parametrize("text", [
    "{", "[]", "true", '{"type": "null"}', '{"type": "object", "properties": {"a": 1}}', '{"type": "array"}',
    '{"$ref": "other.json"}', '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}',
    '{"allOf": []}', '{"type": "array", "connect.type": "map"}', '{"oneOf": 1}',
])  # fmt: skip
def test_what_is_no_schema_is_refused(text: str):
    with pytest.raises(UnreadableInput, match="the JSON Schema cannot be read"):
        to_connect(mark_text("JSON", text, 1))


def test_schemas_of_kafkas_own_converter_in_a_registry():
    """Source: Apicurio ExtJsonConverter, artifacts of type KCONNECT."""
    text = mark_text("KCONNECT", '{"type": "int32", "optional": true}', 1)
    assert to_connect(text) == {"type": "int32", "optional": True}
    assert decode_body(text, b"\0\0\0\0\x017", Framing(1, 5)) == 7
    with pytest.raises(UnreadableInput, match="not JSON"):
        decode_body(text, b"\0\0\0\0\x01{", Framing(1, 5))


def test_another_language_is_named():
    with pytest.raises(UnreadableInput, match="is of type PROTOBUF; Avro and JSON Schema are read: let the"):
        mark_text("PROTOBUF", "", 9)
