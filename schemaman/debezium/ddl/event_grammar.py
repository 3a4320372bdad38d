"""What differs between the statements that connectors send in their schema changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatementGrammar:
    """The SQL of the statements in schema changes, as far as facts about columns and tables need it.

    `hash_comments`: `#` begins a comment, and a backslash escapes in texts. `upper_names`: unquoted names are
    kept in capitals. `bare_renames`: RENAME without TABLE renames a table. `keeps_attributes`: a modified
    column keeps the attributes that the statement does not mention. `own_comments`: comments have statements
    of their own. `bracketed_values`: brackets around a default are no part of it.
    """

    hash_comments: bool = False
    upper_names: bool = False
    bare_renames: bool = False
    keeps_attributes: bool = False
    own_comments: bool = False
    bracketed_values: bool = False


MYSQL_STATEMENTS = StatementGrammar(hash_comments=True, bracketed_values=True)
"""Source: MySQL and MariaDB manuals, ALTER TABLE."""

ORACLE_STATEMENTS = StatementGrammar(
    upper_names=True, bare_renames=True, keeps_attributes=True, own_comments=True
)
"""Source: Oracle SQL language reference, ALTER TABLE, RENAME and COMMENT."""
