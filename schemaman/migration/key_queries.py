"""The queries that ask the rows of a table whether columns can be its key."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.migration import spark_sql as sql
from schemaman.migration.row_columns import DELETED
from schemaman.model.ddl import quote_name


def count_unfit_keys(name: str, key: Sequence[str], *, keeps_deleted: bool = False) -> tuple[str, str]:
    """The queries for rows without a value in the key, and for keys that several rows have.

    `keeps_deleted`: a soft-deleted row may lack values of the new key, since it has only those of its own.
    """
    columns = [quote_name(column) for column in key]
    nulls = " OR ".join(f"{column} IS NULL" for column in columns)
    if not keeps_deleted:
        return sql.count_rows(name, nulls), count_repeated(name, columns)
    alive = f"NOT coalesce({quote_name(DELETED)}, false) AND ({nulls})"
    whole = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return sql.count_rows(name, alive), count_repeated(name, columns, whole)


def count_repeated(name: str, values: Sequence[str], condition: str = "") -> str:
    """The query for how many combinations of values, each as SQL, several rows have."""
    where = f" WHERE {condition}" if condition else ""
    rows = f"SELECT 1 FROM {name}{where} GROUP BY {', '.join(values)} HAVING count(*) > 1"
    return f"SELECT count(*) FROM ({rows}) AS twice"
