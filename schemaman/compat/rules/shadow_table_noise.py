"""A working copy of an online schema change came or went.

What happened: The table has the name of a working copy that gh-ost or pt-online-schema-change makes, and it
was created, renamed or dropped.

Why it hurts: It hurts no reader: the tool copies the rows, and the change of the real table has its own
finding.

What to do: Nothing. Leave such tables out of the stream with `table.exclude.list` if their rows come, too.

Sources: gh-ost documentation, cut-over (_t_gho, _t_ghc, _t_del); Percona Toolkit documentation,
pt-online-schema-change (_t_new, _t_old).
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
from schemaman.model.schema import TableId

NAME = "shadow-table-noise"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the beginning and the end of working copies."""
    original = _words.find_working_copy(transition.table)
    appeared = transition.old is None and transition.has_fact("created")
    ended = transition.old is not None and transition.new is None and transition.successor is None
    if original is not None and (appeared or ended):
        table = str(transition.table)
        yield Finding(
            NAME,
            transition.table,
            (),
            "" if appeared else table,
            table if appeared else "",
            f"{table} is a working copy of {original}: the change of {original} itself has its own finding",
            VERDICTS,
            fixes=("leave it out of the stream if its rows come, too: table.exclude.list",),
        )


RULE = Rule(
    name=NAME,
    title="a working copy of an online schema change came or went",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT", "", fires=((),), table=TableId("shop", "app", "", "_orders_gho")),
        Example(
            "",
            "id INT",
            fires=((),),
            table=TableId("shop", "app", "", "_orders_new"),
            facts=(StepFact("created"),),
        ),
        Example(
            "id INT",
            "",
            table=TableId("shop", "app", "", "orders_new"),
            why="a name that people use: table-dropped",
        ),
        Example(
            "id INT",
            "id BIGINT",
            table=TableId("shop", "app", "", "_orders_gho"),
            why="it goes on: integer-widened",
        ),
    ),
)
