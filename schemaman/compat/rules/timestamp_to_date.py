"""A timestamp column became a date.

What happened: A column with date and time has calendar days only.

Why it hurts: Events carry a number of days instead of a moment. An old Avro reader reads new days as a moment
of January 1970, without an error. A new reader refuses old data. No table format narrows the column in place,
and the time of day of new rows is lost.

What to do: Add a second column for the day at the target. Keep the timestamp there for old rows.

Sources: Debezium documentation, temporal types (io.debezium.time.Date); Avro specification, Schema Resolution
(int promotes to long).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Date, Timestamp

NAME = "timestamp-to-date"
VERDICTS = parse_verdicts("B D B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds timestamps that became dates."""
    for change in _kinds.find_type_changes(transition, (Timestamp,), (Date,)):
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "a number of days is read as a moment of January 1970",
            "keep the old type at the target and put the new values into a second column",
            "read each record with its own schema, never with the newest one",
        )


RULE = Rule(
    name=NAME,
    title="a timestamp column became a date",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("d TIMESTAMP_NTZ(6)", "d DATE", fires=(("d",),)),
        Example("d TIMESTAMP(6)", "d DATE", fires=(("d",),)),
        Example("d DATE", "d TIMESTAMP_NTZ(6)", why="the other way round: date-to-timestamp"),
        Example("d TIMESTAMP_NTZ(6)", "d TIMESTAMP_NTZ(0)", why="a timestamp still: temporal-unit-changed"),
    ),
)
