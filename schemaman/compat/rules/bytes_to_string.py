"""Bytes became text, or text became bytes.

What happened: A binary column has a text type now, or the other way round. Either the source changed its
type, or the connector its `binary.handling.mode`.

Why it hurts: Avro reads bytes as text and text as bytes, so nothing fails there, and readers get base64 or
broken characters for values. The lake and Spark have two types that nothing converts in place.

What to do: Set `binary.handling.mode` as it was. If the source changed its type, add a second column at the
target and fill it from both.

Sources: Avro specification, Schema Resolution (bytes and string promote to each other); Debezium
documentation, binary.handling.mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Binary

NAME = "bytes-to-string"
VERDICTS = parse_verdicts("D D B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds bytes that became texts, and texts that became bytes."""
    for change in _kinds.find_exchanges(transition, (Binary,), _kinds.TEXTS):
        if _words.keeps_source_type(transition, change.path):
            continue
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "Avro reads one as the other, and the values are wrong",
            "set binary.handling.mode of the connector as it was",
            "or add a second column at the target and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="bytes became text, or text bytes",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("b BINARY", "b STRING", fires=(("b",),)),
        Example("b UUID", "b BINARY(16)", fires=(("b",),)),
        Example(
            "s STRUCT<b: STRING>",
            "s STRUCT<b: BINARY>",
            fires=(
                (
                    "s",
                    "b",
                ),
            ),
        ),
        Example(
            "b BINARY SOURCE 'blob'",
            "b STRING SOURCE 'blob'",
            why="the source has bytes: binary-encoding-changed",
        ),
        Example("b BINARY(8)", "b BINARY(16)", why="bytes still: string-length-increased"),
        Example("b BITS(8)", "b STRING", why="a bit string: not-judged"),
    ),
)
