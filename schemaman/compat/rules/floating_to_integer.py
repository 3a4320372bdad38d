"""A floating-point column became an integer.

What happened: A float or double column is an integer now.

Why it hurts: The source rounded its old values, and the lake's old rows still have their fractions. A new
Avro reader refuses old data. The target keeps its floating-point type, in which large whole numbers lose
their last digits.

What to do: Add a second column of the integer type at the target if whole numbers above 2^53 occur. Round old
rows once, as the source did.

Sources: Avro specification, Schema Resolution (promotions); IEEE 754.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Floating, Integer

NAME = "floating-to-integer"
VERDICTS = parse_verdicts("B N D D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds floating-point numbers that became integers."""
    for change in _kinds.find_type_changes(transition, (Floating,), (Integer,)):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "old rows have fractions, and a new reader refuses old data",
            "round old rows at the target once, as the source did",
            "keep the old type at the target and put the new values into a second column",
            milder="note",
        )


RULE = Rule(
    name=NAME,
    title="a floating-point column became an integer",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DOUBLE", "n BIGINT", fires=(("n",),)),
        Example(
            "a ARRAY<FLOAT>",
            "a ARRAY<INT>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("n BIGINT", "n DOUBLE", why="the other way round: integer-to-floating"),
        Example("n DOUBLE", "n FLOAT", why="fewer bits of the same kind: float-narrowed"),
    ),
)
