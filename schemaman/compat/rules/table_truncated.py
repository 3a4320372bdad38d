"""A table was emptied at the source.

What happened: A statement removed all rows at once.

Why it hurts: Debezium sends no event for each row, and leaves the event of the statement out by default: the
rows stay in the lake, and nothing fails.

What to do: Remove the rows at the target that were written before the statement, or load it again from a
snapshot. Set `skipped.operations=none` to see such events.

Sources: Debezium documentation, skipped.operations (truncate is skipped by default); PostgreSQL
documentation, TRUNCATE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _facts

NAME = "table-truncated"
VERDICTS = parse_verdicts("· · D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds truncations."""
    for fact in transition.list_facts("truncated"):
        place = transition.at.position.value if transition.at is not None else ""
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            replace(fact, before=f"rows before {place}" if place else "rows", after=""),
            f"{transition.table} was emptied at the source: its rows before that stay in the lake",
            "remove the rows at the target that were written before, or load it again from a snapshot",
        )


RULE = Rule(
    name=NAME,
    title="a table was emptied at the source",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT", "id INT", fires=((),), facts=(StepFact("truncated"),)),
        Example("id INT", "", why="the table itself is gone: table-dropped"),
        Example("id INT", "id INT", why="nothing happened"),
    ),
)
