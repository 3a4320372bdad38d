"""A date column became a timestamp.

What happened: A column of calendar days has a date and time now.

Why it hurts: Events carry a number of milliseconds, microseconds or nanoseconds instead of a number of days,
or a text with zone. A new Avro reader reads old days as such a number, without an error: dates become January
1970. An old reader refuses new data. Iceberg's Java implementation cannot change the type in place, and Delta
can only without zone.

What to do: Read each record with its own schema. Add a second column at the target, or widen in place on
Delta.

Sources: Debezium documentation, temporal types (io.debezium.time.Date); Avro specification, Schema Resolution
(int promotes to long); Delta protocol, Type Widening.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Date, Timestamp

NAME = "date-to-timestamp"
VERDICTS = parse_verdicts("D B B D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds dates that became timestamps."""
    for change in _kinds.find_type_changes(transition, (Date,), (Timestamp,)):
        yield _kinds.build_finding(
            NAME,
            {**VERDICTS, "delta": "break"} if change.new.zoned else VERDICTS,
            transition,
            change,
            "a number of days is read as a moment of January 1970",
            "read each record with its own schema, never with the newest one",
            "keep the old type at the target and put the new values into a second column",
        )


RULE = Rule(
    name=NAME,
    title="a date column became a timestamp",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("d DATE", "d TIMESTAMP_NTZ(6)", fires=(("d",),)),
        Example("d DATE", "d TIMESTAMP(6)", fires=(("d",),)),
        Example(
            "s STRUCT<d: DATE>",
            "s STRUCT<d: TIMESTAMP_NTZ(3)>",
            fires=(
                (
                    "s",
                    "d",
                ),
            ),
        ),
        Example("d TIMESTAMP_NTZ(6)", "d DATE", why="the other way round: timestamp-to-date"),
        Example("d DATE", "d STRING", why="a text: temporal-encoding-changed"),
    ),
)
