"""A value became an array, or an array a value.

What happened: A column of single values has arrays now, or the other way round, or its arrays have another
number of dimensions.

Why it hurts: No reader of one reads the other: Avro refuses data across the change, in both directions.
Neither table format can change the type in place.

What to do: Add a second column at the target for the new form, and fill it from both: a value is an array of
one.

Sources: Avro specification, Schema Resolution (an array is read by an array only); Delta and Iceberg (no
promotion of nested types).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Array

NAME = "array-shape-changed"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds exchanges of arrays and single values, also inside arrays."""
    for change in _kinds.find_exchanges(transition, (Array,), _kinds.SCALARS):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "no reader of one reads the other",
            "add a second column at the target for the new form, and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="a value became an array, or an array a value",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("a INT", "a ARRAY<INT>", fires=(("a",),)),
        Example("a ARRAY<STRING>", "a STRING", fires=(("a",),)),
        Example(
            "a ARRAY<INT>",
            "a ARRAY<ARRAY<INT>>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("a ARRAY<INT>", "a ARRAY<BIGINT>", why="arrays of other elements: integer-widened"),
        Example("a ARRAY<INT>", "a STRUCT<x: INT>", why="another shape: nested-shape-changed"),
    ),
)
