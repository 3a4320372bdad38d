"""Readers of the bytes of a key or a value: JSON with or without its Connect schema, or framed bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.debezium.cloud_event import SPECVERSION, read_cloud_event, wrap_schema
from schemaman.debezium.converters.registered import decode_body, to_connect
from schemaman.debezium.observation import UNKNOWN_SCHEMA
from schemaman.debezium.raw_record import parse_json, prove_schema, read_tail_after
from schemaman.debezium.wire_format import Framing, SchemaId, read_framing
from schemaman.errors import UnreadableInput

SchemaLookup = Callable[[SchemaId], str | None]
"""A function: registry id → schema text, None for an id that the registry does not know.

The text is Avro's, or that of another language behind its name (`converters.registered`)."""

Node = Mapping[str, Any]

_ADDED = re.compile(r"__(?:source_)?(?:version|connector|name|db|schema|table|collection)")
"""Added fields of a flattened row that identify its table. Source: ExtractNewRecordState `add.fields`."""
_REFERENCE = {"schemaId", "payload"}
_IDENTITY = ("version", "connector", "name", "db", "schema", "table", "collection")


@dataclass(frozen=True, slots=True)
class Body:
    """The payload of a key or a value; `schema` is its Connect schema, None without a schema."""

    payload: Any
    schema: Node | None = None

    @property
    def fields(self) -> frozenset[str]:
        """The names of the top-level fields: those of the schema, else those of the payload."""
        if self.schema is not None:
            fields = self.schema.get("fields")
            names = (
                (f.get("field") for f in fields if isinstance(f, dict)) if isinstance(fields, list) else ()
            )
            return frozenset(n for n in names if isinstance(n, str))
        return frozenset(self.payload) if isinstance(self.payload, dict) else frozenset()

    @property
    def name(self) -> str:
        """The name of the Connect schema; empty if it has none."""
        return str((self.schema or {}).get("name") or "")


def read_body(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """Read the bytes of a key or a value; the caller passes `framing` if headers or settings define it.

    Source: Kafka JsonConverter (an object of `schema` and `payload`), Confluent's wire format
    (a zero byte, four bytes of schema id, the body in Avro or, by its schema, in JSON).

    Raises:
        UnreadableInput: the bytes have neither form, or the registry does not know their schema.
    """
    framing = framing or read_framing(data, (), "value")
    if framing is not None:
        text = _require_registered_schema(schemas, framing)
        return Body(decode_body(text, data, framing), to_connect(text))
    body = _unwrap_cloud_event(data, schemas) if SPECVERSION in data else None
    body = body or _read_json(data)
    if rb"\ud" in data.lower():
        _check_text(_select_history_values(body))
    return body


def _unwrap_cloud_event(data: bytes, schemas: SchemaLookup) -> Body | None:
    """Read the change event in a CloudEvent; None for any other bytes."""
    try:
        event = read_cloud_event(parse_json(data))
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
    if event is None:
        return None
    if event.data is None:
        return Body(
            event.build_payload(event.row), None if event.schema is None else wrap_schema(event.schema)
        )
    inner = read_body(event.data, schemas)
    return Body(
        event.build_payload(inner.payload), None if inner.schema is None else wrap_schema(inner.schema)
    )


def _read_json(data: bytes) -> Body:
    try:
        document = parse_json(data)
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
    if isinstance(document, dict) and set(document) == {"schema", "payload"}:
        schema = document["schema"]
        if schema is None or (isinstance(schema, dict) and isinstance(schema.get("type"), str)):
            return Body(document["payload"], schema)
    return Body(document)


def unwrap_reference(payload: object) -> object:
    """Return the payload beside the number of its schema in a registry; any other payload as it is.

    Source: Apicurio ExtJsonConverter, PrettyFormatStrategy.
    """
    inner = payload.get("payload") if isinstance(payload, dict) and payload.keys() == _REFERENCE else None
    return payload if inner is None else inner


def read_key(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """Read the bytes of a key as `read_body` does, but read only the schema of a framed or a damaged key.

    The values of a key are not needed, since the key of one record is read for all records of a run.

    Raises:
        UnreadableInput: the bytes are no key, or the registry does not know their schema.
    """
    framing = framing or read_framing(data, (), "key")
    if framing is not None:
        return Body({}, to_connect(_require_registered_schema(schemas, framing)))
    try:
        body = _read_json(data)
    except UnreadableInput:
        proven = prove_schema(data)
        if proven is None:
            raise
        body = Body({}, proven[1])
    if body.schema is None:
        body = Body(unwrap_reference(body.payload))
    _check_text(body.schema if body.schema is not None else tuple(body.fields))
    return body


def read_event(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """Read the bytes of a value as `read_body` does, and read the schema of an event whose row is damaged.

    The schema precedes the row. The payload of such an event has the members from the source block on.

    Raises:
        UnreadableInput: as `read_body`.
    """
    try:
        return read_body(data, schemas, framing)
    except UnreadableInput:
        proven = prove_schema(data) if framing is None else None
        found = None if proven is None else read_tail_after(data, len(proven[0]))
        if proven is None or found is None:
            raise
        body = Body(found[1], proven[1])
        _check_text(_select_history_values(body))
        return body


def _select_history_values(body: Body) -> object:
    """Select the values that the history keeps; of a row only values that all records of a run share."""
    payload = body.payload
    if not isinstance(payload, dict):
        return payload, body.schema
    source = payload.get("source")
    if "op" in payload and isinstance(source, dict):
        return [source.get(name) for name in _IDENTITY], body.schema
    if isinstance(source, dict):
        return payload, body.schema
    return [*payload, *(payload[name] for name in payload if _ADDED.fullmatch(name))], body.schema


def _check_text(kept: object) -> None:
    """Require valid Unicode in the values that the history keeps; the row itself is not checked."""
    try:
        json.dumps(kept, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UnreadableInput("a name or text with half a surrogate pair, which is no Unicode") from None


def _require_registered_schema(schemas: SchemaLookup, framing: Framing) -> str:
    text = schemas(framing.schema)
    if text is None:
        raise UnreadableInput(f"{UNKNOWN_SCHEMA} {framing.schema}")
    return text
