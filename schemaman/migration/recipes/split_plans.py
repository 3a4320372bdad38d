"""Plans of columns beside others: for types that no format makes in place, and for values of no type.

Law: such a plan only adds columns and records them. Its rollback takes both back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from schemaman.history.versions import TableHistory
from schemaman.migration.convertible import explain_unconvertible
from schemaman.migration.part_names import (
    PartRenames,
    find_part_renames,
    record_both_names,
    record_new_names,
)
from schemaman.migration.plan import Plan
from schemaman.migration.projection.project import project
from schemaman.migration.properties.column_swaps import read_swaps
from schemaman.migration.properties.names import SPLIT_PROPERTY
from schemaman.migration.properties.table_record import SplitColumn, format_split, read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import FORMER, TEXT, find_new_split, find_text_parts, split_columns
from schemaman.migration.step_sequence import set_on_table
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column
from schemaman.model.types import String

SPLIT_PLANS = ("names", "columns")
"""What the plans of one table are about that `plan_split` makes one after the other, at most."""


def plan_split(
    planner: RecipePlanner,
    history: TableHistory,
    lake: LakeTable,
    unfit: Collection[int] = (),
    *,
    has_rows: bool = False,
) -> Plan | None:
    """Plan the columns that a table needs beside others; None if it needs none, or cannot get them.

    Parts whose name the source gives to another column get other names first, by a plan of their own.
    `history` is not split; the source of `planner` is its newest version, split as the table is. `unfit`
    are ids of columns that had values which their types cannot hold. `has_rows`: the sink
    writes rows into the table. While a column is swapped, none is added.
    """
    if read_swaps(lake):
        return None
    style = planner.find_representation().names
    renamed = _plan_part_names(planner, history, lake, find_part_renames(history, lake, style), has_rows)
    if renamed is not None:
        return renamed
    beside = lake
    for name in planner.list_stuck_columns(lake):
        splits = find_new_split(split_columns(history, beside), name, beside)
        if splits is not None and _find_typed(planner, history, _record(lake, splits), has_rows=has_rows):
            beside = _record(lake, splits)
    texts = find_text_parts(history, unfit, beside, style)
    typed = _find_typed(planner, history, beside, has_rows=has_rows)
    if texts is not None:
        beside = _record(beside, texts)
    if beside is lake:
        return None
    parts = read_record(beside.properties).split
    added = (name for name, part in parts.items() if part.holds and name not in lake.schema.names)
    return planner.plan_split_columns(lake, parts, typed, tuple(Column(name, String()) for name in added))


def _plan_part_names(
    planner: RecipePlanner, history: TableHistory, lake: LakeTable, found: PartRenames, has_rows: bool
) -> Plan | None:
    """Plan other names for parts; the source of the plan has them already, since no two columns share one."""
    if not found.renames and not found.left:
        return None
    both = set_on_table(lake, record_both_names(lake, found.renames))
    renamed = set_on_table(both, record_new_names(both, {**found.left, **found.renames}))
    source = migration_source(split_columns(history, renamed))
    source = add_row_columns(source) if has_rows else source
    return replace(planner, source=source).plan_part_names(lake, found)


def plan_gather(planner: RecipePlanner, history: TableHistory, lake: LakeTable) -> Plan | None:
    """Plan to fill the newest part of a split column from the parts before it; None if nothing is left.

    A column is gathered once, and only where its values have one meaning and the newer type can hold them.
    `history` is not split.
    """
    splits = read_record(lake.properties).split
    types = {c.name: c for c in lake.schema.columns}
    source = migration_source(history)
    for column in dict.fromkeys(split.column for split in splits.values()):
        mine = {n: s for n, s in splits.items() if s.column == column and n in types}
        parts = sorted((n for n, split in mine.items() if not split.holds), key=lambda n: (len(n), n))
        if not parts or mine[parts[-1]].gathered:
            continue
        part = types[parts[-1]]
        first = next((split.beside for split in mine.values() if split.beside), column)
        older = [n for n, split in mine.items() if split.holds == FORMER and n != first]
        former = [types[n] for n in (*older, first, *parts[:-1]) if n in types]
        former = [c for c in former if not explain_unconvertible(source, column, c.type, part.type)]
        if former:
            return planner.plan_gather_parts(
                lake, part, former, [n for n, split in mine.items() if split.holds == TEXT]
            )
    return None


def _record(lake: LakeTable, splits: Mapping[str, SplitColumn]) -> LakeTable:
    return set_on_table(lake, {SPLIT_PROPERTY: format_split(splits)})


def _find_typed(
    planner: RecipePlanner, history: TableHistory, lake: LakeTable, *, has_rows: bool
) -> tuple[Column, ...]:
    """The parts with a type of their own that a table does not have yet, as the lake would have them."""
    source = migration_source(split_columns(history, lake))
    source = add_row_columns(source) if has_rows else source
    projection = project(source, lake, planner.target, planner.policy, planner.target_name)
    splits = read_record(lake.properties).split
    names = {lake_name for name, lake_name in projection.names.items() if name in splits}
    columns = (c for c in projection.wanted.columns if c.name in names and c.name not in lake.schema.names)
    return tuple(replace(c, nullable=True) for c in columns)
