"""Names that are safe to print.

Names come from foreign databases. Control characters would move a terminal's cursor or
end a line, and bidirectional overrides would change the shown order.
"""

from __future__ import annotations

import unicodedata

_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_invisible(text: str, *, lines: bool = False) -> str:
    """Escapes invisible characters of a text; with `lines` line ends stay."""
    if text.isprintable():
        return text
    return "".join(ch if _is_visible(ch) or (lines and ch == "\n") else _escape_character(ch) for ch in text)


def _is_visible(ch: str) -> bool:
    return unicodedata.category(ch) not in ("Cc", "Cs", "Zl", "Zp") and ch not in _REORDERING


def _escape_character(ch: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(ch)
    return known.get(ch) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
