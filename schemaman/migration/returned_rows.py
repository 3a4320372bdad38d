"""The statement that takes rows of another table out again, and the query that proves it.

Laws: a row leaves the table only while the other one has it under the same key and from the same record. What
was written since stays, and so does a row that the other table lacks. The statement may be repeated.
"""

from __future__ import annotations

import re

from schemaman.migration.row_columns import ORDER
from schemaman.migration.spark_sql import TABLE_PATTERN
from schemaman.model.ddl import quote_name

_SAME_RECORD = f"n.{quote_name(ORDER)} = o.{quote_name(ORDER)}"
_COLUMN = r"`(?:[^`]|``)+`"
_RETURNS = re.compile(
    rf"MERGE INTO (?P<here>{TABLE_PATTERN}) AS n USING (?P<there>{TABLE_PATTERN}) AS o "
    rf"ON (?P<same>(?:o\.{_COLUMN} <=> n\.{_COLUMN} AND )+{re.escape(_SAME_RECORD)}) "
    r"WHEN MATCHED THEN DELETE",
)


def write_return(here: str, there: str, same: str) -> str:
    """Write the statement that takes the rows of the table `there` out of `here`.

    Both are named as SQL writes them. `same` compares the keys of `o`, the other table, and `n`. The order of
    a row is that of its last record. It is a MERGE, since a DELETE of Delta takes no subquery. Source: Delta
    Lake 4.0 documentation, Table deletes, updates, and merges.
    """
    return f"MERGE INTO {here} AS n USING {there} AS o ON {same} AND {_SAME_RECORD} WHEN MATCHED THEN DELETE"


def is_returning_rows(statement: str) -> bool:
    """Whether a statement only deletes rows that another table has from the same record."""
    return _RETURNS.fullmatch(statement) is not None


def count_returned(statement: str) -> str:
    """Write the query for the rows that a statement of `write_return` would delete; empty for another one."""
    found = _RETURNS.fullmatch(statement)
    if found is None:
        return ""
    return (
        f"SELECT count(*) FROM {found['here']} AS n LEFT SEMI JOIN {found['there']} AS o ON {found['same']}"
    )
