"""Renames that were answered after a lake table had got both columns: which columns are to be united."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from schemaman.debezium.records import Position
from schemaman.history.past_versions import PreviousVersion
from schemaman.history.struct_fields import lower_path
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.casts import is_convertible
from schemaman.migration.column_map import find_former_names, read_names
from schemaman.migration.conditions import find_unmet_query
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.projection.match_fields import match_fields
from schemaman.migration.projection.metadata_columns import read_metadata_columns
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.unite_columns import FormerColumn, describe_split_values, is_united
from schemaman.migration.row_columns import ORDER, list_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.target import Executor, LakeTable, query_number
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Struct
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
    found += _find_former_fields(incarnation, source, sourced)
    return tuple(each for each in found if not is_united(lake.properties, each))


def _find_former_fields(
    versions: Sequence[SchemaVersion], source: MigrationSource, lake: LakeTable
) -> Iterator[FormerColumn]:
    """Find the nested fields of structs of which the table has both names.

    Those inside of arrays and maps are left out: no assignment reaches into their elements.
    """
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        return
    fates, names = match_fields(source, stamped), read_names(lake)
    types = {path: type for path, type, _ in walk_fields(lake.schema)}
    for path, type in types.items():
        is_in_struct = all(isinstance(types[path[:n]], Struct) for n in range(1, len(path)))
        then = (names.get(path[0], path[0]), *path[1:])
        name = fates[then].split_into if path[1:] and is_in_struct and then in fates else ""
        current = next((p for p in types if lower_path(p) == lower_path((*path[:-1], name))), None)
        if current is None or not name:
            continue
        ends = (n for n in reversed(range(stamped)) if _is_called(source.past[n], then, name))
        last = next(ends, None)
        until = "" if last is None else _format_order(versions[last + 1].at.position)
        if until and is_convertible(type, types[current]):
            pair = Column(path[-1], type), Column(current[-1], types[current])
            yield FormerColumn(*pair, until, path[:-1])


def _is_called(version: PreviousVersion, path: Path, name: str) -> bool:
    """Whether a nested field of a version certainly has this name now."""
    now = version.nested_fields.get(path)
    return now is not None and now.is_sure and now.name == name


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
