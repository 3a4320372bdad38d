"""A column of the key is not in the rows.

What happened: Events have a column in their key only; the row lacks it since the step, because a filter or a
transform leaves it out.

Why it hurts: A sink that writes rows has no value for the column, so it cannot merge by the key.

What to do: Keep the column in the row (`column.exclude.list`), or let the sink take key columns from the key.

Sources: Debezium documentation, column.exclude.list and change event keys.
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

NAME = "key-not-in-value"
VERDICTS = parse_verdicts("· · B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that only keys carry since the step."""
    for fact in transition.list_facts("key-outside-row"):
        for name in fact.columns:
            yield Finding(
                NAME,
                transition.table,
                (name,),
                name,
                "",
                f"only the key carries {name} now: rows lack it, and a sink of rows cannot merge by the key",
                VERDICTS,
                fixes=(
                    f"keep {name} in the row: look at column.exclude.list and the transforms",
                    "or let the sink take key columns from the key",
                ),
            )


RULE = Rule(
    name=NAME,
    title="a column of the key is not in the rows",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=(("id",),),
            facts=(StepFact("key-outside-row", columns=("id",)),),
        ),
        Example(
            "id INT NOT NULL, n INT, PRIMARY KEY (id)",
            "n INT",
            why="the table lost the column, too: primary-key-lost",
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            why="rows have the column",
        ),
    ),
)
