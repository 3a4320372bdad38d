"""A column was regrouped.

What happened: A single value became a struct or a map, or the other way round, or a struct, a map and an
array were exchanged.

Why it hurts: No reader of one shape reads another, and neither table format can change it in place. Queries
for a nested field fail.

What to do: Add a second column at the target for the new shape, and let readers change with the source.

Sources: Avro specification, Schema Resolution (records, arrays and maps are read by their like only); Delta
and Iceberg (no promotion of nested types).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Array, Map, Struct, Type

NAME = "nested-shape-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds structs and maps that became something else, and back."""
    shapes: tuple[type[Struct | Map | Array], ...] = (Struct, Map, Array)
    grouped: tuple[type[Struct | Map], ...] = (Struct, Map)
    changes: tuple[_kinds.TypeChange[Type, Type], ...] = (
        *_kinds.find_type_changes(transition, shapes, shapes),
        *_kinds.find_exchanges(transition, grouped, _kinds.SCALARS),
    )
    for change in changes:
        if _kinds.is_geometry(change.old) or _kinds.is_geometry(change.new):
            continue
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "no reader of one shape reads the other",
            "add a second column at the target for the new shape, and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="a column was regrouped",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("a STRING", "a STRUCT<x: STRING>", fires=(("a",),)),
        Example("a STRUCT<x: INT>", "a MAP<STRING, INT>", fires=(("a",),)),
        Example("a ARRAY<INT>", "a STRUCT<x: INT>", fires=(("a",),)),
        Example(
            "s STRUCT<a: STRUCT<x: INT>>",
            "s STRUCT<a: INT>",
            fires=(
                (
                    "s",
                    "a",
                ),
            ),
        ),
        Example("a STRUCT<x: INT>", "a STRUCT<x: INT, y: INT>", why="a struct still: nested-field-added"),
        Example("a JSON", "a STRUCT<x: INT>", why="a document: json-and-struct-exchanged"),
        Example("a INT", "a ARRAY<INT>", why="an array of values: array-shape-changed"),
    ),
)
