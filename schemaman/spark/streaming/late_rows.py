"""The lake table of the rows of a table that lost its name: they come late, or wait in quarantine.

Law: such rows go into a table of their own incarnation, or into none; the table that has the name now never
takes them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from schemaman.history.versions import TableEvent, TableHistory
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import Executor
from schemaman.sink.ended_incarnations import EndedRows, find_end, holds_versions
from schemaman.sink.row_places import RowPlace
from schemaman.spark.streaming.migration_context import MigrationContext
from schemaman.spark.streaming.sink_table import Ready, SinkTable
from schemaman.spark.streaming.table_migration import migrate_table


def find_late_table(
    context: MigrationContext,
    executor: Executor,
    sink_table: SinkTable,
    history: TableHistory,
    end: TableEvent,
    versions: Collection[int],
) -> Ready | None:
    """Find the lake table for rows of some versions of an ended incarnation; None if none surely takes them.

    `history` is the whole one, with decisions. A moved table takes its rows as it is. Else it is brought to
    the structure of their time, or made, under the name of a displaced table: by the policy, as any table.

    Raises:
        StatementFailed: the lake cannot be read.
    """
    table = context.open_table(sink_table, executor)
    mover, ignores = table.make_mover(), table.ignores_additions
    ended = EndedRows(history.table, end, {history.table: frozenset(versions)})
    cut = ended.cut_history(history)
    if cut is None:
        return None
    moved = mover.find_late_place(history, end, sink_table.lake_table)
    if moved is not None:
        ready = Ready(moved.lake, ignores_additions=ignores, proves_keys=True, place=RowPlace(moved))
        if holds_versions(ready.map_rows(cut), cut, frozenset(versions), ignores_additions=ignores):
            return ready
    address = mover.find_displaced_address(history, end, sink_table.lake_table)
    if address is None:
        return None
    # The view is that of the table that has the name now.
    apart = replace(sink_table, target=replace(sink_table.target, view=None), lake_table=address)
    made = migrate_table(context.look_back(ended).open_table(apart, executor), cut, versions)
    return made if isinstance(made, Ready) and not made.later else None


def describe_late_tables(
    context: MigrationContext, executor: Executor, sink_table: SinkTable, history: TableHistory
) -> tuple[object, ...]:
    """Describe the lake tables of ended incarnations: another result may let waiting rows be written.

    Raises:
        StatementFailed: the lake cannot be read.
    """
    ends = [find_end(history, v.incarnation) for v in history.versions]
    mover = context.open_table(sink_table, executor).make_mover()
    found = []
    for end in dict.fromkeys(filter(None, ends)):
        moved = mover.find_moved_table(history, end, sink_table.lake_table)
        stamp = None if moved is None else (moved.address, read_record(moved.lake.properties).version)
        found.append((end.at, end.is_settled, stamp))
    return tuple(found)
