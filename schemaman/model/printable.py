"""Names that are safe to print.

Names come from foreign databases. Control characters would move a terminal's cursor or
end a line, and bidirectional overrides would change the shown order. The runner of a CI service executes
commands that it finds in a log.
"""

from __future__ import annotations

import json
import re
import unicodedata

_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HASHES = re.compile(r"##(?=\w*\[)")
_COLONS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_INVISIBLE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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
