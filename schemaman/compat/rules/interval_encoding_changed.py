"""A span of time is encoded in another way.

What happened: An interval is a number or a text now, or the other way round, or it counts other units. Either
the source changed its type, or the connector its `interval.handling.mode`.

Why it hurts: A number of microseconds counts a month as an average of days, and a text of ISO 8601 keeps
months apart: no reader of one reads the other.

What to do: Set `interval.handling.mode` as it was, or add a second column at the target for the new form.

Sources: Debezium documentation, interval.handling.mode (numeric is MicroDuration, string is ISO 8601).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _facts, _kinds
from schemaman.model.types import Interval, Type

NAME = "interval-encoding-changed"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds intervals that became numbers or texts, and back, and intervals of other units."""
    others: tuple[type[_kinds.Number | _kinds.Text], ...] = (*_kinds.NUMBERS, *_kinds.TEXTS)
    changes: tuple[_kinds.TypeChange[Type, Type], ...] = (
        *_kinds.find_type_changes(transition, (Interval,), (Interval,)),
        *_kinds.find_exchanges(transition, (Interval,), others),
    )
    for change in changes:
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "readers of one form cannot read the other",
            "set interval.handling.mode of the connector as it was",
            "or convert old rows into a second column at the target",
        )

    for fact in transition.list_facts("interval-encoding"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"the connector writes spans of time as {fact.after} now, no longer as {fact.before}: "
            "the tables are the same",
            "set interval.handling.mode of the connector as it was",
        )


RULE = Rule(
    name=NAME,
    title="a span of time is encoded in another way",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example(
            "a INT",
            "a INT",
            fires=((),),
            facts=(StepFact("interval-encoding", "x", "y", ("a",), "main:shop"),),
        ),
        Example("i INTERVAL", "i BIGINT", fires=(("i",),)),
        Example("i STRING", "i INTERVAL", fires=(("i",),)),
        Example("i INTERVAL", "i INTERVAL DAY TO SECOND", fires=(("i",),)),
        Example("at TIMESTAMP_NTZ(6)", "at BIGINT", why="a moment, no span: semantic-name-lost"),
        Example("i INTERVAL", "i INTERVAL", why="nothing changed"),
    ),
)
