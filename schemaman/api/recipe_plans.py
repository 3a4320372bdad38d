"""Other plans than the ordinary one: the phases of a recipe, and the way back from a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schemaman.api.files import is_present, read_text
from schemaman.api.planning import LakePlanner
from schemaman.api.target_tables import TargetTable
from schemaman.errors import NoHistory, UnknownName, UsageError
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.apply.resume import count_steps_behind
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.rollback import find_version_before, list_row_writes, plan_restore, plan_rollback
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.model.diff import diff
from schemaman.registry import Registry
from schemaman.sink.preflight import Preflight
from schemaman.store.log import MigrationEntry


def plan_phases(
    planner: LakePlanner,
    table: TargetTable,
    phase: str | None,
    into: str | None,
    exact: Sequence[str],
    expires_ms: int | None,
) -> tuple[Plan, ...]:
    """The plans of a recipe for one table, or the one phase that is asked for.

    Raises:
        NoHistory: there is no lake table yet.
        UsageError: the phase does not come next.
    """
    lake_table = planner.inspect(table)
    if lake_table is None:
        raise NoHistory(f"there is no lake table {table.table}", hint="an ordinary plan makes it")
    recipe = RecipePlanner(
        planner.make_source(table),
        TARGETS.get(table.format),
        table.table,
        planner.policy,
        table.target,
        tuple(exact),
        expires_ms,
    )
    if into is not None:
        _require_room(planner.executor, into, lake_table, recipe.make_plans(lake_table, into))
    plans = recipe.make_plans(lake_table, into) if phase != "abandon" else recipe.plan_abandon(lake_table)
    plans = _check_phases(planner.preflight, plans, lake_table, table)
    chosen = [one for one in plans if phase is None or (one.phase and one.phase.name == phase)]
    if not chosen and not any(one.refusals for one in plans):
        left = ", ".join(one.phase.name for one in plans if one.phase) or "none"
        raise UsageError(f"{table.table}: no phase {phase} is left to go", hint=f"left are: {left}")
    return tuple(chosen) or plans


def _require_room(executor: Executor, into: str, lake_table: LakeTable, plans: Sequence[Plan]) -> None:
    """Raises `UsageError`: a table is there already, and is not the one that the first of the plans makes."""
    found = executor.inspect(into, plans[0].format)
    if found is None:
        return
    if found.identity == lake_table.identity:
        raise UsageError(f"{into} is the table itself", hint="name a new one, which takes its place")
    if plans[0].steps and diff(found.schema, plans[0].wanted):
        hint = "name a table that is not there yet"
        raise UsageError(f"{into} is there already, with other columns", hint=hint)


def _check_phases(
    preflight: Preflight, plans: Sequence[Plan], lake_table: LakeTable, table: TargetTable
) -> tuple[Plan, ...]:
    """The phases up to the first against which something stands, each named by the one before."""
    checked: list[Plan] = []
    for one in plans:
        if checked and one.phase is not None and one.phase.follows is not None:
            one = replace(one, phase=replace(one.phase, follows=plan_hash(checked[-1])))
        checked.append(preflight.check_plan(one, lake_table, table.history))
        if one.steps and not checked[-1].steps:
            return (checked[-1],)
    return tuple(checked)


def plan_way_back(planner: LakePlanner, registry: Registry, text: str) -> Plan:
    """The plan that takes back a plan file or a run.

    Raises:
        UnknownName: neither a file nor a run of that name is known.
        StalePlan: the table moved since.
    """
    is_file = is_present(Path(text))
    plan = from_text(read_text(text)) if is_file else _read_started_plan(text, registry.journal(run=text))
    lines = [line for line in registry.journal() if line.plan == plan_hash(plan)]
    lake_table = planner.executor.inspect(plan.table, plan.format)
    done = count_steps_behind(plan, lake_table, *count_progress(lines))
    back = plan_rollback(plan, lake_table, done)
    version = find_version_before(lines)
    if back.refusals and lake_table is not None and plan.format == "delta" and version:
        back = _plan_time_travel(planner.executor, plan, lake_table, version, back)
    source = next((table for table in registry.store.tables() if str(table) == plan.source.table), None)
    if source is None or lake_table is None:
        return back
    return planner.preflight.check_plan(back, lake_table, registry.history(source))


def _read_started_plan(run: str, lines: Sequence[MigrationEntry]) -> Plan:
    """The plan that a run was begun with."""
    started = [line for line in lines if line.state == "started" and line.statement]
    if not started:
        raise UnknownName(f"{run!r} is no plan file and no run", hint="schemaman status lists the runs")
    return from_text(started[-1].statement)


def _plan_time_travel(
    executor: Executor, plan: Plan, lake_table: LakeTable, version: str, back: Plan
) -> Plan:
    """The way back by time travel, where no rows were written since."""
    target = TARGETS.get(plan.format)
    history = executor.query(f"DESCRIBE HISTORY {target.table_name(plan.table)}")
    written = list_row_writes([(int(str(row[0])), str(row[4])) for row in history], version)
    if not written:
        return plan_restore(plan, lake_table, version, target)
    reason = f"rows were written since: {'; '.join(written)}"
    return replace(back, refusals=tuple(replace(r, reason=f"{r.reason}; {reason}") for r in back.refusals))
