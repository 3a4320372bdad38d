"""A column got a default.

What happened: A column that was there before has a default now.

Why it hurts: It hurts no reader: old data has its own values. New rows that name no value get the default.

What to do: Nothing is needed for readers.

Sources: Avro specification, Schema Resolution (a default is used only for a field that was not written).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import ChangeDefault

NAME = "default-added"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that had no default and have one now."""
    for change in transition.changes:
        match change:
            case ChangeDefault(path, None, new) if new is not None:
                name, default = _words.join_path(path), format_scalar(new)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    default,
                    f"{name} has the default {default} now: old data keeps its values",
                    VERDICTS,
                    fixes=("nothing is needed for readers",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column got a default",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example(
            "id INT NOT NULL, n INT NOT NULL", "id INT NOT NULL, n INT NOT NULL DEFAULT 0", fires=(("n",),)
        ),
        Example("n INT", "n INT DEFAULT 5", fires=(("n",),)),
        Example("n INT DEFAULT 1", "n INT DEFAULT 5", why="it had another default: default-changed"),
        Example(
            "id INT",
            "id INT, n INT NOT NULL DEFAULT 5",
            why="the column is new: column-added-required-with-default",
        ),
    ),
)
