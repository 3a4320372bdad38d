"""A text or binary column must be shorter.

What happened: The length of a column shrank, or it got a limit.

Why it hurts: It hurts no reader of events or of the lake: neither Avro nor the target limits the length. Old
rows may be longer than the source allows now, and differ from it if the source cut them.

What to do: Nothing is needed here. Look for old rows above the limit if you compare the lake with the source.

Sources: Debezium documentation, data type mappings (VARCHAR is STRING); Delta and Iceberg hold texts as
STRING.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Binary, String, widens

NAME = "string-length-decreased"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds texts and bytes with a lower limit."""
    for change in _kinds.find_type_changes(transition, (String, Binary), (String, Binary)):
        if _kinds.keeps_values(change.old, change.new) and not widens(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old values may be longer; neither events nor the lake limit the length",
                "nothing is needed; look for longer rows if you compare the lake with the source",
            )


RULE = Rule(
    name=NAME,
    title="a text or binary column must be shorter",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("s VARCHAR(20)", "s VARCHAR(10)", fires=(("s",),)),
        Example("s STRING", "s VARCHAR(255)", fires=(("s",),)),
        Example("b BINARY", "b BINARY(16)", fires=(("b",),)),
        Example("s VARCHAR(10)", "s VARCHAR(20)", why="it grew: string-length-increased"),
        Example("s STRING", "s JSON", why="another meaning: text-semantic-changed"),
    ),
)
