"""Reads the definition of a column and the constraints of a table in a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.debezium.ddl.migrations.column_types import UserTypes, read_column_type
from schemaman.debezium.ddl.migrations.script import SqlToken
from schemaman.debezium.ddl.migrations.token_reader import Parts, TokenReader
from schemaman.model.types import Type

ACTION_VERBS = ("ADD", "DROP", "ALTER", "MODIFY", "CHANGE", "RENAME")
"""The words that begin an action of ALTER TABLE, also without a comma before."""

_STOPS = (
    ",", ")", "NOT", "NULL", "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "GENERATED", "COMMENT",
    "COLLATE", "ON", "AFTER", "FIRST", "AUTO_INCREMENT", "KEY", "ENABLE", "DISABLE", "VISIBLE", "INVISIBLE",
    "ADD", "DROP", "MODIFY", "ALTER", "RENAME", "DEFERRABLE", "INITIALLY", "FOR", "IDENTITY", "SPARSE",
)  # fmt: skip
"""The words and signs outside brackets that end the expression of a default."""


@dataclass(frozen=True, slots=True)
class StatedDefault:
    """A default as a statement writes it: its SQL, and its text if it is a literal; None means NULL.

    `is_literal` is False for an expression.
    """

    sql: str | None
    text: str | None
    is_literal: bool


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as a statement defines it; None where it says nothing.

    `place` is the column behind which it goes, empty for the first place, and None for the last.
    """

    name: str
    type: Type | None
    source_type: str | None
    nullable: bool | None = None
    default: StatedDefault | None = None
    comment: str | None = None
    is_primary: bool = False
    is_unique: bool = False
    constraint: str = ""
    place: str | None = None


@dataclass(frozen=True, slots=True)
class TableConstraint:
    """A constraint of a table: its kind, its name, empty if it has none, and its columns."""

    kind: Literal["primary", "unique", "other"]
    name: str
    columns: Parts = ()


class DefinitionReader:
    """Reads definitions at the position of a token reader."""

    def __init__(self, reader: TokenReader, types: UserTypes) -> None:
        self.reader = reader
        self.types = types

    def read_definition(self, *, is_type_optional: bool = False) -> ColumnDefinition:
        """Read a column's name, type and attributes. Raises `StatementNotRead`."""
        return self.read_definition_of(self.reader.read_name(), is_type_optional=is_type_optional)

    def read_definition_of(self, name: str, *, is_type_optional: bool = False) -> ColumnDefinition:
        """Read the type and the attributes of a column whose name is known. Raises `StatementNotRead`."""
        reader = self.reader
        if reader.is_next("AS") or reader.is_next("GENERATED"):
            raise reader.make_error("a computed column without a type is not read")
        is_plain = is_type_optional and (
            reader.has_ended or reader.is_any("NOT", "NULL", "DEFAULT", "CONSTRAINT", "PRIMARY", ",", ")")
        )
        type, source = (None, None) if is_plain else read_column_type(reader, self.types)
        definition = _Attributes(reader).read()
        word = (source or "").upper().split("(")[0].split(" ")[0]
        is_generated = "identity" in definition.marks or word in _NOT_NULL
        nullable = definition.nullable
        if nullable is None and ("primary" in definition.marks or is_generated):
            nullable = False
        is_serial = word == "SERIAL" and reader.grammar.backslashes
        return ColumnDefinition(
            name,
            type,
            source,
            nullable,
            definition.default,
            definition.comment,
            "primary" in definition.marks,
            "unique" in definition.marks or is_serial,
            definition.constraint,
            definition.place,
        )

    def is_constraint(self) -> bool:
        """Return whether a constraint or an index of the table is next, and no column of such a name."""
        reader = self.reader
        if reader.is_any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT") or reader.is_next(
            "PERIOD", "FOR"
        ):
            return True  # the first five are reserved words everywhere
        if reader.is_next("EXCLUDE"):
            return reader.peek(1).text in ("(", "USING")
        return reader.grammar.inline_indexes and reader.is_any("INDEX", "KEY", "FULLTEXT", "SPATIAL")

    def read_constraint(self) -> TableConstraint:
        """Read a constraint or an index of a table up to its end. Raises `StatementNotRead`."""
        reader = self.reader
        name = ""
        if reader.accept("CONSTRAINT") and not reader.is_any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            name = reader.read_name()
        if reader.accept("PRIMARY", "KEY"):
            return self._finish("primary", name, self._read_key_columns())
        if reader.accept("UNIQUE"):
            reader.accept_any("KEY", "INDEX")
            if (
                not name
                and reader.peek().kind in ("word", "name")
                and not reader.is_any("CLUSTERED", "NONCLUSTERED", "USING", "NULLS")
            ):
                name = reader.read_name()
            return self._finish("unique", name, self._read_key_columns())
        return self._finish("other", name, ())

    def _finish(
        self, kind: Literal["primary", "unique", "other"], name: str, columns: Parts
    ) -> TableConstraint:
        # the words of the next action also occur in ON DELETE and ON UPDATE, but not these
        self.reader.skip_until(",", ")", *ACTION_VERBS)
        return TableConstraint(kind, name, columns)

    def _read_key_columns(self) -> Parts:
        reader = self.reader
        while reader.accept_any("CLUSTERED", "NONCLUSTERED", "NOT", "NULLS", "DISTINCT"):
            pass
        if reader.is_next("USING", "INDEX"):
            raise reader.make_error("a constraint that uses an index is not read")
        if reader.accept("USING"):
            reader.read_name()
        return reader.read_names()


_NOT_NULL = ("SERIAL", "BIGSERIAL", "SMALLSERIAL", "ROWVERSION")


class _Attributes:
    """The attributes of a column, as they are read."""

    def __init__(self, reader: TokenReader) -> None:
        self.reader = reader
        self.nullable: bool | None = None
        self.default: StatedDefault | None = None
        self.comment: str | None = None
        self.constraint = self.stated_name = ""
        self.place: str | None = None
        self.marks: set[str] = set()
        """Which of `primary`, `unique` and `identity` the column is."""

    def read(self) -> _Attributes:
        """Read all attributes up to the end of the definition."""
        while self._read_attribute():
            pass
        return self

    def _read_attribute(self) -> bool:
        reader = self.reader
        if reader.accept("NOT", "NULL"):
            self.nullable = False
        elif reader.accept("NULL"):
            self.nullable = True
        elif reader.accept("WITH", "DEFAULT"):
            self.default = (
                read_default(reader) if not reader.is_any(*_STOPS) else StatedDefault("0", None, False)
            )
        elif reader.accept("DEFAULT"):
            if reader.accept("ON"):
                reader.expect("NULL")
            self.default = read_default(reader)
        elif reader.accept("PRIMARY", "KEY") or reader.accept("KEY"):
            self.marks.add("primary")  # MySQL: KEY alone is PRIMARY KEY
            self.constraint = self.stated_name
        elif reader.accept("UNIQUE"):
            self.marks.add("unique")
            self.constraint = self.constraint if "primary" in self.marks else self.stated_name
            reader.accept_any("KEY")
        elif reader.accept("COMMENT"):
            self.comment = self._read_text()
        elif reader.accept("FIRST"):
            self.place = ""
        elif reader.accept("AFTER"):
            self.place = reader.read_name()
        elif reader.accept("CONSTRAINT"):
            self.stated_name = reader.read_name()
            return True
        elif reader.accept_any("IDENTITY", "AUTO_INCREMENT"):
            self.marks.add("identity")
            self._skip_optional_brackets()
        elif reader.accept("GENERATED"):
            self._read_generated()
        elif reader.accept("AS"):
            self._skip_optional_brackets()
        elif not self._skip_other():
            return False
        self.stated_name = ""  # a name belongs to the constraint behind it
        return True

    def _read_generated(self) -> None:
        reader = self.reader
        if not reader.accept("ALWAYS"):
            reader.expect("BY", "DEFAULT")
            if reader.accept("ON"):
                reader.expect("NULL")
        reader.expect("AS")
        if reader.accept("IDENTITY"):
            self.marks.add("identity")
        elif reader.accept("ROW"):
            reader.accept_any("START", "END", "BEGIN", "CHANGE")
            return
        self._skip_optional_brackets()

    def _skip_other(self) -> bool:
        """Skip an attribute that changes no structure; return whether there was one."""
        reader = self.reader
        if reader.accept("CHECK"):
            self._skip_optional_brackets()
        elif reader.accept("REFERENCES"):
            reader.read_parts()
            self._skip_optional_brackets()
            while reader.accept("MATCH") or (
                reader.is_next("ON") and reader.peek(1).is_word("DELETE", "UPDATE")
            ):
                self._skip_reference()
        elif reader.accept("ON", "UPDATE"):
            reader.take()
            self._skip_optional_brackets()
        elif reader.accept("COLLATE") or reader.accept("CHARACTER", "SET") or reader.accept("CHARSET"):
            reader.accept("=")
            reader.take() if reader.peek().kind == "text" else reader.read_parts()
        elif reader.accept_any("STORAGE", "COMPRESSION", "COLUMN_FORMAT", "ENGINE_ATTRIBUTE", "SRID"):
            reader.take()
        elif reader.accept("INLINE", "LENGTH") or reader.accept("NOT", "FOR", "REPLICATION"):
            if reader.peek().kind == "number":
                reader.take()
        elif (
            any(reader.accept("NOT", word) for word in ("DEFERRABLE", "LOGGED", "COMPACT"))
            or reader.accept("NOT", "ENFORCED")
            or reader.accept("WITH", "VALUES")
        ):
            pass
        elif reader.accept("INITIALLY"):
            reader.accept_any("DEFERRED", "IMMEDIATE")
        else:
            return bool(reader.accept_any(*_WITHOUT_EFFECT))
        return True

    def _skip_reference(self) -> None:
        reader = self.reader
        if reader.accept("ON"):
            reader.take()
            if reader.accept("SET"):
                reader.take()
                self._skip_optional_brackets()
            elif not reader.accept("NO", "ACTION"):
                reader.accept_any("CASCADE", "RESTRICT")
        else:
            reader.take()

    def _skip_optional_brackets(self) -> None:
        if self.reader.is_next("("):
            self.reader.skip_brackets()

    def _read_text(self) -> str:
        token = self.reader.take()
        if token.kind != "text":
            raise self.reader.make_error("a text expected")
        return token.text


_WITHOUT_EFFECT = (
    "VISIBLE", "INVISIBLE", "ENABLE", "DISABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY", "STORED",
    "VIRTUAL", "PERSISTED", "ROWGUIDCOL", "SPARSE", "HIDDEN", "DEFERRABLE", "ENFORCED", "CLUSTERED",
    "NONCLUSTERED", "BINARY", "ASCII", "UNICODE", "IMPLICITLY", "LOGGED", "COMPACT",
)  # fmt: skip


def read_default(reader: TokenReader) -> StatedDefault:
    """Read the expression of a default, up to what follows it. Raises `StatementNotRead`."""
    start = reader.at
    if reader.is_any("NULL", "NOT"):
        reader.take()
    while True:
        reader.skip_until(*_STOPS, "WITH", "AS")
        if reader.is_any("WITH", "AS") and not _ends_default(reader):
            reader.take()
            continue
        break
    tokens = reader.tokens[start : reader.at]
    if not tokens:
        raise reader.make_error("the expression of a default expected")
    return _state_default(tokens)


def _ends_default(reader: TokenReader) -> bool:
    """Return whether WITH or AS begins the next attribute, and is no part of a type in a cast."""
    return not reader.is_next("WITH", "TIME") and not reader.is_next("WITH", "LOCAL")


def _state_default(tokens: Sequence[SqlToken]) -> StatedDefault:
    sql = _join(tokens)
    depth = 0
    while 2 * depth + 2 < len(tokens) and tokens[depth].spelled == "(" and tokens[-1 - depth].spelled == ")":
        depth += 1
    plain = list(tokens[depth : len(tokens) - depth])
    cast = next((i for i, token in enumerate(plain) if token.text == "::" and token.kind == "sign"), None)
    if cast is not None:
        plain = plain[:cast]
    match plain:
        case [SqlToken(kind="word", text="NULL")]:
            return StatedDefault(None, None, True)
        case [SqlToken(kind="word", text="TRUE" | "FALSE") as token]:
            return StatedDefault(sql, token.text.lower(), True)
        case [SqlToken(kind="text" | "number") as token]:
            return StatedDefault(sql, token.text, True)
        case [SqlToken(kind="sign", text="-" | "+" as sign), SqlToken(kind="number") as token]:
            return StatedDefault(sql, token.text if sign == "+" else f"-{token.text}", True)
        case _:
            return StatedDefault(sql, None, False)


def _join(tokens: Sequence[SqlToken]) -> str:
    """Join tokens to SQL, with a space only between words."""
    text = ""
    for token in tokens:
        is_apart = token.kind != "sign" and text[-1:].isalnum()
        text += f" {token.spelled}" if is_apart else token.spelled
    return text
