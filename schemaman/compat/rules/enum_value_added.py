"""An enum has more labels.

What happened: The list of labels of an enum grew.

Why it hurts: Events carry labels as texts, so nothing fails. Queries that list the labels, as in CASE or IN,
do not count the new one.

What to do: Look for queries that list the labels, and add the new one.

Sources: Debezium documentation, data type mappings (io.debezium.data.Enum is a text with the allowed labels);
MySQL and PostgreSQL documentation, enumerated types (ordered by their place).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Enum

NAME = "enum-value-added"
VERDICTS = parse_verdicts("N N N N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds enums that have more labels."""
    for change in _kinds.find_type_changes(transition, (Enum,), (Enum,)):
        if _words.classify_labels(change.old.values, change.new.values) == "added":
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "queries that list the labels miss the new ones",
                "look for queries that list the labels (CASE, IN), and add the new ones",
            )


RULE = Rule(
    name=NAME,
    title="an enum has more labels",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="values",
    examples=(
        Example("e ENUM('a','b')", "e ENUM('a','b','c')", fires=(("e",),)),
        Example("e ENUM('a','c')", "e ENUM('a','b','c')", fires=(("e",),)),
        Example("e ENUM('a','b')", "e ENUM('a')", why="a label is gone: enum-value-removed"),
        Example("e ENUM", "e ENUM('a')", why="the labels were not known before"),
        Example("e SET('a')", "e SET('a','b')", why="a set: set-member-changed"),
    ),
)
