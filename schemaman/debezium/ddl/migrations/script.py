"""Splits a script into statements, as the database's own client does, and a statement into tokens.

Nothing is executed, and nothing outside quotes, comments and terminators is interpreted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.migration_files import SEPARATOR


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """A statement without its terminator, and the line on which it begins, from 1.

    `fault` says why its end is not certain; empty for a statement with a clear end.
    """

    text: str
    line: int
    fault: str = ""

    @property
    def beginning(self) -> str:
        """The first words on one line, at most 80 characters, without control characters."""
        words = " ".join(self.text[:400].split())
        shown = "".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in words)
        return shown if len(shown) <= _SHOWN and len(self.text) <= 400 else f"{shown[: _SHOWN - 1]}…"


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A token: `text` is the name, the word in capitals, or the text without quotes; `line` is from 1."""

    kind: Literal["word", "name", "text", "number", "sign"]
    text: str
    line: int
    spelled: str

    def is_word(self, *words: str) -> bool:
        """Return whether it is one of the unquoted words, which are given in capitals."""
        return self.kind == "word" and self.text in words


_SHOWN = 80
_BODY = re.compile(
    r"\s*CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:(?:NON)?EDITIONABLE\s+|DEFINER\s*=\s*\S+\s+|AGGREGATE\s+|"
    r"CONSTRAINT\s+)*(?:PROCEDURE|PROC|FUNCTION|TRIGGER|EVENT|PACKAGE|TYPE\s+BODY)\b"
    r"|\s*ALTER\s+(?:PROCEDURE|PROC|FUNCTION|TRIGGER|EVENT|PACKAGE)\b",
    re.IGNORECASE,
)
"""The beginning of a statement with a body, which may contain other statements."""

_ANONYMOUS = re.compile(
    r"\s*(?:DECLARE\b|IF\b|WHILE\b|BEGIN\b(?!\s*(?:;|\Z|TRAN|TRANSACTION|WORK|ISOLATION|READ)))",
    re.IGNORECASE,
)
"""The beginning of a block that runs at once."""

_FRESH = re.compile(
    r"(?:(?:ALTER|CREATE|DROP)\s+(?!COLUMN\b|CONSTRAINT\b|PERIOD\b)[A-Z]|(?:EXEC|EXECUTE|INSERT|UPDATE|DELETE|"
    r"DECLARE|PRINT|GRANT|TRUNCATE|IF|BEGIN|USE|MERGE|WHILE|COMMIT|ROLLBACK|SAVE)\b)",
    re.IGNORECASE,
)
"""The beginning of a line that begins a statement where semicolons are optional."""

_TABLE_STATEMENT = re.compile(r"\b(?:ALTER|CREATE|DROP|RENAME)\s+(?:\w+\s+){0,2}?TABLE\b", re.IGNORECASE)
_COPY = re.compile(r"COPY\b.*\bFROM\s+STDIN\b", re.IGNORECASE | re.DOTALL)
_COPY_END = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)
_HEAD = 400
"""How many characters of a statement show what kind it is."""


def has_table_statement(text: str) -> bool:
    """Return whether a text has the words of a statement about a table, also in quotes or comments."""
    return _TABLE_STATEMENT.search(text) is not None


def has_body(text: str) -> bool:
    """Return whether a statement creates or alters a stored program."""
    return _BODY.match(text) is not None


def is_block(text: str) -> bool:
    """Return whether a statement is a block that runs at once."""
    return _ANONYMOUS.match(text) is not None


def split_script(text: str, grammar: SqlGrammar) -> Iterator[ScriptStatement]:
    """Split a script into its statements, in order; comments alone are no statement."""
    splitter = _Splitter(text, grammar)
    return splitter.split()


class _Splitter:
    """Finds the ends of statements. `start` is where the present one begins, None before its first token.

    `blocks` counts the blocks of a body that are open, `brackets` the open brackets. `line_starts`: only
    white space stands between the start of the line and the next token.
    """

    def __init__(self, text: str, grammar: SqlGrammar) -> None:
        self.text = text
        self.grammar = grammar
        self.pattern = _compile_coarse(grammar)
        self.terminator = ";"
        self.start: int | None = None
        self.line, self.counted = 1, 0
        self.blocks, self.brackets, self.previous = 0, 0, ""
        self.line_starts = True

    def split(self) -> Iterator[ScriptStatement]:
        at, end = 0, len(self.text)
        while at < end:
            if self.line_starts and (found := self._read_line(at)) is not None:
                line_end, is_statement = found
                if self.start is not None:
                    yield self._make(self.start, at)
                if is_statement:
                    yield self._make(at, line_end)
                at = line_end
                continue
            if self.text.startswith(self.terminator, at):
                after = at + len(self.terminator)
                if self.start is not None and not self._is_inside_body(self.start):
                    is_copy = _COPY.match(self.text[self.start : min(at, self.start + _HEAD)]) is not None
                    yield self._make(self.start, at)
                    after = self._skip_copied_rows(after) if is_copy else after
                self.line_starts, at = False, after
                continue
            match = self.pattern.match(self.text, at)
            if match is None:
                yield self._make(
                    at if self.start is None else self.start, end, "a quote or a comment has no end"
                )
                return
            self._count(match)
            if match.lastgroup != "skip" and self.start is None:
                self.start = at
            at = match.end()
        if self.start is not None:
            yield self._make(self.start, end, self._find_fault(self.start))

    def _count(self, match: re.Match[str]) -> None:
        """Count the blocks and brackets that a token opens or closes."""
        if match.lastgroup == "skip":
            self.line_starts = self.line_starts or "\n" in match[0]
            return
        self.line_starts = False
        word = match[0].upper() if match.lastgroup == "word" else ""
        if word == "END":
            self.blocks -= 1
        elif self.previous == "END":
            self.blocks += word in ("IF", "LOOP", "WHILE", "REPEAT", "FOR")
        elif word in ("BEGIN", "CASE"):
            self.blocks += 1
        elif match.lastgroup == "run":
            self.brackets += match[0].count("(") - match[0].count(")")
        self.previous = word

    def _find_fault(self, start: int) -> str:
        """Describe why the end of the script may not be the end of its last statement."""
        if not self._is_inside_body(start) or self.grammar.optional_semicolons:
            return ""
        return (
            "the body of the stored program has no clear end"
            if has_table_statement(self.text[start:])
            else ""
        )

    def _read_line(self, at: int) -> tuple[int, bool] | None:
        """Read a line of the client, as (end, whether it is a statement); None for any other line."""
        if self.text[at].isspace():
            return None
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        words = self.text[at : min(end, at + _HEAD)].split()
        upper = [word.upper() for word in words[:3]]
        is_set = upper[0] == "DELIMITER" and self.start is None
        if len(words) > 1 and (is_set or upper[0] == SEPARATOR):
            self.terminator = words[1]
            return end, False
        if upper[:2] == ["--#SET", "TERMINATOR"] and len(words) > 2:
            self.terminator = words[2]
            return end, False
        if upper[0] in self.grammar.separators and "".join(words[1:]).isdigit() in (True, len(words) > 1):
            return end, False
        if self.start is None:
            first = re.match(r"@|\\|\w+", upper[0])
            word = first[0] if first else ""
            is_line = word in self.grammar.line_words and ";" not in self.text[at:end].rstrip("; \r")
            return (end, True) if is_line or word in ("@", "\\") else None
        if not self.grammar.optional_semicolons or self.brackets > 0 or self.previous == "ON":
            return None
        head = self.text[self.start : self.start + _HEAD]
        is_fresh = _FRESH.match(self.text, at) and not has_body(head) and not is_block(head)
        return (at, False) if is_fresh else None

    def _is_inside_body(self, start: int) -> bool:
        """Return whether a terminator is inside the body of a stored program or of a block."""
        if self.terminator != ";":
            return False
        head = self.text[start : start + _HEAD]
        if not has_body(head) and not is_block(head):
            return False
        return self.grammar.slash_ends_body or self.grammar.optional_semicolons or self.blocks > 0

    def _skip_copied_rows(self, at: int) -> int:
        """Skip the rows behind COPY FROM STDIN up to the line that ends them, if there is one."""
        found = _COPY_END.search(self.text, at)
        return at if found is None else found.end()

    def _make(self, start: int, end: int, fault: str = "") -> ScriptStatement:
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        self.start, self.previous = None, ""
        self.blocks = self.brackets = 0
        return ScriptStatement(self.text[start:end].rstrip(), self.line, fault)


def read_tokens(statement: ScriptStatement, grammar: SqlGrammar) -> tuple[SqlToken, ...]:
    """Read the tokens of a statement.

    Raises:
        ValueError: a quote or a comment has no end.
    """
    found: list[SqlToken] = []
    text, at, line = statement.text, 0, statement.line
    pattern = _compile_fine(grammar)
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise ValueError(f"a quote or a comment has no end on line {line}")
        spelled = match[0]
        match match.lastgroup:
            case "skip":
                pass
            case "name":
                found.append(SqlToken("name", _unquote_name(spelled), line, spelled))
            case "text" | "dollar":
                found.append(SqlToken("text", _unquote_text(spelled, grammar), line, spelled))
            case "number":
                found.append(SqlToken("number", spelled, line, spelled))
            case "word":
                found.append(SqlToken("word", spelled.upper(), line, spelled))
            case _:
                found.append(SqlToken("sign", spelled, line, spelled))
        line += spelled.count("\n")
        at = match.end()
    return tuple(found)


def _unquote_name(spelled: str) -> str:
    closing = "]" if spelled[0] == "[" else spelled[0]
    return spelled[1:-1].replace(closing * 2, closing)


def _unquote_text(spelled: str, grammar: SqlGrammar) -> str:
    if spelled.startswith("$"):
        mark = spelled.index("$", 1) + 1
        return spelled[mark:-mark]
    prefix, _, rest = spelled.partition(spelled[-1])
    if prefix.upper() == "Q":
        return rest[1:-2]
    text = rest[:-1].replace(spelled[-1] * 2, spelled[-1])
    if prefix.upper() == "E" or grammar.backslashes:
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)
    return text


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0"}


def _list_parts(grammar: SqlGrammar) -> list[str]:
    """List the parts of the pattern that both readers share: what is skipped, names and texts."""
    nested = r"/\*(?:[^*/]++|\*(?!/)|/(?!\*)|/\*(?:[^*]++|\*(?!/))*+\*/)*+\*/"
    comment = nested if grammar.nested_comments else r"/\*.*?\*/"
    dashes = r"--(?=[\s\x00-\x1f]|\Z)[^\n]*" if grammar.backslashes else r"--[^\n]*"
    # MySQL and MariaDB execute what is in /*! … */: only its marks are skipped
    executed = [r"/\*M?!\d*", r"\*/", r"\#[^\n]*"] if grammar.hash_comments else []
    skipped = [r"\s+", dashes, *executed, comment]
    names = {'"': r'"(?:[^"]++|"")*+"', "`": r"`(?:[^`]++|``)*+`", "[": r"\[(?:[^\]]++|\]\])*+\]"}
    plain, escaped = r"'(?:[^']++|'')*+'", r"'(?:[^'\\]++|\\.|'')*+'"
    if grammar.backslashes:
        texts = [rf"(?:N|B|X|_\w+\s*)?{escaped}", r'"(?:[^"\\]++|\\.|"")*+"']
    else:
        quoted = [r"\[.*?\]", r"\{.*?\}", r"\(.*?\)", r"<.*?>"]
        texts = [f"E{escaped}", *(f"Q'{inner}'" for inner in quoted), f"(?:N|B|X|U&)?{plain}"]
    parts = [f"(?P<skip>{'|'.join(skipped)})"]
    if grammar.dollar_quotes:
        parts.append(r"(?P<dollar>(?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?P=tag))")
    parts.append(f"(?P<name>{'|'.join(names[mark] for mark in grammar.marks)})")
    parts.append(f"(?P<text>{'|'.join(texts)})")
    return parts


_SIGN = r"""(?!/\*)[^'\"`\w\s]"""
"""A character that begins nothing else; a comment without its end is none."""

_DOLLAR = r"(?!\$(?:[A-Za-z_]\w*)?\$)"
"""What no sign is where dollars quote: a quote without its end."""


@lru_cache
def _compile_coarse(grammar: SqlGrammar) -> re.Pattern[str]:
    run = r"(?P<run>[\d,.()=][\d,.()= \t]*+)"  # the rows of an INSERT have few tokens then
    sign = f"{_DOLLAR if grammar.dollar_quotes else ''}{_SIGN}"
    parts = [*_list_parts(grammar), run, r"(?P<word>\w[\w$\#]*+)", f"(?P<sign>{sign})"]
    return re.compile("|".join(parts), re.DOTALL | re.IGNORECASE)


@lru_cache
def _compile_fine(grammar: SqlGrammar) -> re.Pattern[str]:
    parts = [
        *_list_parts(grammar),
        r"(?P<number>\d+(?:\.\d*)?(?:E[+-]?\d+)?(?!\w)|\.\d+(?:E[+-]?\d+)?)",
        r"(?P<word>\w[\w$\#@]*)",
        f"(?P<sign>::|\\|\\||<=|>=|<>|!=|:=|{_SIGN})",
    ]
    return re.compile("|".join(parts), re.DOTALL | re.IGNORECASE)
