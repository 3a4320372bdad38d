"""The content that a request registers: the text that identifies it, its fingerprint and its guid.

Avro is parsed and written as Avro's Java implementation writes it. JSON Schema and Protobuf are kept as they
are sent; two JSON texts with the same compact form are one content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from schemaman.compat.avro.schema import PRIMITIVES, AvroSchema, InvalidAvroSchema, parse_schema
from schemaman.compat.avro.schema_text import format_json, format_schema, normalize_schema
from schemaman.errors import SchemamanError
from schemaman.store.subject_hashes import compute_fingerprint as compute_fingerprint
from schemaman.store.subject_hashes import compute_guid as compute_guid
from schemaman.store.subjects import SchemaContent
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import SchemaRequest

SCHEMA_TYPES = ("AVRO", "JSON", "PROTOBUF")

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_CACHED = 4_096
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def make_content(
    request: SchemaRequest, referenced: Sequence[str], *, normalize: bool = False, is_strict: bool = True
) -> SchemaContent:
    """Make the content of a request whose text is there.

    Args:
        request: the text, its type and what belongs to it.
        referenced: the Avro texts that it refers to, those with fewer references first.
        normalize: whether equal meanings get one text.
        is_strict: whether names outside of ASCII are refused, as for new schemas.

    Raises:
        RefusedRequest: 42201 for a text or a type that is none.
    """
    sent = request.text or ""
    kind = request.type.upper()
    if _UNSTORABLE.search(sent):
        raise RefusedRequest(42201, "Invalid schema: the text has a character that UTF-8 cannot hold")
    match kind:
        case "AVRO":
            text, bad_name = _write_avro(sent, tuple(referenced), normalize)
            if is_strict and bad_name is not None:
                raise RefusedRequest(42201, f"Invalid schema: {bad_name!r} is no name for Avro")
        case "JSON":
            text = _compact_json(sent, is_sorted=normalize)
        case "PROTOBUF":
            text = sent.strip()
            if not text:
                raise RefusedRequest(42201, "Invalid schema: the text is empty")
        case _:
            raise RefusedRequest(
                42201, f"Invalid schema type {kind[:40]}. There are: {', '.join(SCHEMA_TYPES)}"
            )
    return SchemaContent(kind, text, request.references, request.metadata, request.rule_set, sent)


def read_avro(text: str, referenced: Sequence[str] = ()) -> AvroSchema:
    """Parse an Avro text; the name of a primitive may lack its quotes. Raises `RefusedRequest` with 42201."""
    quoted = json.dumps(text.strip()) if text.strip() in PRIMITIVES else text
    try:
        return parse_schema(quoted, tuple(referenced))
    except (InvalidAvroSchema, ValueError) as error:
        words = error.message if isinstance(error, SchemamanError) else str(error)
        raise RefusedRequest(42201, f"Invalid schema: {words}") from error


@lru_cache(_CACHED)
def _write_avro(sent: str, referenced: tuple[str, ...], normalize: bool) -> tuple[str, str | None]:
    """The text of a schema, and the first name that the specification does not allow."""
    schema = read_avro(sent, referenced)
    hidden = read_avro(referenced[-1], referenced[:-1]).types if referenced else ()
    text = normalize_schema(schema, hidden) if normalize else format_schema(schema, hidden)
    return text, _find_bad_name(schema)


def restore_content(request: SchemaRequest, referenced: Sequence[str]) -> SchemaContent:
    """Make the content of an imported request; its guid tells which form of the text identifies it.

    A text that no parser of today takes is kept as it was sent.
    """
    text = request.text or ""
    kept = SchemaContent(
        request.type.upper(), text, request.references, request.metadata, request.rule_set, text
    )
    if request.guid and compute_guid(kept) == request.guid:
        return kept
    try:
        usual = make_content(request, referenced, is_strict=False)
        if not request.guid or compute_guid(usual) == request.guid:
            return usual
        normal = make_content(request, referenced, normalize=True, is_strict=False)
    except RefusedRequest:
        return kept
    return normal if compute_guid(normal) == request.guid else usual


def find_served_text(content: SchemaContent) -> str:
    """The text that clients get: Avro's in Java's form, any other as it was sent."""
    return content.text if content.type == "AVRO" else content.sent


def resolve_text(content: SchemaContent, referenced: Sequence[str]) -> str:
    """The Avro text with the definitions of all types that it refers to."""
    return format_schema(read_avro(content.text, referenced))


def _compact_json(text: str, *, is_sorted: bool) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedRequest(42201, f"Invalid schema: the text is no JSON: {error}") from error
    if not isinstance(value, dict | bool):
        raise RefusedRequest(42201, "Invalid schema: a JSON Schema is an object, true or false")
    try:
        return format_json(value, is_sorted=is_sorted)
    except RecursionError as error:
        raise RefusedRequest(42201, "Invalid schema: the text is nested too deeply") from error


def _find_bad_name(schema: AvroSchema) -> str | None:
    """Find a name with letters outside of ASCII, which Java reads, and the specification does not allow."""
    names: list[str] = []
    for node in schema.types.values():
        names += node.name.split(".")
        names += [field.name for field in getattr(node, "fields", ())]
        names += getattr(node, "symbols", ())
    return next((name for name in names if not _NAME.fullmatch(name)), None)
