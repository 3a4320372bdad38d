"""Tables as text: a column list in Spark's notation, plus what Spark forgets.

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
    """The table as one line: columns in order, then the key, then the comment of the table."""
    items = [_format_column(c) for c in schema.columns]
    if schema.key:
        items.append(f"PRIMARY KEY ({', '.join(map(format_name, schema.key))})")
    if schema.comment is not None:
        items.append(f"COMMENT {quote_text(schema.comment)}")
    return ", ".join(items)


def parse_columns(text: str) -> TableSchema:
    """The table that a column list describes; an empty text has no columns.

    Raises:
        BadReference: the text is no column list, or names a column twice or a key that is none.
    """
    reader = _ColumnListReader(text)
    columns: list[Column] = []
    key: tuple[str, ...] = ()
    comment: str | None = None
    while reader.peek():
        if reader.accept("PRIMARY"):
            reader.expect("KEY")
            key = reader.names()
        elif reader.accept("COMMENT"):
            comment = reader.text()
        else:
            columns.append(reader.column())
        if not reader.accept(","):
            break
        if not reader.peek():
            raise reader.wrong("a column")
    reader.end()
    return _check_columns(TableSchema(tuple(columns), key, comment), text)


def format_scalar(value: Scalar) -> str:
    """A default in words: numbers as they are, texts in single quotes, true or false; NULL for None."""
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
        raise BadReference(f"{text!r}: column {twice[0]!r} is there twice")
    if missing := [k for k in schema.key if k not in names]:
        raise BadReference(f"{text!r}: the key names {missing[0]!r}, which is no column")
    return schema


def format_name(name: str) -> str:
    """The name of a column as a list of columns has it: in back-ticks unless it is a plain word."""
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
    """A reader of column lists; it stands at `at` in `source`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.source, self.at)
        return match[1] if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.source, self.at)
        if match is None:
            raise self.wrong("more")
        self.at = match.end()
        return match[1]

    def accept(self, wanted: str) -> bool:
        if self.peek().upper() != wanted:
            return False
        self.take()
        return True

    def expect(self, wanted: str) -> None:
        if not self.accept(wanted):
            raise self.wrong(repr(wanted))

    def end(self) -> None:
        if self.source[self.at :].strip():
            raise self.wrong("a comma or the end")

    def wrong(self, wanted: str) -> BadReference:
        return BadReference(f"{self.source!r}: expected {wanted} at character {self.at}")

    def name(self) -> str:
        token = self.peek()
        if token.startswith("`") and len(token) > 1:
            self.take()
            return token[1:-1].replace("``", "`")
        if not _PLAIN_NAME.fullmatch(token):
            raise self.wrong("a name, in back-ticks if it has other characters than letters, digits and _")
        return self.take()

    def names(self) -> tuple[str, ...]:
        self.expect("(")
        found = [self.name()]
        while self.accept(","):
            found.append(self.name())
        self.expect(")")
        return tuple(found)

    def text(self) -> str:
        if not self.peek().startswith("'") or len(self.peek()) < 2:
            raise self.wrong("a text in single quotes")
        return unquote_text(self.take())

    def type_text(self) -> str:
        """The words of a type: one word, UNSIGNED or the parts of an interval, and what its brackets hold."""
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

    def column(self) -> Column:
        name = self.name()
        start = self.at
        try:
            type = parse_type(self.type_text())
        except SchemamanError as error:
            self.at = start
            raise BadReference(f"{self.wrong('a type').message}: {error.message}") from error
        nullable = not self.accept("NOT")
        if not nullable:
            self.expect("NULL")
        default = self.scalar() if self.accept("DEFAULT") else None
        comment = self.optional("COMMENT", self.text)
        source_type = self.optional("SOURCE", self.text)
        emitted_name = self.optional("EMITTED", self.text)
        id = int(self.take()) if self.accept("ID") and self.peek().isdecimal() else None
        return Column(name, type, nullable, default, comment, source_type, emitted_name, id)

    def optional(self, keyword: str, read: Callable[[], str]) -> str | None:
        return read() if self.accept(keyword) else None

    def scalar(self) -> Scalar:
        token = self.peek()
        if token.startswith("'"):
            return self.text()
        if token.lower() in ("true", "false"):
            return self.take().lower() == "true"
        try:
            value = float(token) if re.search(r"[.eEn]", token) else int(token)
        except ValueError:
            raise self.wrong("a number, a quoted text, true or false") from None
        self.take()
        return value
