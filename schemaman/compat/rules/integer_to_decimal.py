"""An integer column became a decimal.

What happened: An integer column has a decimal type now.

Why it hurts: Events carry an unscaled number in bytes instead of an integer: Avro readers refuse data across
the change, in both directions. Iceberg cannot change the type in place. Delta can do so if the decimal has
room for every integer.

What to do: Add a second column at the target and fill it from both, or widen in place on Delta. Let readers
change with the source.

Sources: Avro specification, Logical Types (decimal) and Schema Resolution; Debezium documentation,
decimal.handling.mode; Delta protocol, Type Widening; Iceberg specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Decimal, Integer, Numeric

NAME = "integer-to-decimal"
VERDICTS = parse_verdicts("B B B D B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers that became decimals."""
    for change in _kinds.find_type_changes(transition, (Integer,), _kinds.DECIMALS):
        yield _kinds.build_finding(
            NAME,
            _find_row(change.old, change.new),
            transition,
            change,
            "Avro cannot read either as the other",
            "keep the old type at the target and put the new values into a second column",
        )


def _find_row(old: Integer, new: Decimal | Numeric) -> Verdicts:
    """Returns the verdicts: Delta asks for ten digits before the point, or twenty for 64 bits."""
    digits = 20 if old.bits == 64 or (old.bits == 32 and not old.signed) else 10
    in_place = isinstance(new, Decimal) and new.precision - new.scale >= digits
    return VERDICTS if in_place else {**VERDICTS, "delta": "break"}


RULE = Rule(
    name=NAME,
    title="an integer column became a decimal",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n INT", "n DECIMAL(12,2)", fires=(("n",),)),
        Example("n BIGINT", "n NUMERIC", fires=(("n",),)),
        Example(
            "s STRUCT<n: INT>",
            "s STRUCT<n: DECIMAL(3,0)>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n DECIMAL(10,0)", "n INT", why="the other way round: decimal-to-integer"),
        Example("n INT", "n BIGINT", why="an integer still: integer-widened"),
    ),
)
