"""Other plans than the ordinary one: phases of a recipe, and the way back from a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schemaman.errors import NoHistory, UnknownName, UsageError
from schemaman.history.decisions import apply_decisions
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
from schemaman_cli.lake import Follower
from schemaman_cli.options import Door
from schemaman_cli.paths import is_there
from schemaman_cli.planning import lookout, source_for
from schemaman_cli.sessions import executor, require_lasting
from schemaman_cli.wiring import decisions_of, now_ms, open_store, read_file


def phases(
    door: Door,
    around: Preflight,
    follower: Follower,
    phase: str | None,
    into: str | None,
    exact: Sequence[str],
    expires_ms: int | None,
) -> tuple[Plan, ...]:
    """The plans of a recipe for one table, or the one phase that is asked for.

    Raises:
        NoHistory: there is no lake table yet.
        UsageError: the phase is none that is left to go.
    """
    require_lasting(around.executor, follower.format, follower.table)
    live = around.executor.inspect(follower.table, follower.format)
    if live is None:
        raise NoHistory(f"there is no lake table {follower.table}", hint="an ordinary plan makes it")
    cook = RecipePlanner(
        source_for(door, follower),
        TARGETS.get(follower.format),
        follower.table,
        door.settings.policy,
        follower.target,
        tuple(exact),
        expires_ms,
    )
    if into is not None:
        _require_room(around.executor, into, live, cook.make_plans(live, into))
    plans = cook.make_plans(live, into) if phase != "abandon" else cook.plan_abandon(live)
    plans = _heeded(around, plans, live, follower)
    chosen = [one for one in plans if phase is None or (one.phase and one.phase.name == phase)]
    if not chosen and not any(one.refusals for one in plans):
        left = ", ".join(one.phase.name for one in plans if one.phase) or "none"
        raise UsageError(f"{follower.table}: no phase {phase} is left to go", hint=f"left are: {left}")
    return tuple(chosen) or plans


def _require_room(executor: Executor, into: str, live: LakeTable, plans: Sequence[Plan]) -> None:
    """Raises `UsageError`: a table is there already, and is not the one that the first of the plans makes."""
    there = executor.inspect(into, plans[0].format)
    if there is None:
        return
    if there.identity == live.identity:
        raise UsageError(f"{into} is the table itself", hint="name a new one, which takes its place")
    if plans[0].steps and diff(there.schema, plans[0].wanted):
        hint = "name a table that is not there yet"
        raise UsageError(f"{into} is there already, with other columns", hint=hint)


def _heeded(
    around: Preflight, plans: Sequence[Plan], live: LakeTable, follower: Follower
) -> tuple[Plan, ...]:
    """The phases as far as nothing stands against them; what does ends them."""
    heeded: list[Plan] = []
    for one in plans:
        if heeded and one.phase is not None and one.phase.follows is not None:
            one = replace(one, phase=replace(one.phase, follows=plan_hash(heeded[-1])))
        heeded.append(around.check_plan(one, live, follower.history))
        if one.steps and not heeded[-1].steps:
            return (heeded[-1],)
    return tuple(heeded)


def way_back(door: Door, text: str) -> Plan:
    """The plan that takes back a plan file or a run.

    Raises:
        UnknownName: neither a file nor a run of that name is known.
        StalePlan: the table moved since.
    """
    store = open_store(door)
    registry = Registry(store, now_ms)
    plan = _plan(text, registry.journal(run=text) if not is_there(Path(text)) else ())
    lines = [line for line in registry.journal() if line.plan == plan_hash(plan)]
    spark = executor(door)
    live = spark.inspect(plan.table, plan.format)
    back = plan_rollback(plan, live, count_steps_behind(plan, live, *count_progress(lines)))
    version = find_version_before(lines)
    if back.refusals and live is not None and plan.format == "delta" and version:
        back = _restored(spark, plan, live, version, back)
    source = next((table for table in store.tables() if str(table) == plan.source.table), None)
    if source is None or live is None:
        return back
    answered = apply_decisions(registry.history(source), decisions_of(door))
    return lookout(store, spark).check_plan(back, live, answered)


def _plan(text: str, lines: Sequence[MigrationEntry]) -> Plan:
    if is_there(Path(text)):
        return from_text(read_file(text))
    started = [line for line in lines if line.state == "started" and line.statement]
    if not started:
        raise UnknownName(f"{text!r} is no plan file and no run", hint="schemaman status lists the runs")
    return from_text(started[-1].statement)


def _restored(spark: Executor, plan: Plan, live: LakeTable, version: str, back: Plan) -> Plan:
    """The way back by time travel, where nobody wrote rows since."""
    target = TARGETS.get(plan.format)
    history = spark.query(f"DESCRIBE HISTORY {target.table_name(plan.table)}")
    written = list_row_writes([(int(str(row[0])), str(row[4])) for row in history], version)
    if not written:
        return plan_restore(plan, live, version, target)
    reason = f"rows were written since: {'; '.join(written)}"
    return replace(back, refusals=tuple(replace(r, reason=f"{r.reason}; {reason}") for r in back.refusals))
