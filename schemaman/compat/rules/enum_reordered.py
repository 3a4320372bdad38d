"""The labels of an enum are in another order.

What happened: The labels that both lists have stand in another order.

Why it hurts: Events carry labels as texts, so nothing fails. The source sorts and compares by place, so its
order differs from before, and from the order of texts in the lake.

What to do: Do not sort or compare by the place of a label. Where a query uses `e + 0` or an index, use the
label.

Sources: Debezium documentation, data type mappings (io.debezium.data.Enum is a text with the allowed labels);
MySQL and PostgreSQL documentation, enumerated types (ordered by their place).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Enum

NAME = "enum-reordered"
VERDICTS = parse_verdicts("N N N N N D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds enums of which labels were reordered."""
    for change in _kinds.find_type_changes(transition, (Enum,), (Enum,)):
        if _words.classify_labels(change.old.values, change.new.values) == "reordered":
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "the source sorts its rows in another order",
                "do not sort or compare by the place of a label",
            )


RULE = Rule(
    name=NAME,
    title="the labels of an enum are in another order",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="values",
    examples=(
        Example("e ENUM('a','b')", "e ENUM('b','a')", fires=(("e",),)),
        Example(
            "a ARRAY<ENUM('a','b','c')>",
            "a ARRAY<ENUM('c','a','b')>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example(
            "e ENUM('a','c')", "e ENUM('a','b','c')", why="the order of both is the same: enum-value-added"
        ),
        Example("e ENUM('a','b')", "e ENUM('b','c')", why="a label is gone: enum-value-removed"),
    ),
)
