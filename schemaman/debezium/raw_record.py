"""Facts of a record before it is decoded: framing, proof of its schema, facts of its source block.

Law: the facts follow from the bytes of the record alone, however much of it was parsed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from schemaman.debezium.records import Order, Position, Record
from schemaman.debezium.wire_format import AUTO, Forms, Framing, SchemaId
from schemaman.plugins import defer

if TYPE_CHECKING:  # a command that reads no record parses none
    from schemaman.debezium.quick_parser import parse_quickly
else:
    parse_quickly = defer("schemaman.debezium.quick_parser:parse_quickly")

JsonObject = dict[str, object]
TOMBSTONE = "tombstone"
"""The table name of records without a value; such a record belongs to no run of a table."""

OUTBOX = "outbox"
"""The table name of records that an outbox published: messages of an application, in its own form."""

_OUTBOX_TOPIC = "outbox.event."

SOURCE, SPACED_SOURCE = b'"source":{', b'"source": {'
_ENVELOPE_KEYS = frozenset({"connector", "op", "ddl", "tableChanges"})
"""Keys in a source block or beside it, of which an envelope has one; a column may be named `source`, too."""
_HEAD = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*(?=\{)')
_MIDDLE = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload"[ \t\n\r]*:')
_END = re.compile(r"[ \t\n\r]*\}[ \t\n\r]*\Z")
_SPACE = re.compile(r"[ \t\n\r]*")
_TIME = re.compile(r"[0-9]{1,15}")
_LATEST = 253_402_300_799_999
"""The end of the year 9999 in epoch milliseconds; a larger number in a damaged record is no time."""

_parse_at = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """The functions that the scanner calls, since it knows no connector and no registry.

    `position_of(connector, source)` reads the position in a source block. `order_of(connector)` lists the
    fields that alone make up the position, most significant first. If their texts have equal lengths and do
    not decrease, the position does not decrease; empty if a connector gives no such guarantee.

    `schemas(id)` returns the text of a registered Avro schema, None for an unknown id. `decode_body(text,
    data, framing)` decodes framed bytes, and raises ValueError or UnreadableInput if they do not fit. `forms`
    are the configured forms.
    """

    position_of: Callable[[str, Mapping[str, object]], Position]
    schemas: Callable[[SchemaId], str | None]
    decode_body: Callable[[str, bytes, Framing], object]
    order_of: Callable[[str], Order] = field(default=lambda connector: ())
    forms: Forms = AUTO


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """The facts that a record states of itself.

    `table` is (server, database, schema, table) from a source block or from the fields of a flattened row,
    else the schema's name; the shard that wrote the record follows, if it is named. It is empty if the record
    forms a run by itself, as a schema change does. `proof` are the facts that separate runs besides the
    schema: version, connector, snapshot or streaming, kind of operation.

    `ts_ms` is the source's time, `read_ms` the connector's. `bare`: an object without an envelope, which may
    be a row. `document`: a flattened document, whose schema proves nothing of other documents; `added` are
    its fields that flattening added.
    """

    table: tuple[str, ...]
    proof: tuple[str, ...] = ()
    connector: str = ""
    source: Mapping[str, object] = field(default_factory=dict)
    ts_ms: int | None = None
    read_ms: int | None = None
    bare: bool = False
    document: bool = False
    added: tuple[str, ...] = ()


def is_outbox(record: Record) -> bool:
    """Return whether an outbox published a record, by the usual topic and the header that it always has.

    Source: Debezium EventRouter: `route.topic.replacement` is `outbox.event.${routedByValue}`, header `id`.
    """
    return record.topic.startswith(_OUTBOX_TOPIC) and any(name == "id" for name, _ in record.headers)


def parse_json(data: bytes) -> object:
    """Parse JSON in UTF-8.

    Raises:
        ValueError: the bytes are no JSON; the message says what is wrong and where.
    """
    try:
        return parse_quickly(data)
    except ValueError:
        pass  # `json` reads more, and says what is wrong
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        # some of these messages end in "at"
        raise ValueError(f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except ValueError:
        raise ValueError(f"a number has more digits than are read: {sys.get_int_max_str_digits()}") from None
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def prove_schema(data: bytes) -> tuple[bytes, JsonObject] | None:
    """Return the leading bytes up to `"payload":` and the schema in them; None for bytes of another form.

    No JSON object is a prefix of another one. So every record that begins with these bytes has this schema.
    Source: Kafka Connect JsonConverter, `{"schema":…,"payload":…}`.
    """
    try:
        text = data.decode(errors="surrogateescape")  # damage behind the schema does not matter
        head = _HEAD.match(text)
        if head is None:
            return None
        schema, end = _parse_at(text, head.end())
        middle = _MIDDLE.match(text, end)
        return None if middle is None else (text[: middle.end()].encode(), schema)
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=64)
def parse_schema(prefix: bytes) -> JsonObject:
    """Parse the schema in the leading bytes that `prove_schema` returned; it must not be changed.

    It takes ten times the memory of its bytes, so few are kept.
    """
    text = prefix.decode()
    head = _HEAD.match(text)
    if head is None:
        raise AssertionError("these bytes are no prefix of a record with a schema")
    schema: JsonObject = _parse_at(text, head.end())[0]
    return schema


def read_payload_after(data: bytes, size: int) -> tuple[object] | None:
    """Parse the payload behind a prefix of `size` bytes; None if the record does not end behind it."""
    if data.endswith(b"}"):
        try:
            return (parse_quickly(data[size:-1]),)
        except ValueError:
            pass  # as in `parse_json`
    try:
        text = data[size:].decode()
        payload, end = _parse_at(text, _skip_space(text))
    except (ValueError, RecursionError):
        return None
    return (payload,) if _END.match(text, end) else None


def find_source(data: bytes, start: int) -> int:
    """Find the last source block behind an index, as JsonConverter writes it or with a space; -1 for none."""
    at = data.rfind(SOURCE, start)
    return at if at >= 0 else data.rfind(SPACED_SOURCE, start)


def read_tail_after(data: bytes, size: int) -> tuple[int, JsonObject] | None:
    """Find the last source block of a payload: its offset, and the members of the payload from there on.

    The bytes from the source block on must be complete: the block, the rest of the envelope, two closing
    braces. Return None for any other record. The bytes before the block are not parsed.
    """
    at = find_source(data, size)
    if at < 0 or not data.endswith(b"}}"):
        return None
    try:
        tail = parse_json(b"{" + data[at:-1])
    except ValueError:
        return None
    if not isinstance(tail, dict) or "ts_ms" not in tail:
        return None
    op = tail.get("op")
    return (at, tail) if isinstance(op, str) and op != "m" else None


def read_facts(payload: object, schema_name: str) -> RecordFacts:
    """Read the facts of a payload, which are the same in every serialisation.

    Source: Debezium Envelope (`op` r, c, u, d, t; m is a logical message without a table),
    ConnectTableChangeSerializer (`ddl`, `tableChanges`), AbstractSourceInfoStructMaker; MongoDB has
    `collection` for the table.
    """
    if payload is None:
        return RecordFacts((TOMBSTONE,))
    if not isinstance(payload, dict):
        return RecordFacts(())
    source, op = payload.get("source"), payload.get("op")
    if not isinstance(source, dict) or not (source.keys() | payload.keys()) & _ENVELOPE_KEYS:
        return RecordFacts((schema_name,), bare=True)
    connector, version = _format_value(source.get("connector")), _format_value(source.get("version"))
    read = is_snapshot_read(source)
    table: tuple[str, ...] = (schema_name,)
    if isinstance(op, str) and op != "m":
        name = source.get("table") if "table" in source else source.get("collection")
        database = _format_value(source.get("db")) or _format_value(source.get("keyspace"))
        table = (
            _format_value(source.get("name")),
            database,
            _format_value(source.get("schema")),
            _format_value(name),
            *read_writer(source),
        )
    elif op is None and ("ddl" in payload or "tableChanges" in payload):
        table = ()
    proof = (version, connector, "read" if read else "streamed", _classify_op(op))
    # MySQL's connector up to 1.4 writes 0 for an unknown time
    ts_ms = read_epoch_ms(source.get("ts_ms")) or None
    return RecordFacts(table, proof, connector, source, ts_ms, read_epoch_ms(payload.get("ts_ms")))


def read_writer(source: Mapping[str, object]) -> tuple[str, ...]:
    """Read which of the writers of one table a source block names; empty if it names none.

    Shards of one table alter their copies one after the other. Source: Debezium SourceInfo of Vitess.
    """
    shard = source.get("shard")
    return (shard,) if isinstance(shard, str) and shard else ()


def is_snapshot_read(source: JsonObject) -> bool:
    """Return whether a source block says that the row was read from the table, not from the log.

    Source: Debezium SnapshotRecord; a text since 1.x, a boolean before.
    """
    return _format_value(source.get("snapshot")) not in ("", "false")


def _classify_op(op: object) -> str:
    return "cud" if op in ("c", "u", "d") else _format_value(op)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def read_epoch_ms(value: object) -> int | None:
    """Read epoch milliseconds up to the year 9999, as a number or, as in Debezium's manuals, as a text."""
    if isinstance(value, str):
        value = int(value) if _TIME.fullmatch(value) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LATEST else None


def _skip_space(text: str) -> int:
    found = _SPACE.match(text)
    return 0 if found is None else found.end()
