"""The statements of a DDL text about whole tables, for records with a text and without structure."""

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
    """A table that a statement drops or truncates; `parts` are those of its name as written."""

    action: Literal["drop", "truncate"]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a statement: `CREATE`, `ALTER`, `RENAME` or `DROP` of a table, an index or a database.

    `parts` are the parts of the name of the table, of the index's table, or of the database. `anew`: the
    statement creates the table even if there is one of that name, or replaces the database.
    """

    verb: str
    kind: Literal["table", "index", "database"]
    parts: tuple[str, ...]
    anew: bool = False


def find_subjects(ddl: str) -> tuple[Subject, ...]:
    """Find the subjects of a text's statements, in order, without views, grants, settings and the like.

    Source: MySQL and MariaDB manuals, CREATE TABLE, CREATE INDEX, DROP INDEX, ALTER TABLE, RENAME TABLE,
    DROP DATABASE, CREATE OR REPLACE DATABASE; Oracle SQL reference, CREATE TABLE.
    """
    return tuple(found for words in _split_statements(ddl) if (found := _read_subject(words)) is not None)


def find_table_statements(ddl: str) -> tuple[TableStatement, ...]:
    """Find the tables that the statements of a text drop or truncate, in order, without temporary tables.

    Source: MySQL and MariaDB, DROP TABLE and TRUNCATE TABLE.
    """
    return tuple(found for words in _split_statements(ddl) for found in _read_table_statements(words))


Word = tuple[str, bool]
"""A token, and whether it was quoted."""

_ADVERBS = frozenset(
    {"OR", "REPLACE", "UNIQUE", "FULLTEXT", "SPATIAL", "BITMAP", "ONLINE", "OFFLINE", "IGNORE"}
    | {"GLOBAL", "PRIVATE", "SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN"}
)
"""Words between CREATE, ALTER or DROP and the kind of the subject; TEMPORARY is missing on purpose."""


def _split_statements(ddl: str) -> Iterator[list[Word]]:
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


def _read_subject(words: list[Word]) -> Subject | None:
    plain = ["" if quoted else word.upper() for word, quoted in words]
    verb = plain[0] if plain else ""
    if verb == "RENAME" and plain[1:2] in (["TABLE"], ["TABLES"]):
        return Subject(verb, "table", _read_name(words, _skip_condition(plain, 2)))
    if verb not in ("CREATE", "ALTER", "DROP"):
        return None
    at = next((i for i, word in enumerate(plain[1:], 1) if word not in _ADVERBS), len(plain))
    match plain[at : at + 1]:
        case ["TABLE"]:
            name = _skip_condition(plain, at + 1)
            return Subject(verb, "table", _read_name(words, name), verb == "CREATE" and name == at + 1)
        case ["INDEX"]:
            on = next((i for i, word in enumerate(plain) if word == "ON"), len(plain))
            return Subject(verb, "index", _read_name(words, on + 1))
        case ["DATABASE"] | ["SCHEMA"]:
            parts = _read_name(words, _skip_condition(plain, at + 1))
            return Subject(verb, "database", parts, verb == "CREATE" and "REPLACE" in plain[:at])
        case _:
            return None


def _skip_condition(plain: list[str], at: int) -> int:
    """Return the index behind `IF EXISTS` or `IF NOT EXISTS`."""
    for condition in (["IF", "EXISTS"], ["IF", "NOT", "EXISTS"]):
        if plain[at : at + len(condition)] == condition:
            return at + len(condition)
    return at


def _read_name(words: list[Word], at: int) -> tuple[str, ...]:
    """Read the dotted name at an index; empty if there is none."""
    parts = [word for word, _ in words[at : at + 1]]
    while [word for word, _ in words[at + 1 : at + 2]] == ["."] and at + 2 < len(words):
        at += 2
        parts.append(words[at][0])
    return tuple(parts)


def _read_table_statements(words: list[Word]) -> Iterator[TableStatement]:
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
