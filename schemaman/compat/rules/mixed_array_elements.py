"""Elements of an array have several types.

What happened: The elements of an array had one type, and have several now, or other ones than before.

Why it hurts: No array of a table has elements of several types: the field fails, or some elements are lost.

What to do: Agree on one type at the source, or keep the array as JSON text at the target.

Sources: Avro specification, Complex Types (arrays have one schema of items); Debezium documentation, MongoDB
connector.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _kinds, _unions

NAME = "mixed-array-elements"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds elements of arrays that took or lost one of several types."""
    for change in _unions.find_union_changes(transition, "elements"):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "an array of a table has elements of one type",
            "agree on one type at the source, or keep the array as JSON text at the target",
        )


RULE = Rule(
    name=NAME,
    title="elements of an array have several types",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("a ARRAY<INT>", "a ARRAY<UNION<INT, STRING>>", fires=(("a", "element"),)),
        Example("a ARRAY<UNION<INT, STRING>>", "a ARRAY<STRING>", fires=(("a", "element"),)),
        Example("a INT", "a UNION<INT, STRING>", why="a field and no element: field-type-conflict"),
        Example("a ARRAY<INT>", "a ARRAY<BIGINT>", why="one type still: integer-widened"),
    ),
)
