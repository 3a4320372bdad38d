"""Makes plans for the phases of a recipe, and rollback plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schemaman.api.files import is_present, read_text
from schemaman.api.planning import LakePlanner
from schemaman.api.target_tables import TargetTable
from schemaman.errors import NoHistory, StalePlan, UnknownName, UsageError
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.apply.resume import count_steps_behind
from schemaman.migration.approvals import list_missing_approvals
from schemaman.migration.later_runs import list_later_runs
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.rollback import (
    find_version_before,
    is_whole,
    plan_restore,
    plan_rollback,
)
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.migration.target_id import canonicalize_target, target_id
from schemaman.model.diff import diff
from schemaman.model.shell import build_command
from schemaman.registry import Registry
from schemaman.sink.answered_renames import find_former_columns
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
    """Make the plans of a recipe for one table, or only the requested phase.

    Raises:
        NoHistory: there is no lake table yet.
        UsageError: the phase is not among the remaining phases, or `into` is unusable.
    """
    table, lake_table = planner.find_newest(table)
    if lake_table is None:
        raise NoHistory(f"there is no lake table {table.table}", hint="an ordinary plan creates it")
    recipe = RecipePlanner(
        planner.make_source(table, lake_table),
        TARGETS.get(table.format),
        table.table,
        planner.policy,
        table.target,
        tuple(exact),
        expires_ms,
    )
    if into is not None:
        _require_room(planner.executor, into, lake_table, recipe.make_plans(lake_table, into))
    former = find_former_columns(table.history, lake_table) if into is None and not exact else ()
    united = recipe.plan_unite_columns(lake_table, former) if phase in (None, "unite") else None
    plans = recipe.make_plans(lake_table, into) if phase != "abandon" else recipe.plan_abandon(lake_table)
    plans = plans if united is None else (united,)
    plans = _check_phases(planner.preflight, plans, lake_table, table)
    chosen = [one for one in plans if phase is None or (one.phase and one.phase.name == phase)]
    if not chosen and not any(one.refusals for one in plans):
        left = ", ".join(one.phase.name for one in plans if one.phase) or "none"
        raise UsageError(f"{table.table}: phase {phase} is not left", hint=f"remaining phases: {left}")
    return tuple(chosen) or plans


def _require_room(executor: Executor, into: str, lake_table: LakeTable, plans: Sequence[Plan]) -> None:
    """Raises `UsageError` if `into` exists and is not the table that the first plan creates."""
    found = executor.inspect(into, plans[0].format)
    if found is None:
        return
    if found.identity == lake_table.identity:
        raise UsageError(f"{into} is the table itself", hint="name a new table, which will replace it")
    if plans[0].steps and diff(found.schema, plans[0].wanted):
        hint = "name a table that does not exist yet"
        raise UsageError(f"{into} already exists, with other columns", hint=hint)


def _check_phases(
    preflight: Preflight, plans: Sequence[Plan], lake_table: LakeTable, table: TargetTable
) -> tuple[Plan, ...]:
    """Check the phases up to the first one that a check stops; each phase names the plan before it."""
    checked: list[Plan] = []
    for one in plans:
        if checked and one.phase is not None and one.phase.follows is not None:
            one = replace(one, phase=replace(one.phase, follows=plan_hash(checked[-1])))
        checked.append(preflight.check_plan(one, lake_table, table.history))
        if one.steps and not checked[-1].steps:
            return (checked[-1],)
    return tuple(checked)


def plan_way_back(planner: LakePlanner, registry: Registry, text: str) -> Plan:
    """Make the plan that undoes a plan file or a run, with each approval that the policy demands.

    Raises:
        UnknownName: there is neither a file nor a run with that name.
        StalePlan: the table has changed since; the hint names a later run on it.
    """
    is_file = is_present(Path(text))
    plan = from_text(read_text(text)) if is_file else _read_started_plan(text, registry.journal(run=text))
    target = target_id(plan.format, plan.table)
    journal = [line for line in registry.journal() if canonicalize_target(line.target) == target]
    lines = [line for line in journal if line.plan == plan_hash(plan)]
    later = list_later_runs(journal, plan_hash(plan))
    lake_table = planner.executor.inspect(plan.table, plan.format)
    done = count_steps_behind(plan, lake_table, *count_progress(lines))
    try:
        back = plan_rollback(plan, lake_table, done, may_hold_more=not later)
    except StalePlan as error:
        if not later:
            raise
        command = build_command(("plan",), (), "--rollback", later[0])
        raise StalePlan(error.message, hint=f"take the later run on it back first: {command}") from error
    version = find_version_before(lines)
    if not is_whole(plan, back) and lake_table is not None and version:
        back = _plan_time_travel(planner.executor, plan, lake_table, version, back)
    layout = lake_table.layout if lake_table else ()
    missing = list_missing_approvals(back, planner.policy, layout=layout)
    back = replace(back, approvals_needed=(*back.approvals_needed, *missing))
    source = next((table for table in registry.store.tables() if str(table) == plan.source.table), None)
    if source is None or lake_table is None:
        return back
    return planner.preflight.check_plan(back, lake_table, registry.history(source))


def _read_started_plan(run: str, lines: Sequence[MigrationEntry]) -> Plan:
    """Read the plan of a run from its journal line."""
    started = [line for line in lines if line.state == "started" and line.statement]
    if not started:
        raise UnknownName(f"{run!r} is neither a plan file nor a run", hint="schemaman status lists the runs")
    return from_text(started[-1].statement)


def _plan_time_travel(
    executor: Executor, plan: Plan, lake_table: LakeTable, version: str, back: Plan
) -> Plan:
    """Make a rollback by time travel, if the format has it and no rows were written since."""
    target = TARGETS.get(plan.format)
    restored = plan_restore(plan, lake_table, version, target)
    if restored is None:
        return back
    written = target.list_row_writes(executor, plan.table, version)
    if not written:
        return restored
    reason = f"rows were written since then: {'; '.join(written)}"
    if not back.refusals:
        return replace(back, notes=(*back.notes, f"the table is not restored as a whole: {reason}"))
    return replace(back, refusals=tuple(replace(r, reason=f"{r.reason}; {reason}") for r in back.refusals))
