"""A set has other labels.

What happened: The list of labels of a SET column changed.

Why it hurts: Events carry the chosen labels as one text, so nothing fails. Queries that list the labels miss
new ones, and old rows keep removed ones.

What to do: Look for queries that list the labels. Change old rows with removed labels at the target, as the
source did.

Sources: Debezium documentation, data type mappings (io.debezium.data.EnumSet); MySQL documentation, The SET
Type.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import EnumSet

NAME = "set-member-changed"
VERDICTS = parse_verdicts("N N N N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds sets with other labels."""
    for change in _kinds.find_type_changes(transition, (EnumSet,), (EnumSet,)):
        if change.old.values and change.new.values:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "queries that list the labels miss new ones, and old rows keep removed ones",
                "change queries that list the labels, and old rows with removed labels at the target",
            )


RULE = Rule(
    name=NAME,
    title="a set has other labels",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="values",
    examples=(
        Example("e SET('a','b')", "e SET('a','b','c')", fires=(("e",),)),
        Example("e SET('a','b')", "e SET('b')", fires=(("e",),)),
        Example("e ENUM('a')", "e ENUM('a','b')", why="an enum: enum-value-added"),
        Example("e SET", "e SET('a')", why="the labels were not known before"),
        Example("e SET('a','b')", "e STRING", why="a plain text: text-semantic-changed"),
    ),
)
