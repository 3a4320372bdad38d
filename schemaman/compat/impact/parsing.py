"""Parses a text with SQL statements, one by one, so that a wrong statement does not hide the others.

This module and `statements` are the only users of sqlglot in this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from schemaman.compat.impact.relations import Folding, SqlName

LONGEST = 1_000_000
"""The most characters of a text that is parsed: a longer one takes a minute and more."""

FAULTS = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError, AssertionError)
"""The exceptions of the parser for texts that are no SQL; the last five are its own faults."""

_WORD = re.compile(r"[^\W\d][\w$]*")


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement: its tree, its line in the text from 1, and the tables that it names.

    `defined` is the name of the relation that it makes, or that it inserts a query into; empty for none.
    """

    tree: exp.Expr
    line: int
    named: tuple[tuple[SqlName, ...], ...]
    defined: tuple[SqlName, ...] = ()
    is_temporary: bool = False
    is_insert: bool = False


@dataclass(frozen=True, slots=True)
class UnparsedStatement:
    """A statement that cannot be read: why, its line from 1, and the words in it, in small letters."""

    reason: str
    line: int
    words: frozenset[str]


def find_folding(language: str) -> Folding:
    """Find what a database does with names without quotes. Source: sqlglot, `NormalizationStrategy`."""
    match Dialect.get_or_raise(language).normalization_strategy:
        case NormalizationStrategy.LOWERCASE:
            return "lower"
        case NormalizationStrategy.UPPERCASE:
            return "upper"
        case _:
            return "none"


def list_words(text: str) -> frozenset[str]:
    """List the words of a text in small letters: the names of tables are among them."""
    return frozenset(word.lower() for word in _WORD.findall(text))


def parse_statements(text: str, language: str) -> Iterator[ParsedStatement | UnparsedStatement]:
    """Parse the statements of a text, in order. Nothing is run."""
    if len(text) > LONGEST:
        yield UnparsedStatement(f"longer than {LONGEST:,} characters", 1, list_words(text))
        return
    sql = Dialect.get_or_raise(language)
    try:
        tokens = sql.tokenize(text)
    except FAULTS as error:
        yield UnparsedStatement(_describe(error), 1, list_words(text))
        return
    for part in _split(tokens):
        written = text[part[0].start : part[-1].end + 1]
        words = list_words(written)
        if "{{" in written or "{%" in written:
            reason = "a template: name the manifest.json of dbt, which has the compiled SQL"
            yield UnparsedStatement(reason, part[0].line, words)
            continue
        try:
            (tree,) = sql.parser().parse(part, text)
            if tree is None or isinstance(tree, exp.Command):
                raise SqlglotError("the parser does not know this statement")
            named, defined = _list_tables(tree, find_folding(language)), _find_defined(tree)
        except FAULTS as error:
            yield UnparsedStatement(_describe(error), part[0].line, words)
            continue
        made = name_table(defined, find_folding(language)) if defined is not None else ()
        is_temporary = isinstance(tree, exp.Cache) or tree.find(exp.TemporaryProperty) is not None
        yield ParsedStatement(tree, part[0].line, named, made, is_temporary, isinstance(tree, exp.Insert))


def name_table(table: exp.Table, folding: Folding) -> tuple[SqlName, ...]:
    """Read the name of a table as the database reads it; empty if a function stands in its place."""
    parts = table.parts
    if not all(isinstance(part, exp.Identifier) for part in parts):
        return ()
    return tuple(read_name(part, folding) for part in parts)


def read_name(part: exp.Expr, folding: Folding) -> SqlName:
    """Read one part of a name as the database reads it."""
    is_quoted = bool(part.args.get("quoted"))
    text = part.name
    if not is_quoted and folding != "none":
        text = text.lower() if folding == "lower" else text.upper()
    return SqlName(text, is_quoted)


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _list_tables(tree: exp.Expr, folding: Folding) -> tuple[tuple[SqlName, ...], ...]:
    return tuple(dict.fromkeys(name for t in tree.find_all(exp.Table) if (name := name_table(t, folding))))


def _find_defined(tree: exp.Expr) -> exp.Table | None:
    """Find the table that a statement makes from a query, or inserts a query into."""
    if not isinstance(tree, exp.Create | exp.Cache | exp.Insert):
        return None
    if not isinstance(tree.args.get("expression"), exp.Query):
        return None
    found = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return found if isinstance(found, exp.Table) else None


def _describe(error: Exception) -> str:
    """Describe a fault of the parser in one line without its excerpt of the text."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    lines = re.sub(r"\x1b\[\d+m", "", str(error)).splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
