"""An enum has fewer labels.

What happened: The list of labels of an enum lost one or more labels.

Why it hurts: Events carry labels as texts, so nothing fails. Old rows keep labels that the source no longer
has; it gave its own rows another one.

What to do: Look for old rows with the removed labels at the target, and change them as the source did.

Sources: Debezium documentation, data type mappings (io.debezium.data.Enum is a text with the allowed labels);
MySQL and PostgreSQL documentation, enumerated types (ordered by their place).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Enum

NAME = "enum-value-removed"
VERDICTS = parse_verdicts("N N N N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds enums of which labels were removed."""
    for change in _kinds.find_type_changes(transition, (Enum,), (Enum,)):
        if _words.classify_labels(change.old.values, change.new.values) == "removed":
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old rows may have labels that the source no longer has",
                "change old rows with the removed labels at the target, as the source did",
            )


RULE = Rule(
    name=NAME,
    title="an enum has fewer labels",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="values",
    examples=(
        Example("e ENUM('a','b','c')", "e ENUM('a','b')", fires=(("e",),)),
        Example("e ENUM('a','b','c')", "e ENUM('b','c','d')", fires=(("e",),)),
        Example("e ENUM('a','b')", "e ENUM('a','b','c')", why="a label is new: enum-value-added"),
        Example("e ENUM('a','b')", "e ENUM('a','x')", why="another label in its place: enum-value-renamed"),
    ),
)
