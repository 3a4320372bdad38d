"""Take the remaining steps of runs that were killed between two steps of their plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from schemaman.errors import PartlyApplied, StalePlan, StatementFailed
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target_id import target_id
from schemaman.sink.unfinished_runs import find_unfinished_plan
from schemaman.spark.streaming.migration_context import TableContext
from schemaman.spark.streaming.newest_version import refuse_foreign_store
from schemaman.spark.streaming.sink_table import Ready


def finish_killed_runs(table: TableContext, tables: Sequence[LakeTableAt]) -> tuple[str, ...]:
    """Take the remaining steps of killed runs of these tables; return the statements that were run.

    A plan that the table no longer fits, or that fails, is left: the table is planned anew.
    """
    steps: tuple[str, ...] = ()
    for each in tables:
        target = target_id(table.sink_table.target.format, each.address)
        plan = find_unfinished_plan(table.shared.journal.read_target_lines(target))
        if plan is not None and not refuse_foreign_store(table, each.lake):
            with suppress(StalePlan, StatementFailed, PartlyApplied):
                done = table.apply_plan(plan)
                steps += done.steps if isinstance(done, Ready) else ()
    return steps
