"""Renames that were answered after a lake table had got both columns: which columns are to be united."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from schemaman.debezium.records import Position
from schemaman.history.versions import TableHistory
from schemaman.migration.casts import is_convertible
from schemaman.migration.column_map import find_former_names
from schemaman.migration.conditions import find_unmet_query
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.plan import Plan
from schemaman.migration.projection.metadata_columns import read_metadata_columns
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.unite_columns import FormerColumn, describe_split_values, is_united
from schemaman.migration.row_columns import ORDER, list_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.target import Executor, LakeTable, query_number
from schemaman.model.schema import TableSchema
from schemaman.sink.row_order import SNAPSHOT, format_order


def find_former_columns(history: TableHistory, lake: LakeTable) -> tuple[FormerColumn, ...]:
    """Find the columns whose values are to be united with those of the present column.

    `history` is with decisions. None where rows have no positions: nothing then shows which rows were written
    since the rename.
    """
    record = read_record(lake.properties)
    if ORDER not in lake.schema.names or not (record.kept or record.displaced):
        return ()
    source = migration_source(history)
    others = {c.name for c in list_row_columns(lake.schema.key)}
    others |= {*find_foreign_columns(source, lake), *read_metadata_columns(lake).values()}
    columns = {c.name: c for c in lake.schema.columns if c.name not in others}
    sourced = replace(lake, schema=TableSchema(tuple(columns.values())))
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    found = []
    for former in find_former_names(source, sourced):
        until = _format_order(incarnation[former.last + 1].at.position)
        pair = columns[former.name], columns[former.current]
        if until and is_convertible(pair[0].type, pair[1].type):
            found.append(FormerColumn(*pair, until))
    return tuple(each for each in found if not is_united(lake.properties, each))


def plan_answered_renames(
    planner: RecipePlanner, lake: LakeTable, former: Sequence[FormerColumn], executor: Executor
) -> tuple[Plan | None, tuple[str, ...]]:
    """Plan to unite the columns that the rows prove, and note the others: these keep their values apart.

    Raises:
        StatementFailed: the rows cannot be read.
    """
    proven, notes = [], []
    for each in former:
        alone = planner.plan_unite_columns(lake, (each,))
        if alone is None:
            continue
        unmet = find_unmet_query(lake, alone.steps[0].precondition, partial(query_number, executor))
        if unmet is None:
            proven.append(each)
        else:
            notes.append(describe_split_values(each, unmet))
    return planner.plan_unite_columns(lake, proven), tuple(notes)


def _format_order(position: Position) -> str:
    """A position as the least order of rows that are not older; empty where there is none."""
    return "" if position.kind == "none" else format_order(position, SNAPSHOT, 0, 0)
