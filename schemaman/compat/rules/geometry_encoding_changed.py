"""A geometry travels in another form.

What happened: A column that was a struct of binary form and reference system is something else now, or the
other way round, or a new release of the connector writes another struct.

Why it hurts: No reader of one form reads the other.

What to do: Set the converters as they were, or add a second column at the target and fill it from both.

Sources: Debezium documentation, io.debezium.data.geometry.Geometry (wkb and srid).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _facts, _kinds
from schemaman.model.types import (
    Array,
    Map,
    Struct,
    Type,
)

NAME = "geometry-encoding-changed"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds structs of geometries that became another type, and back, and other forms of such structs."""
    everything: tuple[type[Type], ...] = (*_kinds.SCALARS, Struct, Map, Array)
    for change in _kinds.find_type_changes(transition, everything, everything):
        if _kinds.is_geometry(change.old) or _kinds.is_geometry(change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "no reader of one form reads the other",
                "set the converters of the connector as they were",
                "or add a second column at the target and fill it from both",
            )
    for fact in transition.list_facts("geometry-encoding"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"events carry geometries as {fact.after} now, no longer as {fact.before}",
            "set the release and the converters of the connector as they were",
        )


RULE = Rule(
    name=NAME,
    title="a geometry travels in another form",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("g STRUCT<wkb: BINARY, srid: INT>", "g BINARY", fires=(("g",),)),
        Example("g STRING", "g STRUCT<wkb: BINARY, srid: INT>", fires=(("g",),)),
        Example(
            "g INT",
            "g INT",
            fires=((),),
            facts=(
                StepFact(
                    "geometry-encoding", "one form of structs", "another form of structs", ("g",), "main:shop"
                ),
            ),
        ),
        Example("g STRUCT<x: INT>", "g STRING", why="no geometry: nested-shape-changed"),
        Example(
            "g STRUCT<wkb: BINARY, srid: INT>",
            "g STRUCT<wkb: BINARY, srid: INT, z: INT>",
            why="one more field: nested-field-added",
        ),
    ),
)
