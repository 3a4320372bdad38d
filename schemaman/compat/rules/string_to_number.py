"""A text column became a number.

What happened: A text column has a numeric type now.

Why it hurts: No reader of texts reads numbers. Avro refuses data across the change, in both directions; of a
text it reads the letters as a decimal, without an error. Old texts that are no number have no place in the
new type. Neither table format can change the type in place.

What to do: Add a second column at the target and fill it from both, or keep the old column at the source
beside the new one until all readers have changed.

Sources: Avro specification, Schema Resolution (bytes and string promote to each other, numbers do not); Delta
protocol, Type Widening; Iceberg specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds

NAME = "string-to-number"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds texts that became numbers; a decimal of the same source type has another encoding only."""
    kinds = _kinds.TEXTS, _kinds.NUMBERS
    return _kinds.find_conversions(NAME, VERDICTS, transition, *kinds, "readers of texts cannot read numbers")


RULE = Rule(
    name=NAME,
    title="a text column became a number",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n STRING", "n BIGINT", fires=(("n",),)),
        Example("n VARCHAR(20)", "n DECIMAL(10,2)", fires=(("n",),)),
        Example(
            "a ARRAY<STRING>",
            "a ARRAY<INT>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("n BIGINT", "n STRING", why="the other way round: number-to-string"),
        Example(
            "n STRING SOURCE 'numeric'",
            "n DECIMAL(10,2) SOURCE 'numeric'",
            why="the source has the same type: decimal-representation-changed",
        ),
        Example("b STRING", "b BOOLEAN", why="no number: not-judged"),
    ),
)
