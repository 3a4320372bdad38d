"""Bytes travel in another form.

What happened: Events of all tables of a connector carry their bytes in another form since one moment, and the
tables are the same: its setting `binary.handling.mode` or its release changed.

Why it hurts: Avro reads bytes as text and text as bytes, so nothing fails, and readers get the letters of an
encoding. All columns of that kind in all tables of the connector are concerned.

What to do: Set `binary.handling.mode` as it was. If the change is meant, give readers the new schema, and
convert old rows where both forms meet.

Sources: Debezium documentation, binary.handling.mode; the history of schemaman keeps one structure through
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

NAME = "binary-mode-changed"
VERDICTS = parse_verdicts("D D B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds moments at which a setting gave all columns of a kind another form; tables share the finding."""
    yield from _facts.find_setting_changes(
        NAME, VERDICTS, transition, "binary-encoding", "bytes", "binary.handling.mode"
    )


RULE = Rule(
    name=NAME,
    title="bytes travel in another form",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "a INT",
            "a INT",
            fires=((),),
            facts=(StepFact("binary-encoding", "bytes", "texts", ("a",), "main:shop"),),
        ),
        Example(
            "a TIMESTAMP_NTZ(3)",
            "a TIMESTAMP_NTZ(6)",
            why="the table has another type: temporal-unit-changed",
        ),
        Example("a INT", "a INT", why="nothing changed"),
    ),
)
