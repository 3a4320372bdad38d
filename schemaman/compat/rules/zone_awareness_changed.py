"""A time got or lost its time zone.

What happened: A time or timestamp without zone has one now, or the other way round.

Why it hurts: Debezium encodes values with zone as text and others as numbers, so no reader of one reads the
other. The moment itself may move: a local time says no zone, and each reader assumes its own. The lake has
two types for both.

What to do: Decide which zone the old values have, add a second column at the target, and convert old rows
once.

Sources: Debezium documentation, temporal types (ZonedTimestamp and ZonedTime are texts); Iceberg and Spark
documentation (timestamp with and without zone are different types).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Time, Timestamp

NAME = "zone-awareness-changed"
VERDICTS = parse_verdicts("B B B B B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds times and timestamps that carry a zone on one side only."""
    kinds: tuple[type[Time | Timestamp], ...] = (Time, Timestamp)
    for change in _kinds.find_type_changes(transition, kinds, kinds):
        if type(change.old) is type(change.new) and change.old.zoned != change.new.zoned:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "events carry a text with zone on one side and a number on the other",
                "decide which zone the old values have, and convert them into a second column at the target",
            )


RULE = Rule(
    name=NAME,
    title="a time got or lost its time zone",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("at TIMESTAMP_NTZ(6)", "at TIMESTAMP(6)", fires=(("at",),)),
        Example("at TIMESTAMP(3)", "at TIMESTAMP_NTZ(6)", fires=(("at",),)),
        Example("at TIME(6)", "at TIMETZ(6)", fires=(("at",),)),
        Example("at TIMESTAMP(3)", "at TIMESTAMP(6)", why="it has its zone still: fraction-digits-changed"),
        Example(
            "at TIMESTAMP_NTZ(3)", "at TIMESTAMP_NTZ(6)", why="no zone on both sides: temporal-unit-changed"
        ),
    ),
)
