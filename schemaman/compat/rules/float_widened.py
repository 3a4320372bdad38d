"""A float column became a double.

What happened: A floating-point column has 64 bits now and had 32.

Why it hurts: An old Avro reader refuses new data, because Avro promotes float to double and never back. A
value such as 0.1 differs between both types: comparisons of old and new rows for equality fail.

What to do: Give readers the new schema first, and compare such columns with a tolerance. A plan widens the
column at the target.

Sources: Avro specification, Schema Resolution (promotions); IEEE 754; Delta protocol, Type Widening; Iceberg
specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Floating

NAME = "float-widened"
VERDICTS = parse_verdicts("N B D N N N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds floats, also inside structs, arrays and maps, that became doubles."""
    for change in _kinds.find_type_changes(transition, (Floating,), (Floating,)):
        if change.new.bits > change.old.bits:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old readers cannot read it, and 0.1 is another number in each type",
                "give readers the new type before the change, and compare the column with a tolerance",
                milder="note",
            )


RULE = Rule(
    name=NAME,
    title="a float column became a double",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n FLOAT", "n DOUBLE", fires=(("n",),)),
        Example(
            "a ARRAY<FLOAT>",
            "a ARRAY<DOUBLE>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("n DOUBLE", "n FLOAT", why="it shrank: float-narrowed"),
        Example("n FLOAT", "n DECIMAL(10,2)", why="another kind of number: decimal-representation-changed"),
    ),
)
