"""Parses JSON by msgspec, which takes a third of the time of Python's parser.

Law: a value is what Python's parser makes of the same bytes, or there is none.
"""

from __future__ import annotations

import msgspec

_decode = msgspec.json.Decoder().decode


def parse_quickly(data: bytes) -> object:
    """Parse JSON in UTF-8.

    Raises:
        ValueError: the bytes are no JSON, or have what only Python's parser reads: infinite numbers, NaN,
            halves of surrogate pairs.
    """
    try:
        value: object = _decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return value
