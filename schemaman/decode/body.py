"""The bytes of a key or a value, read: JSON with or without its Connect schema, or framed Avro."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.decode.wire import parse, schema_id
from schemaman.errors import UnreadableInput
from schemaman.evidence import UNKNOWN_SCHEMA
from schemaman.languages.avro import decode_body, reader_schema, to_connect

SchemaLookup = Callable[[int], str | None]
"""Registry id → Avro schema text, None for an id that the registry does not know."""

Node = Mapping[str, Any]

HEADER = 5
"""Bytes before an Avro body: magic byte and schema id."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a key or a value says; `schema` is its Connect node, None where none came with it."""

    payload: Any
    schema: Node | None = None

    @property
    def fields(self) -> frozenset[str]:
        """The names of the members at the top, as the schema tells them, else the payload."""
        if self.schema is not None:
            fields = self.schema.get("fields")
            names = (
                (f.get("field") for f in fields if isinstance(f, dict)) if isinstance(fields, list) else ()
            )
            return frozenset(n for n in names if isinstance(n, str))
        return frozenset(self.payload) if isinstance(self.payload, dict) else frozenset()

    @property
    def name(self) -> str:
        """The name of the Connect schema, empty where it has none."""
        return str((self.schema or {}).get("name") or "")


def read(data: bytes, schemas: SchemaLookup) -> Body:
    """The body that some bytes hold.

    Source: Kafka JsonConverter (an object of `schema` and `payload`), Confluent's wire format
    (a zero byte, four bytes of schema id, the Avro body).

    Raises:
        UnreadableInput: the bytes are neither, or the registry does not know their schema.
    """
    if data[:1] == b"\0":
        return _framed(data, schemas)
    try:
        document = parse(data)
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
    body = Body(document)
    if isinstance(document, dict) and set(document) == {"schema", "payload"}:
        schema = document["schema"]
        if schema is None or (isinstance(schema, dict) and isinstance(schema.get("type"), str)):
            body = Body(document["payload"], schema)
    if rb"\ud" in data.lower():
        _check_text(body)
    return body


def _check_text(body: Body) -> None:
    """Half a surrogate pair may stand in a row, but in nothing that the history keeps."""
    kept = body.payload
    if isinstance(kept, dict):
        kept = {name: value for name, value in kept.items() if name not in ("before", "after")}
    try:
        json.dumps([body.schema, kept], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UnreadableInput("a name or text with half a surrogate pair, which is no Unicode") from None


def _framed(data: bytes, schemas: SchemaLookup) -> Body:
    id = schema_id(data)
    if id is None:
        raise UnreadableInput(f"framed as Avro, but only {len(data)} bytes long")
    text = schemas(id)
    if text is None:
        raise UnreadableInput(f"{UNKNOWN_SCHEMA} {id}")
    return Body(decode_body(reader_schema(text), data, HEADER), to_connect(text))
