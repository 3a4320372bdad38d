"""Damaged records: one real record in, one with damage done to it out; a seed tells them all again."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import SchemaId

Path = tuple[str | int, ...]
Node = dict[str, Any] | list[Any]

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 7, 2**31, -(2**63), 2**64, 10**400, 1.5, 1e308, "", "x", "null", "0", "-1",
    "é\0", "\ud800", "9" * 5000, "[1,2]", [], {}, [None], ["a", 1], {"a": 1}, {"": {}}, [[[]]],
)  # fmt: skip
"""What takes the place of a value: every type of JSON, numbers that fit nowhere, texts that are none."""

WORDS = ("struct", "array", "map", "bytes", "int32", "optional", "c", "r", "t", "m", "DROP", "id", "after",
         "postgresql", "mysql", "io.debezium.time.Date", "org.apache.kafka.connect.data.Decimal")  # fmt: skip
"""Words of the protocol, put where others stood."""

TORN: tuple[bytes, ...] = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xc0\xaf",
    b"\0",
    b"\xef\xbb\xbf",
)
"""Bytes that no UTF-8 has at such a place, and a byte order mark."""

_IDS = ("globalId", "contentId", "encoding")
HEADERS = (
    *(f"__{side}_schema_id" for side in ("key", "value")),
    *(f"apicurio.{side}.{name}" for side in ("key", "value") for name in _IDS),
    *("__op", "__table", "__source_lsn", "__debezium.newkey"),
)

DEEP = (30, 90, 150, 250, 400, 600, 900, 1100, 20_000)


@dataclass(slots=True)
class Mutator:
    """Does damage with one source of chance; registry schemas that it damages are known under new ids."""

    chance: random.Random
    schemas: SchemaLookup
    added: dict[SchemaId, str] = field(default_factory=dict)

    def lookup(self, id: SchemaId) -> str | None:
        """The registry with the damaged schemas in it."""
        return self.added[id] if id in self.added else self.schemas(id)

    def damaged(self, record: Record) -> tuple[str, Record]:
        """The record with one kind of damage, and what it is called."""
        if self.chance.random() < 0.05:
            return "headers", replace(record, headers=self._headers())
        key, value = record.key, record.value
        if value is not None and self.chance.random() < 0.05:
            value = _wrapped(value) or value
        in_key = key is not None and self.chance.random() < 0.15
        target = key if in_key else value
        if target is None:
            target = b""
        kind, made = self._damage(target)
        return kind, replace(record, key=made, value=value) if in_key else replace(record, value=made)

    def _headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Headers in which ids of schemas and facts of rows may stand, with anything in them."""
        chance = self.chance
        return tuple(
            (
                chance.choice(HEADERS),
                chance.choice((None, b"", b"\1" + bytes(16), chance.randbytes(8), b"JSON")),
            )
            for _ in range(chance.randint(1, 3))
        )

    def _damage(self, data: bytes) -> tuple[str, bytes]:
        framed = data[:1] == b"\0"
        if self.chance.random() < (0.35 if framed else 0.3):
            return self._bytes(data)
        if framed:
            return self._registered(data)
        try:
            document = json.loads(data)
        except ValueError:
            return self._bytes(data)
        return self._document(document)

    def _bytes(self, data: bytes) -> tuple[str, bytes]:
        chance, size = self.chance, len(data)
        at = chance.randrange(size + 1)
        kind = chance.choice(("flip", "flip", "cut", "torn", "drop", "insert", "twice", "empty", "number"))
        match kind:
            case "flip" if size:
                made = bytearray(data)
                for _ in range(chance.randint(1, 4)):
                    made[chance.randrange(size)] ^= 1 << chance.randrange(8)
                return kind, bytes(made)
            case "cut":
                return kind, data[:at]
            case "torn":
                return kind, data[:at] + chance.choice(TORN) + data[at:]
            case "drop":
                return kind, data[:at] + data[at + chance.randint(1, 40) :]
            case "insert":
                return kind, data[:at] + chance.randbytes(chance.randint(1, 12)) + data[at:]
            case "twice":
                return kind, data[:at] + data[max(0, at - chance.randint(1, 200)) :]
            case "number":
                digits = chance.choice((b"9" * 30, b"9" * 6000, b"1e99999", b"-0", b"00", b"1e-400", b"NaN"))
                return kind, data.replace(b":1", b":" + digits, chance.randint(1, 3))
            case _:
                return "empty", chance.choice((b"", b"\0", b"\0\0\0\0", b"{}", b"[]", b"null", b" ", b'"'))

    def _registered(self, data: bytes) -> tuple[str, bytes]:
        """Framed Avro: another id, a damaged schema under a new one, or a damaged body."""
        chance, id = self.chance, int.from_bytes(data[1:5], "big")
        text = self.schemas(id)
        kind = chance.choice(("id", "schema", "schema", "body"))
        if kind == "id" or (kind == "schema" and text is None):
            other = chance.choice((0, 1, 2**32 - 1, id ^ 1, chance.randrange(400)))
            return "id", b"\0" + other.to_bytes(4, "big") + data[5:]
        if kind == "schema" and text is not None:
            _, made = self._document(json.loads(text))
            new = 1_000_000 + len(self.added)
            self.added[new] = made.decode("utf-8", "replace")
            return kind, b"\0" + new.to_bytes(4, "big") + data[5:]
        body = bytearray(data[5:] or b"\0")
        for _ in range(chance.randint(1, 3)):
            # long counts and lengths: a number of Avro goes on while the high bit is set
            at = chance.randrange(len(body))
            body[at : at + 1] = chance.choice(
                (b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80", b"\x01", b"\xfe\xff\x7f")
            )
        return kind, data[:5] + bytes(body)

    def _document(self, document: Any) -> tuple[str, bytes]:
        chance = self.chance
        places = list(_paths(document))
        if not places:
            return "junk", _text(chance.choice(JUNK))
        path = chance.choice(places)
        kind = chance.choice(
            ("junk", "junk", "gone", "gone", "word", "swap", "deep", "double", "rename", "many", "outside")
        )
        holder, last = _at(document, path[:-1]), path[-1]
        match kind:
            case "gone":
                del holder[last]
            case "word":
                holder[last] = chance.choice(WORDS)
            case "swap":
                other = chance.choice(places)
                value = copy.deepcopy(_at(document, other))
                holder[last] = value
            case "deep":
                return kind, _deep(document, holder, last, chance)
            case "double":
                return kind, _double(document, holder, last, chance)
            case "rename" if isinstance(holder, dict):
                name = chance.choice((*WORDS, "", "\ud800", "schema", "payload", "source"))
                holder[name] = holder.pop(last)
            case "many":
                holder[last] = [copy.deepcopy(holder[last])] * chance.choice((2, 50))
            case "outside":
                document = chance.choice(([document], {"schema": document}, {"payload": document}))
            case _:
                holder[last] = chance.choice(JUNK)
        return kind, _text(document)


def _wrapped(value: bytes) -> bytes | None:
    """A JSON event as a CloudEvent. Source: Debezium CloudEventsConverter."""
    try:
        document = json.loads(value)
        payload = document["payload"]
        source = {f"iodebezium{n.replace('_', '')}": str(v) for n, v in payload["source"].items()}
        fields = [f for f in document["schema"]["fields"] if f["field"] in ("before", "after")]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    told = {"id": "1", "specversion": "1.0", "type": "io.debezium.postgresql.datachangeevent", "source": "/x"}
    rows = {side: payload.get(side) for side in ("before", "after")}
    data = {"schema": {**document["schema"], "fields": fields}, "payload": rows}
    return _text({**told, **source, "iodebeziumop": payload.get("op"), "data": data})


def _paths(document: Any, path: Path = ()) -> Iterator[Path]:
    items = document.items() if isinstance(document, dict) else ()
    for name, inner in enumerate(document) if isinstance(document, list) else items:
        yield (*path, name)
        yield from _paths(inner, (*path, name))


def _at(document: Any, path: Path) -> Any:
    for name in path:
        document = document[name]
    return document


def _text(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


_HERE = "here 5d1f"


def _deep(document: Any, holder: Any, last: Any, chance: random.Random) -> bytes:
    """Something that lies in itself very often: lists, objects, or types of types."""
    depth = chance.choice(DEEP)
    opening, inner, closing = chance.choice(
        (
            (b"[", b"", b"]"),
            (b'{"a":', b"1", b"}"),
            (b'{"type":"array","items":', b'{"type":"int32"}', b"}"),
            (b'{"type":"struct","fields":[', b'{"type":"int32","field":"a"}', b"]}"),
            (b'{"type":', b'"int"', b"}"),
        )
    )
    holder[last] = _HERE
    return _text(document).replace(_text(_HERE), opening * depth + inner + closing * depth, 1)


def _double(document: Any, holder: Any, last: Any, chance: random.Random) -> bytes:
    """A member that an object has twice, with two values."""
    if not isinstance(holder, dict):
        holder.append(copy.deepcopy(holder[last]))
        return _text(document)
    other = _text(chance.choice(JUNK))
    member = _text(last) + b":"
    value = _text(holder[last])
    told = [other, value] if chance.random() < 0.5 else [value, other]
    holder[last] = _HERE
    return _text(document).replace(member + _text(_HERE), b",".join(member + t for t in told), 1)
