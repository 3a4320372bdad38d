"""Bodies of records: if the bytes prove an equal schema, it is parsed once, and then only the payloads.

Source: Kafka Connect JsonConverter (`{"schema":…,"payload":…}`), the framings of `decode.framing`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from schemaman.debezium.cloud_event import SPECVERSION
from schemaman.debezium.converters.connect import DECIMAL, Node
from schemaman.debezium.converters.registered import decode_body, is_json, to_connect
from schemaman.debezium.observation import UNKNOWN_SCHEMA
from schemaman.debezium.payload import SchemaLookup, read_body, unwrap_reference
from schemaman.debezium.raw_record import prove_schema
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import AUTO, Forms, SchemaId, Side, read_framing
from schemaman.errors import UnreadableInput
from schemaman.sink.values.from_connect import CellEncoding

_MAX_FORMS = 64
"""The number of JSON forms that are kept for a topic and a side; the least recently used one is dropped."""


@dataclass(eq=False, slots=True)
class BodySchema:
    """The common parts of all bodies of one schema; `decoders` are those made for them.

    `schema` is None for JSON without a schema. `has_decimals`: the bodies have decimal numbers, which may be
    JSON numbers.
    """

    schema: Node | None
    encoding: CellEncoding
    prefix: bytes = b""
    has_decimals: bool = False
    decoders: dict[object, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the schema, empty if it has none."""
        return str((self.schema or {}).get("name") or "")


class BodyReader:
    """Reads keys and values; one reader for each process, since it keeps the forms."""

    def __init__(self, schemas: SchemaLookup, forms: Forms = AUTO) -> None:
        self._schemas = schemas
        self._framings = forms
        self._json: dict[tuple[str, Side], list[BodySchema]] = {}
        self._registered: dict[SchemaId, tuple[str, BodySchema]] = {}
        self._other_schemas: dict[str, BodySchema] = {}
        self._schemaless = BodySchema(None, "json", has_decimals=True)

    def read(self, record: Record, data: bytes, side: Side) -> tuple[Any, BodySchema]:
        """Read the payload and the form of a key or a value.

        Raises:
            UnreadableInput: the bytes are damaged, or the registry does not know their schema.
        """
        framing = read_framing(data, record.headers, side, self._framings.get_form(side))
        if framing is not None:
            text, form = self._find_registered(framing.schema)
            if is_json(text):
                return _parse_whole(data[framing.start :], exact=form.has_decimals), form
            return decode_body(text, data, framing), form
        if data[:1] == b"{":
            found = self._read_by_prefix(record.topic, side, data)
            if found is not None:
                return found
        if SPECVERSION not in data:
            payload, form = self._read_whole(data)
            return (unwrap_reference(payload) if side == "key" and form.schema is None else payload), form
        body = read_body(data, self._schemas, framing)
        written: CellEncoding = "avro" if body.schema is not None and _is_framed(data) else "json"
        return body.payload, self._find_schema(body.schema, written)

    def _find_registered(self, id: SchemaId) -> tuple[str, BodySchema]:
        known = self._registered.get(id)
        if known is None:
            text = self._schemas(id)
            if text is None:
                raise UnreadableInput(f"{UNKNOWN_SCHEMA} {id}")
            node = to_connect(text)
            written: CellEncoding = "json" if is_json(text) else "avro"
            known = (text, BodySchema(node, written, has_decimals=is_json(text) and _has_decimals(node)))
            self._registered[id] = known
        return known

    def _read_by_prefix(self, topic: str, side: Side, data: bytes) -> tuple[Any, BodySchema] | None:
        """Read the payload after known leading bytes; None if the record has no known form."""
        forms = self._json.setdefault((topic, side), [])
        form = next((f for f in forms if data.startswith(f.prefix)), None)
        if form is None:
            proven = prove_schema(data)
            if proven is None:
                return None
            form = BodySchema(proven[1], "json", proven[0], _has_decimals(proven[1]))
            forms.append(form)
        if form is not forms[0]:
            forms.remove(form)
            forms.insert(0, form)
            del forms[_MAX_FORMS:]
        end = len(data.rstrip()) - 1
        if data[end : end + 1] != b"}":
            return None
        try:
            return _parse_json(data[len(form.prefix) : end], form.has_decimals), form
        except (ValueError, ArithmeticError):
            return None  # damaged, or members follow the payload: reading it as a whole gives the reason

    def _read_whole(self, data: bytes) -> tuple[Any, BodySchema]:
        document = _parse_whole(data, exact=True)
        if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
            schema = document["schema"]
            if schema is None:
                return document["payload"], self._schemaless
            if isinstance(schema, dict) and isinstance(schema.get("type"), str):
                return document["payload"], self._find_schema(schema, "json")
        return document, self._schemaless

    def _find_schema(self, schema: Node | None, written: CellEncoding) -> BodySchema:
        if schema is None:
            return self._schemaless
        text = json.dumps([written, schema], sort_keys=True, default=str)
        return self._other_schemas.setdefault(text, BodySchema(schema, written, has_decimals=True))


def _parse_whole(data: bytes, exact: bool) -> Any:
    """Parse JSON as `_parse_json` does.

    Raises:
        UnreadableInput: the bytes are no JSON; the message says what is wrong and where.
    """
    try:
        return _parse_json(data, exact)
    except UnicodeDecodeError as error:
        raise UnreadableInput(f"not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")  # some messages already end in "at"
        raise UnreadableInput(f"not JSON: {what} at character {error.pos}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise UnreadableInput("not JSON that can be read: a number or the nesting is too large") from None


def _parse_json(data: bytes, exact: bool) -> Any:
    """Parse JSON; with `exact`, numbers with a point become decimals, which keep all digits."""
    return _parse_exactly(data.decode()) if exact else json.loads(data.decode())


_parse_exactly = json.JSONDecoder(parse_float=Decimal).decode


def _has_decimals(schema: object) -> bool:
    if isinstance(schema, dict):
        return schema.get("name") == DECIMAL or any(map(_has_decimals, schema.values()))
    return isinstance(schema, list) and any(map(_has_decimals, schema))


def _is_framed(data: bytes) -> bool:
    """Whether the data of a CloudEvent is framed Avro in base64."""
    try:
        return isinstance(json.loads(data).get("data"), str)
    except (ValueError, AttributeError):
        return False
