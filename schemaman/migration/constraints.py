"""What a format keeps beside the columns: NOT NULL as a constraint, the key as identifier fields.

Laws: a guard that a change would break is taken off before it, and stands again after it where it still can;
rows that no guard can be put on are found before the first step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from schemaman.migration import spark_sql as sql
from schemaman.migration.layout import IDENTIFIERS
from schemaman.migration.plan import (
    Refusal,
    Source,
    Step,
    words,
)
from schemaman.migration.row_columns import ORDER
from schemaman.migration.step_order import renamed
from schemaman.migration.target import (
    Draft,
    Live,
    Target,
    column_of,
)
from schemaman.model.ddl import quote_name
from schemaman.model.diff import Change, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import TableSchema


def required(source: Source, wanted: TableSchema, names: Mapping[str, str]) -> tuple[str, ...]:
    """The lake columns that the source says hold no NULL, though the lake's could.

    None of a mirrored table: a row that the source deleted stays in it, with NULL in what its delete did not
    tell.
    """
    if column_of(wanted, ORDER) is not None:
        return ()
    told = [names.get(column.name, column.name) for column in source.schema.columns if not column.nullable]
    named = [column_of(wanted, name) for name in told]
    return tuple(column.name for column in named if column is not None and column.nullable)


def in_the_way(
    target: Target, live: Live, changes: Sequence[Change], wanted: Collection[str]
) -> Iterator[tuple[Draft, str]]:
    """The guards to take off before the changes, and what a person has to approve of it.

    `wanted` are the columns that stay guarded.
    """
    for column in live.schema.columns:
        guard = target.relax(live, column.name)
        if guard is not None and (column.name not in wanted or _moves(changes, column.name)):
            yield guard, ""
    unkeyed = target.drop_key(live)
    if unkeyed is None:
        return
    whole = [c for c in changes if isinstance(c, RenameColumn) and len(c.path) == 1]
    moved = renamed(live, whole)
    freed = [
        change
        for change in changes
        if _stands_against(target, live if change in whole else moved, unkeyed, change)
    ]
    if freed:
        yield unkeyed, f"the identifier fields stand against this: {words(freed[0])}"


def bare(target: Target, live: Live, changes: Sequence[Change], wanted: Collection[str]) -> Live:
    """The table as it would be without the guards that stand against any of the changes."""
    for guard, _ in in_the_way(target, live, changes, wanted):
        live = after(live, guard)
    return live


def staying(columns: Sequence[str], renames: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that stay guarded, under the names that they have before the renames, too."""
    return (*columns, *(old for old, new in renames.items() if new in columns))


def to_stand(target: Target, table: str, live: Live, wanted: Sequence[str]) -> Iterator[Draft | Refusal]:
    """The guards to put on after the changes."""
    for column in wanted:
        answer = target.require(live, column)
        if answer is not None:
            yield answer
    keyed = target.set_key(table, live.schema) if live.properties.get(IDENTIFIERS) == "[]" else None
    if keyed is not None:
        yield keyed


def stood(
    columns: Sequence[str], before: TableSchema, renames: Mapping[str, str], made: bool
) -> dict[str, str]:
    """Those of the columns that were there before, each with its name by then; `made`: renames were made."""
    names = [(renames.get(name, name), name) for name in before.names]
    was = {new.lower(): old for new, old in names if made or new == old}
    return {column: was[column.lower()] for column in columns if column.lower() in was}


def nulls(name: str, column: str) -> str:
    """The query for the number of rows that hold NULL; `name` is the table as SQL writes it."""
    return sql.count(name, f"{quote_name(column)} IS NULL")


def asked_first(step: Step, target: Target, live: Live, columns: Mapping[str, str]) -> Step:
    """The first step of a plan, which looks for NULL in the columns that are to hold none in the end.

    `live` is the table behind the changes; `columns` gives each column the name that it has before them.
    """
    name, told = target.table_name(live.name), step.precondition.get("counts", {})
    bare = [was for column, was in columns.items() if isinstance(target.require(live, column), Draft)]
    if not bare:
        return step
    counts = {nulls(name, column): 0 for column in bare}
    asked = {**told, **counts} if isinstance(told, Mapping) else counts
    return replace(step, precondition={**step.precondition, "counts": asked})


def after(live: Live, draft: Draft) -> Live:
    """The table once a guard was put on or taken off: its properties tell."""
    told = draft.after.get("properties")
    changed = dict(told) if isinstance(told, Mapping) else {}
    kept = {key: value for key, value in live.properties.items() if key not in changed}
    return replace(live, properties=kept | {k: v for k, v in changed.items() if v is not None})


def _stands_against(target: Target, live: Live, guard: Draft, change: Change) -> bool:
    refused = isinstance(target.alter(live, change), Refusal)
    return refused and isinstance(target.alter(after(live, guard), change), Draft)


def _moves(changes: Sequence[Change], column: str) -> bool:
    """Whether a constraint on the column would stand against a change."""
    moves = [change for change in changes if isinstance(change, DropColumn | RenameColumn | ChangeType)]
    return any(change.path[0].lower() == column.lower() for change in moves)
