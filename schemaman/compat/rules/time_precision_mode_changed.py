"""Times travel in another form.

What happened: Events of all tables of a connector carry their dates, times and timestamps in another form
since one moment, and the tables are the same: its setting `time.precision.mode` or its release changed.

Why it hurts: A reader that expects the old unit or form is wrong by a factor of a thousand or more, without
an error. All columns of that kind in all tables of the connector are concerned.

What to do: Set `time.precision.mode` as it was. If the change is meant, give readers the new schema, and
convert old rows where both forms meet.

Sources: Debezium documentation, time.precision.mode; the history of schemaman keeps one structure through
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

NAME = "time-precision-mode-changed"
VERDICTS = parse_verdicts("D D B D D B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds moments at which a setting gave all columns of a kind another form; tables share the finding."""
    yield from _facts.find_setting_changes(
        NAME, VERDICTS, transition, "time-encoding", "times", "time.precision.mode"
    )


RULE = Rule(
    name=NAME,
    title="times travel in another form",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "a INT",
            "a INT",
            fires=((),),
            facts=(StepFact("time-encoding", "coarser units", "finer units", ("a",), "main:shop"),),
        ),
        Example(
            "a TIMESTAMP_NTZ(3)",
            "a TIMESTAMP_NTZ(6)",
            why="the table has another type: temporal-unit-changed",
        ),
        Example("a INT", "a INT", why="nothing changed"),
    ),
)
