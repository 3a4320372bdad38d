"""Parses the last day of an approval or a waiver."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from schemaman.api.workspace import now_ms
from schemaman.errors import BadConfiguration, UsageError
from schemaman.migration.plan_file import parse_expiry


def parse_last_day(text: str, what: str) -> date:
    """Parse a last day: a number of days such as `14d`, or a date. `what` names the decision.

    Raises:
        BadConfiguration: the text is neither, or means never.
        UsageError: the day is in the past.
    """
    until = parse_expiry(text, now_ms())
    if until is None:
        raise BadConfiguration(f"{what} needs a last day", hint="give 14d, or a date such as 2027-01-31")
    day = datetime.fromtimestamp(until // 1000, UTC).date()
    if day < datetime.now(UTC).date():
        raise UsageError(f"{day} is in the past", hint="give a later date, or 14d")
    return min(day, date.max - timedelta(1))
