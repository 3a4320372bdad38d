"""A table as one line of text: a column list as Spark writes it, with attributes that Spark does not have.

Law: `parse_columns(format_columns(s)) == s` for every table.

    id INT NOT NULL DEFAULT 5 COMMENT 'x', `a b` STRING SOURCE 'text' EMITTED 'a_b' ID 2,
    PRIMARY KEY (id), COMMENT 'the table'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from schemaman.errors import BadReference, SchemamanError
from schemaman.model.ddl import format_type, parse_type, quote_name, quote_text, unquote_text
from schemaman.model.schema import Column, Scalar, TableSchema

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = ("PRIMARY", "COMMENT")
_OPEN, _CLOSE = "(<", ")>"


def format_columns(schema: TableSchema) -> str:
    """Format a table as one line: its columns in order, then its key, then its comment."""
    items = [_format_column(c) for c in schema.columns]
    if schema.key:
        items.append(f"PRIMARY KEY ({', '.join(map(format_name, schema.key))})")
    if schema.comment is not None:
        items.append(f"COMMENT {quote_text(schema.comment)}")
    return ", ".join(items)


def parse_columns(text: str) -> TableSchema:
    """Parse a column list as a table; an empty text gives a table without columns.

    Raises:
        BadReference: the text is no column list, names a column twice, or has a key that is no column.
    """
    reader = _ColumnListReader(text)
    columns: list[Column] = []
    key: tuple[str, ...] = ()
    comment: str | None = None
    while reader.peek():
        if reader.accept("PRIMARY"):
            reader.expect("KEY")
            key = reader.read_names()
        elif reader.accept("COMMENT"):
            comment = reader.read_text()
        else:
            columns.append(reader.read_column())
        if not reader.accept(","):
            break
        if not reader.peek():
            raise reader.make_error("a column")
    reader.require_end()
    return _check_columns(TableSchema(tuple(columns), key, comment), text)


def format_scalar(value: Scalar) -> str:
    """Format a default: numbers as they are, texts in single quotes, true or false; None becomes NULL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return quote_text(value)
        case _:
            return repr(value)


def _check_columns(schema: TableSchema, text: str) -> TableSchema:
    names = schema.names
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise BadReference(f"{text!r}: column {twice[0]!r} occurs twice")
    if missing := [k for k in schema.key if k not in names]:
        raise BadReference(f"{text!r}: the key names {missing[0]!r}, which is no column")
    return schema


def format_name(name: str) -> str:
    """Format the name of a column: a plain word as it is, any other name in back-ticks."""
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in _KEYWORDS
    return name if plain else quote_name(name)


def _format_column(column: Column) -> str:
    words = [format_name(column.name), format_type(column.type)]
    if not column.nullable:
        words.append("NOT NULL")
    if column.default is not None:
        words.append(f"DEFAULT {format_scalar(column.default)}")
    for keyword, text in (
        ("COMMENT", column.comment),
        ("SOURCE", column.source_type),
        ("EMITTED", column.emitted_name),
    ):
        if text is not None:
            words.append(f"{keyword} {quote_text(text)}")
    if column.id is not None:
        words.append(f"ID {column.id}")
    return " ".join(words)


_TOKEN = re.compile(
    r"""\s*(
        `(?:[^`]|``)*`
        |'(?:[^'\\]|\\.)*'
        |-?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf)(?!\w)
        |\w+
        |\S)""",
    re.DOTALL | re.VERBOSE,
)


class _ColumnListReader:
    """A recursive-descent reader of column lists; `at` is the position of the next token in `source`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.source, self.at)
        return match[1] if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.source, self.at)
        if match is None:
            raise self.make_error("more")
        self.at = match.end()
        return match[1]

    def accept(self, wanted: str) -> bool:
        if self.peek().upper() != wanted:
            return False
        self.take()
        return True

    def expect(self, wanted: str) -> None:
        if not self.accept(wanted):
            raise self.make_error(repr(wanted))

    def require_end(self) -> None:
        if self.source[self.at :].strip():
            raise self.make_error("a comma or the end")

    def make_error(self, wanted: str) -> BadReference:
        return BadReference(f"{self.source!r}: expected {wanted} at character {self.at}")

    def read_name(self) -> str:
        token = self.peek()
        if token.startswith("`") and len(token) > 1:
            self.take()
            return token[1:-1].replace("``", "`")
        if not _PLAIN_NAME.fullmatch(token):
            raise self.make_error(
                "a name, in back-ticks if it has other characters than letters, digits and _"
            )
        return self.take()

    def read_names(self) -> tuple[str, ...]:
        self.expect("(")
        found = [self.read_name()]
        while self.accept(","):
            found.append(self.read_name())
        self.expect(")")
        return tuple(found)

    def read_text(self) -> str:
        if not self.peek().startswith("'") or len(self.peek()) < 2:
            raise self.make_error("a text in single quotes")
        return unquote_text(self.take())

    def read_type_text(self) -> str:
        """Read the text of a type: its word, UNSIGNED or the parts of an interval, and its brackets."""
        start = self.at
        if self.take().upper() == "INTERVAL" and (self.accept("YEAR") or self.accept("DAY")):
            self.expect("TO")
            self.take()
        self.accept("UNSIGNED")
        depth = 0
        while self.peek() and (depth or self.peek() in _OPEN):
            token = self.take()
            depth += (token in _OPEN) - (token in _CLOSE)
            if not depth:
                break
        return self.source[start : self.at]

    def read_column(self) -> Column:
        name = self.read_name()
        start = self.at
        try:
            type = parse_type(self.read_type_text())
        except SchemamanError as error:
            self.at = start
            raise BadReference(f"{self.make_error('a type').message}: {error.message}") from error
        nullable = not self.accept("NOT")
        if not nullable:
            self.expect("NULL")
        default = self.read_scalar() if self.accept("DEFAULT") else None
        comment = self.read_optional("COMMENT", self.read_text)
        source_type = self.read_optional("SOURCE", self.read_text)
        emitted_name = self.read_optional("EMITTED", self.read_text)
        # A part of a split column has an id below zero.
        id = int(self.take()) if self.accept("ID") and self.peek().removeprefix("-").isdecimal() else None
        return Column(name, type, nullable, default, comment, source_type, emitted_name, id)

    def read_optional(self, keyword: str, read: Callable[[], str]) -> str | None:
        return read() if self.accept(keyword) else None

    def read_scalar(self) -> Scalar:
        token = self.peek()
        if token.startswith("'"):
            return self.read_text()
        if token.lower() in ("true", "false"):
            return self.take().lower() == "true"
        try:
            value = float(token) if re.search(r"[.eEn]", token) else int(token)
        except ValueError:
            raise self.make_error("a number, a quoted text, true or false") from None
        self.take()
        return value
