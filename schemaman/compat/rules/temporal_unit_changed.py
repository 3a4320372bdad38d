"""A time counts in another unit.

What happened: A time or timestamp without zone that counted in milliseconds, microseconds or nanoseconds
counts in another of them now, because its precision changed or the connector's `time.precision.mode`.

Why it hurts: The number in the record has the same type and another meaning. A reader that assumes the old
unit is wrong by a factor of a thousand or a million, without an error: dates become January 1970 or far in
the future. A time of day in milliseconds is an int, and in finer units a long; an Avro reader may refuse it.

What to do: Read the unit from each record's own schema. In the lake the column is a timestamp and keeps its
meaning as long as the decoder follows the schema; compare a few values after the change.

Sources: Debezium documentation, temporal types (`io.debezium.time.Timestamp`, `MicroTimestamp`,
`NanoTimestamp`, `Time`, `MicroTime`, `NanoTime`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import MAXYEAR, UTC, datetime

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.ddl import format_type
from schemaman.model.types import Time, Timestamp

NAME = "temporal-unit-changed"
VERDICTS = parse_verdicts("D D B D D B D")

_WORDS = {3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}
_INSTANT = datetime(2024, 5, 17, 10, 30, tzinfo=UTC)
_DAY = 86_400


def check(transition: Transition) -> Iterator[Finding]:
    """Finds times and timestamps without zone that count in another unit."""
    kinds: tuple[type[Time | Timestamp], ...] = (Time, Timestamp)
    for change in _kinds.find_type_changes(transition, kinds, kinds):
        old, new = change.old, change.new
        if type(old) is not type(new) or old.zoned or new.zoned or _kinds.keeps_unit(old, new):
            continue
        units = _kinds.choose_unit(old), _kinds.choose_unit(new)
        name, before, after = _words.join_path(change.path), _WORDS[units[0]], _WORDS[units[1]]
        finding = _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "",
            "read the unit from each record's own schema, never from the newest one",
            f"or keep the unit: make {name} {format_type(old)} again at the source",
            example=_show_misreading(old, new),
        )
        yield replace(
            finding,
            before=f"{format_type(old)} in {before}",
            after=f"{format_type(new)} in {after}",
            message=f"{name} counted {before} and counts {after} now: "
            f"read in the other unit it is wrong by a factor of {10 ** abs(units[1] - units[0]):,}",
        )


def _show_misreading(old: Time | Timestamp, new: Time | Timestamp) -> str:
    """Shows one number in both units."""
    seconds = int(_INSTANT.timestamp())
    if isinstance(old, Time):
        seconds %= _DAY
    number = seconds * 10 ** _kinds.choose_unit(old)
    readings = [_render_number(number, _kinds.choose_unit(t), isinstance(t, Time)) for t in (old, new)]
    return f"the number {number} is {readings[0]} to the old schema and {readings[1]} to the new one"


def _render_number(number: int, unit: int, time_of_day: bool) -> str:
    seconds, fraction = divmod(number, 10**unit)
    clock = f"{seconds % _DAY // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    exact = f"{clock}.{fraction:0{unit}}".rstrip("0").rstrip(".")
    if time_of_day:
        return exact if seconds < _DAY else f"{seconds // 3600:,} hours, no time of day"
    year = 1970 + int(seconds / _DAY / 365.2425)
    if year > MAXYEAR:
        return f"in the year {year}"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d} {exact}"


RULE = Rule(
    name=NAME,
    title="a time counts in another unit",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("at TIMESTAMP_NTZ(3)", "at TIMESTAMP_NTZ(6)", fires=(("at",),)),
        Example("at TIMESTAMP_NTZ(9)", "at TIMESTAMP_NTZ(0)", fires=(("at",),)),
        Example("at TIME(3)", "at TIME(6)", fires=(("at",),)),
        Example("s STRUCT<at: TIME(6)>", "s STRUCT<at: TIME(2)>", fires=(("s", "at"),)),
        Example(
            "at TIMESTAMP_NTZ(4)",
            "at TIMESTAMP_NTZ(6)",
            why="both count microseconds: fraction-digits-changed",
        ),
        Example(
            "at TIMESTAMP(3)",
            "at TIMESTAMP(6)",
            why="a timestamp with zone is encoded as text: fraction-digits-changed",
        ),
        Example("at TIMESTAMP_NTZ(3)", "at TIMESTAMP(6)", why="it got a zone: zone-awareness-changed"),
        Example(
            "at TIME(3)", "at TIMESTAMP_NTZ(6)", why="another kind of type, not another unit: not-judged"
        ),
    ),
)
