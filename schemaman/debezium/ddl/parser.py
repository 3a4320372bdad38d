"""What a DDL text says of columns: renames, defaults, comments; evidence beside the declared structure.

sqlglot reads it. Where it cannot, `tokenized` still finds what is renamed, and nothing is said of defaults
and comments. Which columns were dropped and added again is always told from the words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.oracle import Oracle
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.oracle import OracleParser

from schemaman.debezium.ddl.tokens import find_column_renames as tokenized
from schemaman.debezium.ddl.tokens import find_recreated_columns
from schemaman.debezium.ddl.tokens import find_table_renames as tokenized_tables
from schemaman.debezium.observation import Attribute, StatedAttribute

LONGEST = 100_000
"""A text of more characters is not parsed, since that takes seconds."""

_FAULTS = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""What the parser raises for texts that are no SQL; the last four are its own slips."""

_EXECUTED = re.compile(r"/\*M?!")
"""A comment that MySQL and MariaDB execute, and that the parser leaves out."""

Parts = tuple[str, ...]
Attributes = dict[tuple[str, Attribute], str | None]


@dataclass(frozen=True, slots=True)
class DdlFacts:
    """What a text says: renamed columns and tables, old name first, attributes of columns, and new columns.

    `parsed` is False where only renames could be looked for.
    """

    renames: tuple[tuple[str, str], ...] = ()
    tables: tuple[tuple[Parts, Parts], ...] = ()
    stated_attributes: tuple[StatedAttribute, ...] = ()
    parsed: bool = False


def read_ddl(ddl: str, connector: str) -> DdlFacts:
    """What the statements of a text say, one after the other.

    A column that is defined anew has no default and no comment but those in its definition; in Oracle a
    modified column keeps what is not mentioned, and comments have statements of their own. Names are as
    the database keeps them. Source: MySQL and MariaDB manuals, ALTER TABLE; Oracle SQL reference, ALTER
    TABLE and COMMENT.
    """
    parser = _PARSERS.get(connector)
    if parser is None:
        return DdlFacts()
    anew: tuple[StatedAttribute, ...] = tuple(
        (column, "anew", None) for column in find_recreated_columns(ddl, connector)
    )
    try:
        statements = _parse_statements(ddl, parser)
    except _FAULTS:
        return DdlFacts(tokenized(ddl, connector), tokenized_tables(ddl, connector), anew)
    reader = _DdlReader(connector == "oracle")
    for statement in statements:
        reader.read(statement)
    # A list of pairs behind RENAME TABLE is a command to sqlglot, and some forms lose a table to it.
    tables = tuple(reader.tables) or tokenized_tables(ddl, connector)
    said = ((column, attribute, value) for (column, attribute), value in reader.attributes.items())
    renames = tuple((old, new) for old, new in reader.renames.items() if old != new)
    return DdlFacts(renames, tables, (*said, *anew), parsed=True)


def _parse_statements(ddl: str, parser: tuple[Dialect, type[Parser]]) -> list[exp.Expr]:
    if len(ddl) > LONGEST or _EXECUTED.search(ddl):
        raise ParseError("too long, or with statements in comments")
    dialect, parse = parser
    return [s for s in parse(dialect=dialect).parse(dialect.tokenize(ddl), ddl) if s is not None]


class _MySqlParser(MySQLParser):
    """Refuses where sqlglot would go on with an opaque command and log a warning."""

    def _warn_unsupported(self) -> None:
        raise ParseError("no statement that is read")


class _OracleParser(OracleParser):
    """Refuses where sqlglot would go on with an opaque command and log a warning."""

    def _warn_unsupported(self) -> None:
        raise ParseError("no statement that is read")


_PARSERS: dict[str, tuple[Dialect, type[Parser]]] = {
    "mysql": (MySQL(), _MySqlParser),
    "mariadb": (MySQL(), _MySqlParser),
    "vitess": (MySQL(), _MySqlParser),
    "oracle": (Oracle(), _OracleParser),
}


class _DdlReader:
    """Statements of one text, read in order; what is said of a column goes with its newest name."""

    def __init__(self, oracle: bool) -> None:
        self.oracle = oracle
        self.renames: dict[str, str] = {}
        self.tables: list[tuple[Parts, Parts]] = []
        self.attributes: Attributes = {}

    def read(self, statement: exp.Expr) -> None:
        """Take in one statement; those that are not about tables say nothing."""
        match statement:
            case exp.Create(kind="TABLE"):
                self._created(statement)
            case exp.Alter(kind="TABLE"):
                step: dict[str, str] = {}
                for action in statement.args.get("actions") or ():
                    self._action(action, statement.this, step)
                self._renamed(step)
                self._table_comment(statement.args.get("options") or ())
            case exp.Comment():
                self._comment_on(statement)
            case _:
                pass

    def _created(self, statement: exp.Create) -> None:
        if not isinstance(statement.this, exp.Schema):
            return
        for part in statement.this.expressions:
            if isinstance(part, exp.ColumnDef):
                self._defined(part)
        properties = statement.args.get("properties")
        self.attributes["", "comment"] = None
        self._table_comment(properties.expressions if properties is not None else ())

    def _action(self, action: exp.Expr, table: exp.Expr, step: dict[str, str]) -> None:
        match action:
            case exp.ColumnDef():
                self._defined(action)
            case exp.Schema():
                for part in action.expressions:
                    self._action(part, table, step)
            case exp.ModifyColumn():
                definition, old = action.this, action.args.get("rename_from")
                if isinstance(old, exp.Expr):
                    step[self._name(old)] = self._name(definition.this)
                if isinstance(definition, exp.ColumnDef):
                    self._defined(definition, kept=self.oracle)
            case exp.AlterColumn():
                self._altered(action)
            case exp.RenameColumn():
                step[self._name(action.this)] = self._name(action.args["to"])
            case exp.AlterRename() if isinstance(action.this, exp.Table):
                self.tables.append((self._parts(table), self._parts(action.this)))
            case _:
                pass

    def _altered(self, action: exp.AlterColumn) -> None:
        default = action.args.get("default")
        if isinstance(default, exp.Expr):
            self.attributes[self._name(action.this), "default"] = self._value(default)
        elif action.args.get("drop"):
            self.attributes[self._name(action.this), "default"] = None

    def _defined(self, column: exp.ColumnDef, kept: bool = False) -> None:
        """A column's definition; `kept` tells that what it does not mention stays as it was."""
        said: dict[Attribute, str | None] = {} if kept else {"default": None}
        if not self.oracle:
            said["comment"] = None
        for constraint in column.args.get("constraints") or ():
            match constraint.args.get("kind"):
                case exp.DefaultColumnConstraint(this=value):
                    said["default"] = self._value(value)
                case exp.CommentColumnConstraint(this=value):
                    said["comment"] = self._value(value)
                case _:
                    pass
        name = self._name(column.this)
        self.attributes.update({(name, attribute): value for attribute, value in said.items()})

    def _table_comment(self, properties: object) -> None:
        for part in properties if isinstance(properties, list) else ():
            if isinstance(part, exp.SchemaCommentProperty):
                self.attributes["", "comment"] = self._value(part.this) or None

    def _comment_on(self, statement: exp.Comment) -> None:
        text = self._value(statement.expression) or None if statement.expression is not None else None
        kind = statement.args.get("kind")
        if kind == "COLUMN":
            self.attributes[self._name(statement.this), "comment"] = text
        elif kind == "TABLE":
            self.attributes["", "comment"] = text

    def _renamed(self, step: dict[str, str]) -> None:
        """The renames of one statement happen at once, after those of the statements before."""
        moved = dict(step)
        self.renames = {a: moved.pop(b, b) for a, b in self.renames.items()} | moved
        carried = {
            (step[name], attribute): value
            for (name, attribute), value in self.attributes.items()
            if name in step and (step[name], attribute) not in self.attributes
        }
        self.attributes = {k: v for k, v in self.attributes.items() if k[0] not in step} | carried

    def _name(self, node: exp.Expr) -> str:
        """The last part of a name; Oracle keeps names that are not quoted in capitals."""
        identifier = node.find(exp.Identifier) if not isinstance(node, exp.Identifier) else node
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
            identifier = node.this
        text = identifier.name if identifier is not None else node.name
        quoted = identifier is not None and bool(identifier.args.get("quoted"))
        return text if quoted or not self.oracle else text.upper()

    def _parts(self, table: exp.Expr) -> Parts:
        parts = table.parts if isinstance(table, exp.Table) else []
        return tuple(self._name(part) for part in parts)

    def _value(self, value: exp.Expr) -> str | None:
        """A literal's text; an expression as SQL, and None for NULL."""
        match value:
            case exp.Null():
                return None
            case exp.Literal() | exp.National() | exp.BitString():
                return str(value.this)
            case exp.Paren() if not self.oracle:
                return self._value(value.this)
            case _:
                return value.sql("oracle" if self.oracle else "mysql")
