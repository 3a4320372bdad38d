"""Facts about columns in a DDL text: renames, defaults, comments; evidence beside the declared structure.

sqlglot parses the text. If it fails, `event_renames` still finds renames, but neither defaults nor comments.
Columns that were dropped and added again always come from the tokens.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.oracle import Oracle
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.oracle import OracleParser

from schemaman.debezium.connector import find_connector
from schemaman.debezium.ddl.event_facts import DdlFacts, Parts
from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS, ORACLE_STATEMENTS, StatementGrammar
from schemaman.debezium.ddl.event_renames import (
    find_column_renames,
    find_recreated_columns,
    find_table_renames,
    renames_tables_alone,
)
from schemaman.debezium.observation import Attribute, StatedAttribute

LONGEST = 100_000
"""The most characters of a text that is parsed; a longer one takes seconds."""

_FAULTS = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""The exceptions of the parser for texts that are no SQL; the last four are its own faults."""

_EXECUTED = re.compile(r"/\*M?!")
"""A comment that MySQL and MariaDB execute, but the parser skips."""

Attributes = dict[tuple[str, Attribute], str | None]


def parse_ddl(ddl: str, connector: str) -> DdlFacts:
    """Read the facts in the statements of a DDL text, in order.

    A column definition replaces default and comment of the column. In Oracle, a modified column keeps the
    attributes that the statement does not mention, and comments have statements of their own. Names have the
    form in which the database keeps them. Source: MySQL and MariaDB manuals, ALTER TABLE; Oracle SQL
    reference, ALTER TABLE and COMMENT.
    """
    grammar = find_connector(connector).statement_grammar
    if grammar is None:
        return DdlFacts()
    anew: tuple[StatedAttribute, ...] = tuple(
        (column, "anew", None) for column in find_recreated_columns(ddl, grammar)
    )
    try:
        statements = _parse_statements(ddl, *_PARSERS[grammar])
    except _FAULTS:
        found = find_column_renames(ddl, grammar), find_table_renames(ddl, grammar)
        return DdlFacts(*found, anew, renames_alone=renames_tables_alone(ddl, grammar))
    reader = _DdlReader(grammar)
    for statement in statements:
        reader.read_statement(statement)
    # sqlglot reads a list of pairs behind RENAME TABLE as a command, and loses a table of some forms.
    tables = tuple(reader.tables) or find_table_renames(ddl, grammar)
    stated = ((column, attribute, value) for (column, attribute), value in reader.attributes.items())
    renames = tuple((old, new) for old, new in reader.renames.items() if old != new)
    alone = renames_tables_alone(ddl, grammar)
    return DdlFacts(renames, tables, (*stated, *anew), parsed=True, renames_alone=alone)


def _parse_statements(ddl: str, dialect: Dialect, parse: type[Parser]) -> list[exp.Expr]:
    if len(ddl) > LONGEST or _EXECUTED.search(ddl):
        raise ParseError("too long, or with statements in comments")
    return [s for s in parse(dialect=dialect).parse(dialect.tokenize(ddl), ddl) if s is not None]


class _MySqlParser(MySQLParser):
    """Refuses where sqlglot would go on with an opaque command and log a warning."""

    def _warn_unsupported(self) -> None:
        raise ParseError("no statement that is read")


class _OracleParser(OracleParser):
    """Refuses where sqlglot would go on with an opaque command and log a warning."""

    def _warn_unsupported(self) -> None:
        raise ParseError("no statement that is read")


_PARSERS: dict[StatementGrammar, tuple[Dialect, type[Parser]]] = {
    MYSQL_STATEMENTS: (MySQL(), _MySqlParser),
    ORACLE_STATEMENTS: (Oracle(), _OracleParser),
}


class _DdlReader:
    """Reads the statements of one text in order; the attributes of a column belong to its newest name."""

    def __init__(self, grammar: StatementGrammar) -> None:
        self.grammar = grammar
        self.renames: dict[str, str] = {}
        self.tables: list[tuple[Parts, Parts]] = []
        self.attributes: Attributes = {}

    def read_statement(self, statement: exp.Expr) -> None:
        """Read one statement; statements that are not about tables have no effect."""
        match statement:
            case exp.Create(kind="TABLE"):
                self._read_creation(statement)
            case exp.Alter(kind="TABLE"):
                step: dict[str, str] = {}
                for action in statement.args.get("actions") or ():
                    self._read_action(action, statement.this, step)
                self._apply_renames(step)
                self._read_table_comment(statement.args.get("options") or ())
            case exp.Comment():
                self._read_comment(statement)
            case _:
                pass

    def _read_creation(self, statement: exp.Create) -> None:
        if not isinstance(statement.this, exp.Schema):
            return
        for part in statement.this.expressions:
            if isinstance(part, exp.ColumnDef):
                self._read_definition(part)
        properties = statement.args.get("properties")
        self.attributes["", "comment"] = None
        self._read_table_comment(properties.expressions if properties is not None else ())

    def _read_action(self, action: exp.Expr, table: exp.Expr, step: dict[str, str]) -> None:
        match action:
            case exp.ColumnDef():
                self._read_definition(action)
            case exp.Schema():
                for part in action.expressions:
                    self._read_action(part, table, step)
            case exp.ModifyColumn():
                definition, old = action.this, action.args.get("rename_from")
                if isinstance(old, exp.Expr):
                    step[self._read_name(old)] = self._read_name(definition.this)
                if isinstance(definition, exp.ColumnDef):
                    self._read_definition(definition, kept=self.grammar.keeps_attributes)
            case exp.AlterColumn():
                self._read_alteration(action)
            case exp.RenameColumn():
                step[self._read_name(action.this)] = self._read_name(action.args["to"])
            case exp.AlterRename() if isinstance(action.this, exp.Table):
                self.tables.append((self._read_parts(table), self._read_parts(action.this)))
            case _:
                pass

    def _read_alteration(self, action: exp.AlterColumn) -> None:
        default = action.args.get("default")
        if isinstance(default, exp.Expr):
            self.attributes[self._read_name(action.this), "default"] = self._read_value(default)
        elif action.args.get("drop"):
            self.attributes[self._read_name(action.this), "default"] = None

    def _read_definition(self, column: exp.ColumnDef, kept: bool = False) -> None:
        """Read a column's definition; `kept`: attributes that it does not mention stay as they are."""
        attributes: dict[Attribute, str | None] = {} if kept else {"default": None}
        if not self.grammar.own_comments:
            attributes["comment"] = None
        for constraint in column.args.get("constraints") or ():
            match constraint.args.get("kind"):
                case exp.DefaultColumnConstraint(this=value):
                    attributes["default"] = self._read_value(value)
                case exp.CommentColumnConstraint(this=value):
                    attributes["comment"] = self._read_value(value)
                case _:
                    pass
        name = self._read_name(column.this)
        self.attributes.update({(name, attribute): value for attribute, value in attributes.items()})

    def _read_table_comment(self, properties: object) -> None:
        for part in properties if isinstance(properties, list) else ():
            if isinstance(part, exp.SchemaCommentProperty):
                self.attributes["", "comment"] = self._read_value(part.this) or None

    def _read_comment(self, statement: exp.Comment) -> None:
        text = self._read_value(statement.expression) or None if statement.expression is not None else None
        kind = statement.args.get("kind")
        if kind == "COLUMN":
            self.attributes[self._read_name(statement.this), "comment"] = text
        elif kind == "TABLE":
            self.attributes["", "comment"] = text

    def _apply_renames(self, step: dict[str, str]) -> None:
        """Apply the renames of one statement at once, after those of the statements before."""
        moved = dict(step)
        self.renames = {a: moved.pop(b, b) for a, b in self.renames.items()} | moved
        carried = {
            (step[name], attribute): value
            for (name, attribute), value in self.attributes.items()
            if name in step and (step[name], attribute) not in self.attributes
        }
        self.attributes = {k: v for k, v in self.attributes.items() if k[0] not in step} | carried

    def _read_name(self, node: exp.Expr) -> str:
        """Return the last part of a name; Oracle keeps unquoted names in capitals."""
        identifier = node.find(exp.Identifier) if not isinstance(node, exp.Identifier) else node
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            identifier = node.this
        text = identifier.name if identifier is not None else node.name
        quoted = identifier is not None and bool(identifier.args.get("quoted"))
        return text if quoted or not self.grammar.upper_names else text.upper()

    def _read_parts(self, table: exp.Expr) -> Parts:
        parts = table.parts if isinstance(table, exp.Table) else []
        return tuple(self._read_name(part) for part in parts)

    def _read_value(self, value: exp.Expr) -> str | None:
        """Return a literal's text, an expression as SQL, and None for NULL."""
        match value:
            case exp.Null():
                return None
            case exp.Literal() | exp.National() | exp.BitString():
                return str(value.this)
            case exp.Paren() if self.grammar.bracketed_values:
                return self._read_value(value.this)
            case _:
                return value.sql(_PARSERS[self.grammar][0])
