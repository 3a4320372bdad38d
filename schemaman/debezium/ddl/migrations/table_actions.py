"""Reads the actions of ALTER TABLE as values; several actions may follow one another with or without commas.

Sources: the SQL references of PostgreSQL, MySQL, MariaDB, Oracle Database, SQL Server and Db2, ALTER TABLE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemaman.debezium.ddl.migrations.column_definitions import (
    ACTION_VERBS,
    ColumnDefinition,
    DefinitionReader,
    StatedDefault,
    TableConstraint,
    read_default,
)
from schemaman.debezium.ddl.migrations.column_types import UserTypes, read_column_type
from schemaman.debezium.ddl.migrations.token_reader import Parts, TokenReader


@dataclass(frozen=True, slots=True)
class AddAction:
    """A column is added; `is_optional`: only if there is none of that name."""

    definition: ColumnDefinition
    is_optional: bool


@dataclass(frozen=True, slots=True)
class ConstraintAction:
    """A constraint is added."""

    constraint: TableConstraint


@dataclass(frozen=True, slots=True)
class DropAction:
    """A column is dropped; `is_optional`: only if there is one."""

    name: str
    is_optional: bool


@dataclass(frozen=True, slots=True)
class DropConstraintAction:
    """A constraint is dropped by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class DropKeyAction:
    """The primary key is dropped."""


@dataclass(frozen=True, slots=True)
class RenameAction:
    """A column gets another name."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ModifyAction:
    """A column gets another definition; `is_whole`: what the definition does not state is reset."""

    old: str
    definition: ColumnDefinition
    is_whole: bool


@dataclass(frozen=True, slots=True)
class NullableAction:
    """NULL becomes allowed or forbidden in a column."""

    name: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class DefaultAction:
    """A column gets another default, or none."""

    name: str
    default: StatedDefault | None


@dataclass(frozen=True, slots=True)
class RenameTableAction:
    """The table gets another name."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class SchemaAction:
    """The table moves to another schema."""

    schema: str


@dataclass(frozen=True, slots=True)
class RenameConstraintAction:
    """A constraint gets another name."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class CommentAction:
    """The table gets another comment."""

    comment: str


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """The changes of the table are written to the log of the database, or no longer."""

    is_logged: bool


@dataclass(frozen=True, slots=True)
class OptionalAction:
    """An action on a column, with IF EXISTS: it does nothing if there is no such column."""

    column: str
    action: Action


Action = (
    AddAction
    | ConstraintAction
    | DropAction
    | DropConstraintAction
    | DropKeyAction
    | RenameAction
    | ModifyAction
    | NullableAction
    | DefaultAction
    | RenameTableAction
    | LoggedAction
    | OptionalAction
    | SchemaAction
    | RenameConstraintAction
    | CommentAction
)

_FIRST_WORDS = frozenset(
    {
        "ENABLE", "DISABLE", "VALIDATE", "CLUSTER", "OWNER", "REPLICA", "FORCE", "ENGINE", "AUTO_INCREMENT",
        "CHARACTER", "CHARSET", "COLLATE", "DEFAULT", "CONVERT", "ALGORITHM", "LOCK", "ROW_FORMAT", "ORDER",
        "KEY_BLOCK_SIZE", "STATS_PERSISTENT", "STATS_AUTO_RECALC", "AVG_ROW_LENGTH", "CHECKSUM", "MAX_ROWS",
        "MIN_ROWS", "PACK_KEYS", "DISCARD", "IMPORT", "CHECK", "NOCHECK", "REBUILD", "LOGGING", "NOLOGGING",
        "PARALLEL", "NOPARALLEL", "COMPRESS", "NOCOMPRESS", "CACHE", "NOCACHE", "MOVE", "SHRINK", "PCTFREE",
        "ACTIVATE", "DATA", "APPEND", "VOLATILE", "LOCKSIZE", "ATTACH", "DETACH", "TABLESPACE", "PERSISTENT",
        "WITHOUT", "STATS_SAMPLE_PAGES", "NO", "RESET", "REORGANIZE", "COALESCE", "ANALYZE", "OPTIMIZE",
        "REPAIR", "TRUNCATE",
    }
)  # fmt: skip
"""The first words of actions that change no structure: storage, triggers, owners, partitions."""


_NO_COLUMNS = (
    ("PARTITION", "("), ("PARTITION", "BY"), ("SUPPLEMENTAL", "LOG"), ("PERIOD", "FOR"),
    ("MATERIALIZED", "QUERY"), ("VERSIONING", "USE"), ("SYSTEM", "VERSIONING"),
)  # fmt: skip
"""The words behind ADD, DROP or ALTER that begin no column."""


class ActionReader:
    """Reads the actions behind the name of the table."""

    def __init__(self, reader: TokenReader, types: UserTypes) -> None:
        self.reader = reader
        self.types = types
        self.definitions = DefinitionReader(reader, types)

    def read_actions(self) -> Iterator[Action]:
        """Read all actions in order. Raises `StatementNotRead`."""
        while not self.reader.has_ended:
            yield from self._read_action()
            self.reader.accept(",")

    def _read_action(self) -> Iterator[Action]:
        reader = self.reader
        if reader.accept("ADD"):
            yield from self._read_add()
        elif reader.accept("DROP"):
            yield from self._read_drop()
        elif reader.accept("ALTER"):
            yield from self._read_alter()
        elif reader.accept("MODIFY"):
            yield from self._read_modify()
        elif reader.accept("CHANGE"):
            reader.accept("COLUMN")
            is_optional = reader.accept("IF", "EXISTS")
            old = reader.read_name()
            change = ModifyAction(old, self.definitions.read_definition(), is_whole=True)
            yield OptionalAction(old, change) if is_optional else change
        elif reader.accept("RENAME"):
            yield from self._read_rename()
        elif reader.accept("SET", "SCHEMA"):
            yield SchemaAction(reader.read_name())
        elif reader.accept("SET", "UNUSED"):
            yield from self._read_unused()
        elif reader.accept("COMMENT"):
            reader.accept("=")
            yield CommentAction(reader.take().text)
        elif reader.is_next("SET", "UNLOGGED") or reader.is_next("SET", "LOGGED"):
            yield LoggedAction(reader.is_next("SET", "LOGGED"))
            self._skip_action()
        elif reader.is_any("SET", "RESET") and self._is_setting():
            self._skip_action()
        elif reader.accept("WITH", "CHECK") or reader.accept("WITH", "NOCHECK"):
            if reader.accept("ADD"):
                yield from self._read_add()
            else:
                self._skip_action()
        elif reader.is_any(*_FIRST_WORDS):
            self._skip_action()
        else:
            raise reader.make_error("this action is not read")

    def _is_setting(self) -> bool:
        following = self.reader.peek(1)
        return following.text == "(" or following.is_word(
            "LOGGED", "UNLOGGED", "TABLESPACE", "WITHOUT", "ACCESS", "STATISTICS", "INTERVAL"
        )

    def _skip_action(self) -> None:
        self.reader.take()
        self.reader.skip_until(",", *ACTION_VERBS)

    def _read_add(self) -> Iterator[Action]:
        reader = self.reader
        if any(reader.is_next(*words) for words in _NO_COLUMNS):
            self._skip_action()
            return
        reader.accept("COLUMN")
        is_optional = reader.accept("IF", "NOT", "EXISTS")
        if reader.accept("("):
            yield from self._read_definitions(is_optional)
            reader.expect(")")
        elif reader.grammar.optional_semicolons:
            yield from self._read_definitions(is_optional)
        else:
            yield self._read_definition(is_optional)

    def _read_definitions(self, is_optional: bool) -> Iterator[Action]:
        while True:
            yield self._read_definition(is_optional)
            if not self.reader.accept(","):
                return

    def _read_definition(self, is_optional: bool) -> Action:
        if self.definitions.is_constraint():
            return ConstraintAction(self.definitions.read_constraint())
        return AddAction(self.definitions.read_definition(), is_optional)

    def _read_drop(self) -> Iterator[Action]:
        reader = self.reader
        if reader.accept("PRIMARY", "KEY"):
            reader.accept_any("CASCADE")
            yield DropKeyAction()
        elif reader.accept("CONSTRAINT"):
            reader.accept("IF", "EXISTS")
            yield DropConstraintAction(reader.read_name())
            while reader.grammar.optional_semicolons and reader.accept(","):
                reader.accept("CONSTRAINT")
                yield DropConstraintAction(reader.read_name())
            reader.accept_any("CASCADE", "RESTRICT", "ONLINE")
        elif self._is_other_part():
            self._skip_action()
        else:
            reader.accept("COLUMN")
            yield from self._read_dropped()

    def _read_dropped(self) -> Iterator[Action]:
        """Read the names of dropped columns, in brackets or behind one another."""
        reader = self.reader
        is_optional = reader.accept("IF", "EXISTS")
        has_brackets = reader.accept("(")
        yield DropAction(reader.read_name(), is_optional)
        while (has_brackets or reader.grammar.optional_semicolons) and reader.accept(","):
            reader.accept("COLUMN")
            yield DropAction(reader.read_name(), is_optional)
        if has_brackets:
            reader.expect(")")
        while reader.accept_any("CASCADE", "RESTRICT", "CONSTRAINTS", "INVALIDATE", "ONLINE"):
            pass

    def _is_other_part(self) -> bool:
        """Return whether an index, a constraint or a partition is next, and no column of such a name."""
        reader = self.reader
        if reader.is_any("UNIQUE", "CHECK", "FOREIGN"):
            return True  # reserved words
        if any(reader.is_next(*words) for words in _NO_COLUMNS):
            return True
        return reader.grammar.inline_indexes and reader.is_any("INDEX", "KEY", "PARTITION")

    def _read_unused(self) -> Iterator[Action]:
        self.reader.accept("COLUMN")
        yield from self._read_dropped()

    def _read_alter(self) -> Iterator[Action]:
        reader = self.reader
        if reader.is_next("CONSTRAINT") or self._is_other_part():
            self._skip_action()
            return
        reader.accept("COLUMN")
        is_optional = reader.accept("IF", "EXISTS")
        name = reader.read_name()
        for action in self._read_column_change(name):
            yield OptionalAction(name, action) if is_optional else action

    def _read_column_change(self, name: str) -> Iterator[Action]:
        reader = self.reader
        if reader.accept("SET", "DATA", "TYPE") or reader.accept("TYPE"):
            type, source = read_column_type(reader, self.types)
            yield ModifyAction(name, ColumnDefinition(name, type, source), is_whole=False)
            if reader.accept("COLLATE"):
                reader.read_parts()
            if reader.accept("USING"):
                reader.skip_until(",")
        elif reader.accept("SET", "DEFAULT") or reader.accept("SET", "WITH", "DEFAULT"):
            yield DefaultAction(name, read_default(reader))
        elif reader.accept("DROP", "DEFAULT"):
            yield DefaultAction(name, None)
        elif reader.accept("SET", "NOT", "NULL"):
            yield NullableAction(name, False)
        elif reader.accept("DROP", "NOT", "NULL"):
            yield NullableAction(name, True)
        elif reader.is_any("SET", "RESET", "ADD", "DROP", "RESTART") and self._is_column_setting():
            self._skip_column_setting()
        elif reader.grammar.retype_nullable and not reader.is_any("SET", "DROP", "ADD"):
            definition = self.definitions.read_definition_of(name)
            yield ModifyAction(name, definition, is_whole=False)
        else:
            raise reader.make_error("this change of a column is not read")

    def _is_column_setting(self) -> bool:
        """Whether an action on a column changes no structure: storage, statistics, identity, masks."""
        following = self.reader.peek(1)
        return following.text == "(" or following.is_word(
            "STATISTICS", "STORAGE", "COMPRESSION", "GENERATED", "IDENTITY", "EXPRESSION", "VISIBLE",
            "INVISIBLE", "INLINE", "CACHE", "INCREMENT", "MASKED", "SPARSE", "ROWGUIDCOL", "PERSISTED", "NO",
            "WITH",
        )  # fmt: skip

    def _skip_column_setting(self) -> None:
        self.reader.take()
        self.reader.skip_until(",", *ACTION_VERBS)

    def _read_modify(self) -> Iterator[Action]:
        reader = self.reader
        if reader.is_any("CONSTRAINT", "PRIMARY", "UNIQUE"):
            self._skip_action()
            return
        if reader.is_any("PARTITION", "DEFAULT", "LOB", "NESTED"):
            raise reader.make_error("this change of storage is not read")
        reader.accept("COLUMN")
        is_optional = reader.accept("IF", "EXISTS")
        is_whole = reader.grammar.redefine
        has_brackets = reader.accept("(")
        while True:
            definition = self.definitions.read_definition(is_type_optional=not is_whole)
            change = ModifyAction(definition.name, definition, is_whole)
            yield OptionalAction(definition.name, change) if is_optional else change
            if not has_brackets or not reader.accept(","):
                break
        if has_brackets:
            reader.expect(")")

    def _read_rename(self) -> Iterator[Action]:
        reader = self.reader
        if reader.is_any("INDEX", "KEY", "PARTITION") and reader.peek(2).is_word("TO"):
            self._skip_action()
        elif reader.is_next("CONSTRAINT") and reader.peek(2).is_word("TO"):
            reader.take()
            old = reader.read_name()
            reader.expect("TO")
            yield RenameConstraintAction(old, reader.read_name())
        elif reader.accept_any("TO", "AS", "="):
            yield RenameTableAction(reader.read_parts())
        elif reader.peek(1).is_word("TO") or reader.is_next("COLUMN"):
            reader.accept("COLUMN")
            is_optional = reader.accept("IF", "EXISTS")
            old = reader.read_name()
            reader.expect("TO")
            renaming = RenameAction(old, reader.read_name())
            yield OptionalAction(old, renaming) if is_optional else renaming
        else:
            yield RenameTableAction(reader.read_parts())
