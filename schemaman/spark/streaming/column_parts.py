"""Add the columns that a table needs beside others: for values of another type, or that only a text holds."""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.decisions import Decisions, apply_decisions
from schemaman.history.versions import TableHistory
from schemaman.migration.recipes.split_plans import SPLIT_PLANS, plan_split
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import join_retyped, split_columns
from schemaman.spark.streaming.migration_state import MigrationState
from schemaman.spark.streaming.newest_version import refuse_foreign_store
from schemaman.spark.streaming.sink_table import Blocked


def add_parts(state: MigrationState) -> MigrationState:
    """Add the columns that the table needs beside others."""
    table, history = state.context, _join_retyped(state)
    unfit = _add_joined_ids(state)
    for _ in SPLIT_PLANS:
        lake = state.lake
        if lake is None or not table.splits_columns or refuse_foreign_store(table, lake):
            break
        recipes = table.make_recipes(migration_source(split_columns(history, lake)))
        plan = plan_split(recipes, history, lake, unfit, has_rows=True)
        if plan is None:
            break
        outcome = table.apply_plan(plan)
        if isinstance(outcome, Blocked):
            return state.stop(outcome)
        state = state.add(outcome)
    return replace(state, history=split_columns(history, state.lake))


def _join_retyped(state: MigrationState) -> TableHistory:
    """The history with one column for each proven rename whose new type the format cannot make in place."""
    table, lake = state.context, state.lake
    if lake is None or not table.splits_columns:
        return state.history

    def list_stuck(joined: TableHistory) -> tuple[str, ...]:
        return table.make_recipes(migration_source(split_columns(joined, lake))).list_stuck_columns(lake)

    return join_retyped(state.history, lake, state.source.find_proven_renames(), list_stuck)


def _add_joined_ids(state: MigrationState) -> frozenset[int]:
    """The ids of columns that need texts beside them, with those of the same columns by proven renames.

    A value of a column from before such a rename goes into the column that has the later name.
    """
    unfit, proven = state.rows.unfit, state.source.find_proven_renames() if state.rows.unfit else ()
    if not proven:
        return unfit
    whole = state.source.decide_history()
    joined = apply_decisions(whole, Decisions(proven))
    pairs = [
        (c.id, d.id)
        for v, w in zip(whole.versions, joined.versions, strict=True)
        for c, d in zip(v.schema.columns, w.schema.columns, strict=True)
        if c.id is not None
    ]
    same = {joined_id for id, joined_id in pairs if id in unfit}
    return unfit | {id for id, joined_id in pairs if joined_id in same}
