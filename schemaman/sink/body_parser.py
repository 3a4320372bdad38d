"""Parses the payloads of many bodies of one form with one call of msgspec.

Law: each payload has the result that parsing it alone gives, or both refuse it.

The payloads become one JSON array with a mark between each two. The mark is a string that no payload
contains: its bytes do not occur, and neither does an escape that could spell it. If every second element of
the parsed array is the mark, all marks are elements of the array itself, and so each payload is one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec

from schemaman.sink.payloads import BodySchema

_MARK = "schemaman.next"
_MARK_BYTES, _SEPARATOR, _ESCAPE = _MARK.encode(), f',"{_MARK}",'.encode(), rb"\u00"
_FEW = 32
"""So few payloads are parsed one by one, if one among them is refused."""

_FAULTS = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)


class BodyParser:
    """Parses payloads as objects of one type, which a schema describes."""

    def __init__(self, type: Any, body: BodySchema) -> None:
        hook = Decimal if body.has_decimals else None
        self._parse_one = msgspec.json.Decoder(type, float_hook=hook).decode
        self._parse_many = msgspec.json.Decoder(list[type | str], float_hook=hook).decode

    def parse_all(self, payloads: Sequence[bytes]) -> list[Any]:
        """Parse payloads; None for one that is refused."""
        if len(payloads) > 1 and (found := self._parse_array(payloads)) is not None:
            return found
        if len(payloads) > _FEW:
            half = len(payloads) // 2
            return self.parse_all(payloads[:half]) + self.parse_all(payloads[half:])
        return [self._parse_or_refuse(payload) for payload in payloads]

    def _parse_array(self, payloads: Sequence[bytes]) -> list[Any] | None:
        joined = _SEPARATOR.join(payloads)
        marks = len(payloads) - 1
        if joined.count(_MARK_BYTES) != marks or _ESCAPE in joined:
            return None
        try:
            found = self._parse_many(b"[%b]" % joined)
        except _FAULTS:
            return None
        objects = found[::2]
        is_whole = len(found) == len(payloads) + marks and found[1::2].count(_MARK) == marks
        return objects if is_whole and str not in set(map(type, objects)) else None

    def _parse_or_refuse(self, payload: bytes) -> Any:
        try:
            return self._parse_one(payload)
        except _FAULTS:
            return None
