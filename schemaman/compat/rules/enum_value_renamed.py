"""A label of an enum has another text.

What happened: The list of labels has another text at the place of a former one. A database that stores places
gave all its old rows the new text.

Why it hurts: Debezium sends no events for rows that did not change: old rows of the lake keep the former
label, and the source has the new one. Queries for one label miss the rows of the other. A removed and an
added label at one place look the same.

What to do: Change the label of old rows at the target, and let queries accept both until that is done.

Sources: Debezium documentation, data type mappings (io.debezium.data.Enum is a text with the allowed labels);
MySQL and PostgreSQL documentation, enumerated types (ordered by their place).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Enum

NAME = "enum-value-renamed"
VERDICTS = parse_verdicts("D D D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds enums of which labels were renamed."""
    for change in _kinds.find_type_changes(transition, (Enum,), (Enum,)):
        if _words.classify_labels(change.old.values, change.new.values) == "renamed":
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "old rows of the lake keep the former label",
                "change the label of old rows at the target, and let queries accept both until then",
            )


RULE = Rule(
    name=NAME,
    title="a label of an enum has another text",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="values",
    examples=(
        Example("e ENUM('new','paid')", "e ENUM('open','paid')", fires=(("e",),)),
        Example("e ENUM('a','b')", "e ENUM('a','x','c')", fires=(("e",),)),
        Example("e ENUM('a','b')", "e ENUM('b','a')", why="the same labels: enum-reordered"),
        Example("e ENUM('a','b','c')", "e ENUM('a','c')", why="a label is gone: enum-value-removed"),
    ),
)
