"""Applies the statements of scripts to the structures of tables, without a database.

Law: a statement is applied as a whole, passed because it is known to change no structure, or not read. What
is not read is a value with its place and its reason, never a silent pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from schemaman.debezium.ddl.migrations.column_definitions import DefinitionReader, TableConstraint
from schemaman.debezium.ddl.migrations.column_types import UserTypes, read_column_type
from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.known_tables import (
    DroppedTable,
    KnownTable,
    ScriptPlace,
    UnreadStatement,
    is_emitted,
)
from schemaman.debezium.ddl.migrations.passed_statements import find_passed_kind
from schemaman.debezium.ddl.migrations.publications import read_publication
from schemaman.debezium.ddl.migrations.script import ScriptStatement, has_body, is_block, read_tokens
from schemaman.debezium.ddl.migrations.table_actions import ActionReader, ConstraintAction, DropKeyAction
from schemaman.debezium.ddl.migrations.table_editor import OTHER_CONSTRAINT, SqlSession, TableEditor
from schemaman.debezium.ddl.migrations.token_reader import Parts, StatementNotRead, TokenReader
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.types import Enum


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
        self.session = SqlSession(grammar.default_schema)
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


class _StatementRun(TableEditor):
    """One statement: what it changes is kept by the applier only if all of it was read."""

    def __init__(self, applier: StatementApplier, place: ScriptPlace) -> None:
        super().__init__(applier.grammar, applier.tables, applier.session, place, applier.next_id)
        self.applier = applier

    def read(self, statement: ScriptStatement) -> None:
        """Read the statement. Raises `StatementNotRead`."""
        if has_body(statement.text):
            return
        if is_block(statement.text):
            raise StatementNotRead("a block runs statements under conditions")
        first = statement.text.split(maxsplit=1)[0].upper() if statement.text else ""
        if (
            first in self.grammar.line_words
            and first not in ("USE", "SET", "SOURCE")
            and "\n" not in statement.text
        ):
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
        if reader.peek(1).is_word("PUBLICATION"):
            change = read_publication(reader)
            if change is not None:
                self.change_publication(change)
            return change is not None
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
        elif reader.accept("TRUNCATE"):
            self._truncate_tables(reader)
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

    def _truncate_tables(self, reader: TokenReader) -> None:
        reader.accept("TABLE")
        while not reader.is_next("#"):  # a temporary table of SQL Server
            reader.accept("ONLY")
            number = self.find_table(reader.read_parts(), is_optional=True)
            if number is not None:
                self.tables[number] = replace(self.tables[number], truncated=self.place)
            reader.accept("*")
            if not reader.accept(","):
                break
        reader.skip_until()

    def _use_schema(self, reader: TokenReader) -> None:
        token = reader.take()
        name = token.text if token.kind != "word" else self.grammar.fold_name(token.spelled)
        reader.skip_until()
        self.session = replace(self.session, schema=name)

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
        known = self.find_table(parts, is_optional=True)
        if known is not None and is_optional:
            reader.skip_until()
            return
        if known is not None and is_replacing:
            self.drop_table(known)
        elif known is not None:
            self.subject = known
            raise StatementNotRead(f"the accepted state already has a table {'.'.join(parts)}")
        if not reader.accept("("):
            raise reader.make_error("a table without a list of columns is not read")
        number = self.applier.next_number()
        self.tables[number] = KnownTable(
            self.make_id(parts), TableSchema(()), None, None, self.applier.is_emitted, place=self.place
        )
        definitions = DefinitionReader(reader, self.session.types)
        constraints: list[TableConstraint] = []
        while not reader.is_next(")"):
            if reader.is_any("LIKE"):
                raise reader.make_error("LIKE copies the columns of another table, and is not read")
            if definitions.is_constraint():
                constraints.append(definitions.read_constraint())
            else:
                self.add_column(number, definitions.read_definition())
            if not reader.accept(","):
                break
        reader.expect(")")
        self.add_constraints(number, constraints)
        made = self.tables[number]
        # PostgreSQL makes no second index over the columns of the primary key
        self.set_key(number, made.primary, tuple(u for u in made.uniques if u[1] != made.primary))
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
                self.set_schema(number, comment=reader.take().text or None)
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
                number = self.find_table(reader.read_parts(), is_optional=is_optional)
            if number is not None:
                self.subject = number
                self.drop_table(number)
            if not reader.accept(","):
                break
        while reader.accept_any("CASCADE", "RESTRICT", "PURGE", "CONSTRAINTS"):
            pass
        if reader.accept("IF", "EXISTS"):
            pass

    def _rename_tables(self, reader: TokenReader) -> None:
        while True:
            reader.accept("IF", "EXISTS")
            number = self.find_table(reader.read_parts())
            if not reader.accept("TO"):
                reader.expect("AS")
            self.rename_table(number, reader.read_parts())
            if not reader.accept(","):
                return

    def _alter_table(self, reader: TokenReader) -> None:
        is_optional = reader.accept("IF", "EXISTS")
        reader.accept("ONLY")
        if reader.is_next("#"):
            reader.skip_until()
            return
        number = self.find_table(reader.read_parts(), is_optional=is_optional)
        reader.accept("*")
        if number is None:
            while reader.skip_until(",", ")") or reader.accept_any(",", ")"):
                pass
            return
        self.subject = number
        actions = ActionReader(reader, self.session.types)
        if reader.has_ended:
            raise reader.make_error("an action expected")
        ordered = list(actions.read_actions())
        if self.grammar.inline_indexes:  # MySQL and MariaDB drop the key before, and make keys after columns
            ordered.sort(key=lambda a: isinstance(a, ConstraintAction) - isinstance(a, DropKeyAction))
        for action in ordered:
            self.apply_action(number, action)

    def _create_unique_index(self, reader: TokenReader) -> None:
        """A unique index is the key of a table without one. Source: Debezium JdbcConnection, MySQL parser."""
        reader.accept("CONCURRENTLY")
        is_optional = reader.accept("IF", "NOT", "EXISTS")
        name = "" if reader.is_next("ON") else reader.read_parts()[-1]
        if reader.accept("USING"):
            reader.take()
        reader.expect("ON")
        reader.accept("ONLY")
        number = self.find_table(reader.read_parts(), is_optional=True)
        rest = reader.at
        if number is not None and not is_optional:
            if reader.accept("USING"):
                reader.take()
            try:
                columns = reader.read_names()
            except StatementNotRead:
                columns = ()  # an index over expressions is no key
            if columns and not any(token.is_word("WHERE") for token in reader.tokens[reader.at :]):
                self.add_constraints(number, [TableConstraint("unique", name, columns)])
        reader.at = rest
        while not reader.has_ended:
            reader.take()

    def _comment(self, reader: TokenReader) -> None:
        reader.take(), reader.take()
        kind = reader.take().text
        parts = reader.read_parts()
        reader.expect("IS")
        token = reader.take()
        text = None if token.is_word("NULL") else token.text or None
        number = self.find_table(parts if kind == "TABLE" else parts[:-1] or parts, is_optional=True)
        if number is None:
            return
        self.subject = number
        if kind == "TABLE":
            self.set_schema(number, comment=text)
        else:
            self.edit_column(number, parts[-1], comment=text)

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
                    self.edit_column(number, column.name, type=Enum(tuple(new)))

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
            number = self.find_table(old[:-1])
            if number is not None:
                self.subject = number
                self.rename_column(number, old[-1], values[1])
        elif kind == "OBJECT" and (self.list_matches(old) or old[-1] in self.session.temporary):
            number = self.find_table(old)
            self.rename_table(number, (*old[:-1], values[1]))
        elif kind == "OBJECT" and not OTHER_CONSTRAINT.search(old[-1]):
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


def _is_option(reader: TokenReader) -> bool:
    """Whether AS is part of an option behind the columns, as in `WITH SYSTEM VERSIONING`."""
    return reader.peek(1).is_word("IDENTITY", "ROW")


def _split_name(text: str, grammar: SqlGrammar) -> Parts:
    """Split a dotted name in a text into its parts."""
    reader = TokenReader(read_tokens(ScriptStatement(text, 1), grammar), grammar)
    return reader.read_parts()
