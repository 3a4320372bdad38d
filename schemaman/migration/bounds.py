"""The bounds within which rows are rewritten without a person: bytes to write and to read, and hours.

Law: what is beyond a bound is not begun, and the reason says how much it would be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemaman.model.display import count_noun

_UNITS = {
    "": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_DAY = 24 * 60
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may be done without a person; sizes in bytes, the window in minutes since midnight, UTC.

    `max_rewrite`: the largest table whose rows are rewritten; None rewrites none. `max_scan`: the largest
    table that is read to prove something; None reads each. `window`: when a rewrite may begin; None for
    always. Its end may be less than its beginning: it is over midnight then. A rewrite that has begun may
    end outside of it.
    """

    max_rewrite: int | None = None
    max_scan: int | None = None
    window: tuple[int, int] | None = None

    def explain_rewrite(self, size: int | None, now_ms: int, *, is_begun: bool = False) -> str:
        """Explain why a table of this size must not be rewritten at this moment; empty if it may.

        `size` is None if the table does not tell it. `now_ms` is in epoch milliseconds. The window has no
        effect on a rewrite that `is_begun`: writers of the table wait for its end.
        """
        if self.max_rewrite is None:
            return "no max_rewrite is set"
        found = self._explain_size(size, self.max_rewrite, "rewritten", "max_rewrite")
        found = found or self.explain_scan(size)
        if found or is_begun or self.window is None or not self.find_opening(now_ms):
            return found
        begin, end = map(_format_minute, self.window)
        return f"{format_size(size or 0)} would be rewritten, and the window is {begin}-{end} UTC"

    def find_opening(self, now_ms: int) -> int:
        """Find how many milliseconds it is until a rewrite may begin; 0 inside the window or without one."""
        if self.window is None:
            return 0
        begin, end = (minute * _MINUTE_MS for minute in self.window)
        now = now_ms % (_DAY * _MINUTE_MS)
        is_open = (now - begin) % (_DAY * _MINUTE_MS) < (end - begin) % (_DAY * _MINUTE_MS)
        return 0 if is_open else (begin - now) % (_DAY * _MINUTE_MS)

    def explain_scan(self, size: int | None) -> str:
        """Explain why a table of this size must not be read as a whole; empty if it may."""
        if self.max_scan is None:
            return ""
        return self._explain_size(size, self.max_scan, "read", "max_scan")

    def _explain_size(self, size: int | None, most: int, verb: str, name: str) -> str:
        if size is None:
            return f"the table does not tell its size, and {name} is {format_size(most)}"
        if size <= most:
            return ""
        found, bound = format_size(size), format_size(most)
        if found == bound:  # rounded to the same number
            found, bound = f"{size} bytes", f"{most} bytes"
        return f"{found} would be {verb}, and {name} is {bound}"


def parse_size(value: object) -> int | None:
    """Parse a size in bytes, or a text such as `50GB`; None for an empty text. Raises `ValueError`."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]i?B|)", str(value).strip())
    if value is None or value == "":
        return None
    if found is None or isinstance(value, bool):
        raise ValueError(f"{value!r} is no size: write 50GB; units are {', '.join(filter(None, _UNITS))}")
    return int(float(found[1]) * _UNITS[found[2]])


def parse_window(value: object) -> tuple[int, int] | None:
    """Parse hours of the day, such as `22:00-06:00`; None for an empty text. Raises `ValueError`."""
    if value is None or value == "":
        return None
    found = re.fullmatch(r"(\d\d?):([0-5]\d) ?- ?(\d\d?):([0-5]\d)", str(value).strip())
    begin, end = (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])) if found else (0, 0)
    if max(begin, end) > _DAY or begin % _DAY == end % _DAY:
        raise ValueError(f"{value!r} is no window of a day: write 22:00-06:00, in UTC, or omit it for always")
    return begin % _DAY, end % _DAY


def format_size(size: int) -> str:
    """A size as people write it: `73.4 GB`."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f} {unit}".replace(".0 ", " ")
    return count_noun(size, "byte")


def _format_minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
