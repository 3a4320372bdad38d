"""What a record shows before anything is decoded: framing, proof of its schema, facts of its source block.

Law: what is said of a record here follows from its bytes alone, however much of it was parsed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from schemaman.debezium.records import Order, Position, Record
from schemaman.debezium.wire_format import AUTO, Forms, Framing, SchemaId

JsonObject = dict[str, object]
TOMBSTONE = "tombstone"
"""What stands for the table of records without a value: they belong to no run of a table."""

OUTBOX = "outbox"
"""What stands for the table of what an outbox published: messages of an application, in its own form."""

_OUTBOX_TOPIC = "outbox.event."

SOURCE = b'"source":{'
_ENVELOPE_KEYS = frozenset({"connector", "op", "ddl", "tableChanges"})
"""What stands in a source block or beside it; a column may be called `source` too."""
_HEAD = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*(?=\{)')
_MIDDLE = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload"[ \t\n\r]*:')
_END = re.compile(r"[ \t\n\r]*\}[ \t\n\r]*\Z")
_SPACE = re.compile(r"[ \t\n\r]*")
_TIME = re.compile(r"[0-9]{1,15}")
_LATEST = 253_402_300_799_999
"""The end of the year 9999 in epoch milliseconds; what a damaged record tells beyond it is no time."""

_parse_at = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What the scanner has to ask others, since it knows no connector and no registry.

    `position_of(connector, source)` gives the place that a source block tells. `order_of(connector)`
    names the fields of it that alone make up that place, most significant first: where no text of them is
    smaller at equal lengths, neither is the place; empty if that cannot be said. `schemas(id)` is the text of
    a registered Avro schema, None for an unknown id; `decode_body(text, data, framed)` decodes framed bytes
    and raises ValueError or UnreadableInput if they do not fit. `forms` are those that are configured.
    """

    position_of: Callable[[str, Mapping[str, object]], Position]
    schemas: Callable[[SchemaId], str | None]
    decode_body: Callable[[str, bytes, Framing], object]
    order_of: Callable[[str], Order] = field(default=lambda connector: ())
    forms: Forms = AUTO


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What a record says of itself.

    `table` is (server, database, schema, table) where a source block speaks of a row, or a flattened row of
    itself, else the schema's name; empty if the record stands alone, as statements about the structure do.
    `proof` is what parts runs besides the schema: version, connector, whether the row was read or streamed,
    kind of operation. `ts_ms` is the source's time, `read_ms` the connector's. `bare`: an object without
    an envelope, maybe a row. `document`: a flattened one, whose schema proves nothing of its like;
    `added` are its members that are none of the document.
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
    """Whether an outbox published a record: told by its usual topics, and a header that is always there.

    Source: Debezium EventRouter: `route.topic.replacement` is `outbox.event.${routedByValue}`, header `id`.
    """
    return record.topic.startswith(_OUTBOX_TOPIC) and any(name == "id" for name, _ in record.headers)


def parse_json(data: bytes) -> object:
    """JSON in UTF-8. Raises ValueError that says what is wrong and where."""
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        # some of these messages end in the word that leads on to the place
        raise ValueError(f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None
    except ValueError:
        raise ValueError(f"a number has more digits than are read: {sys.get_int_max_str_digits()}") from None
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def prove_schema(data: bytes) -> tuple[bytes, JsonObject] | None:
    """The leading bytes up to `"payload":` and the schema that they prove; None if there are none such.

    A JSON object ends by itself: none is a prefix of another. So whatever begins with these bytes has
    this schema. Source: Kafka Connect JsonConverter, `{"schema":…,"payload":…}`.
    """
    try:
        text = data.decode(errors="surrogateescape")  # what follows the schema proves nothing against it
        head = _HEAD.match(text)
        if head is None:
            return None
        schema, end = _parse_at(text, head.end())
        middle = _MIDDLE.match(text, end)
        return None if middle is None else (text[: middle.end()].encode(), schema)
    except (ValueError, RecursionError):
        return None


def read_payload_after(data: bytes, size: int) -> tuple[object] | None:
    """The payload behind a proven prefix of `size` bytes; None if the record does not end behind it."""
    try:
        text = data[size:].decode()
        payload, end = _parse_at(text, _skip_space(text))
    except (ValueError, RecursionError):
        return None
    return (payload,) if _END.match(text, end) else None


def read_tail_after(data: bytes, size: int) -> tuple[int, JsonObject] | None:
    """Where the last source block of a payload begins, and the members of the payload from there on.

    What follows is complete by itself only at the level of the payload: the block, then the rest of the
    envelope, then two braces, and all the rest of the record is closed. None if that is not all there.
    What a converter wrote before the block is not parsed again.
    """
    at = data.rfind(SOURCE, size)
    if at < 0:
        return None
    try:
        text = "{" + data[at:-1].decode()
        tail, end = _parse_at(text)
    except (ValueError, RecursionError):
        return None
    op = tail.get("op")
    complete = end == len(text) and data.endswith(b"}}") and "ts_ms" in tail
    return (at, tail) if complete and isinstance(op, str) and op != "m" else None


def read_facts(payload: object, schema_name: str) -> RecordFacts:
    """What a payload says of itself, whoever serialised it.

    Source: Debezium Envelope (`op` r, c, u, d, t; m is a logical message and speaks of no table),
    ConnectTableChangeSerializer (`ddl`, `tableChanges`), AbstractSourceInfoStructMaker; MongoDB says
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
        )
    elif op is None and ("ddl" in payload or "tableChanges" in payload):
        table = ()
    proof = (version, connector, "read" if read else "streamed", _classify_op(op))
    # MySQL's connector up to 1.4 writes 0 where it knows no time
    ts_ms = read_epoch_ms(source.get("ts_ms")) or None
    return RecordFacts(table, proof, connector, source, ts_ms, read_epoch_ms(payload.get("ts_ms")))


def is_snapshot_read(source: JsonObject) -> bool:
    """Whether a source block says that the row was read from the table, not from the log.

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
    """Epoch milliseconds up to the year 9999; the manuals of Debezium print some of them as texts."""
    if isinstance(value, str):
        value = int(value) if _TIME.fullmatch(value) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LATEST else None


def _skip_space(text: str) -> int:
    found = _SPACE.match(text)
    return 0 if found is None else found.end()
