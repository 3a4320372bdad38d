"""A field has single values in some documents and objects in others.

What happened: Documents of one period have a single value in this field, or an object. Before, all had one of
the two.

Why it hurts: No reader of single values reads objects, and no table column holds both. Queries for a nested
field fail, or give NULL for half of the rows.

What to do: Agree on one type at the source, or leave the field out at the target until all documents have
one.

Sources: Debezium documentation, MongoDB connector (documents have no schema); Avro specification, Schema
Resolution (unions).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _unions

NAME = "scalar-object-flip"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields in which single values and objects began to mix."""
    return _unions.find_mixed_values(transition, "object", NAME, VERDICTS)


RULE = Rule(
    name=NAME,
    title="a field has single values in some documents and objects in others",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("a STRING", "a UNION<STRING, STRUCT<x: INT>>", fires=(("a",),)),
        Example("a STRUCT<x: INT>", "a UNION<INT, STRUCT<x: INT>>", fires=(("a",),)),
        Example("a STRING", "a STRUCT<x: INT>", why="objects in all documents: nested-shape-changed"),
        Example("a STRING", "a UNION<ARRAY<STRING>, STRING>", why="arrays: scalar-array-flip"),
    ),
)
