"""Numbers, counts and times as reports show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_count(number: int, one: str, many: str = "") -> str:
    """`1 table`, `2 tables`, `1 200 records`."""
    return f"{format_number(number)} {one if number == 1 else many or one + 's'}"


def format_number(number: int) -> str:
    """Format a whole number with separated thousands."""
    return f"{number:,}".replace(",", "\u202f")


def format_time(epoch_ms: int | None) -> str:
    """Format a time as RFC 3339 in UTC; `time unknown` if the source gives none."""
    if epoch_ms is None:
        return "time unknown"
    try:
        at = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return f"epoch ms {epoch_ms}"
    return at.strftime("%Y-%m-%d %H:%M:%S") + (f".{epoch_ms % 1000:03d}" if epoch_ms % 1000 else "") + " UTC"
