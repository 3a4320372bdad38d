"""Constraints of a table besides its columns: NOT NULL as a CHECK constraint, the key as identifier fields.

Laws: a constraint that prevents a change is dropped before it, and added again after it if possible. Rows
that violate a constraint are found before the first step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from schemaman.migration import spark_sql as sql
from schemaman.migration.layout import IDENTIFIERS
from schemaman.migration.plan import (
    MigrationSource,
    Refusal,
    Step,
    describe_change,
)
from schemaman.migration.row_columns import ORDER
from schemaman.migration.step_order import rename_columns
from schemaman.migration.target import (
    Draft,
    LakeTable,
    Target,
    find_column,
)
from schemaman.model.ddl import quote_name
from schemaman.model.diff import Change, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import TableSchema


def list_required_columns(
    source: MigrationSource, wanted: TableSchema, names: Mapping[str, str]
) -> tuple[str, ...]:
    """List the nullable lake columns that are NOT NULL at the source.

    A table of the sink has none: a soft-deleted row stays in it, with NULL in columns that the delete lacks.
    """
    if find_column(wanted, ORDER) is not None:
        return ()
    lake_names = [
        names.get(column.name, column.name) for column in source.schema.columns if not column.nullable
    ]
    named = [find_column(wanted, name) for name in lake_names]
    return tuple(column.name for column in named if column is not None and column.nullable)


def note_sink_table(source: MigrationSource, wanted: TableSchema) -> tuple[str, ...]:
    """Note that a table of the sink gets no constraint for columns that are NOT NULL at the source."""
    names = [c.name for c in source.schema.columns if not c.nullable and c.name not in source.schema.key]
    if find_column(wanted, ORDER) is None or not (names := [n for n in names if n != ORDER]):
        return ()
    listed = ", ".join(map(quote_name, names))
    return (f"{listed}: NULL is not forbidden: a deleted row of the sink may have its key alone",)


def find_obstacles(
    target: Target, lake: LakeTable, changes: Sequence[Change], wanted: Collection[str]
) -> Iterator[tuple[Draft, str]]:
    """Find the constraints to drop before the changes, each with the reason for an approval.

    `wanted` are the columns that keep their constraint.
    """
    for column in lake.schema.columns:
        guard = target.allow_null(lake, column.name)
        if guard is not None and (column.name not in wanted or _is_changed(changes, column.name)):
            yield guard, ""
    unkeyed = target.drop_key(lake)
    if unkeyed is None:
        return
    whole = [c for c in changes if isinstance(c, RenameColumn) and len(c.path) == 1]
    moved = rename_columns(lake, whole)
    freed = [
        change
        for change in changes
        if _is_obstacle(target, lake if change in whole else moved, unkeyed, change)
    ]
    if freed:
        yield unkeyed, f"the identifier fields prevent this: {describe_change(freed[0])}"


def remove_obstacles(
    target: Target, lake: LakeTable, changes: Sequence[Change], wanted: Collection[str]
) -> LakeTable:
    """Remove the constraints that prevent any of the changes from the table."""
    for guard, _ in find_obstacles(target, lake, changes, wanted):
        lake = apply_constraint(lake, guard)
    return lake


def list_guarded_names(columns: Sequence[str], renames: Mapping[str, str]) -> tuple[str, ...]:
    """List the columns that keep their constraint, also by their names before the renames."""
    return (*columns, *(old for old, new in renames.items() if new in columns))


def draft_constraints(
    target: Target, table: str, lake: LakeTable, wanted: Sequence[str]
) -> Iterator[Draft | Refusal]:
    """Draft the constraints to add after the changes."""
    for column in wanted:
        answer = target.forbid_null(lake, column)
        if answer is not None:
            yield answer
    keyed = target.set_key(table, lake.schema) if lake.properties.get(IDENTIFIERS) == "[]" else None
    if keyed is not None:
        yield keyed


def find_former_names(
    columns: Sequence[str], before: TableSchema, renames: Mapping[str, str], made: bool
) -> dict[str, str]:
    """Map the columns that existed before to their former names; `made`: the renames were made."""
    names = [(renames.get(name, name), name) for name in before.names]
    was = {new.lower(): old for new, old in names if made or new == old}
    return {column: was[column.lower()] for column in columns if column.lower() in was}


def count_nulls(name: str, column: str) -> str:
    """Write the query for the number of rows with NULL; `name` is the table as SQL writes it."""
    return sql.count_rows(name, f"{quote_name(column)} IS NULL")


def add_null_check(step: Step, target: Target, lake: LakeTable, columns: Mapping[str, str]) -> Step:
    """Add a gate to the first step of a plan: no NULL in the columns that get a constraint in the end.

    `lake` is the table after the changes; `columns` maps each column to its name before them.
    """
    name, known_counts = target.table_name(lake.name), step.precondition.get("counts", {})
    bare = [
        former_name
        for column, former_name in columns.items()
        if isinstance(target.forbid_null(lake, column), Draft)
    ]
    if not bare:
        return step
    counts = {count_nulls(name, column): 0 for column in bare}
    all_counts = {**known_counts, **counts} if isinstance(known_counts, Mapping) else counts
    return replace(step, precondition={**step.precondition, "counts": all_counts})


def apply_constraint(lake: LakeTable, draft: Draft) -> LakeTable:
    """Apply the draft of a constraint to the properties of a table."""
    properties = draft.after.get("properties")
    changed = dict(properties) if isinstance(properties, Mapping) else {}
    kept = {key: value for key, value in lake.properties.items() if key not in changed}
    return replace(lake, properties=kept | {k: v for k, v in changed.items() if v is not None})


def _is_obstacle(target: Target, lake: LakeTable, guard: Draft, change: Change) -> bool:
    refused = isinstance(target.draft_change(lake, change), Refusal)
    return refused and isinstance(target.draft_change(apply_constraint(lake, guard), change), Draft)


def _is_changed(changes: Sequence[Change], column: str) -> bool:
    """Whether a constraint on the column would prevent a change."""
    moves = [change for change in changes if isinstance(change, DropColumn | RenameColumn | ChangeType)]
    return any(change.path[0].lower() == column.lower() for change in moves)
