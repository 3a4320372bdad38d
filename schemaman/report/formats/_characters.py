"""Helpers for every format: a sign for each tone, and the width and the length of a text."""

from __future__ import annotations

import unicodedata

from schemaman.report.document import Tone

SIGNS: dict[Tone, str] = {"plain": "", "good": "✓", "note": "•", "danger": "▲", "break": "✗", "muted": "·"}


def measure_width(text: str) -> int:
    """Counts the terminal cells of a text."""
    return len(text) if text.isascii() else sum(_count_cells(ch) for ch in text)


def _count_cells(ch: str) -> int:
    if unicodedata.combining(ch) or unicodedata.category(ch) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(ch) in "WF" else 1


def cut_text(text: str, limit: int) -> str:
    """Cuts a text to a number of UTF-16 units, the characters of .NET and JavaScript; an ellipsis ends it."""
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * limit:
        return text
    return units[: 2 * limit - 2].decode("utf-16-le", "ignore") + "…"
