"""A decimal column has fewer digits before the point.

What happened: The precision of a decimal shrank, and its scale is the same.

Why it hurts: Old values may have more digits than the new type has room for: a reader that stores all data in
the new type fails, or writes NULL. The lake keeps the wider type.

What to do: Keep the wider type at the target, which is the default, and keep readers on it as long as they
read old data.

Sources: Avro specification, Logical Types (decimal).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Decimal

NAME = "decimal-precision-decreased"
VERDICTS = parse_verdicts("D N D N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals with the same scale and fewer digits."""
    for change in _kinds.find_type_changes(transition, (Decimal,), (Decimal,)):
        if change.new.scale == change.old.scale and change.new.precision < change.old.precision:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old values may have no room in new readers",
                "keep the old precision at the target (the default); readers of old rows stay on it",
            )


RULE = Rule(
    name=NAME,
    title="a decimal column has fewer digits",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DECIMAL(12,2)", "n DECIMAL(10,2)", fires=(("n",),)),
        Example(
            "s STRUCT<n: DECIMAL(9,0)>",
            "s STRUCT<n: DECIMAL(5,0)>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n DECIMAL(10,2)", "n DECIMAL(12,2)", why="it grew: decimal-precision-increased"),
        Example("n DECIMAL(12,2)", "n DECIMAL(10,0)", why="another scale: decimal-scale-changed"),
    ),
)
