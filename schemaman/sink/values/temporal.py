"""Exact readers of Debezium's times, in all its units.

Source: Debezium `io.debezium.time` (Date, Time, MicroTime, NanoTime, Timestamp, MicroTimestamp,
NanoTimestamp, ZonedTime, ZonedTimestamp, Iso…, MicroDuration, NanoDuration) and
`org.apache.kafka.connect.data`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from schemaman.sink.values.values import OutOfRange, UnfitValue, Value, abbreviate_value

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY
_DAY_US = 86_400_000_000
_INFINITE = dict.fromkeys((9_223_372_036_825_200_000, (1 << 63) - 1), OutOfRange("infinity"))
_INFINITE |= dict.fromkeys((-9_223_372_036_832_400_000, -(1 << 63)), OutOfRange("-infinity"))
"""PostgreSQL's infinite timestamps, in any unit. Source: PGStatement.DATE_POSITIVE_INFINITY and
DATE_NEGATIVE_INFINITY of the JDBC driver, which Debezium passes on; in old releases, the ends of 64 bits.
"""
_INFINITE_DAYS = {-622_191_234: OutOfRange("infinity"), 622_191_233: OutOfRange("-infinity")}
"""The same as days, cut to 32 bits: PostgreSQL has no date so early, and no real date is so late."""

_LATEST_YEAR = 294_276
"""The latest year of a PostgreSQL timestamp; the earliest one is 4713 BC. Old releases print infinite
timestamps as the last ones of Java, `-292275055-05-16T23:00:00Z`. Source: PostgreSQL manual, date/time types;
recordings."""

_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?\Z")
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,})-(\d\d)-(\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?\Z"
)


def require_whole(value: object) -> int:
    """Return a whole number. Raises UnfitValue for anything else."""
    if type(value) is not int:
        raise UnfitValue(f"{abbreviate_value(value)} is no whole number")
    return value


def read_date(value: object) -> Value:
    """Read days since 1970-01-01 as a date."""
    days = require_whole(value)
    if _FIRST <= days <= _LAST:
        return date.fromordinal(days + _EPOCH_DAY)
    return _INFINITE_DAYS.get(days) or OutOfRange(_format_date(days))


def read_timestamp_ms(value: object) -> Value:
    """Read milliseconds since 1970-01-01 as a timestamp without a zone."""
    count = require_whole(value)
    return _INFINITE.get(count) or read_timestamp_us(count * 1000)


def read_timestamp_us(value: object) -> Value:
    """Read microseconds since 1970-01-01 as a timestamp without a zone."""
    count = require_whole(value)
    days, inside = divmod(count, _DAY_US)
    if _FIRST <= days <= _LAST:
        return _EPOCH + timedelta(days=days, microseconds=inside)
    return _INFINITE.get(count) or OutOfRange(f"{_format_date(days)}T{format_time(inside * 1000)}")


def read_timestamp_ns(value: object) -> Value:
    """Read nanoseconds since 1970-01-01 as a timestamp without a zone; `OutOfRange` if below microseconds."""
    count = require_whole(value)
    if count in _INFINITE:  # they end in zeros, and would be read as days of the year 2262
        return _INFINITE[count]
    micros, nanos = divmod(count, 1000)
    if not nanos:
        return read_timestamp_us(micros)
    days, inside = divmod(count, _DAY_US * 1000)
    return OutOfRange(f"{_format_date(days)}T{format_time(inside)}")


def read_instant_ms(value: object) -> Value:
    """Read milliseconds since 1970-01-01 as an instant."""
    return _set_utc(read_timestamp_ms(value))


def read_instant_us(value: object) -> Value:
    """Read microseconds since 1970-01-01 as an instant."""
    return _set_utc(read_timestamp_us(value))


def read_instant_ns(value: object) -> Value:
    """Read nanoseconds since 1970-01-01 as an instant."""
    return _set_utc(read_timestamp_ns(value))


def _set_utc(value: Value) -> Value:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, OutOfRange) and "infinity" not in value.text:
        return OutOfRange(f"{value.text}Z")
    return value


def read_time_ms(value: object) -> Value:
    """Read milliseconds since midnight as text; MySQL's TIME may be negative, and longer than a day."""
    return format_time(require_whole(value) * 1_000_000)


def read_time_us(value: object) -> Value:
    """Read microseconds since midnight as text."""
    return format_time(require_whole(value) * 1000)


def read_time_ns(value: object) -> Value:
    """Read nanoseconds since midnight as text."""
    return format_time(require_whole(value))


def format_time(nanos: int) -> str:
    """Format a time of day, or a span in hours: `HH:MM:SS` and a fraction without trailing zeros."""
    sign = "-" if nanos < 0 else ""
    seconds, rest = divmod(abs(nanos), 1_000_000_000)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{rest:09d}".rstrip("0") if rest else text


def read_local_time(value: object) -> Value:
    """Read a time of day in ISO 8601, without its `Z`, which the source does not have."""
    hours, minutes, seconds, fraction, _ = _split_time(value)
    return _join_time(hours, minutes, seconds, fraction)


def read_zoned_time(value: object) -> Value:
    """Read a time of day with an offset, in ISO 8601."""
    hours, minutes, seconds, fraction, offset = _split_time(value)
    if offset is None:
        raise UnfitValue(f"the time {abbreviate_value(value)} has no offset")
    return _join_time(hours, minutes, seconds, fraction) + offset


def _split_time(value: object) -> tuple[str, str, str, str, str | None]:
    found = _TIME.match(value) if isinstance(value, str) else None
    if found is None:
        raise UnfitValue(f"{abbreviate_value(value)} is no time of day")
    hours, minutes, seconds, fraction, offset = found.groups()
    return hours, minutes, seconds or "00", fraction or "", offset


def _join_time(hours: str, minutes: str, seconds: str, fraction: str) -> str:
    behind = fraction.rstrip("0")
    return f"{hours}:{minutes}:{seconds}" + (f".{behind}" if behind else "")


def read_iso_date(value: object) -> Value:
    """Read a date in ISO 8601; Debezium writes it with a `Z`."""
    text = _require_text(value).removesuffix("Z")
    if text in ("infinity", "-infinity"):
        return OutOfRange(text)
    found = re.fullmatch(r"([+-]?\d{4,})-(\d\d)-(\d\d)", text)
    if found is None:
        raise UnfitValue(f"{abbreviate_value(value)} is no date")
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return _read_far_year(value, int(found[1]), text)


def read_iso_timestamp(value: object) -> Value:
    """Read a timestamp without a zone in ISO 8601, without its `Z`, which the source does not have."""
    return _read_timestamp(value, zoned=False)


def read_zoned_timestamp(value: object) -> Value:
    """Read an instant in ISO 8601 with an offset, and convert it to UTC."""
    if (
        type(value) is str
        and len(value) in _USUAL_LENGTHS
        and value[4] == "-"
        and value[10] == "T"
        and value[-1] == "Z"
    ):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    return _read_timestamp(value, zoned=True)


_USUAL_LENGTHS = range(20, 28)
"""The lengths of instants as Debezium writes them, with up to six digits behind the point."""


def _read_timestamp(value: object, zoned: bool) -> Value:
    text = _require_text(value)
    found = _TIMESTAMP.match(text)
    if found is None:
        if text in ("infinity", "-infinity"):
            return OutOfRange(text)
        raise UnfitValue(f"{abbreviate_value(value)} is no timestamp")
    year, month, inside, at, fraction, offset = found.groups()
    if zoned and offset is None:
        raise UnfitValue(f"the timestamp {abbreviate_value(value)} has no offset")
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 6:
        return OutOfRange(text)
    try:
        local = datetime.fromisoformat(f"{year}-{month}-{inside}T{at}")
        local = local.replace(microsecond=int(fraction.ljust(6, "0")))
        # the shift to UTC may leave the years that Python has
        return (local - _parse_offset(offset)).replace(tzinfo=UTC) if zoned else local
    except (ValueError, OverflowError):
        return _read_far_year(value, int(year), text)


def _read_far_year(value: object, year: int, text: str) -> Value:
    if 1 < year < 9999:
        raise UnfitValue(f"{abbreviate_value(value)} is no date of the calendar")
    if abs(year) > _LATEST_YEAR:
        return OutOfRange("infinity" if year > 0 else "-infinity")
    return OutOfRange(text)


def _parse_offset(text: str | None) -> timedelta:
    if text in (None, "Z"):
        return timedelta()
    digits = re.sub(r"\D", "", text or "").ljust(6, "0")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return -span if (text or "").startswith("-") else span


def read_duration_us(value: object) -> Value:
    """Read microseconds as a span in ISO 8601 with days of 24 hours: `P1DT2H3M4.5S`."""
    return format_duration(require_whole(value) * 1000)


def read_duration_ns(value: object) -> Value:
    """Read nanoseconds as a span in ISO 8601."""
    return format_duration(require_whole(value))


def format_duration(nanos: int) -> str:
    """Format a span in ISO 8601; a negative span has its sign in front."""
    seconds, rest = divmod(abs(nanos), 1_000_000_000)
    days, seconds = divmod(seconds, 86_400)
    parts = [(seconds // 3600, "H"), (seconds // 60 % 60, "M")]
    clock = "".join(f"{count}{unit}" for count, unit in parts if count)
    if seconds % 60 or rest:
        clock += f"{seconds % 60}" + (f".{rest:09d}".rstrip("0") if rest else "") + "S"
    text = (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"{'-' if nanos < 0 else ''}P{text or 'T0S'}"


def _require_text(value: object) -> str:
    if type(value) is not str:
        raise UnfitValue(f"{abbreviate_value(value)} is no text")
    return value


def _format_date(days: int) -> str:
    """Format days since 1970-01-01 in ISO 8601; years above 9999 and below 0 have a sign."""
    cycles, rest = divmod(days - _FIRST, 146_097)  # days of 400 years, from year 1 on
    inside = date.fromordinal(rest + 1)
    year = inside.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{inside.month:02d}-{inside.day:02d}"
