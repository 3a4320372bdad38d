"""A table is new.

What happened: There is a table that was not there before.

Why it hurts: It hurts no reader: nobody reads the table yet.

What to do: Let a plan create the target, and accept the structure as the baseline of later checks.

Sources: Debezium documentation, schema change topic (CREATE TABLE events).
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

NAME = "table-created"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables that are known to be new; a table without a baseline may be old."""
    if transition.old is None and transition.new is not None and transition.has_fact("created"):
        if _words.find_working_copy(transition.table) is not None:
            return
        table = str(transition.table)
        count = len(transition.new.columns)
        yield Finding(
            NAME,
            transition.table,
            (),
            "",
            table,
            f"{table} is new, with {count} {'column' if count == 1 else 'columns'}: nobody reads it yet",
            VERDICTS,
            fixes=("let a plan create the target, and accept the structure: schemaman snapshot",),
            commands=("schemaman snapshot",),
        )


RULE = Rule(
    name=NAME,
    title="a table is new",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("", "id INT", fires=((),), facts=(StepFact("created"),)),
        Example("", "id INT", why="the table may be old, since nothing tells of its beginning"),
        Example("id INT", "", why="the table ended: table-dropped"),
    ),
)
