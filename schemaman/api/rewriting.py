"""Rewrites columns of lake tables in `sync` without a person, within the bounds of the policy.

Laws: what is beyond a bound, or loses a value, is not begun; the column then goes on beside, and the reason
says why. An interrupted rewrite is continued in the next round, also outside of the window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from schemaman.api.automatic_plans import AutomaticPlanner
from schemaman.api.planning import LakePlanner
from schemaman.api.target_tables import TargetTable
from schemaman.errors import SchemamanError
from schemaman.migration.plan import Plan
from schemaman.migration.properties.column_swaps import read_swaps
from schemaman.migration.recipes.split_plans import plan_gather
from schemaman.migration.target import LakeTable, query_number
from schemaman.model.ddl import quote_name
from schemaman.report.json.sync import FollowedTable

_PHASES = ("expand", "backfill", "swap")
_BACKFILLS = 3
"""How often rows that writers add meanwhile are converted before the swap waits for the next round."""

ApplyPlan = Callable[[Plan], FollowedTable]


@dataclass(frozen=True, slots=True)
class NotRewritten:
    """Why no column was rewritten; the reason is empty if there is nothing to rewrite.

    `is_bounded`: a bound of the policy is the reason.
    """

    reason: str = ""
    is_bounded: bool = False


def rewrite_columns(
    automatic: AutomaticPlanner,
    table: TargetTable,
    lake: LakeTable | None,
    now_ms: int,
    apply_plan: ApplyPlan,
) -> FollowedTable | NotRewritten:
    """Swap the columns whose type the format does not change, or gather the parts of those that are split.

    Return what was applied, or why nothing was.

    Raises:
        SchemamanError: a phase failed; the next round continues.
    """
    planner = automatic.planner
    names = str(table.history.table), table.target, table.format
    levels = [planner.policy.find_ruling(k, *names).level for k in ("split-column", "retype")]
    if lake is None or levels != ["auto", "auto"] or planner.policy.bounds.max_rewrite is None:
        return NotRewritten()
    is_begun = bool(read_swaps(lake))
    plan = _plan_phase(planner, table, lake) or _plan_gather(planner, table, lake)
    if plan is None:
        return NotRewritten()
    columns = ", ".join(map(quote_name, _list_columns(planner, table, lake, plan)))
    size = automatic.measure(table)
    excess = planner.policy.bounds.explain_rewrite(size, now_ms, is_begun=is_begun)
    if excess:
        return NotRewritten(f"{columns}: not rewritten: {excess}", is_bounded=True)
    unfit = 0 if is_begun else _count_unfit(planner, table, lake)
    if unfit:
        why = f"the new type does not hold {unfit} of the values exactly"
        return NotRewritten(f"{columns}: not rewritten: {why}")
    return _apply_phases(planner, table, plan, apply_plan)


def _apply_phases(
    planner: LakePlanner, table: TargetTable, first: Plan, apply_plan: ApplyPlan
) -> FollowedTable:
    """Apply a phase and those after it, until the swap or the first that is refused."""
    done = apply_plan(first)
    plan, backfills = first, 1
    while done.is_current and plan.phase is not None and plan.phase.name in ("expand", "backfill"):
        lake = planner.inspect(table)
        following = None if lake is None else _plan_phase(planner, table, lake, after=plan.phase.name)
        if following is None:
            return done
        try:
            outcome = apply_plan(following)
        except SchemamanError:
            # Rows came in after the backfill: their values are converted, too.
            if plan.phase.name != "backfill" or backfills == _BACKFILLS:
                raise
            backfills += 1
            plan = replace(plan, phase=replace(plan.phase, name="expand"))
            continue
        plan = following
        done = replace(outcome, statements=(*done.statements, *outcome.statements))
    return done


def _plan_phase(planner: LakePlanner, table: TargetTable, lake: LakeTable, after: str = "") -> Plan | None:
    """Plan the phase that a column swap begins or goes on with; None if there is none for `sync`.

    A table does not tell whether it was backfilled: `after` does, in one round.
    """
    phases = [
        plan
        for plan in planner.make_recipes(table, lake).plan_recipe(lake).phases
        if plan.phase is not None and plan.phase.name in _PHASES
    ]
    if after == "backfill":
        phases = [plan for plan in phases if plan.phase is not None and plan.phase.name == "swap"]
    if not phases:
        return None
    plan = planner.preflight.check_plan(phases[0], lake, table.history)
    return plan if plan.steps else None


def _plan_gather(planner: LakePlanner, table: TargetTable, lake: LakeTable) -> Plan | None:
    found = plan_gather(planner.make_recipes(table, lake), planner.settle_renames(table, lake), lake)
    checked = found and planner.preflight.check_plan(found, lake, table.history)
    return checked if checked is not None and checked.steps else None


def _count_unfit(planner: LakePlanner, table: TargetTable, lake: LakeTable) -> int:
    """Count the rows whose values a swap would change, before its first phase."""
    phases = planner.make_recipes(table, lake).plan_recipe(lake).phases
    backfills = (plan for plan in phases if plan.phase is not None and plan.phase.name == "backfill")
    gates = (step.precondition.get("counts") for plan in backfills for step in plan.steps)
    queries = (query for gate in gates if isinstance(gate, dict) for query in gate)
    return sum(query_number(planner.executor, query) for query in queries)


def _list_columns(planner: LakePlanner, table: TargetTable, lake: LakeTable, plan: Plan) -> tuple[str, ...]:
    """The columns that a plan rewrites."""
    swaps = read_swaps(lake)
    if swaps:
        return tuple(swap.column for swap in swaps)
    stuck = planner.make_recipes(table, lake).list_stuck_columns(lake)
    return stuck or tuple(name for name in plan.wanted.names if name in plan.steps[0].statement)
