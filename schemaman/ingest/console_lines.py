"""Lines as Kafka's console consumer prints them: a value, with key, time, partition and offset before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemaman.debezium.raw_record import parse_json
from schemaman.debezium.wire_format import FRAMING_HEADERS, Headers

SEPARATOR = b"\t"
_FIELDS = re.compile(
    rb"(?:(?:(?:CreateTime|LogAppendTime):(-?[0-9]{1,18})|NO_TIMESTAMP)\t)?"
    rb"(?:Partition:([0-9]{1,10})\t)?(?:Offset:([0-9]{1,18})\t)?"
)
NO_HEADERS = b"NO_HEADERS"
NULL = b"null"


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """The parts of a line; a part that is not printed is None.

    `is_key_known`: the line has a key, which may be null. `headers` are as far as their text shows them: a
    name ends at the first colon, and a comma in a value is one if no colon follows.
    """

    value: bytes | None
    key: bytes | None = None
    is_key_known: bool = False
    timestamp_ms: int | None = None
    partition: int | None = None
    offset: int | None = None
    headers: Headers = ()


def split_console_line(line: bytes) -> ConsoleLine:
    """Splits a line with tabs that is no JSON as a whole.

    Source: Kafka DefaultMessageFormatter: `CreateTime:…`, `Partition:…`, `Offset:…`, headers, key and value,
    each printed if asked for, separated by tabs; `null` is a missing key or value.

    Raises:
        ValueError: the parts of the line are uncertain.
    """
    fields = _FIELDS.match(line)
    start = 0 if fields is None else fields.end()
    time, partition, offset = (None,) * 3 if fields is None else fields.groups()
    if (partition is None) != (offset is None):
        raise ValueError("the line has only one of partition and offset: print both, or neither")
    parts = line[start:].split(SEPARATOR)
    headers = b""
    if len(parts) > 1 and (parts[0] == NO_HEADERS or len(parts) == 3):
        headers = parts.pop(0).replace(NO_HEADERS, b"")
        if headers and b":" not in headers:
            raise ValueError("the line has a part that is neither headers nor a key")
    if len(parts) > 2:
        raise ValueError(f"the line has {len(parts) + 1} parts: a key or a value contains tabs")
    key = parts[0] if len(parts) == 2 else None
    return ConsoleLine(
        None if parts[-1] == NULL else parts[-1],
        None if key == NULL else key,
        key is not None,
        None if time is None else int(time),
        None if partition is None else int(partition),
        None if offset is None else int(offset),
        _split_headers(headers),
    )


def _split_headers(text: bytes) -> Headers:
    found: list[tuple[str, bytes | None]] = []
    for part in text.split(b",") if text else ():
        name, colon, value = part.partition(b":")
        if colon:
            found.append((name.decode(errors="replace"), None if value == NULL else value))
        elif found:
            found[-1] = (found[-1][0], (found[-1][1] or b"") + b"," + part)
    return tuple(found)


def has_framing_headers(parts: ConsoleLine) -> bool:
    """Returns whether headers determine the form of the key or the value."""
    return any(name in FRAMING_HEADERS for name, _ in parts.headers)


def find_fields(block: bytes, start: int, end: int) -> tuple[int, bytes | None, bytes | None]:
    """Finds where time, partition and offset of a line end; gives the texts of the last two, if printed.

    The line is the part of a block between two indexes.
    """
    fields = _FIELDS.match(block, start, end)
    if fields is None:
        return start, None, None
    return fields.end(), fields[2], fields[3]


def are_plain_headers(text: bytes) -> bool:
    """Returns whether a part before key and value is surely headers that determine no form."""
    if text == NO_HEADERS:
        return True
    is_certain = b":" in text and NO_HEADERS not in text
    return is_certain and not any(name in FRAMING_HEADERS for name, _ in _split_headers(text))


def is_console_line(line: bytes) -> bool:
    """Returns whether a line is more than a value: it has tabs, and is no JSON as a whole."""
    if SEPARATOR not in line:
        return False
    try:
        parse_json(line)
    except ValueError:
        return True
    return False
