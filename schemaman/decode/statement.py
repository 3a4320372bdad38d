"""What a DDL text does to whole tables, for records that carry the text and no structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"""(?P<gap>\s+|/\*.*?(?:\*/|$)|(?:\#|--(?=\s|$))[^\n]*)
    |(?P<back>`(?:[^`]|``)*`)
    |(?P<double>"(?:[^"]|"")*")
    |(?P<text>'(?:[^'\\]|\\.|'')*')
    |(?P<word>[\w$]+)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class TableStatement:
    """A table that a statement drops or truncates, by the parts of its name as written."""

    action: Literal["drop", "truncate"]
    parts: tuple[str, ...]


def table_statements(ddl: str) -> tuple[TableStatement, ...]:
    """The tables that the statements of a text drop or truncate, in order; temporary ones left out.

    Source: MySQL and MariaDB, DROP TABLE and TRUNCATE TABLE.
    """
    return tuple(found for words in _statements(ddl) for found in _read(words))


Word = tuple[str, bool]
"""A token, and whether it was quoted."""


def _statements(ddl: str) -> Iterator[list[Word]]:
    words: list[Word] = []
    for token in _TOKEN.finditer(ddl):
        match token.lastgroup:
            case "gap":
                continue
            case "back" | "double":
                quote = token[0][0]
                words.append((token[0][1:-1].replace(quote * 2, quote), True))
            case _ if token[0] == ";":
                yield words
                words = []
            case _:
                words.append((token[0], False))
    yield words


def _read(words: list[Word]) -> Iterator[TableStatement]:
    plain = ["" if quoted else word.upper() for word, quoted in words]
    action: Literal["drop", "truncate"]
    if plain[:1] == ["DROP"] and plain[1:2] in (["TABLE"], ["TABLES"]):
        action, at = "drop", 2
    elif plain[:1] == ["TRUNCATE"]:
        action, at = "truncate", 2 if plain[1:2] == ["TABLE"] else 1
    else:
        return
    if plain[at : at + 2] == ["IF", "EXISTS"]:
        at += 2
    while at < len(words):
        parts = [words[at][0]]
        while plain[at + 1 : at + 2] == ["."] and at + 2 < len(words):
            at += 2
            parts.append(words[at][0])
        yield TableStatement(action, tuple(parts))
        if plain[at + 1 : at + 2] != [","]:
            return
        at += 2
