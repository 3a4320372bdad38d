"""Lines of `kcat -J`: of sound records, and lines that differ from them in ways that bytes could hide."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from schemaman.debezium.records import Record
from tests.support.damage import TORN, Mutator

_SOUND = 0.7
"""The share of sound lines, unless another one is asked for."""


def format_line(record: Record, *, spaced: bool = False, escaped: bool = False) -> bytes:
    """The line that kcat writes; `spaced` and `escaped` as Python's json writes it."""
    headers = [_as_text(part) for header in record.headers for part in header]
    line = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "create",
        "ts": record.timestamp_ms,
        "broker": 1,
        **({"headers": headers} if headers else {}),
        **({"key": _as_text(record.key)} if record.is_key_known else {}),
        "payload": _as_text(record.value),
    }
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps(line, separators=separators, ensure_ascii=escaped).encode()


def _as_text(part: str | bytes | None) -> str | None:
    return part.decode() if isinstance(part, bytes) else part


def make_lines(
    records: Sequence[Record], mutator: Mutator, count: int, damaged: float = 1 - _SOUND
) -> Iterator[bytes]:
    """Sound records in the order of their offsets; a share of the lines is damaged, or not what it seems."""
    for offset in range(count):
        record = replace(records[offset % len(records)], offset=offset)
        line = _make_line(record, mutator, damaged)
        if _keeps_order(line, record):
            yield line


def _make_line(record: Record, mutator: Mutator, damaged: float) -> bytes:
    chance = mutator.chance
    kind = 1 - (1 - chance.random()) * (1 - _SOUND) / damaged
    if kind < _SOUND:
        return format_line(record)
    if kind < 0.85:
        return _change_line(format_line(record), chance)
    if kind < 0.9:
        return format_line(record, spaced=chance.random() < 0.5, escaped=chance.random() < 0.5)
    return _format_damaged(record, mutator)


def _keeps_order(line: bytes, record: Record) -> bool:
    """Whether a line is at its own offset or at none: others would end the reading."""
    try:
        document = json.loads(line)
    except ValueError:
        return True
    return not isinstance(document, dict) or document.get("offset") == record.offset


def _format_damaged(record: Record, mutator: Mutator) -> bytes:
    """A record with a damaged key or value, in a sound line if it is text."""
    _, damaged = mutator.damaged(replace(record, headers=()))
    try:
        return format_line(damaged)
    except UnicodeDecodeError:
        line = format_line(replace(damaged, key=None, value=b"@", headers=()))
        return line.replace(b"@", (damaged.value or b"").replace(b"\\", rb"\\").replace(b'"', rb"\""))


_INSERTED = (
    *(
        rb"\u0022",
        rb"\/",
        rb"\n",
        b"\x01",
        b"\t",
        b'"',
        b"\\",
        rb"\ud800",
        rb"\x",
        rb"\u00e9",
        rb"\\",
        rb"\"",
    ),
    *(rb"\\\"", "é".encode(), *TORN),
)
"""Escapes, what must be escaped, and what is no UTF-8."""

_ENDINGS = (b',"payload":null}', b',"offset":1}', b',"more":{}}', b"}", b" }", b"} ", b"}\r")
_VALUES: tuple[object, ...] = (None, 1, 1.0, "1", -1, 2**70, [], {}, True, "é\0")
_SUBSTITUTES: tuple[tuple[bytes, tuple[bytes, ...]], ...] = (
    (b'"offset":', (b'"offset":0', b'"offset":-', b'"offset": ', b'"offset":1e', b'"offset":7,"offset":')),
    (b'"key":', (b'"key":"x","key":', b'"key" :', b'"was":')),
    (b'"partition":', (b'"topic":"other","partition":', b'"partition":0')),
    (rb"\"source\"", (rb"\u0022source\u0022", rb"\"source\":{\"source\"", rb"\\\"source\"", rb" \"source\"")),
    (rb"\"op\":\"", (rb"\"op\":\"x", rb"\"op\":\"u", rb"\"op\":\"")),
    (b'"ts":', (b'"ts":0', b'"ts":-', b'"ts":1.', b'"ts":null,"was":')),
    (
        rb"{\"before\":",
        (rb"{ \"before\":", rb"{\"a\":\"\\\"source\\\":{\",\"before\":", rb"\u007b\"before\":"),
    ),
    (rb"\"snapshot\":\"", (rb"\"snapshot\":\"t", rb"\"snapshot\":\"\",\"s\":\"")),
)
"""What stands in a line, and what takes its place."""

_CHANGES = ("flip", "cut", "insert", "insert", "end", "order", "value", "other", "other", "digit", "space")


def _change_line(line: bytes, chance: random.Random) -> bytes:
    """One change of the line's own bytes."""
    row = max(line.rfind(rb"\"before\""), 0)
    at = chance.randrange(row if chance.random() < 0.6 else 0, len(line))
    document = json.loads(line)
    match chance.choice(_CHANGES):
        case "flip":
            return line[:at] + bytes([line[at] ^ 1 << chance.randrange(8)]) + line[at + 1 :]
        case "cut":
            return line[:at]
        case "insert":
            return line[:at] + chance.choice(_INSERTED) + line[at:]
        case "end":
            return line[:-1] + chance.choice(_ENDINGS)
        case "order":
            names = list(document)
            chance.shuffle(names)
            return json.dumps({name: document[name] for name in names}, separators=(",", ":")).encode()
        case "value":
            document[chance.choice(list(document))] = chance.choice(_VALUES)
            return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
        case "other":
            old, new = chance.choice(_SUBSTITUTES)
            return line.replace(old, chance.choice(new), 1)
        case "digit":
            digits = [i for i in range(row, len(line)) if line[i : i + 1].isdigit()]
            place = chance.choice(digits or [at])
            return line[:place] + b"%d" % chance.randrange(10) + line[place + 1 :]
        case _:
            return b" " * chance.randrange(3) + line
