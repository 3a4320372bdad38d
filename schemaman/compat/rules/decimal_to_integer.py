"""A decimal column became an integer.

What happened: A decimal column has an integer type now.

Why it hurts: Events carry an integer instead of an unscaled number in bytes: Avro readers refuse data across
the change, in both directions. The source rounded its old values, and the lake's old rows still have their
fractions. The target keeps its decimal if that has room for every integer.

What to do: Keep the decimal at the target, which is the default where the integers fit. Let readers change
with the source.

Sources: Avro specification, Logical Types (decimal) and Schema Resolution; Debezium documentation,
decimal.handling.mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Decimal, Integer, Numeric, widens

NAME = "decimal-to-integer"
VERDICTS = parse_verdicts("B B B N N D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals that became integers."""
    for change in _kinds.find_type_changes(transition, _kinds.DECIMALS, (Integer,)):
        yield _kinds.build_finding(
            NAME,
            _find_row(change.old, change.new),
            transition,
            change,
            "Avro cannot read either as the other",
            "keep the decimal at the target; round old rows there once, as the source did",
        )


def _find_row(old: Decimal | Numeric, new: Integer) -> Verdicts:
    """Returns the verdicts: a decimal without room for every integer cannot stay at the target."""
    return VERDICTS if widens(new, old) else {**VERDICTS, "delta": "break", "iceberg": "break"}


RULE = Rule(
    name=NAME,
    title="a decimal column became an integer",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DECIMAL(12,2)", "n INT", fires=(("n",),)),
        Example("n NUMERIC", "n BIGINT", fires=(("n",),)),
        Example("n DECIMAL(3,0)", "n BIGINT", fires=(("n",),)),
        Example("n INT", "n DECIMAL(10,0)", why="the other way round: integer-to-decimal"),
        Example("n DECIMAL(10,2)", "n DECIMAL(10,0)", why="a decimal still: decimal-scale-changed"),
    ),
)
