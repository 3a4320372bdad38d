"""Statements that change no structure of a table: a closed list; any other statement is applied or not read.

Sources: the SQL references of PostgreSQL, MySQL, MariaDB, Oracle Database, SQL Server and Db2, statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.script import ScriptStatement, SqlToken, has_body, has_table_statement
from schemaman.debezium.ddl.migrations.token_reader import StatementNotRead

_VERBS = frozenset(
    {
        "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "SELECT", "WITH", "VALUES", "COPY", "LOAD",
        "TRUNCATE", "GRANT", "REVOKE", "DENY", "SET", "RESET", "SHOW", "BEGIN", "START", "COMMIT",
        "ROLLBACK", "SAVEPOINT", "SAVE", "RELEASE", "END", "ABORT", "USE", "ANALYZE", "ANALYSE", "VACUUM",
        "REINDEX", "CLUSTER", "LOCK", "UNLOCK", "EXPLAIN", "DISCARD", "LISTEN", "NOTIFY", "UNLISTEN",
        "CHECKPOINT", "REFRESH", "SECURITY", "OPTIMIZE", "FLUSH", "REPAIR", "CHECK", "PRINT", "PROMPT",
        "SPOOL", "WHENEVER", "REM", "REMARK", "DEFINE", "UNDEFINE", "COLUMN", "CLEAR", "TTITLE", "PAUSE",
        "EXIT", "QUIT", "CONNECT", "DESCRIBE", "DESC", "AUDIT", "NOAUDIT", "PURGE", "RUNSTATS", "REORG",
        "KILL", "DBCC", "HANDLER", "COMMENT",
    }
)  # fmt: skip
"""The first words of statements about rows, sessions, rights and storage."""

_OBJECTS = frozenset(
    {
        "INDEX", "VIEW", "SEQUENCE", "FUNCTION", "PROCEDURE", "PROC", "TRIGGER", "EVENT", "ROLE", "USER",
        "LOGIN", "GROUP", "EXTENSION", "POLICY", "PUBLICATION", "SUBSCRIPTION", "RULE", "AGGREGATE",
        "OPERATOR", "CAST", "COLLATION", "CONVERSION", "LANGUAGE", "STATISTICS", "TABLESPACE", "SYNONYM",
        "PACKAGE", "SERVER", "WRAPPER", "SEARCH", "METHOD", "PRIVILEGES", "SYSTEM", "SESSION", "DATABASE",
        "SCHEMA", "TYPE", "DOMAIN", "DIRECTORY", "PROFILE", "CONTEXT", "LIBRARY", "JAVA", "BUFFERPOOL",
        "ALIAS", "MASK", "PERMISSION", "VARIABLE", "CREDENTIAL", "CERTIFICATE", "ASSEMBLY", "CATALOG",
        "QUEUE", "MESSAGE", "RESOURCE", "LOGFILE", "FULLTEXT", "SCHEME", "MATERIALIZED",
    }
)  # fmt: skip
"""The objects that are no tables, in statements that create, change or drop them."""

_WITH_TABLES = frozenset(("DATABASE", "SCHEMA", "USER", "TABLESPACE"))
"""The objects that hold tables: to drop or rename them is not passed."""

_IN_COLUMNS = frozenset(("TYPE", "DOMAIN", "EXTENSION", "FUNCTION", "COLLATION", "OPERATOR", "SEQUENCE"))
"""The objects that columns may use: to drop them with CASCADE may drop columns or defaults."""

_MODIFIERS = 12
"""The most tokens between the verb and the object: OR REPLACE, DEFINER = name@host and the like."""


def find_object(tokens: Sequence[SqlToken]) -> str:
    """Find the kind of object that CREATE, ALTER or DROP is about; TABLE, or empty for an unknown one."""
    for token in tokens[1:_MODIFIERS]:
        if token.is_word("TABLE"):
            return "TABLE"
        if token.kind == "word" and token.text in _OBJECTS:
            return token.text
    return ""


def find_passed_kind(statement: ScriptStatement, tokens: Sequence[SqlToken], grammar: SqlGrammar) -> str:
    """Find the kind of a statement that changes no structure; empty for any other one.

    Raises:
        StatementNotRead: it begins like one that changes nothing, but may have more inside.
    """
    first = tokens[0]
    if first.kind != "word":
        return ""
    kind = first.text if first.text in _VERBS else ""
    if first.text in ("CREATE", "ALTER", "DROP"):
        kind = find_object(tokens)
        kind = "" if kind == "TABLE" else kind
        words = {token.text for token in tokens[1:8] if token.kind == "word"}
        if kind in _WITH_TABLES and (
            first.text == "DROP" or (first.text == "ALTER" and words & {"RENAME", "TRANSFER"})
        ):
            raise StatementNotRead(f"it may drop or rename every table of a {kind.lower()}")
        if first.text == "DROP" and kind in _IN_COLUMNS and any(t.is_word("CASCADE") for t in tokens):
            raise StatementNotRead(f"it may drop the columns that use the {kind.lower()}")
        if (
            first.text == "ALTER"
            and kind in ("TYPE", "DOMAIN")
            and words & {"SET", "ADD", "DROP", "ATTRIBUTE"}
        ):
            raise StatementNotRead(f"it may change the columns that use the {kind.lower()}")
    if not kind:
        return ""
    is_select = first.text in ("SELECT", "WITH")
    if is_select and _selects_into(tokens, grammar):
        raise StatementNotRead("SELECT INTO creates a table from a query")
    if is_select and (function := _find_called_function(tokens, grammar)):
        raise StatementNotRead(f"what the function {function} does is not known")
    is_right = first.text in ("GRANT", "REVOKE", "DENY", "COMMENT", "AUDIT", "NOAUDIT")
    if not is_right and not has_body(statement.text) and has_table_statement(statement.text):
        _require_one_statement(tokens)
    return kind


def _require_one_statement(tokens: Sequence[SqlToken]) -> None:
    for i, token in enumerate(tokens[1:], 1):
        if not token.is_word("ALTER", "CREATE", "DROP", "RENAME"):
            continue
        if any(following.is_word("TABLE") for following in tokens[i + 1 : i + 4]):
            raise StatementNotRead("a statement about a table follows inside it")


def _find_called_function(tokens: Sequence[SqlToken], grammar: SqlGrammar) -> str:
    """Find the function that a query without tables calls; empty for one of PostgreSQL itself.

    Functions of extensions change tables: `AddGeometryColumn`, `create_hypertable`.
    """
    if not grammar.dollar_quotes or any(token.is_word("FROM") for token in tokens):
        return ""
    call = next((i for i, token in enumerate(tokens) if token.text == "(" and token.kind == "sign"), 0)
    if call < 2 or tokens[call - 1].kind not in ("word", "name"):
        return ""
    name, qualifier = tokens[call - 1].text.lower(), tokens[call - 3].text.lower() if call > 3 else ""
    is_own = qualifier == "pg_catalog" or name in _FUNCTIONS or name.startswith("pg_")
    return "" if is_own or tokens[call - 1].is_word("AS", "IN", "VALUES") else tokens[call - 1].spelled


_FUNCTIONS = frozenset(
    {
        "setval", "nextval", "currval", "lastval", "set_config", "current_setting", "now", "version", "count",
        "coalesce", "max", "min", "sum",
    }
)  # fmt: skip


def _selects_into(tokens: Sequence[SqlToken], grammar: SqlGrammar) -> bool:
    """Return whether a query creates a table, and no temporary one. MySQL and Oracle have no such."""
    if not grammar.default_schema:
        return False
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
        if depth == 0 and token.is_word("INTO") and not tokens[i - 1].is_word("INSERT", "MERGE", "REPLACE"):
            following = tokens[i + 1] if i + 1 < len(tokens) else token
            return following.text not in ("#", "@") and not following.is_word("TEMP", "TEMPORARY", "STRICT")
    return False
