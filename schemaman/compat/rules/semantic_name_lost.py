"""A number lost its meaning as a time.

What happened: A date, time or timestamp is a plain integer now, and events carry the same kind of number
without its name.

Why it hurts: Nothing fails in Avro: the number is read, and nothing says its unit any more. Spark and the
lake have a time column, which the number does not fit.

What to do: Set `time.precision.mode` and the converters as they were. If the source changed its type, convert
old rows into a second column.

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

NAME = "semantic-name-lost"
VERDICTS = parse_verdicts("D D B D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds times that became integers that events carry as the same number."""
    for change in _kinds.find_type_changes(transition, _kinds.TEMPORALS, (Integer,)):
        if _kinds.keeps_number(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "the number in events is the same, and nothing says its unit",
                "set time.precision.mode and the converters of the connector as they were",
                "or convert old rows into a second column at the target",
            )


RULE = Rule(
    name=NAME,
    title="a number lost its meaning as a time",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("d DATE", "d INT", fires=(("d",),)),
        Example("t TIME(3)", "t INT", fires=(("t",),)),
        Example("t BIGINT", "t TIMESTAMP_NTZ(6)", why="the other way round: semantic-name-gained"),
        Example("t TIMESTAMP(6)", "t BIGINT", why="events had a text: temporal-encoding-changed"),
    ),
)
