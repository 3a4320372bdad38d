"""Bytes travel as text, or as bytes again.

What happened: The source has the same type, and events carry its bytes as base64 or hexadecimal text now, or
the other way round.

Why it hurts: Avro reads bytes as text and text as bytes, so nothing fails there, and readers get the letters
of an encoding for values. The lake and Spark have two types.

What to do: Set `binary.handling.mode` as it was, or decode old rows into a second column.

Sources: Debezium documentation, binary.handling.mode (bytes, base64, base64-url-safe, hex); Avro
specification, Schema Resolution (bytes and string promote to each other).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import (
    Binary,
)

NAME = "binary-encoding-changed"
VERDICTS = parse_verdicts("D D B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds bytes that became texts, and back, though the source has the same type."""
    for change in _kinds.find_exchanges(transition, (Binary,), _kinds.TEXTS):
        if _words.keeps_source_type(transition, change.path):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "the source has the same type, and events encode its bytes in another way",
                "set binary.handling.mode of the connector as it was",
                "or decode old rows into a second column at the target",
            )


RULE = Rule(
    name=NAME,
    title="bytes travel as text, or as bytes again",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("b BINARY SOURCE 'bytea'", "b STRING SOURCE 'bytea'", fires=(("b",),)),
        Example("b STRING SOURCE 'blob'", "b BINARY SOURCE 'blob'", fires=(("b",),)),
        Example(
            "b BINARY SOURCE 'blob'",
            "b STRING SOURCE 'text'",
            why="the source has another type: bytes-to-string",
        ),
        Example("b BINARY SOURCE 'blob'", "b BINARY SOURCE 'longblob'", why="bytes still: type-alias-only"),
    ),
)
