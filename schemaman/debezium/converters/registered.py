"""The schemas of a registry as texts: Avro's own text, or the text of another language behind its name.

A body of such another language is JSON. Source: Confluent JsonSchemaConverter; Apicurio ExtJsonConverter,
whose artifacts of type `KCONNECT` are the schemas of Kafka's JsonConverter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemaman.debezium.converters import json_schema
from schemaman.debezium.raw_record import parse_json
from schemaman.debezium.wire_format import Framing
from schemaman.errors import UnreadableInput
from schemaman.plugins import defer

if TYPE_CHECKING:  # records of JSON need no Avro
    from schemaman.debezium.converters.avro import decode_body as decode_avro
    from schemaman.debezium.converters.avro import decode_json as decode_avro_json
    from schemaman.debezium.converters.avro import reduce_schema
    from schemaman.debezium.converters.avro import to_connect as avro_to_connect
else:
    decode_avro = defer("schemaman.debezium.converters.avro:decode_body")
    decode_avro_json = defer("schemaman.debezium.converters.avro:decode_json")
    reduce_schema = defer("schemaman.debezium.converters.avro:reduce_schema")
    avro_to_connect = defer("schemaman.debezium.converters.avro:to_connect")

Node = dict[str, Any]

_JSON_SCHEMA, _CONNECT = "json-schema:", "connect:"
_PREFIXES = {"AVRO": "", "JSON": _JSON_SCHEMA, "KCONNECT": _CONNECT}
"""The prefix of a text by the type of the schema, as registries name it."""


def mark_text(kind: str, text: str, name: object) -> str:
    """Mark the text of a schema with its language; `kind` is its type, `name` names it in messages.

    Raises:
        UnreadableInput: the language cannot be read.
    """
    if kind not in _PREFIXES:
        raise UnreadableInput(describe_unread(kind, name))
    return _PREFIXES[kind] + text


def is_readable(kind: str) -> bool:
    """Return whether schemas of this type can be read."""
    return kind in _PREFIXES


def describe_unread(kind: str, name: object) -> str:
    """Describe a schema in a language that cannot be read, and what to do about it."""
    return (
        f"the schema {name} is of type {kind}; Avro and JSON Schema are read: let the connector write "
        "with AvroConverter, JsonSchemaConverter or JsonConverter, or convert the topic"
    )


def is_json(text: str) -> bool:
    """Return whether the bodies of a registered schema are JSON, not Avro."""
    return text.startswith((_JSON_SCHEMA, _CONNECT))


@lru_cache(maxsize=4096)
def to_connect(text: str) -> Node:
    """Convert a registered schema to a Connect schema.

    Raises:
        UnreadableInput: the text is no schema of its language.
    """
    if text.startswith(_JSON_SCHEMA):
        return json_schema.to_connect(text.removeprefix(_JSON_SCHEMA))
    if text.startswith(_CONNECT):
        try:
            node = parse_json(text.removeprefix(_CONNECT).encode())
        except ValueError as fault:
            raise UnreadableInput(f"the Connect schema cannot be read: {fault}") from None
        if not isinstance(node, dict):
            raise UnreadableInput("the Connect schema is no object")
        return node
    return avro_to_connect(text)


def decode_body(text: str, data: bytes, framing: Framing) -> Any:
    """Decode a framed body by its registered schema: to JSON values, and to bytes for the bytes of Avro.

    Raises:
        UnreadableInput: the body does not fit the schema.
    """
    if is_json(text):
        try:
            return parse_json(data[framing.start :])
        except ValueError as fault:
            raise UnreadableInput(f"the body of schema {framing.schema} is {fault}") from None
    schema = _cache_reader_schema(text)
    if framing.json:
        return decode_avro_json(schema, data[framing.start :])
    try:
        return decode_avro(schema, data, framing.start)
    except UnreadableInput as fault:
        hint = "; if the id is Apicurio's, set --format-value" if framing.likely else ""
        raise UnreadableInput(f"{fault.message}{hint}") from None


@lru_cache(maxsize=4096)
def _cache_reader_schema(text: str) -> str:
    return reduce_schema(text)
