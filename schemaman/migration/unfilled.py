"""New columns that the source has filled in all its rows, and the lake in none: what a plan says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemaman.ddl import quote_name
from schemaman.diff import AddColumn, Change
from schemaman.plan import Source
from schemaman.schema import Column


def unfilled(source: Source, changes: Iterable[Change], called: Mapping[str, str]) -> tuple[str, ...]:
    """A note for each column that comes to a table and has a default at the source, or forbids NULL there.

    `called` maps the lake's names to the source's. Nothing is sent of what the source writes into the rows
    that it has, so that those of the lake hold NULL.
    """
    told = []
    for change in changes:
        if isinstance(change, AddColumn) and len(change.path) == 1:
            (name,) = change.path
            column = source.schema.column(called.get(name, name))
            why = None if column is None else _why(column)
            if why is not None:
                told.append(f"{quote_name(name)}: {why}; {_UNTIL}")
    return tuple(told)


def _why(column: Column) -> str | None:
    if column.default is not None:
        default = column.default
        told = str(default).lower() if isinstance(default, bool) else repr(default)
        return f"its default is told as {told}"
    return None if column.nullable else "it is NOT NULL at the source"


_UNTIL = (
    "rows that are in the table already keep NULL in it until the source sends them again, as an incremental "
    "snapshot does (signal execute-snapshot)"
)
