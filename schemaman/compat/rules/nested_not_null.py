"""Elements of an array or values of a map no longer allow NULL.

What happened: The element of an array, or the value of a map, was optional and is required now.

Why it hurts: A new reader cannot read the nulls of old data. Delta does not enforce NOT NULL inside arrays
and maps, so the lake keeps both.

What to do: Keep the element optional for readers that read old data, or remove the nulls from old rows first.

Sources: Avro specification, Schema Resolution (a union of null is no plain type); Delta Lake documentation,
constraints (NOT NULL is not enforced inside arrays and maps).
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
from schemaman.compat.rules import _kinds, _words
from schemaman.model.diff import (
    ChangeNullable,
)

NAME = "nested-not-null"
VERDICTS = parse_verdicts("B · N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds elements and values that allowed NULL and forbid it now."""
    for change in transition.changes:
        match change:
            case ChangeNullable(path, True, False) if _kinds.is_part_of_collection(transition, path):
                name = _words.join_path(path)
                refused = not _words.is_renamed(transition, path)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "nullable",
                    "NOT NULL",
                    f"{name} allowed nulls and forbids them now: a new reader cannot read those of old data",
                    _words.apply_resolution(VERDICTS, backward=refused, forward=False),
                    fixes=(
                        f"keep {name} optional for readers of old data, or remove its nulls from old rows",
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="elements of an array or values of a map no longer allow NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="nullability",
    examples=(
        Example("l ARRAY<INT>", "l ARRAY<INT NOT NULL>", fires=(("l", "element"),)),
        Example("m MAP<STRING, INT>", "m MAP<STRING, INT NOT NULL>", fires=(("m", "value"),)),
        Example("l ARRAY<INT NOT NULL>", "l ARRAY<INT>", why="the other way round: became-nullable"),
        Example("n INT", "n INT NOT NULL", why="a column and no element: became-required"),
    ),
)
