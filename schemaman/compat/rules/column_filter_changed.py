"""A filter of the connector took or gave back a column.

What happened: The column was gone from events for a while and is in its old position again: the connector
left it out (`column.exclude.list`), or it was dropped and added again.

Why it hurts: Rows of the time between have no value of the column. If it was a filter, the table had the
values all the time, and a snapshot brings them.

What to do: Ask who changed the connector or the table. Load the rows of that time again if the values are
missed.

Sources: Debezium documentation, column.exclude.list and column.include.list.
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
from schemaman.model.diff import (
    AddColumn,
    DropColumn,
)

NAME = "column-filter-changed"
VERDICTS = parse_verdicts("N D D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that left events, or came back, by a filter perhaps."""
    for change in transition.changes:
        match change:
            case DropColumn((name,) as path, column) if transition.has_fact("excluded", name):
                before, after, words = _words.describe_column(column), "", "left events and came back later"
            case AddColumn((name,) as path, column, _) if transition.has_fact("excluded", name):
                before, after, words = "", _words.describe_column(column), "is in events again"
            case _:
                continue
        yield Finding(
            NAME,
            transition.table,
            path,
            before,
            after,
            f"{name} {words}: a filter of the connector left it out, or it was dropped and added again",
            _words.restrict_to_column(VERDICTS, transition, name),
            fixes=(f"ask who changed the connector or the table; load {name} again for the rows between",),
            claims=(*_words.claim_new_column(path), ("column-readded", path)),
        )


RULE = Rule(
    name=NAME,
    title="a filter of the connector took or gave back a column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example("id INT, n INT", "id INT", fires=(("n",),), facts=(StepFact("excluded", columns=("n",)),)),
        Example(
            "id INT",
            "id INT, n INT",
            fires=(("n",),),
            facts=(StepFact("excluded", columns=("n",)), StepFact("dropped-earlier", columns=("n",))),
        ),
        Example("id INT, n INT", "id INT", why="nothing brought it back: column-dropped"),
        Example(
            "id INT",
            "id INT, n INT",
            facts=(StepFact("dropped-earlier", columns=("n",)),),
            why="it is another column: column-readded",
        ),
    ),
)
