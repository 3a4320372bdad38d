"""Until when a plan may be begun, and moments as its file tells them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from schemaman.errors import BadConfiguration


def expiry(text: str, now_ms: int) -> int | None:
    """When a plan made now expires (epoch ms): `30d`, `12h`, a day, a moment with its zone; None for `never`.

    Days last to their end in UTC, so that plans of one day that say the same have the same hash.

    Raises:
        BadConfiguration: the text is none of these, or a moment beyond the year 9999.
    """
    if text == "never":
        return None
    try:
        until = _meant(text, now_ms)
        if until is not None and moment(until):
            return until
    except (ValueError, OverflowError):
        pass
    raise BadConfiguration(f"{text!r} is no time to expire", hint="say 30d, 12h, 2027-01-31, or never")


def _meant(text: str, now_ms: int) -> int | None:
    span = re.fullmatch(r"([0-9]{1,5})([dh])", text)
    if span and span[2] == "h":
        return (now_ms // 1000 + int(span[1]) * 3600) * 1000
    if span:
        return _end_of((datetime.fromtimestamp(now_ms // 1000, UTC) + timedelta(int(span[1]))).date())
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return _end_of(date.fromisoformat(text))
    at = datetime.fromisoformat(text)
    return int(at.timestamp() * 1000) if at.tzinfo is not None else None


def _end_of(day: date) -> int:
    return int(datetime.combine(day, time.min, UTC).timestamp()) * 1000 + 86_399_999


def moment(ms: int) -> str:
    """RFC 3339 in UTC, to the millisecond. Raises ValueError or OverflowError beyond the years 1 to 9999."""
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(moment: str) -> int:
    """The epoch milliseconds of such a moment. Raises ValueError: it is none."""
    at = datetime.fromisoformat(moment)
    return int(at.replace(microsecond=0).timestamp()) * 1000 + at.microsecond // 1000
