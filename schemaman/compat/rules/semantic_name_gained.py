"""A number got its meaning as a time.

What happened: A plain integer is a date, time or timestamp now, and events carry the same kind of number.

Why it hurts: Readers that take the number as it is read on. Those that convert by the schema get a time, and
the lake has two types.

What to do: Convert old rows once, if you want a time in the lake for them, too.

Sources: Debezium documentation, temporal types (semantic names such as io.debezium.time.Timestamp over
int64); Avro specification, Logical Types (an unknown logical type is ignored).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _kinds
from schemaman.model.types import (
    Integer,
)

NAME = "semantic-name-gained"
VERDICTS = parse_verdicts("N N D N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers that became times that events carry as the same number."""
    for change in _kinds.find_type_changes(transition, (Integer,), _kinds.TEMPORALS):
        if _kinds.keeps_number(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "the number in events is the same, and readers by the schema get a time",
                "let readers convert the number by its schema",
                "or convert old rows into a second column at the target",
            )


RULE = Rule(
    name=NAME,
    title="a number got its meaning as a time",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("d INT", "d DATE", fires=(("d",),)),
        Example("t BIGINT", "t TIMESTAMP_NTZ(6)", fires=(("t",),)),
        Example("d DATE", "d INT", why="the other way round: semantic-name-lost"),
        Example("t STRING", "t TIMESTAMP_NTZ(6)", why="a text and no number: temporal-encoding-changed"),
    ),
)
