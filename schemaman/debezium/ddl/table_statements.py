"""Applies the statements of scripts to the structures of tables, without a database.

Law: a statement is applied as a whole, passed because it is known to change no structure, or not read. What
is not read is a value with its place and its reason, never a silent pass.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, assert_never

from schemaman.debezium.ddl.column_definitions import (
    ColumnDefinition,
    DefinitionReader,
    StatedDefault,
    TableConstraint,
)
from schemaman.debezium.ddl.column_types import NO_TYPES, UserTypes, read_column_type
from schemaman.debezium.ddl.grammar import SqlGrammar
from schemaman.debezium.ddl.passed_statements import find_passed_kind
from schemaman.debezium.ddl.script import ScriptStatement, has_body, is_block, read_tokens
from schemaman.debezium.ddl.table_actions import (
    Action,
    ActionReader,
    AddAction,
    CommentAction,
    ConstraintAction,
    DefaultAction,
    DropAction,
    DropConstraintAction,
    DropKeyAction,
    ModifyAction,
    NullableAction,
    RenameAction,
    RenameConstraintAction,
    RenameTableAction,
    SchemaAction,
)
from schemaman.debezium.ddl.token_reader import Parts, StatementNotRead, TokenReader
from schemaman.model.schema import Column, Scalar, TableId, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Enum,
    Floating,
    Integer,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
)


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where a statement stands: the name of its file, and its line from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class UnreadStatement:
    """A statement that was not applied: its place, beginning, text, why, and its table if that is known."""

    place: ScriptPlace
    beginning: str
    reason: str
    table: TableId | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table while statements are applied.

    `accepted` is its structure before all of them, None for a new table. `is_emitted`: the types are those of
    events, not those that the database declares. The columns have ids, which a renamed column keeps.
    `constraints` maps the names of constraints to `primary` or `other`. `places` are those of the last
    statement about a column, by its id; `key_place` that about the key, `place` that about the table.
    `primary` is the primary key, or whatever the accepted key is; `uniques` are known unique indexes by name.
    """

    id: TableId
    schema: TableSchema
    accepted: TableSchema | None
    accepted_id: TableId | None
    is_emitted: bool = False
    constraints: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[int, ScriptPlace] = field(default_factory=dict)
    key_place: ScriptPlace | None = None
    place: ScriptPlace | None = None
    primary: Parts = ()
    uniques: tuple[tuple[str, Parts], ...] = ()

    @property
    def key(self) -> Parts:
        """The primary key, else the first unique index by name. Source: Debezium JdbcConnection."""
        return self.primary or next((columns for _, columns in sorted(self.uniques)), ())


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """A table that a statement drops; `place` is that of the statement."""

    table: KnownTable
    place: ScriptPlace


class StatementApplier:
    """Applies statements one after the other to the tables that it knows.

    `tables` are the present ones by number, `dropped` the accepted ones that are gone. `unread` are the
    statements that were not applied.
    """

    def __init__(self, grammar: SqlGrammar, accepted: Iterable[tuple[TableId, TableSchema]]) -> None:
        self.grammar = grammar
        self.tables: dict[int, KnownTable] = {}
        self.dropped: list[DroppedTable] = []
        self.unread: list[UnreadStatement] = []
        self.session = _Session(grammar.default_schema)
        self._numbers = count(1)
        self._ids = count(1)
        for id, schema in accepted:
            self.add_table(id, schema)
        forms = {table.is_emitted for table in self.tables.values()}
        self.is_emitted = forms == {True}

    def add_table(self, id: TableId, schema: TableSchema) -> None:
        """Add a table of the accepted state."""
        own = replace(schema, columns=tuple(replace(c, id=self.next_id()) for c in schema.columns))
        self.tables[self.next_number()] = KnownTable(
            id, own, own, id, is_emitted(own, self.grammar), primary=own.key
        )

    def next_id(self) -> int:
        """Return the id of a new column."""
        return next(self._ids)

    def next_number(self) -> int:
        """Return the number of a new table."""
        return next(self._numbers)

    def apply(self, statement: ScriptStatement, file: str) -> None:
        """Apply a statement of a file, or add it to those that were not read."""
        place = ScriptPlace(file, statement.line)
        run = _StatementRun(self, place)
        try:
            if statement.fault:
                raise StatementNotRead(statement.fault)
            run.read(statement)
        except (StatementNotRead, ValueError, LookupError, RecursionError) as error:
            reason = "its brackets are too deep" if isinstance(error, RecursionError) else str(error)
            table = run.tables[run.subject].id if run.subject in run.tables else None
            self.unread.append(UnreadStatement(place, statement.beginning, reason, table, statement.text))
            return
        self.tables, self.session = run.tables, run.session
        self.dropped += run.dropped


@dataclass(frozen=True, slots=True)
class _Session:
    """What earlier statements of the session and of the database set: the schema of names without one."""

    schema: str
    temporary: frozenset[str] = frozenset()
    types: UserTypes = NO_TYPES


def is_emitted(schema: TableSchema, grammar: SqlGrammar) -> bool:
    """Return whether the types of a structure can be those of events: no size is declared."""
    return not any(_is_declared(column.type, grammar) for column in schema.columns)


def _is_declared(type: Type, grammar: SqlGrammar) -> bool:
    match type:
        case String(length, fixed):
            return length is not None or fixed
        case Binary(length):
            return length is not None
        case Integer(_, signed):
            return not signed
        case Decimal(precision, 0):
            return grammar.small_numbers and precision <= _INTEGER_DIGITS
        case Time(precision, _) | Timestamp(precision, _):
            return precision not in (3, 6, 9)
        case Array(element, _):
            return _is_declared(element, grammar)
        case _:
            return False


_INTEGER_DIGITS = 18


class _StatementRun:
    """One statement: what it changes is kept by the applier only if all of it was read.

    `subject` is the number of the table that the statement is about, 0 before it is known.
    """

    def __init__(self, applier: StatementApplier, place: ScriptPlace) -> None:
        self.applier = applier
        self.grammar = applier.grammar
        self.place = place
        self.tables = dict(applier.tables)
        self.session = applier.session
        self.dropped: list[DroppedTable] = []
        self.subject = 0

    def read(self, statement: ScriptStatement) -> None:
        """Read the statement. Raises `StatementNotRead`."""
        if has_body(statement.text):
            return
        if is_block(statement.text):
            raise StatementNotRead("a block runs statements under conditions")
        first = statement.text.split(maxsplit=1)[0].upper() if statement.text else ""
        if first in self.grammar.line_words and first not in ("USE", "SET") and "\n" not in statement.text:
            return  # a command of the client, whose text has other quotes
        if first.startswith("\\") and first[1:].lower() in _META_COMMANDS:
            return
        tokens = read_tokens(statement, self.grammar)
        reader = TokenReader(tokens, self.grammar)
        if self._read_statement(reader):
            while reader.accept(";"):
                pass
            if not reader.has_ended:
                raise reader.make_error("the rest is not read")
        elif not tokens or not find_passed_kind(statement, tokens, self.grammar):
            is_block_text = bool(tokens) and tokens[0].is_word("DO")
            raise StatementNotRead(
                "what a block does is not known" if is_block_text else "no statement that is known"
            )

    def _read_statement(self, reader: TokenReader) -> bool:
        """Read a statement that changes structures or names; return whether it is one."""
        if reader.is_next("CREATE"):
            return self._read_create(reader)
        if reader.is_next("ALTER") and reader.peek(2).is_word("TABLE"):
            reader.accept("ALTER")
            if not reader.accept_any("IGNORE", "ONLINE", "OFFLINE"):
                raise reader.make_error("this kind of table is not read")
            reader.expect("TABLE")
            self._alter_table(reader)
        elif reader.accept("ALTER", "TABLE"):
            self._alter_table(reader)
        elif reader.accept("DROP", "TABLE"):
            self._drop_tables(reader)
        elif reader.accept("RENAME", "TABLE") or reader.accept("RENAME", "TABLES"):
            self._rename_tables(reader)
        elif reader.is_next("RENAME") and reader.peek(2).is_word("TO"):
            reader.take()
            self._rename_tables(reader)
        elif reader.is_any("EXEC", "EXECUTE"):
            self._execute(reader)
        elif reader.is_next("CALL"):
            self._call(reader)
        elif reader.is_next("COMMENT", "ON") and reader.peek(2).is_word("TABLE", "COLUMN"):
            self._comment(reader)
        elif reader.accept("ALTER", "TYPE"):
            self._alter_type(reader)
        elif reader.accept("USE") or reader.accept("SET", "SCHEMA"):
            reader.accept("=")
            self._use_schema(reader)
        elif reader.accept("SET", "SEARCH_PATH") or reader.accept(
            "ALTER", "SESSION", "SET", "CURRENT_SCHEMA"
        ):
            reader.accept_any("TO", "=")
            self._use_schema(reader)
        else:
            return False
        return True

    # names

    def _find_table(self, parts: Parts, *, is_optional: bool = False) -> int | None:
        """Find the number of a table; None for a temporary one, or for an absent one if that is allowed."""
        if parts[-1] in self.session.temporary:
            return None
        found = self._list_matches(parts)
        if len(found) == 1:
            return found[0]
        name = ".".join(parts)
        if found:
            raise StatementNotRead(f"several accepted tables are called {name}")
        if is_optional:
            return None
        raise StatementNotRead(f"the accepted state has no table {name}")

    def _list_matches(self, parts: Parts) -> list[int]:
        same = self.grammar.is_same_name
        *qualifiers, name = parts
        found = [
            number
            for number, table in self.tables.items()
            if (
                same(table.id.table, name)
                or (not table.id.parts[1:] and table.id.table.lower() == name.lower())
            )
            and all(
                not own or same(own, stated)
                for own, stated in zip(_list_qualifiers(table.id), reversed(qualifiers), strict=False)
            )
        ]
        if len(found) > 1 and not qualifiers:
            near = [n for n in found if _list_qualifiers(self.tables[n].id)[0] == self.session.schema]
            return near or found
        return found

    def _make_id(self, parts: Parts) -> TableId:
        """Make the id of a new table, beside the accepted ones."""
        *qualifiers, name = parts
        schema = qualifiers[-1] if qualifiers else self.session.schema
        ids = [table.id for table in self.tables.values()]
        near = next((id for id in ids if _list_qualifiers(id)[0] == schema), ids[0] if ids else None)
        if near is None:
            return TableId("", "", schema if qualifiers else "", name)
        if near.schema:
            return replace(near, schema=schema or near.schema, table=name)
        return replace(near, database=qualifiers[-1] if qualifiers else near.database, table=name)

    def _use_schema(self, reader: TokenReader) -> None:
        token = reader.take()
        name = token.text if token.kind != "word" else self.grammar.fold_name(token.spelled)
        reader.skip_until()
        self.session = replace(self.session, schema=name)

    # tables

    def _read_create(self, reader: TokenReader) -> bool:
        start = reader.at
        reader.take()
        if reader.accept("TYPE"):
            return self._create_type(reader)
        if reader.accept("DOMAIN"):
            self._create_domain(reader)
            return True
        if reader.accept("UNIQUE"):
            reader.accept_any("CLUSTERED", "NONCLUSTERED")
            if reader.accept("INDEX"):
                self._create_unique_index(reader)
                return True
        is_temporary, is_replacing = False, False
        while word := reader.accept_any(
            "OR", "REPLACE", "TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED", "PRIVATE"
        ):
            is_temporary |= word in ("TEMP", "TEMPORARY", "PRIVATE")
            is_replacing |= word == "REPLACE"
        if not reader.accept("TABLE"):
            reader.at = start
            return False
        self._create_table(reader, is_temporary=is_temporary, is_replacing=is_replacing)
        return True

    def _create_table(self, reader: TokenReader, *, is_temporary: bool, is_replacing: bool) -> None:
        is_optional = reader.accept("IF", "NOT", "EXISTS")
        if is_temporary or reader.is_next("#"):
            name = reader.skip_until("(", "AS", "ON")[-1:]
            folded = {self.grammar.fold_name(t.spelled) if t.kind == "word" else t.text for t in name}
            self.session = replace(self.session, temporary=self.session.temporary | folded)
            reader.skip_until()
            return
        parts = reader.read_parts()
        known = self._find_table(parts, is_optional=True)
        if known is not None and is_optional:
            reader.skip_until()
            return
        if known is not None and is_replacing:
            self._drop(known)
        elif known is not None:
            self.subject = known
            raise StatementNotRead(f"the accepted state already has a table {'.'.join(parts)}")
        if not reader.accept("("):
            raise reader.make_error("a table without a list of columns is not read")
        number = self.applier.next_number()
        self.tables[number] = KnownTable(
            self._make_id(parts), TableSchema(()), None, None, self.applier.is_emitted, place=self.place
        )
        definitions = DefinitionReader(reader, self.session.types)
        constraints: list[TableConstraint] = []
        while not reader.is_next(")"):
            if reader.is_any("LIKE"):
                raise reader.make_error("LIKE copies the columns of another table, and is not read")
            if definitions.is_constraint():
                constraints.append(definitions.read_constraint())
            else:
                self._add_column(number, definitions.read_definition())
            if not reader.accept(","):
                break
        reader.expect(")")
        self._add_constraints(number, constraints)
        made = self.tables[number]
        # PostgreSQL makes no second index over the columns of the primary key
        self._set_key(number, made.primary, tuple(u for u in made.uniques if u[1] != made.primary))
        self._read_table_options(reader, number)
        if not self.tables[number].schema.columns:
            raise StatementNotRead("a table without columns")

    def _read_table_options(self, reader: TokenReader, number: int) -> None:
        """Skip what follows the columns, but for the comment; refuse other sources of columns."""
        while not reader.has_ended:
            if reader.is_any("INHERITS", "OF", "SELECT") or (reader.is_next("AS") and not _is_option(reader)):
                raise reader.make_error("columns from another table or a query are not read")
            if reader.accept("COMMENT"):
                reader.accept("=")
                self._set_schema(number, comment=reader.take().text or None)
            elif reader.is_any("("):
                reader.skip_brackets()
            else:
                reader.take()

    def _drop_tables(self, reader: TokenReader) -> None:
        is_optional = reader.accept("IF", "EXISTS")
        while True:
            if reader.accept("#"):
                reader.accept("#")
                reader.read_name()
                number = None
            else:
                number = self._find_table(reader.read_parts(), is_optional=is_optional)
            if number is not None:
                self.subject = number
                self._drop(number)
            if not reader.accept(","):
                break
        while reader.accept_any("CASCADE", "RESTRICT", "PURGE", "CONSTRAINTS"):
            pass
        if reader.accept("IF", "EXISTS"):
            pass

    def _drop(self, number: int) -> None:
        table = self.tables.pop(number)
        if table.accepted is not None:
            self.dropped.append(DroppedTable(table, self.place))

    def _rename_tables(self, reader: TokenReader) -> None:
        while True:
            reader.accept("IF", "EXISTS")
            number = self._find_table(reader.read_parts())
            if not reader.accept("TO"):
                reader.expect("AS")
            self._rename(number, reader.read_parts())
            if not reader.accept(","):
                return

    def _rename(self, number: int | None, parts: Parts) -> None:
        if number is None:
            return
        self.subject = number
        table = self.tables[number]
        levels = _list_qualifiers(table.id)
        stated = parts[:-1] or ((levels[0],) if levels[0] else ())
        other = self._list_matches((*stated, parts[-1]))
        if other and other != [number]:
            raise StatementNotRead(f"a table {'.'.join(parts)} already exists")
        id = replace(table.id, table=parts[-1])
        if len(parts) > 1:
            id = replace(id, schema=parts[-2]) if table.id.schema else replace(id, database=parts[-2])
        self.tables[number] = replace(table, id=id, place=self.place)

    # columns

    def _alter_table(self, reader: TokenReader) -> None:
        is_optional = reader.accept("IF", "EXISTS")
        reader.accept("ONLY")
        if reader.is_next("#"):
            reader.skip_until()
            return
        number = self._find_table(reader.read_parts(), is_optional=is_optional)
        reader.accept("*")
        if number is None:
            while reader.skip_until(",", ")") or reader.accept_any(",", ")"):
                pass
            return
        self.subject = number
        actions = ActionReader(reader, self.session.types)
        if reader.has_ended:
            raise reader.make_error("an action expected")
        for action in actions.read_actions():
            self._apply_action(number, action)

    def _apply_action(self, number: int, action: Action) -> None:
        match action:
            case AddAction(definition, is_optional):
                if is_optional and self._find_column(number, definition.name) is not None:
                    return
                self._add_column(number, definition)
            case ConstraintAction(constraint):
                self._add_constraints(number, [constraint])
            case DropAction(name, is_optional):
                self._drop_column(number, name, is_optional)
            case DropConstraintAction(name):
                self._drop_constraint(number, name)
            case DropKeyAction():
                self._set_key(number, (), self.tables[number].uniques)
            case RenameAction(old, new):
                self._rename_column(number, old, new)
            case ModifyAction(old, definition, is_whole):
                self._modify_column(number, old, definition, is_whole)
            case NullableAction(name, nullable):
                self._edit_column(number, name, nullable=nullable)
            case DefaultAction(name, default):
                column = self._require_column(number, name)
                self._edit_column(number, name, default=self._make_default(number, default, column))
            case RenameTableAction(parts):
                self._rename(number, parts)
            case SchemaAction(schema):
                self._rename(number, (schema, self.tables[number].id.table))
            case RenameConstraintAction(old, new):
                kinds = dict(self.tables[number].constraints)
                if old in kinds:
                    kinds[new] = kinds.pop(old)
                elif old == _default_key_name(self.tables[number]):
                    kinds[new] = "primary"
                self.tables[number] = replace(self.tables[number], constraints=kinds)
            case CommentAction(comment):
                self._set_schema(number, comment=comment or None)
            case _:
                assert_never(action)

    def _find_column(self, number: int, name: str) -> Column | None:
        columns = self.tables[number].schema.columns
        return next((c for c in columns if self.grammar.is_same_name(c.name, name)), None)

    def _require_column(self, number: int, name: str) -> Column:
        column = self._find_column(number, name)
        if column is None:
            raise StatementNotRead(f"the accepted table {self.tables[number].id} has no column {name}")
        return column

    def _add_column(self, number: int, definition: ColumnDefinition) -> None:
        table = self.tables[number]
        if self._find_column(number, definition.name) is not None:
            raise StatementNotRead(f"the table {table.id} already has a column {definition.name}")
        column = self._fill(
            number, Column(definition.name, String(), id=self.applier.next_id()), definition, True
        )
        columns = list(table.schema.columns)
        columns.insert(self._find_place(number, definition.place), column)
        self._set_columns(number, columns)
        self._mark(number, column)
        self._add_column_key(number, definition)

    def _add_column_key(self, number: int, definition: ColumnDefinition) -> None:
        if definition.is_primary:
            self._add_constraints(
                number, [TableConstraint("primary", definition.constraint, (definition.name,))]
            )
        elif definition.is_unique:
            self._add_constraints(
                number, [TableConstraint("unique", definition.constraint, (definition.name,))]
            )

    def _find_place(self, number: int, after: str | None) -> int:
        columns = self.tables[number].schema.columns
        if after is None:
            return len(columns)
        return 0 if not after else columns.index(self._require_column(number, after)) + 1

    def _modify_column(self, number: int, old: str, definition: ColumnDefinition, is_whole: bool) -> None:
        column = self._require_column(number, old)
        if definition.name != old:
            self._rename_column(number, old, definition.name)
            column = self._require_column(number, definition.name)
        changed = self._fill(number, column, definition, is_whole)
        columns = [changed if c.id == column.id else c for c in self.tables[number].schema.columns]
        if definition.place is not None:
            columns.remove(changed)
            names = [c.name for c in columns]
            after = self._require_column(number, definition.place).name if definition.place else None
            columns.insert(names.index(after) + 1 if after is not None else 0, changed)
        self._set_columns(number, columns)
        self._mark(number, changed)
        self._add_column_key(number, definition)

    def _fill(self, number: int, column: Column, definition: ColumnDefinition, is_whole: bool) -> Column:
        """Return a column with what its definition states; `is_whole`: what it omits is reset."""
        table = self.tables[number]
        is_key = column.name in table.primary
        if definition.type is not None:
            emitted = self.grammar.find_emitted_type(definition.type, definition.source_type)
            is_new = column.source_type is not None or table.accepted is None or column.emitted_name is None
            column = replace(
                column,
                type=emitted if table.is_emitted else definition.type,
                source_type=definition.source_type if is_new else None,
            )
        resets = is_whole or (definition.type is not None and self.grammar.retype_nullable)
        if definition.nullable is not None:
            column = replace(column, nullable=definition.nullable)
        elif resets:
            column = replace(column, nullable=not is_key)
        if definition.default is not None:
            column = replace(column, default=self._make_default(number, definition.default, column))
        elif is_whole:
            is_serial = (definition.source_type or "").endswith("serial") and table.is_emitted
            column = replace(column, default=0 if is_serial else None)
        if definition.comment is not None or is_whole:
            column = replace(column, comment=definition.comment or None)
        return column

    def _make_default(self, number: int, default: StatedDefault | None, column: Column) -> Scalar:
        if default is None or (default.is_literal and default.text is None):
            return None
        if self.tables[number].is_emitted:
            return _emit_default(default, column)
        return default.text if default.is_literal else default.sql

    def _drop_column(self, number: int, name: str, is_optional: bool) -> None:
        if is_optional and self._find_column(number, name) is None:
            return
        column = self._require_column(number, name)
        table = self.tables[number]
        self._set_columns(number, [c for c in table.schema.columns if c.id != column.id])
        self._mark(number, column)
        rest = tuple(k for k in table.primary if k != column.name)
        primary = table.primary if rest == table.primary else rest if self.grammar.key_shrinks else ()
        kept = tuple(unique for unique in table.uniques if column.name not in unique[1])
        self._set_key(number, primary, kept)

    def _rename_column(self, number: int, old: str, new: str) -> None:
        column = self._require_column(number, old)
        other = self._find_column(number, new)
        if other is not None and other.id != column.id:
            raise StatementNotRead(f"the table {self.tables[number].id} already has a column {new}")
        self._edit_column(number, old, name=new)
        table = self.tables[number]
        uniques = tuple((n, _rename_in(columns, column.name, new)) for n, columns in table.uniques)
        self._set_key(number, _rename_in(table.primary, column.name, new), uniques)

    def _edit_column(self, number: int, name: str, /, **attributes: Any) -> None:
        column = self._require_column(number, name)
        if attributes.get("nullable") and column.name in self.tables[number].primary:
            raise StatementNotRead(f"the column {name} is part of the key")
        if "name" in attributes and column.emitted_name is not None:
            attributes["emitted_name"] = attributes["name"]
        changed = replace(column, **attributes)
        columns = self.tables[number].schema.columns
        self._set_columns(number, [changed if c.id == column.id else c for c in columns])
        self._mark(number, changed)

    # keys

    def _add_constraints(self, number: int, constraints: Iterable[TableConstraint]) -> None:
        ordered = sorted(constraints, key=lambda c: c.kind != "primary")
        for constraint in ordered:
            table = self.tables[number]
            kinds = {**table.constraints, **({constraint.name: "other"} if constraint.name else {})}
            if constraint.kind == "primary":
                kinds[constraint.name or _default_key_name(table)] = "primary"
                names = tuple(self._require_column(number, name).name for name in constraint.columns)
                for name in names:
                    self._edit_column(number, name, nullable=False)
                self._set_key(number, names, self.tables[number].uniques)
            elif constraint.kind == "unique":
                names = tuple(self._require_column(number, name).name for name in constraint.columns)
                name = constraint.name or self._name_unique(table, names)
                kinds[name] = "unique"
                self._set_key(number, table.primary, (*table.uniques, (name, names)))
            self.tables[number] = replace(self.tables[number], constraints=kinds)

    def _create_unique_index(self, reader: TokenReader) -> None:
        """A unique index is the key of a table without one. Source: Debezium JdbcConnection, MySQL parser."""
        reader.accept("CONCURRENTLY")
        is_optional = reader.accept("IF", "NOT", "EXISTS")
        name = "" if reader.is_next("ON") else reader.read_parts()[-1]
        if reader.accept("USING"):
            reader.take()
        reader.expect("ON")
        reader.accept("ONLY")
        number = self._find_table(reader.read_parts(), is_optional=True)
        rest = reader.at
        if number is not None and not is_optional:
            if reader.accept("USING"):
                reader.take()
            try:
                columns = reader.read_names()
            except StatementNotRead:
                columns = ()  # an index over expressions is no key
            if columns and not any(token.is_word("WHERE") for token in reader.tokens[reader.at :]):
                self._add_constraints(number, [TableConstraint("unique", name, columns)])
        reader.at = rest
        while not reader.has_ended:
            reader.take()

    def _drop_constraint(self, number: int, name: str) -> None:
        table = self.tables[number]
        kind = table.constraints.get(name) or ("primary" if name == _default_key_name(table) else "")
        if kind == "primary":
            self._set_key(number, (), table.uniques)
        elif kind == "unique":
            self._set_key(number, table.primary, tuple(u for u in table.uniques if u[0] != name))
        elif not kind and table.schema.key and not _NO_KEY.search(name):
            raise StatementNotRead(f"the constraint {name} may be the primary key")
        rest = {key: value for key, value in table.constraints.items() if key != name}
        self.tables[number] = replace(self.tables[number], constraints=rest, place=self.place)

    # comments and types

    def _comment(self, reader: TokenReader) -> None:
        reader.take(), reader.take()
        kind = reader.take().text
        parts = reader.read_parts()
        reader.expect("IS")
        token = reader.take()
        text = None if token.is_word("NULL") else token.text or None
        number = self._find_table(parts if kind == "TABLE" else parts[:-1] or parts, is_optional=True)
        if number is None:
            return
        self.subject = number
        if kind == "TABLE":
            self._set_schema(number, comment=text)
        else:
            self._edit_column(number, parts[-1], comment=text)

    def _create_type(self, reader: TokenReader) -> bool:
        name = reader.read_parts()[-1]
        if reader.accept("AS", "ENUM"):
            self._set_enum(name, tuple(t.text for t in reader.skip_until() if t.kind == "text"))
        reader.skip_until()
        while not reader.has_ended:
            reader.take()
        return True

    def _create_domain(self, reader: TokenReader) -> None:
        name = reader.read_parts()[-1]
        reader.accept("AS")
        types = self.session.types
        read = read_column_type(reader, types)
        if "NULL" in {token.text for token in reader.tokens if token.kind == "word"}:
            reader.skip_until()  # whether its columns allow NULL is not known, so they are not read
            return
        self.session = replace(self.session, types=UserTypes(types.enums, {**types.domains, name: read}))
        reader.skip_until()

    def _set_enum(self, name: str, labels: tuple[str, ...]) -> None:
        types = self.session.types
        self.session = replace(self.session, types=UserTypes({**types.enums, name: labels}, types.domains))

    def _alter_type(self, reader: TokenReader) -> None:
        name = reader.read_parts()[-1]
        if reader.accept("OWNER", "TO") or reader.accept("SET", "SCHEMA"):
            reader.take()
            return
        labels = self.session.types.enums.get(name)
        if labels is None:
            raise StatementNotRead(f"which columns have the type {name} is not known")
        new = list(labels)
        if reader.accept("ADD", "VALUE"):
            is_optional = reader.accept("IF", "NOT", "EXISTS")
            label = reader.take().text
            side = reader.accept_any("BEFORE", "AFTER")
            near = reader.take().text if side else ""
            if label in new and not is_optional:
                raise StatementNotRead(f"the type {name} already has the label {label}")
            if label not in new:
                new.insert(new.index(near) + (side == "AFTER") if side else len(new), label)
        elif reader.accept("RENAME", "VALUE"):
            old = reader.take().text
            reader.expect("TO")
            new[new.index(old)] = reader.take().text
        else:
            raise reader.make_error("this change of a type is not read")
        self._set_enum(name, tuple(new))
        for number, table in list(self.tables.items()):
            for column in table.schema.columns:
                if column.source_type == name and column.type == Enum(labels):
                    self._edit_column(number, column.name, type=Enum(tuple(new)))

    # procedures

    def _execute(self, reader: TokenReader) -> None:
        reader.take()
        parts = reader.read_parts()
        if parts[-1].lower() != "sp_rename":
            raise reader.make_error(f"what {parts[-1]} does is not known")
        values: list[str] = []
        while not reader.has_ended:
            if reader.accept("@"):
                reader.read_name()
                reader.expect("=")
            values.append(reader.take().text)
            if not reader.accept(","):
                break
        old = _split_name(values[0], self.grammar) if values else ()
        kind = values[2].upper() if len(values) > 2 else "OBJECT"
        if len(values) < 2 or not old:
            raise StatementNotRead("sp_rename without names")
        if kind == "COLUMN":
            number = self._find_table(old[:-1])
            if number is not None:
                self.subject = number
                self._rename_column(number, old[-1], values[1])
        elif kind == "OBJECT" and (self._list_matches(old) or old[-1] in self.session.temporary):
            number = self._find_table(old)
            self._rename(number, (*old[:-1], values[1]))
        elif kind == "OBJECT" and not _NO_KEY.search(old[-1]):
            raise StatementNotRead(f"the accepted state has no table {'.'.join(old)}")

    def _call(self, reader: TokenReader) -> None:
        reader.take()
        parts = reader.read_parts()
        reader.accept("(")
        command = reader.peek().text.split()
        if parts[-1].upper() != "ADMIN_CMD" or not command or command[0].upper() not in ("REORG", "RUNSTATS"):
            raise StatementNotRead(f"what the procedure {parts[-1]} does is not known")
        while not reader.has_ended:
            reader.take()

    # state

    def _set_schema(self, number: int, /, **attributes: Any) -> None:
        table = self.tables[number]
        self.tables[number] = replace(table, schema=replace(table.schema, **attributes), place=self.place)

    def _set_columns(self, number: int, columns: Iterable[Column]) -> None:
        self._set_schema(number, columns=tuple(columns))

    def _set_key(self, number: int, primary: Parts, uniques: tuple[tuple[str, Parts], ...]) -> None:
        table = replace(self.tables[number], primary=primary, uniques=uniques)
        if table.key != table.schema.key:
            table = replace(table, key_place=self.place)
        self.tables[number] = table
        self._set_schema(number, key=table.key)

    def _name_unique(self, table: KnownTable, columns: Parts) -> str:
        """Name a unique constraint as PostgreSQL does, with a number if the name is taken."""
        base = "_".join((table.id.table, *columns, "key"))
        names = {name for name, _ in table.uniques}
        return next(n for i in count() if (n := f"{base}{i or ''}") not in names)

    def _mark(self, number: int, column: Column) -> None:
        """Keep the place of the statement as that of a column."""
        table = self.tables[number]
        if column.id is not None:
            self.tables[number] = replace(table, places={**table.places, column.id: self.place})


_META_COMMANDS = frozenset(
    (
        "c",
        "connect",
        "copy",
        "echo",
        "encoding",
        "pset",
        "q",
        "qecho",
        "restrict",
        "set",
        "timing",
        "unrestrict",
    )
)
"""Commands of psql that change no table. Source: PostgreSQL, psql, Meta-Commands."""

_NO_KEY = re.compile(
    r"f_?k(ey)?\b|(^|_)fk|_key$|(^|_)(uq|uk|unique|uniq|ck|chk|check|excl|df|def|idx|ix|nn|not_null)(_|$)|"
    r"(^|_)ref(_|$)",
    re.IGNORECASE,
)
"""Names of constraints that by their usual words are no primary keys."""


def _rename_in(names: Parts, old: str, new: str) -> Parts:
    return tuple(new if name == old else name for name in names)


def _default_key_name(table: KnownTable) -> str:
    """The name that PostgreSQL gives a primary key."""
    id = table.accepted_id or table.id
    return f"{id.table}_pkey"


def _list_qualifiers(id: TableId) -> tuple[str, ...]:
    """List the names before that of a table, the nearest first: schema and database, or database alone."""
    return (id.schema, id.database) if id.schema else (id.database,)


def _is_option(reader: TokenReader) -> bool:
    """Whether AS is part of an option behind the columns, as in `WITH SYSTEM VERSIONING`."""
    return reader.peek(1).is_word("IDENTITY", "ROW")


def _split_name(text: str, grammar: SqlGrammar) -> Parts:
    """Split a dotted name in a text into its parts."""
    reader = TokenReader(read_tokens(ScriptStatement(text, 1), grammar), grammar)
    return reader.read_parts()


def _emit_default(default: StatedDefault, column: Column) -> Scalar:
    """Return a default as events have it; an expression of a NOT NULL column is sent as the zero of its type.

    Source: Debezium PostgresDefaultValueConverter; recordings of shop tables in `fixtures/captures`.
    """
    if not default.is_literal:
        return None if column.nullable else _ZEROS.get(type(column.type), "")
    text = default.text or ""
    try:
        match column.type:
            case Boolean():
                return text.lower() in ("true", "t", "1", "yes", "y", "on")
            case Integer():
                return int(text)
            case Floating():
                return float(text)
            case Decimal(_, scale):
                return f"{decimal.Decimal(text):.{min(scale, 1000)}f}"
            case _:
                return text
    except (ValueError, ArithmeticError):
        return text


_ZEROS: Mapping[type, Scalar] = {
    Integer: 0, Floating: 0.0, Boolean: False, Decimal: "0", Timestamp: 0, Time: 0, Date: 0,
    Uuid: "00000000-0000-0000-0000-000000000000",
}  # fmt: skip
