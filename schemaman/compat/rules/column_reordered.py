"""Columns, or fields of a struct, are in another order.

What happened: The source shows the same columns at other positions.

Why it hurts: It hurts no reader that uses names. Avro matches fields by name, and the lake keeps its own
order. A script that reads columns of the source by position, or INSERT without a column list, mixes them up.

What to do: Nothing is needed for readers by name. Name the columns wherever a position is used.

Sources: Avro specification, Schema Resolution (fields are matched by name).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.model.diff import MoveColumn
from schemaman.model.schema import Path

NAME = "column-reordered"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds moves, one finding for all columns of the table and one for all fields of a struct."""
    moves: dict[Path, list[MoveColumn]] = {}
    for change in transition.changes:
        match change:
            case MoveColumn(path, _):
                moves.setdefault(path[:-1], []).append(change)
            case _:
                continue
    for parent, moved in moves.items():
        names = ", ".join(change.path[-1] for change in moved)
        after = ", ".join(f"{change.path[-1]} {_describe_place(change)}" for change in moved)
        yield Finding(
            NAME,
            transition.table,
            parent,
            names,
            after,
            f"the order of the columns changed: {after}",
            VERDICTS,
            fixes=("nothing is needed by name; name the columns wherever a position is used",),
        )


def _describe_place(change: MoveColumn) -> str:
    return "comes first" if change.after is None else f"comes after {change.after}"


RULE = Rule(
    name=NAME,
    title="columns are in another order",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("id INT, a INT, b INT", "id INT, b INT, a INT", fires=((),)),
        Example("s STRUCT<a: INT, b: INT>, c INT", "s STRUCT<b: INT, a: INT>, c INT", fires=(("s",),)),
        Example(
            "id INT, b INT", "id INT, a INT, b INT", why="the others keep their order: column-added-nullable"
        ),
        Example(
            "a INT, b INT",
            "b INT, a INT",
            why="the columns exchanged their names: columns-swapped",
            renames={"a": "b", "b": "a"},
        ),
    ),
)
