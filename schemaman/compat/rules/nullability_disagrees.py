"""The table and its events disagree on NULL.

What happened: The declared structure forbids NULL in a column and events allow it, or the other way round.

Why it hurts: A target that follows the declaration refuses rows that events may bring, or the other way
round. Readers of events and readers of the table have two truths.

What to do: Look at the transforms and converters of the connector. Keep the column optional at the target
until both agree.

Sources: Debezium documentation, schema change topic (optional) and Connect schemas of events.
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

NAME = "nullability-disagrees"
VERDICTS = parse_verdicts("D D D D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns of which the declaration and events disagree since the step."""
    for fact in transition.list_facts("nullability-differs"):
        for name in fact.columns:
            column = transition.new.column(name) if transition.new is not None else None
            if column is not None:
                declared = "nullable" if column.nullable else "NOT NULL"
                other = "NOT NULL" if column.nullable else "nullable"
                yield Finding(
                    NAME,
                    transition.table,
                    (name,),
                    declared,
                    other,
                    f"{name} is declared {declared}, and events have it as {other}",
                    _words.restrict_to_column(VERDICTS, transition, name),
                    fixes=(f"keep {name} optional at the target until both agree",),
                )


RULE = Rule(
    name=NAME,
    title="the table and its events disagree on NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="nullability",
    examples=(
        Example(
            "id INT",
            "id INT, n INT",
            fires=(("n",),),
            facts=(StepFact("nullability-differs", columns=("n",)),),
        ),
        Example("n INT", "n INT NOT NULL", why="both changed: became-required"),
        Example("n INT NOT NULL", "n INT", why="both changed: became-nullable"),
    ),
)
