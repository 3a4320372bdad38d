"""The name of a column is a word of SQL.

What happened: A new column is called like a reserved word of SQL.

Why it hurts: A query that names the column without quotes fails, or means something else. schemaman quotes
every name by itself.

What to do: Quote the name in queries, or use another one at the source.

Sources: ISO SQL, reserved words; Spark SQL reference, ANSI compliance (reserved keywords); Trino
documentation, reserved keywords.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.ddl import quote_name

NAME = "sql-keyword-name"
VERDICTS = parse_verdicts("· · · · · N ·")
RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "ANY",
        "AS",
        "BETWEEN",
        "BOTH",
        "CASE",
        "CAST",
        "CHECK",
        "COLLATE",
        "COLUMN",
        "CONSTRAINT",
        "CREATE",
        "CROSS",
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "CURRENT_USER",
        "DELETE",
        "DESCRIBE",
        "DISTINCT",
        "DROP",
        "ELSE",
        "END",
        "ESCAPE",
        "EXCEPT",
        "EXISTS",
        "EXTRACT",
        "FALSE",
        "FETCH",
        "FILTER",
        "FOR",
        "FOREIGN",
        "FROM",
        "FULL",
        "GRANT",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INSERT",
        "INTERSECT",
        "INTO",
        "IS",
        "JOIN",
        "LEADING",
        "LEFT",
        "LIKE",
        "NATURAL",
        "NOT",
        "NULL",
        "OFFSET",
        "ON",
        "ONLY",
        "OR",
        "ORDER",
        "OUTER",
        "OVERLAPS",
        "PRIMARY",
        "REFERENCES",
        "RIGHT",
        "SELECT",
        "SESSION_USER",
        "SOME",
        "TABLE",
        "THEN",
        "TO",
        "TRAILING",
        "TRUE",
        "UNION",
        "UNIQUE",
        "UNKNOWN",
        "USER",
        "USING",
        "VALUES",
        "WHEN",
        "WHERE",
        "WITH",
    ]
)
"""The words that both Spark in ANSI mode and the SQL standard reserve."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds names that a new table, a new column or a rename brought."""
    if transition.new is None or transition.old is None or transition.has_fact("documents"):
        return
    fresh = _words.find_new_names(transition)
    for name in transition.new.names:
        path = (name,)
        if name in fresh and name.upper() in RESERVED:
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                name,
                f"{name} is a reserved word of SQL: queries must quote it",
                VERDICTS,
                fixes=(f"write {quote_name(name)} in queries, or use another name at the source",),
                claims=(),
            )


RULE = Rule(
    name=NAME,
    title="the name of a column is a word of SQL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", "id INT, `order` INT", fires=(("order",),)),
        Example("id INT, x INT", "id INT, `User` INT", fires=(("User",),), renames={"x": "User"}),
        Example("id INT", "id INT, orders INT", why="no reserved word: column-added-nullable"),
        Example(
            "id INT, `order` INT", "id INT, `order` BIGINT", why="the name was there before: integer-widened"
        ),
    ),
)
