"""A text or binary column may be longer.

What happened: The length of a column grew, or its limit was removed.

Why it hurts: It hurts no reader of events or of the lake: neither Avro nor the target limits the length. A
system behind that has the old limit may cut or refuse longer values.

What to do: Nothing is needed here. Widen the column in databases that are filled from the lake.

Sources: Debezium documentation, data type mappings (VARCHAR is STRING); Delta and Iceberg hold texts as
STRING.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Binary, String, widens

NAME = "string-length-increased"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds texts and bytes with a higher limit."""
    for change in _kinds.find_type_changes(transition, (String, Binary), (String, Binary)):
        if _kinds.keeps_values(change.old, change.new) and widens(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "neither events nor the lake limit the length",
                "nothing is needed: readers and the lake hold texts and bytes of any length",
            )


RULE = Rule(
    name=NAME,
    title="a text or binary column may be longer",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("s VARCHAR(10)", "s VARCHAR(20)", fires=(("s",),)),
        Example("s VARCHAR(10)", "s STRING", fires=(("s",),)),
        Example("b BINARY(8)", "b BINARY(16)", fires=(("b",),)),
        Example("s VARCHAR(20)", "s VARCHAR(10)", why="it shrank: string-length-decreased"),
        Example("s CHAR(10)", "s VARCHAR(10)", why="blanks count now: text-semantic-changed"),
        Example("s VARCHAR(10)", "b BINARY(10)", why="another column: column-dropped"),
    ),
)
