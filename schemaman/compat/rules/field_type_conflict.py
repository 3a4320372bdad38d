"""A field has values of several types.

What happened: Documents of one period have values of several types in this field, and more types than before.

Why it hurts: A table column has one type: neither table format can hold the field. Readers that expect the
former type fail on the first value of another.

What to do: Agree on one type at the source, or leave the field out at the target until all documents have
one.

Sources: Debezium documentation, MongoDB connector (documents have no schema); Avro specification, Schema
Resolution (unions).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _unions

NAME = "field-type-conflict"
VERDICTS = parse_verdicts("D D B B B B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields with more types of values than before."""
    for change in _unions.find_union_changes(transition, "conflict"):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "no column of a table holds values of several types",
            "agree on one type at the source",
            "or leave the field out at the target until all documents have one type",
        )


RULE = Rule(
    name=NAME,
    title="a field has values of several types",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("a INT", "a UNION<INT, STRING>", fires=(("a",),)),
        Example(
            "s STRUCT<a: UNION<INT, STRING>>",
            "s STRUCT<a: UNION<BOOLEAN, INT, STRING>>",
            fires=(
                (
                    "s",
                    "a",
                ),
            ),
        ),
        Example("a INT", "a STRING", why="one type on each side: number-to-string"),
        Example("a UNION<INT, STRING>", "a INT", why="a type is gone: field-type-drift"),
    ),
)
