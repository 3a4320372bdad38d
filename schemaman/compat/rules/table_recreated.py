"""A table was dropped and created again under its name.

What happened: The source dropped the table and created another one of the same name. The topic and the table
in the lake have the same name, too.

Why it hurts: Rows of both tables mix in the lake: a key may mean another row, and rows of the dropped table
stay. Columns of the same name may have another meaning. Nothing fails.

What to do: Empty the target, or start another one, and load it from a snapshot of the new table. Accept the
new structure as a baseline of its own.

Sources: Debezium documentation, schema change topic (DROP and CREATE TABLE events).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import EVERYTHING, Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.model.shell import build_command

NAME = "table-recreated"
VERDICTS = parse_verdicts("D D D D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the end of a table that another one of its name followed."""
    table = transition.table
    command = build_command(("accept",), (str(table),))
    if transition.old is not None and transition.new is None and transition.successor is not None:
        yield Finding(
            NAME,
            table,
            (),
            str(table),
            str(table),
            f"{table} was dropped and created again: rows of both tables have one name, and old rows stay",
            VERDICTS,
            fixes=(
                "empty the target, or start another one, and load it from a snapshot",
                f"then accept the new structure: {command}",
            ),
            commands=(command,),
        )
    if transition.old is not None and transition.new is not None and transition.has_fact("made-anew"):
        yield Finding(
            NAME,
            table,
            (),
            str(table),
            str(table),
            f"{table} has another key and other columns at once: it was perhaps dropped and created again, "
            "and this source does not tell",
            VERDICTS,
            fixes=(
                "ask who changed the table; if it is another one, empty the target and load it again",
                f"then accept the new structure: {command}",
            ),
            commands=(command,),
            claims=(EVERYTHING,),
        )


RULE = Rule(
    name=NAME,
    title="a table was dropped and created again",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example(
            "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)",
            "no INT NOT NULL, c INT, PRIMARY KEY (no)",
            fires=((),),
            facts=(StepFact("made-anew"),),
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "",
            fires=((),),
            successor="id INT NOT NULL, PRIMARY KEY (id)",
        ),
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", why="no table of the name followed: table-dropped"),
        Example("id INT", "id BIGINT", why="it is one table, and its column changed: integer-widened"),
    ),
)
