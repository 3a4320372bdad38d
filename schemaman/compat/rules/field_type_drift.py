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
from schemaman.model.types import Array, Json, Map, Struct, Type, Unknown

NAME = "field-type-drift"
VERDICTS = parse_verdicts("D D B B B B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields of several types of which some no longer occur."""
    kinds: tuple[type[Type], ...] = (*_kinds.SCALARS, Json, Array, Map, Struct, Unknown)
    between_kinds = (
        change
        for change in _kinds.find_type_changes(transition, kinds, kinds)
        if any(map(_kinds.is_kind_of_value, (change.old, change.new)))
        and not any(map(_kinds.is_null_only, (change.old, change.new)))
    )
    for change in (*_unions.find_union_changes(transition, "drift"), *between_kinds):
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
    family="documents",
    examples=(
        Example("a UNKNOWN('json:number')", "a UNKNOWN('json:string')", fires=(("a",),)),
        Example("a UNION<INT, STRING>", "a STRING", fires=(("a",),)),
        Example("a UNION<INT, STRING>", "a UNION<BOOLEAN, INT>", fires=(("a",),)),
        Example("a INT", "a UNION<INT, STRING>", why="all types still occur: field-type-conflict"),
        Example("a STRING", "a INT", why="one type on each side: string-to-number"),
    ),
)
