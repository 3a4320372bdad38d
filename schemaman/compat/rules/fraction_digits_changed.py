"""A time has other fractional digits.

What happened: A time or timestamp has more or fewer digits after the second, and events count in the same
unit as before.

Why it hurts: It hurts no reader: the encoding is the same. New values are rounded to fewer digits, or have
more.

What to do: Nothing is needed for readers. Comparisons for equality between old and new rows may miss by a
fraction.

Sources: Debezium documentation, temporal types (the unit follows the precision: up to 3, up to 6, more).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Time, Timestamp

NAME = "fraction-digits-changed"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds times and timestamps of another precision in the same unit."""
    kinds: tuple[type[Time | Timestamp], ...] = (Time, Timestamp)
    for change in _kinds.find_type_changes(transition, kinds, kinds):
        if _kinds.keeps_unit(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "events encode it as before",
                "nothing is needed for readers",
            )


RULE = Rule(
    name=NAME,
    title="a time has other fractional digits",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("at TIMESTAMP_NTZ(4)", "at TIMESTAMP_NTZ(6)", fires=(("at",),)),
        Example("at TIMESTAMP(6)", "at TIMESTAMP(0)", fires=(("at",),)),
        Example("at TIME(0)", "at TIME(3)", fires=(("at",),)),
        Example("at TIMESTAMP_NTZ(3)", "at TIMESTAMP_NTZ(6)", why="another unit: temporal-unit-changed"),
        Example("at TIMESTAMP_NTZ(6)", "at TIMESTAMP(6)", why="it got a zone: zone-awareness-changed"),
    ),
)
