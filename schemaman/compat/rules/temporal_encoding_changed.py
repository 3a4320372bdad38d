"""A time became a number or a text, or the other way round.

What happened: A date, time or timestamp is a plain number or text now, or a number or text became one. Either
the source changed its type, or the connector its `time.precision.mode` or a converter.

Why it hurts: Readers cannot read one as the other, or read a number without knowing its unit. Nothing
converts the column of the lake in place, and a text may have any format.

What to do: Set `time.precision.mode` and the converters as they were. If the source changed its type, add a
second column at the target and convert old rows once.

Sources: Debezium documentation, time.precision.mode (adaptive, connect, isostring and others) and custom
converters.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds

NAME = "temporal-encoding-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds dates, times and timestamps that became numbers or texts, and back."""
    others: tuple[type[_kinds.Number | _kinds.Text], ...] = (*_kinds.NUMBERS, *_kinds.TEXTS)
    for change in _kinds.find_exchanges(transition, _kinds.TEMPORALS, others):
        if _kinds.keeps_number(change.old, change.new):
            continue
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "readers cannot tell which moment a number or a text is",
            "set time.precision.mode and the converters of the connector as they were",
            "or convert old rows into a second column at the target",
        )


RULE = Rule(
    name=NAME,
    title="a time became a number or a text, or the other way round",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("at TIMESTAMP_NTZ(6)", "at DOUBLE", fires=(("at",),)),
        Example("at STRING", "at TIMESTAMP(6)", fires=(("at",),)),
        Example("d DATE", "d STRING", fires=(("d",),)),
        Example(
            "a ARRAY<TIME(6)>",
            "a ARRAY<STRING>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("at TIMESTAMP_NTZ(6)", "at TIMESTAMP(6)", why="a timestamp still: zone-awareness-changed"),
        Example(
            "at TIMESTAMP_NTZ(6)", "at BIGINT", why="the same number without its name: semantic-name-lost"
        ),
        Example("i INTERVAL", "i STRING", why="a span, no moment: interval-encoding-changed"),
    ),
)
