"""Payloads that are parsed together have the results that each of them has alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.sink.body_parser import BodyParser
from schemaman.sink.payloads import BodySchema

Payload = msgspec.defstruct("Payload", [("a", Any)], forbid_unknown_fields=True)
PARSER = BodyParser(Payload, BodySchema({"type": "struct"}, "json"))
PIECES = (
    b'{"a":1}', b'{"a":[1', b"2]}", b"]}", b'{"a":"x', b'y"}', b"", b" ", b",", b'"schemaman.next"',
    b'"\\u0073chemaman.next"', b'{"a":"schemaman.next"}', b'{"a":"\\u00fc"}', b'{"a":{"b":2}}', b"[", b"]",
    b'{"b":1}', b'{"a":"\xff"}', b"null", b"1",
)  # fmt: skip


def parse_alone(payload: bytes) -> Any:
    try:
        return msgspec.json.decode(payload, type=Payload)
    except (msgspec.MsgspecError, ValueError):
        return None


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join), max_size=6))
def test_payloads_are_parsed_together_as_alone(payloads: list[bytes]) -> None:
    assert PARSER.parse_all(payloads) == list(map(parse_alone, payloads))


@pytest.mark.parametrize("spelled", [b'"schemaman.next"', b'"\\u0073chemaman.next"'])
def test_a_payload_cannot_stand_for_two(spelled: bytes) -> None:
    payloads = [b'{"a":1},' + spelled + b',{"a":[2', b"3]}", *[b'{"a":4}'] * 100]
    assert PARSER.parse_all(payloads) == list(map(parse_alone, payloads))
    assert PARSER.parse_all(payloads)[:3] == [None, None, Payload(4)]
