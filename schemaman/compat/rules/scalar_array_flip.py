"""A field has single values in some documents and arrays in others.

What happened: Documents of one period have a single value in this field, or an array. Before, all had one of
the two.

Why it hurts: No reader of single values reads arrays, and no table column holds both. The field fails, or is
NULL in half of the rows.

What to do: Agree on one type at the source, or leave the field out at the target until all documents have
one.

Sources: Debezium documentation, MongoDB connector (documents have no schema); Avro specification, Schema
Resolution (unions).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _unions

NAME = "scalar-array-flip"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields in which single values and arrays began to mix."""
    return _unions.find_mixed_values(transition, "array", NAME, VERDICTS)


RULE = Rule(
    name=NAME,
    title="a field has single values in some documents and arrays in others",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("a STRING", "a UNION<ARRAY<STRING>, STRING>", fires=(("a",),)),
        Example("a ARRAY<INT>", "a UNION<ARRAY<INT>, INT>", fires=(("a",),)),
        Example("a STRING", "a ARRAY<STRING>", why="arrays in all documents: array-shape-changed"),
        Example("a INT", "a UNION<INT, STRING>", why="no arrays: field-type-conflict"),
    ),
)
