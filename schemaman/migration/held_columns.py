"""Which columns of a table would hold another source column after a plan, by what the plan records.

Law: no plan of the planner changes what a column holds; it renames columns, and records how they are called
by then. A plan file may record anything, and later plans and rows follow the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from schemaman.history.versions import TableHistory
from schemaman.migration.column_map import make_column_map
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.layout import apply_changes
from schemaman.migration.plan import Plan, Step
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import split_columns
from schemaman.migration.statement_check import find_structure_after, read_step_changes
from schemaman.migration.target import LakeTable
from schemaman.model.diff import RenameColumn
from schemaman.model.schema import TableSchema


def find_exchanged_contents(
    plan: Plan, lake: LakeTable | None, history: TableHistory, *, proven: bool = False
) -> tuple[str, ...]:
    """Find the columns, by their names after a plan, that would hold another column than they do now.

    `history` is that of the table's source; `proven` renames count as made. The answer is empty for a table
    on which the plan has begun. So it is for the phase `rollback`, which restores an earlier record; see
    `list_unrecorded_values`. The phase `swap` exchanges the columns that the table records as swapped, and
    no others.

    Raises:
        ValueError: a statement is not the one of its step, see `require_own_statements`.
    """
    phase = plan.phase.name if plan.phase is not None else None
    if phase == "rollback":
        return ()
    if lake is None or fingerprint_structure(lake.schema) != fingerprint_structure(plan.base_schema):
        return ()
    after, names = lake, {name: name for name in lake.schema.names}
    for step in plan.steps:
        changes = read_step_changes(plan, step, after.schema)
        renames = {c.path[0]: c.name for c in changes if isinstance(c, RenameColumn) and len(c.path) == 1}
        names = {old: renames.get(now, now) for old, now in names.items()}
        after = apply_changes(after, find_structure_after(plan, step, after.schema), changes)
        after = replace(after, properties=_set_properties(after, step))
    held, holds = (_find_held(history, each, proven) for each in (lake, after))
    stayed = ((id, names[name]) for name, id in held.items() if names[name] in after.schema.names)
    swaps = read_record(lake.properties).swaps if phase == "swap" else ()
    swapped = {name for swap in swaps for name in (swap.column, swap.new, swap.old)}
    return tuple(sorted(name for id, name in stayed if holds.get(name) != id and name not in swapped))


def list_unrecorded_values(plan: Plan, undone: Plan | None) -> tuple[str, ...]:
    """List the properties to which a rollback gives another value than they had before the plan it undoes.

    `undone` is that plan as the journal has it; None if no run on the table made it.
    """
    if plan.phase is None or plan.phase.name != "rollback":
        return ()
    before = {pair for step in (undone.steps if undone else ()) for pair in _list_values(step.precondition)}
    found = (
        pair
        for step in plan.steps
        if step.kind == "set-properties"
        for pair in _list_values(step.postcondition)
    )
    return tuple(sorted({key for key, value in found if (key, value) not in before}))


def _list_values(condition: Mapping[str, object]) -> Iterator[tuple[str, str | None]]:
    values = condition.get("properties")
    for key, value in values.items() if isinstance(values, Mapping) else ():
        yield str(key), None if value is None else str(value)


def _find_held(history: TableHistory, lake: LakeTable, proven: bool) -> dict[str, int]:
    """Map the columns of a lake table to the ids of the columns that they hold."""
    source = migration_source(split_columns(history, lake), proven=proven)
    foreign = find_foreign_columns(source, lake)
    own = tuple(column for column in lake.schema.columns if column.name not in foreign)
    found = make_column_map(source, replace(lake, schema=TableSchema(own, lake.schema.key)))
    return {name: id for id, name in found.names.items()}


def _set_properties(lake: LakeTable, step: Step) -> dict[str, str]:
    written = step.postcondition.get("properties")
    properties: dict[str, object] = {**lake.properties, **(written if isinstance(written, dict) else {})}
    return {key: str(value) for key, value in properties.items() if value is not None}
