"""Reads back the Spark SQL that `spark_sql` writes, and nothing else.

Law: each text that `spark_sql` writes is read back as what it was written from. Any other text is refused,
among them a comment, a second statement, and a subquery in an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from schemaman.migration.spark_sql import unescape_literal
from schemaman.model.schema import Path
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
)

_NAME = re.compile(r"`((?:[^`]|``)+)`")
_LITERAL = re.compile(r"'((?:[^'\\$]|\$(?!\{)|\\[\\'nrt0]|\\u0024)*)'")
_WORD = re.compile(r"[A-Z_]+")
_SIZE = re.compile(r"\((\d+)(?:,(\d+))?\)")
_TOKEN = re.compile(
    rf"{_NAME.pattern}|{_LITERAL.pattern}|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|\d+(?:\.\d+)?(?:E\d+D)?"
    r"|<=>|->|-(?!-)|[()\[\]<>=,.:+*\n ]"
)
_TYPES: dict[str, Type] = {
    "BOOLEAN": Boolean(),
    "TINYINT": Integer(8),
    "SMALLINT": Integer(16),
    "INT": Integer(32),
    "BIGINT": Integer(64),
    "FLOAT": Floating(32),
    "DOUBLE": Floating(64),
    "STRING": String(),
    "BINARY": Binary(),
    "DATE": Date(),
    "TIMESTAMP": Timestamp(),
    "TIMESTAMP_NTZ": Timestamp(zoned=False),
    "VARIANT": Unknown("variant"),
}
_FUNCTIONS = frozenset({
    "array", "array_distinct", "coalesce", "concat", "false", "forall", "if", "key", "length", "map",
    "make_dt_interval", "map_entries", "map_from_entries", "map_keys", "n", "named_struct", "regexp_extract",
    "replace", "rtrim", "size", "struct", "to_json", "transform", "trim", "true", "try_cast", "unix_micros",
    "v", "value",
})  # fmt: skip
_WORDS = frozenset({
    "AND", "ARRAY", "AS", "CAST", "CHAR", "COMMENT", "DECIMAL", "FROM", "IS", "LEADING", "MAP", "NOT", "NULL",
    "OR", "RLIKE", "STRUCT", "TRAILING", "VARCHAR",
})  # fmt: skip
"""What conversions and conditions are written with: no word among them begins a query."""
_VARIABLE = re.compile(r"x\d+")
ReadT = TypeVar("ReadT")


class UnreadableSql(ValueError):
    """The text is not what `spark_sql` writes; the message quotes the place."""


class SqlReader:
    """Reads one statement from its beginning to its end; every method raises `UnreadableSql`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0

    def has(self, words: str) -> bool:
        """Read exactly these words, if they come next."""
        found = self.text.startswith(words, self._at)
        self._at += len(words) if found else 0
        return found

    def take(self, words: str) -> None:
        """Read exactly these words."""
        if not self.has(words):
            raise self._fail(words)

    def match(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Read what a pattern matches."""
        found = re.compile(pattern).match(self.text, self._at)
        if found is None:
            raise self._fail("something else")
        self._at = found.end()
        return found

    def end(self) -> None:
        """Read the end of the statement."""
        if self._at != len(self.text):
            raise self._fail("the end")

    def list_of(self, read: Callable[[], ReadT]) -> list[ReadT]:
        """Read one or several things with commas between them."""
        found = [read()]
        while self.has(", "):
            found.append(read())
        return found

    def name(self) -> str:
        """Read a name in back-ticks."""
        return self.match(_NAME)[1].replace("``", "`")

    def path(self) -> Path:
        """Read the path of a column or nested field."""
        parts = [self.name()]
        while self.has("."):
            parts.append(self.name())
        return tuple(parts)

    def literal(self) -> str:
        """Read a string literal."""
        return unescape_literal(self.match(_LITERAL)[1])

    def assignment(self) -> tuple[str, str]:
        """Read the name and value of a property."""
        key = self.literal()
        self.take(" = ")
        return key, self.literal()

    def column(self) -> tuple[Path, Type, str | None]:
        """Read the path, type and comment of an added column."""
        path = self.path()
        self.take(" ")
        return path, self.type(), self._comment()

    def type(self) -> Type:
        """Read a type."""
        word = self.match(_WORD)[0]
        if word in _TYPES:
            return _TYPES[word]
        match word:
            case "DECIMAL":
                size = self.match(_SIZE)
                return Decimal(int(size[1]), int(size[2] or 0))
            case "CHAR" | "VARCHAR":
                return String(int(self.match(_SIZE)[1]), fixed=word == "CHAR")
            case "ARRAY":
                self.take("<")
                made: Type = Array(self.type())
            case "MAP":
                self.take("<")
                key = self.type()
                self.take(", ")
                made = Map(key, self.type())
            case "STRUCT":
                self.take("<")
                made = Struct(tuple(self.list_of(self._field)))
            case _:
                raise self._fail("a type")
        self.take(">")
        return made

    def expression(self, more: Collection[str] = ()) -> None:
        """Read an expression: names, literals, the functions of conversions, and `more` words."""
        depth = 0
        while self._at < len(self.text):
            before = self._at
            token = self.match(_TOKEN)
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth < 0:
                self._at = before
                return
            word = token["word"]
            known = word is None or word in _FUNCTIONS or word in _WORDS or word in _TYPES or word in more
            if not known and not _VARIABLE.fullmatch(word):
                self._at = before
                raise self._fail("an expression of a conversion")

    def _field(self) -> Field:
        name = self.name()
        self.take(": ")
        type = self.type()
        nullable = not self.has(" NOT NULL")
        return Field(name, type, nullable, self._comment())

    def _comment(self) -> str | None:
        return self.literal() if self.has(" COMMENT ") else None

    def _fail(self, wanted: str) -> UnreadableSql:
        return UnreadableSql(f"{self.text[self._at : self._at + 80]!r} where it should have {wanted!r}")
