"""Reads a parsed record: schema and payload, the bytes that identify a shape, and the fields of a row."""

from __future__ import annotations

import json
from collections.abc import Mapping

from schemaman.debezium.connector import find_connector
from schemaman.debezium.converters.registered import is_json, to_connect
from schemaman.debezium.document import (
    collect_document_kinds,
    collect_row_kinds,
    collect_struct_kinds,
    find_row,
    is_document_schema,
)
from schemaman.debezium.extract_schema import BLOCK
from schemaman.debezium.inference import FieldKind
from schemaman.debezium.raw_record import DecodeContext, JsonObject, RecordFacts, parse_json, read_facts
from schemaman.debezium.records import NO_POSITION, Position, Rank


def list_shown_fields(
    payload: object, schema: Mapping[str, object] | None, facts: RecordFacts, *, events: bool
) -> frozenset[FieldKind] | None:
    """Lists the fields of a document in a change event or flattened; None if the schema has the structure."""
    if not isinstance(payload, dict):
        return None
    if facts.document:
        return collect_struct_kinds({n: v for n, v in payload.items() if n not in facts.added}, schema)
    return collect_document_kinds(payload) if events and not facts.bare else None


def list_fields_without_schema(
    payload: object, facts: RecordFacts
) -> tuple[JsonObject | None, frozenset[FieldKind] | None]:
    """Returns the row of a payload without a schema, if it has one, and the fields of row or document."""
    if not isinstance(payload, dict):
        return None, None
    source = payload.get("source")
    if isinstance(source, dict) and find_connector(source.get("connector")).is_document_store:
        return None, collect_document_kinds(payload)
    if facts.bare:
        return None, None
    is_flat = read_facts(payload, "").bare
    row = {n: v for n, v in payload.items() if n not in facts.added} if is_flat else find_row(payload)
    return row, None if row is None else collect_row_kinds(row)


def split_schema(document: object) -> tuple[JsonObject | None, object]:
    """Split a JSON document into schema and payload; without a schema, all of it is payload."""
    if isinstance(document, dict) and "schema" in document and "payload" in document:
        schema = document["schema"]
        if schema is None or (isinstance(schema, dict) and "type" in schema):
            return schema, document["payload"]
    return None, document


def encode_names(payload: object) -> bytes:
    """Encodes the field names of a payload without a schema."""
    if isinstance(payload, dict):
        return b"no schema" + encode_json(sorted(payload))
    return b"no schema" if payload is None else b"no schema, bare"


def encode_schema_block(payload: object) -> bytes:
    """Encodes the block of column facts in a payload without a schema; empty if there is none."""
    block = payload.get(BLOCK) if isinstance(payload, dict) else None
    return b"" if block is None else encode_json(block)


def encode_json(document: object) -> bytes:
    """A schema as bytes that are the same for the same schema."""
    return json.dumps(document, separators=(",", ":")).encode()


def read_registered_name(text: str) -> tuple[str, bool]:
    """The full name of a registered record, and whether it is one of documents."""
    schema = read_registered(text)
    name, space = str(schema.get("name") or ""), schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name, is_document_schema(schema)


def read_registered(text: str) -> JsonObject:
    """The object that a registered schema is, of Avro or of Connect; an empty one if it is none."""
    if is_json(text):
        return to_connect(text)
    schema = parse_json(text.encode())
    return schema if isinstance(schema, dict) else {}


_POSITION_LIMIT = 10**19
"""The upper limit of position numbers: connectors use 64 bits. A damaged record with a greater number would
stay after all others for ever. The limit is a power of ten, to agree with outlines, which compare lengths."""


def read_position(reading: DecodeContext, facts: RecordFacts) -> tuple[Position, Rank]:
    """Reads the source position of a record, and its rank in the order of positions.

    Raises:
        ValueError: no log has such a position.
    """
    position = reading.position_of(facts.connector, facts.source) if facts.source else NO_POSITION
    try:
        rank = position.rank
        f"{position.value}{position.commit}".encode()
        if not any(isinstance(part, int) and part >= _POSITION_LIMIT for part in rank):
            return position, rank
    except ValueError:  # half a surrogate pair, too
        pass
    raise ValueError(f"a position that cannot be read: {position.kind} {position.value[:40]!r}")
