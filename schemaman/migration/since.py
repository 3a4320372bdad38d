"""The beginning of a digest, as people write it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from schemaman.errors import UsageError

Since = str | int | date | datetime | timedelta
"""`yesterday`, `today`, `36h`, `7d`, `2026-11-25`, a moment with its zone; epoch milliseconds."""

_SPAN = re.compile(r"([0-9]{1,5})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}
_HINT = "write yesterday, today, 36h, 7d, 2026-11-25 or 2026-11-25T06:00Z"


def parse_since(since: Since, now_ms: int) -> int:
    """Find the beginning in epoch milliseconds. Days begin at midnight in UTC.

    Raises:
        UsageError: the value is none of `Since`, or later than now.
    """
    try:
        found = _find_begin(since, now_ms)
    except (ValueError, OverflowError, TypeError) as error:
        raise UsageError(f"{since!r} is no time to begin at", hint=_HINT) from error
    if found > now_ms:
        raise UsageError(f"{since} is in the future", hint=_HINT)
    return found


def _find_begin(since: Since, now_ms: int) -> int:
    now = datetime.fromtimestamp(now_ms // 1000, UTC)
    match since:
        case bool():
            raise TypeError("a truth value is no time")
        case int():
            return since
        case timedelta():
            return now_ms - int(since.total_seconds() * 1000)
        case datetime() if since.tzinfo is not None:
            return int(since.timestamp() * 1000)
        case datetime():
            raise ValueError("the time has no zone")
        case date():
            return _begin_day(since)
        case str() if since in _DAYS:
            return _begin_day(now.date() - timedelta(_DAYS[since]))
        case str() if (span := _SPAN.fullmatch(since)) is not None:
            return now_ms - int(timedelta(**{_UNITS[span[2]]: int(span[1])}).total_seconds() * 1000)
        case str() if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", since):
            return _begin_day(date.fromisoformat(since))
        case str():
            return _find_begin(datetime.fromisoformat(since), now_ms)
        case _:
            raise TypeError(f"a {type(since).__name__} is no time")


def _begin_day(day: date) -> int:
    return int(datetime.combine(day, time.min, UTC).timestamp()) * 1000
