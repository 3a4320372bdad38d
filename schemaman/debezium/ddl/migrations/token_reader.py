"""Reads the tokens of a statement one after the other, for readers by recursive descent."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.script import SqlToken

Parts = tuple[str, ...]
_END = SqlToken("sign", "", 0, "")


class StatementNotRead(Exception):
    """A statement, or a part of it, that is not read; the text says why."""


class TokenReader:
    """A position in the tokens of a statement; `at` is the index of the next one."""

    def __init__(self, tokens: Sequence[SqlToken], grammar: SqlGrammar) -> None:
        self.tokens = tokens
        self.grammar = grammar
        self.at = 0

    def peek(self, ahead: int = 0) -> SqlToken:
        """Return a token without taking it; an empty sign behind the last one."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def take(self) -> SqlToken:
        """Take the next token. Raises `StatementNotRead` at the end."""
        token = self.peek()
        if token is _END:
            raise StatementNotRead("it ends in the middle")
        self.at += 1
        return token

    @property
    def has_ended(self) -> bool:
        """Whether no token is left."""
        return self.at >= len(self.tokens)

    def is_next(self, *words: str) -> bool:
        """Return whether the next tokens are these words, in capitals, or signs."""
        return all(_is_token(self.peek(i), word) for i, word in enumerate(words))

    def is_any(self, *words: str) -> bool:
        """Return whether the next token is one of these words, in capitals, or signs."""
        return any(_is_token(self.peek(), word) for word in words)

    def accept(self, *words: str) -> bool:
        """Take these words or signs if they are next; return whether they were."""
        if not self.is_next(*words):
            return False
        self.at += len(words)
        return True

    def accept_any(self, *words: str) -> str:
        """Take the next token if it is one of these words or signs; return it, or an empty text."""
        return self.take().text if self.is_any(*words) else ""

    def expect(self, *words: str) -> None:
        """Take these words or signs. Raises `StatementNotRead`."""
        for word in words:
            if not self.accept(word):
                raise self.make_error(f"{word} expected")

    def make_error(self, reason: str) -> StatementNotRead:
        """Make the error of a part that is not read at the next token."""
        token = self.peek()
        spelled = token.spelled if len(token.spelled) <= 40 else f"{token.spelled[:39]}…"
        return StatementNotRead(f"{reason} before {spelled!r}" if spelled else f"{reason} at its end")

    def read_name(self) -> str:
        """Read a name as the database keeps it. Raises `StatementNotRead`."""
        token = self.peek()
        if token.kind not in ("word", "name"):
            raise self.make_error("a name expected")
        self.at += 1
        return token.text if token.kind == "name" else self.grammar.fold_name(token.spelled)

    def read_parts(self) -> Parts:
        """Read a name with the names before it, separated by dots; an empty one is left out."""
        parts = [self.read_name()]
        while self.accept("."):
            if self.accept("."):
                parts.append("")
            parts.append(self.read_name())
        return tuple(part for part in parts if part)

    def read_names(self) -> Parts:
        """Read names in brackets: of columns in a key or an index, without lengths and directions.

        Raises:
            StatementNotRead: one of them is an expression.
        """
        self.expect("(")
        names: list[str] = []
        while True:
            names.append(self.read_name())
            if self.is_next("("):
                self.skip_brackets()
            self.accept_any("ASC", "DESC")
            if self.accept("NULLS"):
                self.take()
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(names)

    def skip_brackets(self) -> None:
        """Skip brackets with everything between. Raises `StatementNotRead` if they are not closed."""
        depth = 0
        while True:
            token = self.take()
            if token.kind == "sign":
                depth += (token.text in "([") - (token.text in ")]")
            if depth == 0:
                return

    def skip_until(self, *words: str) -> tuple[SqlToken, ...]:
        """Skip up to one of these words or signs outside brackets, or to the end; return what was skipped."""
        start = self.at
        while not self.has_ended and not self.is_any(*words):
            if self.is_any("(", "["):
                self.skip_brackets()
            else:
                self.at += 1
        return tuple(self.tokens[start : self.at])


def _is_token(token: SqlToken, word: str) -> bool:
    return token.text == word and token.kind in ("word", "sign")
