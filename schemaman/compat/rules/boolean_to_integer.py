"""A boolean became an integer, or an integer a boolean.

What happened: The mapping of a column between true or false and a number flipped. Often the type of the
source is the same: TINYINT(1) of MySQL, NUMBER(1) of Oracle, or BIT(1), under another converter.

Why it hurts: No reader of one reads the other: Avro refuses data across the change, in both directions.
Queries that ask for `= 1` or for true stop to match.

What to do: Set the connector's converters as they were (`TinyIntOneToBooleanConverter`,
`NumberOneToBooleanConverter`). If the source changed its type, add a second column at the target.

Sources: Debezium documentation, MySQL and Oracle boolean converters; Avro specification, Schema Resolution
(boolean promotes to nothing).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Boolean, Integer

NAME = "boolean-to-integer"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds booleans that became integers, and integers that became booleans."""
    for change in _kinds.find_exchanges(transition, (Boolean,), (Integer,)):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "no reader of one reads the other",
            "set the converters of the connector as they were",
            "or add a second column at the target and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="a boolean became an integer, or an integer a boolean",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("f BOOLEAN", "f SMALLINT", fires=(("f",),)),
        Example("f TINYINT", "f BOOLEAN", fires=(("f",),)),
        Example(
            "a ARRAY<BOOLEAN>",
            "a ARRAY<INT>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("f BOOLEAN", "f BITS(8)", why="a bit string: bit-length-changed"),
        Example("f TINYINT", "f SMALLINT", why="a number still: integer-widened"),
    ),
)
