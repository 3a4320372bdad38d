"""Helpers for every format: a sign for each tone, the width of a text, and what a log must not contain."""

from __future__ import annotations

import json
import re
import unicodedata

from schemaman.report.document import Tone

SIGNS: dict[Tone, str] = {"plain": "", "good": "✓", "note": "•", "danger": "▲", "break": "✗", "muted": "·"}


def measure_width(text: str) -> int:
    """Counts the terminal cells of a text."""
    return sum(_count_cells(ch) for ch in text)


def _count_cells(ch: str) -> int:
    if unicodedata.combining(ch) or unicodedata.category(ch) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(ch) in "WF" else 1


_HASHES = re.compile(r"##(?=\w*\[)")
_COLONS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_INVISIBLE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_commands(text: str, *, number_sign: str = r"\x23", colon: str = r"\x3a") -> str:
    """Escapes what CI runners execute in a log: `::name` at the start of a line, `##name[` anywhere.

    `number_sign` and `colon` replace one character of each. Source: actions/runner ActionCommand, Azure
    Pipelines "Logging commands", TeamCity "Service messages".
    """
    return _COLONS.sub(lambda found: found[1] + colon, _HASHES.sub(lambda _: "#" + number_sign, text))


def format_json(value: object, indent: int | None = 2) -> str:
    """Formats a JSON value that can be written as UTF-8 and printed: invisible characters are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    text = _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _HASHES.sub(lambda _: r"#\u0023", text)


def cut_text(text: str, limit: int) -> str:
    """Cuts a text to a number of UTF-16 units, the characters of .NET and JavaScript; an ellipsis ends it."""
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * limit:
        return text
    return units[: 2 * limit - 2].decode("utf-16-le", "ignore") + "…"
