"""A number column became text.

What happened: A numeric column has a text type now.

Why it hurts: No reader of numbers reads texts. Avro refuses data across the change, in both directions; of a
decimal it reads the bytes as a text, without an error. Sorting and comparing give other results, since '10'
comes before '9'. Neither table format can change the type in place.

What to do: Add a second column at the target and fill it from both, or keep the old column at the source
beside the new one until all readers have changed.

Sources: Avro specification, Schema Resolution (bytes and string promote to each other, numbers do not); Delta
protocol, Type Widening; Iceberg specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds

NAME = "number-to-string"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds numbers that became texts; a decimal of the same source type has another encoding only."""
    kinds = _kinds.NUMBERS, _kinds.TEXTS
    return _kinds.find_conversions(NAME, VERDICTS, transition, *kinds, "readers of numbers cannot read texts")


RULE = Rule(
    name=NAME,
    title="a number column became text",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n BIGINT", "n STRING", fires=(("n",),)),
        Example("n DECIMAL(10,2)", "n VARCHAR(20)", fires=(("n",),)),
        Example(
            "s STRUCT<n: DOUBLE>",
            "s STRUCT<n: STRING>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n STRING", "n BIGINT", why="the other way round: string-to-number"),
        Example(
            "n DECIMAL(10,2) SOURCE 'numeric'",
            "n STRING SOURCE 'numeric'",
            why="the source has the same type: decimal-representation-changed",
        ),
        Example("d DATE", "d STRING", why="no number: temporal-encoding-changed"),
    ),
)
