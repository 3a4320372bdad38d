"""An integer column became a floating-point number.

What happened: An integer column is a float or a double now.

Why it hurts: Floats hold whole numbers exactly only up to 2^24, and doubles up to 2^53: larger identifiers
become equal to their neighbours. An old Avro reader refuses new data. Iceberg cannot change the type in
place. Delta can do so for integers of up to 32 bits to DOUBLE.

What to do: Add a second column at the target if exact whole numbers matter. Do not join or merge by the new
column.

Sources: Avro specification, Schema Resolution (promotions); IEEE 754; Delta protocol, Type Widening; Iceberg
specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Floating, Integer

NAME = "integer-to-floating"
VERDICTS = parse_verdicts("N B D D B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers that became floating-point numbers."""
    for change in _kinds.find_type_changes(transition, (Integer,), (Floating,)):
        yield _kinds.build_finding(
            NAME,
            _find_row(change.old, change.new),
            transition,
            change,
            "large whole numbers lose their last digits",
            "keep the old type at the target and put the new values into a second column",
            "do not join or merge by the new column",
            milder="note",
        )


def _find_row(old: Integer, new: Floating) -> Verdicts:
    """Returns the verdicts: Delta widens only integers that the lake holds in 32 bits, and only to DOUBLE."""
    in_place = new.bits == 64 and old.bits <= (32 if old.signed else 16)
    return VERDICTS if in_place else {**VERDICTS, "delta": "break"}


RULE = Rule(
    name=NAME,
    title="an integer column became a floating-point number",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n INT", "n DOUBLE", fires=(("n",),)),
        Example("n BIGINT", "n FLOAT", fires=(("n",),)),
        Example(
            "s STRUCT<n: SMALLINT>",
            "s STRUCT<n: DOUBLE>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n DOUBLE", "n BIGINT", why="the other way round: floating-to-integer"),
        Example("n INT", "n DECIMAL(10,2)", why="an exact number: integer-to-decimal"),
    ),
)
