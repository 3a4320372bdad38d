"""Names of fields are data.

What happened: A collection or an object has so many names of fields that they look like data: they are
counted no further, or the object is a map now.

Why it hurts: A table with one column for each name never stops growing. Readers of the struct find a map.

What to do: Let the writers put the names into values, as a list of pairs, or keep the object as JSON text at
the target.

Sources: MongoDB documentation, Attribute Pattern; Spark SQL reference, MapType.
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
from schemaman.compat.rules import _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    ChangeType,
)
from schemaman.model.schema import Path
from schemaman.model.types import (
    Map,
    Struct,
)

NAME = "key-explosion"
VERDICTS = parse_verdicts("D D D D D D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds objects that became maps, and objects whose names are too many."""
    for change in transition.changes:
        match change:
            case ChangeType(path, Struct() as old, Map() as new) if transition.has_fact("documents"):
                yield _build_finding(transition, path, format_type(old), format_type(new))
            case _:
                continue
    for fact in transition.list_facts("many-names"):
        for name in fact.columns or ("the collection",):
            yield _build_finding(
                transition, () if name == "the collection" else (name,), "", "too many names"
            )


def _build_finding(transition: Transition, path: Path, before: str, after: str) -> Finding:
    name = _words.join_path(path) or "the collection"
    return Finding(
        NAME,
        transition.table,
        path,
        before,
        after,
        f"{name} has so many names of fields that they look like data: {after}",
        VERDICTS,
        fixes=(f"put the names of {name} into values, or keep it as JSON text at the target",),
        claims=(("nested-shape-changed", path), ("avro-incompatible", path[:1])),
    )


RULE = Rule(
    name=NAME,
    title="names of fields are data",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("m STRUCT<a: INT>", "m MAP<STRING, INT>", fires=(("m",),), facts=(StepFact("documents"),)),
        Example(
            "m INT",
            "m INT",
            fires=((),),
            facts=(StepFact("documents"), StepFact("many-names", columns=("the collection",))),
        ),
        Example(
            "m STRUCT<a: INT>", "m MAP<STRING, INT>", why="a table and no collection: nested-shape-changed"
        ),
        Example(
            "m STRUCT<a: INT>",
            "m STRUCT<a: INT, b: INT>",
            facts=(StepFact("documents"),),
            why="one more name: field-appeared",
        ),
    ),
)
