"""A column that was read once is not in the stream.

What happened: A snapshot read the column from the table, and the events of changes lack it: it is computed by
the source, which does not log it, or it was dropped before the first change of a row.

Why it hurts: New rows have no value of the column. Queries that select it get NULL, and an old Avro reader
with a required field fails.

What to do: Compute the column at the target, or store it at the source as an ordinary column. If it was
dropped, tell its readers.

Sources: PostgreSQL documentation, Generated Columns (not replicated before version 18); Debezium
documentation, PostgreSQL connector.
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
    DropColumn,
)

NAME = "generated-column-not-captured"
VERDICTS = parse_verdicts("· D D D D D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that are gone with the first streamed event after a snapshot."""
    for change in transition.changes:
        match change:
            case DropColumn((name,) as path, column) if transition.has_fact("not-streamed", name):
                definition = _words.describe_column(column)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    definition,
                    "",
                    f"{name} ({definition}) was read from the table and is not in the stream: "
                    "the source computes it, or it was dropped",
                    VERDICTS,
                    fixes=(f"compute {name} at the target, or tell its readers that it gets no new values",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column that was read once is not in the stream",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="generated",
    examples=(
        Example(
            "id INT, net DECIMAL(9,2)",
            "id INT",
            fires=(("net",),),
            facts=(StepFact("not-streamed", columns=("net",)),),
        ),
        Example("id INT, net DECIMAL(9,2)", "id INT", why="the stream had the column before: column-dropped"),
        Example("id INT", "id INT, net DECIMAL(9,2)", why="the column is new: column-added-nullable"),
    ),
)
