"""The bytes of a key or a value, read: JSON with or without its Connect schema, or framed Avro."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from schemaman.debezium.cloud_event import SPECVERSION, read_cloud_event, wrap_schema
from schemaman.debezium.converters.avro import decode_body, decode_json, reduce_schema, to_connect
from schemaman.debezium.observation import UNKNOWN_SCHEMA
from schemaman.debezium.raw_record import parse_json, prove_schema, read_tail_after
from schemaman.debezium.wire_format import Framing, SchemaId, read_framing
from schemaman.errors import UnreadableInput

SchemaLookup = Callable[[SchemaId], str | None]
"""Registry id → Avro schema text, None for an id that the registry does not know."""

Node = Mapping[str, Any]

_ADDED = re.compile(r"__(?:source_)?(?:version|connector|name|db|schema|table|collection)")
"""Fields of a flattened row that tell whose it is. Source: ExtractNewRecordState `add.fields`."""
_IDENTITY = ("version", "connector", "name", "db", "schema", "table", "collection")


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


def read_body(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """The body that some bytes hold; `framing` is how Avro is framed, where more than its bytes tell it.

    Source: Kafka JsonConverter (an object of `schema` and `payload`), Confluent's wire format
    (a zero byte, four bytes of schema id, the Avro body).

    Raises:
        UnreadableInput: the bytes are neither, or the registry does not know their schema.
    """
    framing = framing or read_framing(data, (), "value")
    if framing is not None:
        text = _require_registered_schema(schemas, framing)
        return Body(decode_avro(text, data, framing), to_connect(text))
    body = _unwrap_cloud_event(data, schemas) if SPECVERSION in data else None
    body = body or _read_json(data)
    if rb"\ud" in data.lower():
        _check_text(_select_history_values(body))
    return body


def _unwrap_cloud_event(data: bytes, schemas: SchemaLookup) -> Body | None:
    """The change event in a CloudEvent; None if the bytes hold none."""
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


def read_key(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """The body of a key: as `read`, but of a framed one nothing more than its schema.

    The values of a key say nothing, and the key of one record is read for all records of a run.

    Raises:
        UnreadableInput: the bytes are no key, or the registry does not know their schema.
    """
    framing = framing or read_framing(data, (), "key")
    if framing is not None:
        return Body({}, to_connect(_require_registered_schema(schemas, framing)))
    body = _read_json(data)
    _check_text(body.schema if body.schema is not None else tuple(body.fields))
    return body


def read_event(data: bytes, schemas: SchemaLookup, framing: Framing | None = None) -> Body:
    """The body of a value: as `read`, but a damaged row hides nothing, as its schema stands before it.

    Of such an event there are the members from the source block on.

    Raises:
        UnreadableInput: as `read`.
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
    """What the history keeps; of a row what all records of a run share, so that one speaks for all."""
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
    """Half a surrogate pair may stand in a row, but in nothing that the history keeps."""
    try:
        json.dumps(kept, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UnreadableInput("a name or text with half a surrogate pair, which is no Unicode") from None


def _require_registered_schema(schemas: SchemaLookup, framing: Framing) -> str:
    text = schemas(framing.schema)
    if text is None:
        raise UnreadableInput(f"{UNKNOWN_SCHEMA} {framing.schema}")
    return text


def decode_avro(text: str, data: bytes, framing: Framing) -> Any:
    """The value of a framed body under the schema of that text. Raises UnreadableInput if it does not fit."""
    schema = _cache_reader_schema(text)
    if framing.json:
        return decode_json(schema, data[framing.start :])
    try:
        return decode_body(schema, data, framing.start)
    except UnreadableInput as fault:
        hint = "; if the id is Apicurio's, say --format-value" if framing.likely else ""
        raise UnreadableInput(f"{fault.message}{hint}") from None


@lru_cache(maxsize=4096)
def _cache_reader_schema(text: str) -> str:
    return reduce_schema(text)
