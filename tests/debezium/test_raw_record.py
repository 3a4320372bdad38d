"""JSON is parsed as Python's parser does, whichever parser reads it."""

from __future__ import annotations

import json
import random

import pytest

from schemaman.debezium.raw_record import parse_json, read_payload_after, read_tail_after
from tests.support.checkout import PROOF
from tests.support.recordings import recorded

MUTATIONS = 100_000 if PROOF else 2_000
_INSERTED = (
    *(b"\\", b'"', rb"\u00e9", rb"\ud800", rb"\udc00", rb"\u", b"\xc3", b"\xed\xa0\x80", b"\x7f", b"\x01"),
    *(b",", b":", b"{", b"}", b"[", b"]", b" ", b"\n", b"0", b"-", b"1e", b"e400", b".", b"NaN", b"9" * 30),
)


def parse(text: bytes) -> str:
    """The value of a text as Python's parser gives it, or that it gives none; floats and texts are exact."""
    try:
        return repr(json.loads(text.decode()))
    except (ValueError, RecursionError):
        return "refused"


def parse_here(text: bytes) -> str:
    try:
        return repr(parse_json(text))
    except ValueError:
        return "refused"


TEXTS = (
    *(b"-0", b"-0.0", b"1e5", b"0.1e1", b"1E400", b"-1e-400", b"NaN", b"-Infinity", b"01", b"+1", b"1."),
    *(b"18446744073709551616", b"-9223372036854775809", b"9007199254740993.0", b"1" * 4300, b"1" * 4301),
    *(b'{"a":1,"b":2,"a":3}', b'{"a":1,}', b"[1 2]", b"{'a':1}", b"{1:2}", b"", b" ", b" 1\n", b"1\0"),
    *(rb'"\ud83d\ude00\u0000"', rb'"\ud83d"', rb'"\ude00"', rb'"\u00_9"', rb'"\/"', rb'{"\u0061":1}'),
    *(b'"\xff"', b'{"\xff":1}', b'"\xed\xa0\x80"', b'"\xc0\x80"', b"\xef\xbb\xbf1", b"\xc2\xa01"),
    *(b'"\x7f"', b'"\t"', b"\v1", b".5", b"[" * 100_000),
)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_json_is_read_as_python_reads_it(text: bytes) -> None:
    assert parse_here(text) == parse(text)
    assert parse_here(b'{"a": [%b]}' % text) == parse(b'{"a": [%b]}' % text)


def test_damaged_json_is_read_as_python_reads_it() -> None:
    chance = random.Random(11)
    values = [r.value for r in recorded("postgres/shop-json") if r.value]
    for _ in range(MUTATIONS):
        text = bytearray(chance.choice(values)[-chance.randrange(300, 1500) :].partition(b",")[2])
        text[:0] = b"{"
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(text))
            text[at : at + chance.randrange(2)] = chance.choice(_INSERTED)
        assert parse_here(bytes(text)) == parse(bytes(text))


@pytest.mark.parametrize(
    ("data", "payload"),
    [
        (b'{"payload":{"a":1}}', ({"a": 1},)),
        (b'{"payload": {"a": 1} } \n', ({"a": 1},)),
        (b'{"payload":Infinity}', (float("inf"),)),
        (b'{"payload":null}', (None,)),
        (b'{"payload":1}}', None),
        (b'{"payload":1,"a":2}', None),
        (b'{"payload":1', None),
        (b'{"payload":}', None),
    ],
)
def test_the_payload_ends_with_the_record(data: bytes, payload: tuple[object] | None) -> None:
    assert read_payload_after(data, len(b'{"payload":')) == payload


@pytest.mark.parametrize(
    ("end", "is_whole"),
    [
        (b'"source":{"a":1},"op":"c","ts_ms":1}}', True),
        (b'"source":{"a":1e999},"op":"c","ts_ms":1}}', True),
        (b'"source":{"a":1},"op":"c","ts_ms":1}} ', False),
        (b'"source":{"a":1},"op":"c","ts_ms":1},"a":{}}', False),
        (b'"source":{"a":1},"op":"m","ts_ms":1}}', False),
        (b'"source":{"a":1},"op":"c"}}', False),
        (b'"source":{"a":"\xff"},"op":"c","ts_ms":1}}', False),
    ],
)
def test_the_source_block_ends_with_the_record(end: bytes, is_whole: bool) -> None:
    assert (read_tail_after(b'{"payload":{"after":{},' + end, 0) is not None) is is_whole
