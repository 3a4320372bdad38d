"""The last day of what people decide for a while."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from schemaman.api.workspace import now_ms
from schemaman.errors import BadConfiguration, UsageError
from schemaman.migration.plan_file import parse_expiry


def parse_last_day(text: str, what: str) -> date:
    """The day that is meant by `14d` or by itself.

    Raises:
        BadConfiguration: no day is meant.
        UsageError: it is over already.
    """
    until = parse_expiry(text, now_ms())
    if until is None:
        raise BadConfiguration(f"{what} ends some day", hint="say 14d, or a day such as 2027-01-31")
    day = datetime.fromtimestamp(until // 1000, UTC).date()
    if day < datetime.now(UTC).date():
        raise UsageError(f"{day} is over already", hint="say a day to come, or 14d")
    return min(day, date.max - timedelta(1))
