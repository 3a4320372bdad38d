"""A decimal column has more digits before the point.

What happened: The precision of a decimal grew, and its scale is the same.

Why it hurts: Avro readers accept both, since the bytes are the same kind of number. A reader that stores
values in the old type has no room for the largest ones: it fails, or writes NULL. Both table formats widen in
place.

What to do: Give readers the new precision before the source writes a larger value. A plan widens the column
at the target.

Sources: Avro specification, Logical Types (decimal); Delta protocol, Type Widening; Iceberg specification,
Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Decimal

NAME = "decimal-precision-increased"
VERDICTS = parse_verdicts("N D D N N N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals with the same scale and more digits."""
    for change in _kinds.find_type_changes(transition, (Decimal,), (Decimal,)):
        if change.new.scale == change.old.scale and change.new.precision > change.old.precision:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old readers have no room for its largest values",
                "give readers the new precision before the source writes a larger value",
            )


RULE = Rule(
    name=NAME,
    title="a decimal column has more digits",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DECIMAL(10,2)", "n DECIMAL(12,2)", fires=(("n",),)),
        Example(
            "a ARRAY<DECIMAL(5,0)>",
            "a ARRAY<DECIMAL(9,0)>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("n DECIMAL(12,2)", "n DECIMAL(10,2)", why="it shrank: decimal-precision-decreased"),
        Example("n DECIMAL(10,2)", "n DECIMAL(12,4)", why="another scale: decimal-scale-changed"),
    ),
)
