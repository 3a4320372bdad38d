"""Decimals travel in another form.

What happened: Events of all tables of a connector carry their decimals in another form since one moment, and
the tables are the same: its setting `decimal.handling.mode` or its release changed.

Why it hurts: No reader of bytes, doubles or texts reads another of them, and doubles lose digits. All columns
of that kind in all tables of the connector are concerned.

What to do: Set `decimal.handling.mode` as it was. If the change is meant, give readers the new schema, and
convert old rows where both forms meet.

Sources: Debezium documentation, decimal.handling.mode; the history of schemaman keeps one structure through
both forms.
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
from schemaman.compat.rules import _facts

NAME = "decimal-mode-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds moments at which a setting gave all columns of a kind another form; tables share the finding."""
    yield from _facts.find_setting_changes(
        NAME, VERDICTS, transition, "decimal-encoding", "decimals", "decimal.handling.mode"
    )


RULE = Rule(
    name=NAME,
    title="decimals travel in another form",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "a INT",
            "a INT",
            fires=((),),
            facts=(StepFact("decimal-encoding", "precise", "string", ("a",), "main:shop"),),
        ),
        Example(
            "a TIMESTAMP_NTZ(3)",
            "a TIMESTAMP_NTZ(6)",
            why="the table has another type: temporal-unit-changed",
        ),
        Example("a INT", "a INT", why="nothing changed"),
    ),
)
