"""A field has values of other types.

What happened: Documents had values of several types in this field, and some of these types no longer occur.

Why it hurts: Old documents keep their values, so old and new rows differ in type. A table column has one
type, and readers of the former types find others.

What to do: Agree on one type at the source, or leave the field out at the target until all documents have
one.

Sources: Debezium documentation, MongoDB connector (documents have no schema); Avro specification, Schema
Resolution (unions).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _unions

NAME = "field-type-drift"
VERDICTS = parse_verdicts("D D B B B B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields of several types of which some no longer occur."""
    for change in _unions.find_union_changes(transition, "drift"):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "old documents have values of types that new ones do not have",
            "agree on one type at the source",
            "or leave the field out at the target until all documents have one type",
        )


RULE = Rule(
    name=NAME,
    title="a field has values of other types",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    examples=(
        Example("a UNION<INT, STRING>", "a STRING", fires=(("a",),)),
        Example("a UNION<INT, STRING>", "a UNION<BOOLEAN, INT>", fires=(("a",),)),
        Example("a INT", "a UNION<INT, STRING>", why="all types still occur: field-type-conflict"),
        Example("a STRING", "a INT", why="one type on each side: string-to-number"),
    ),
)
