"""Applies a plan to its table: each step checked, journalled, run, read back, checked again.

Laws: a crash anywhere loses nothing and repeats nothing, since the table itself tells which steps ran; a
plan whose table moved is not applied; after a whole plan the table is what the plan promised.
"""

from __future__ import annotations

from collections.abc import Callable

from schemaman.errors import Locked, StalePlan
from schemaman.migration.apply.journal import (
    Journal,
    Log,
    StoreJournal,
    find_expected_structure,
    is_in_progress,
    target_id,
)
from schemaman.migration.apply.lease import LEASE_MS, TargetLease
from schemaman.migration.apply.run import ApplyOptions, Clock, Migration, MigrationProgress, Outcome, PlanRun
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.statement_check import require_own_statements
from schemaman.migration.target import Executor, LakeTable
from schemaman.model.diff import Diff, diff
from schemaman.model.schema import TableSchema
from schemaman.store.log import Leases

__all__ = [
    "LEASE_MS",
    "Clock",
    "Journal",
    "Log",
    "Migration",
    "MigrationProgress",
    "Outcome",
    "StoreJournal",
    "apply",
    "check",
    "find_drift",
    "find_expected_structure",
    "is_begun",
    "target_id",
]  # fmt: skip


def apply(
    plan: Plan,
    executor: Executor,
    journal: Journal,
    clock: Clock,
    *,
    run: str,
    leases: Leases | None = None,
    owner: str = "schemaman",
    partial: bool = False,
    approved: bool = False,
    store: str = "",
    take_over: bool = False,
    rehearse: Callable[[Plan], None] | None = None,
    report: Callable[[MigrationProgress], None] | None = None,
    lease_ms: int = LEASE_MS,
) -> Migration:
    """Run the steps of a plan that the table does not show yet.

    A table that stands where the journal of this very plan left it is taken up from there. `partial`: run
    what is not refused. `approved`: people have approved the plan as far as it asks for approval. `store` is
    the id of the store that keeps the table: the table is marked with it, with the plan's hash and with the
    run's number before the first statement; `take_over` lets it be marked anew if another store keeps it.
    `rehearse` is called with what is left of the plan before anything is run, and stops all by raising.
    `report` hears of progress, also about every second while a statement runs.

    Raises:
        StalePlan: a statement does not follow from its step, the plan expired before it was begun, or its
            table moved since it was made.
        OtherStore: another store keeps this table.
        Locked: someone else migrates this table.
        StatementFailed: the target refused the first step; the table is untouched.
        PartlyApplied: a later step failed; what was done is in the journal.
    """
    name = plan_hash(plan)
    require_own_statements(plan)
    reasons = _list_reasons(plan, partial, approved)
    if reasons:
        return Migration(run, name, plan.table, "refused", reasons=reasons)
    _require_unexpired(plan, journal, clock)
    options = ApplyOptions(clock, run, store, take_over, rehearse)
    applying = PlanRun(plan, name, executor, journal, options)
    if report is not None:
        options.report = report
    target = target_id(plan.format, plan.table)
    tick = None if report is None else applying.report_progress
    with TargetLease(leases, target, owner, clock, ttl_ms=lease_ms, tick=tick) as tenure:
        options.require_lease = tenure.require_held
        return applying.run()


def check(
    plan: Plan,
    executor: Executor,
    journal: Journal,
    clock: Clock,
    *,
    run: str = "",
    leases: Leases | None = None,
    partial: bool = False,
    approved: bool = False,
    store: str = "",
    take_over: bool = False,
    rehearse: Callable[[Plan], None] | None = None,
) -> Migration:
    """What `apply` would do now: all its checks on the live table, and no statement is run on it.

    Raises:
        StalePlan, OtherStore, Locked: as `apply`.
    """
    name = plan_hash(plan)
    require_own_statements(plan)
    reasons = _list_reasons(plan, partial, approved)
    if reasons:
        return Migration(run, name, plan.table, "refused", reasons=reasons)
    _require_unexpired(plan, journal, clock)
    target = target_id(plan.format, plan.table)
    for lease in leases.leases() if leases is not None else ():
        if lease.target == target and lease.expires_ms > clock():
            raise Locked(f"{target} is held by {lease.owner}", hint="wait until that migration has ended")
    return PlanRun(
        plan, name, executor, journal, ApplyOptions(clock, run, store, take_over, rehearse)
    ).check()


def is_begun(plan: Plan, journal: Journal) -> bool:
    """Whether a run of this plan sent a statement and stopped, and no other plan was begun since.

    Such a plan is taken up whenever that is: it had not expired, and was approved, when it was begun.
    """
    lines = journal.read_target_lines(target_id(plan.format, plan.table))
    if not is_in_progress(lines):
        return False
    through = max((n for n, line in enumerate(lines) if line.state == "finished"), default=-1)
    name, open_runs = plan_hash(plan), lines[through + 1 :]
    newest = next(line.plan for line in reversed(open_runs) if line.state == "started")
    return newest == name and any(line.plan == name and line.state == "intent" for line in open_runs)


def find_drift(lake: LakeTable, expected: TableSchema) -> Diff:
    """What someone else changed: from the structure that the last migration left to the live one."""
    return diff(expected, lake.schema)


def _list_reasons(plan: Plan, partial: bool, approved: bool) -> tuple[str, ...]:
    reasons: list[str] = []
    if not partial:
        reasons += (f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
    if not approved:
        reasons += (f"needs approval: {each}" for each in plan.approvals_needed)
    return tuple(reasons)


def _require_unexpired(plan: Plan, journal: Journal, clock: Clock) -> None:
    if plan.expires_ms is not None and clock() > plan.expires_ms and not is_begun(plan, journal):
        raise StalePlan(
            f"the plan for {plan.table} has expired", hint="make the plan again with `schemaman plan`"
        )
