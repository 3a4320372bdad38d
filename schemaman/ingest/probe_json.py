"""What a parsed record proves: schema and payload, the bytes that stand for a shape, what a row shows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from schemaman.debezium.document import (
    is_document_schema,
    row_of,
    shown_by_document,
    shown_by_row,
    shown_by_struct,
)
from schemaman.debezium.extract_schema import BLOCK
from schemaman.debezium.flattened_fields import Headers, flattened_row
from schemaman.debezium.inference import Shown
from schemaman.debezium.raw_record import Facts, JsonObject, Reading, facts, parse
from schemaman.debezium.records import NOWHERE, Position, Rank


def shown_of(
    payload: object, schema: Mapping[str, object] | None, told: Facts, *, events: bool
) -> frozenset[Shown] | None:
    """What a document shows, in a change event or flattened; None for a row that its schema tells."""
    if not isinstance(payload, dict):
        return None
    if told.document:
        return shown_by_struct({n: v for n, v in payload.items() if n not in told.added}, schema)
    return shown_by_document(payload) if events and not told.bare else None


def shown_without_schema(
    payload: object, headers: Headers, prefix: str
) -> tuple[JsonObject | None, frozenset[Shown] | None]:
    """The row of a payload without a schema, if it has one, and what that or the document shows."""
    if not isinstance(payload, dict):
        return None, None
    source = payload.get("source")
    if isinstance(source, dict) and source.get("connector") == "mongodb":
        return None, shown_by_document(payload)
    row = flattened_row(payload, headers, prefix) if facts(payload, "").bare else row_of(payload)
    return row, None if row is None else shown_by_row(row)


def parts(document: object) -> tuple[JsonObject | None, object]:
    """Schema and payload of a JSON document; all of it is payload where no schema comes with it."""
    if isinstance(document, dict) and "schema" in document and "payload" in document:
        schema = document["schema"]
        if schema is None or (isinstance(schema, dict) and "type" in schema):
            return schema, document["payload"]
    return None, document


def members(payload: object) -> bytes:
    """What is the same among payloads that nothing but their names tells apart."""
    if isinstance(payload, dict):
        return b"no schema" + compact(sorted(payload))
    return b"no schema" if payload is None else b"no schema, bare"


def told_beside(payload: object) -> bytes:
    """What a payload without a schema tells of its columns, as bytes; none where it tells nothing."""
    block = payload.get(BLOCK) if isinstance(payload, dict) else None
    return b"" if block is None else compact(block)


def compact(document: object) -> bytes:
    """A schema as bytes that are the same for the same schema."""
    return json.dumps(document, separators=(",", ":")).encode()


def avro_name(text: str) -> tuple[str, bool]:
    """The full name of a registered record, and whether it is one of documents."""
    schema = json_object(text)
    name, space = str(schema.get("name") or ""), schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name, is_document_schema(schema)


def json_object(text: str) -> JsonObject:
    """The object that a registered schema is; an empty one for a schema that is none."""
    schema = parse(text.encode())
    return schema if isinstance(schema, dict) else {}


_BEYOND = 10**19
"""Connectors tell their places in 64 bits. A damaged record beyond would stand behind all others for ever.
Numbers of equal length are on one side of it, so that outlines, which compare lengths, agree."""


def place_of(reading: Reading, told: Facts) -> tuple[Position, Rank]:
    """The place that a record tells, and what orders it.

    Raises:
        ValueError: no log has such a place.
    """
    place = reading.position_of(told.connector, told.source) if told.source else NOWHERE
    try:
        rank = place.rank
        f"{place.value}{place.commit}".encode()
        if not any(isinstance(part, int) and part >= _BEYOND for part in rank):
            return place, rank
    except ValueError:  # half a surrogate pair, too
        pass
    raise ValueError(f"a position that cannot be read: {place.kind} {place.value[:40]!r}")
