"""Helpers for every format: a sign for each tone, and the width of a text."""

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
