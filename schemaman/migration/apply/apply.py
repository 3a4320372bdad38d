"""Applies a plan to its table: each step is checked, journalled, run, read back and checked again.

Laws: a crash at any point loses nothing and repeats nothing, since the table itself shows which steps ran. A
plan whose table changed is not applied. After a whole plan the table has the structure of the plan.
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
from schemaman.migration.apply.run import (
    ApplyOptions,
    Clock,
    Inspection,
    Migration,
    MigrationProgress,
    Outcome,
    PlanRun,
)
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
    "Inspection",
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
    inspection: Inspection | None = None,
) -> Migration:
    """Run the steps of a plan that the table does not show yet.

    A run continues where the journal of the same plan left the table. Before the first statement the table
    is marked with the store, the hash of the plan and the number of the run.

    Args:
        plan: the plan to apply.
        executor: runs the statements and reads the table.
        journal: keeps the lines of the run.
        clock: returns epoch milliseconds.
        run: the name of the run.
        leases: the leases of the store; with None no lease is taken.
        owner: the owner of the lease.
        partial: run the steps although the plan has refusals.
        approved: people have approved what the plan asks approval for.
        store: the id of the store that the table belongs to.
        take_over: mark the table even if it belongs to another store.
        rehearse: called with the remaining plan before any statement is run; it stops the run by raising.
        report: called with the progress, also about every second while a statement runs.
        lease_ms: how long a lease lasts without renewal.
        inspection: the table as the caller has just inspected it, for the same plan.

    Raises:
        StalePlan: a statement does not follow from its step, the plan expired before it was begun, or its
            table changed since it was made.
        OtherStore: the table belongs to another store.
        Locked: another run migrates this table.
        StatementFailed: the target refused the first step; the table is unchanged.
        PartlyApplied: a later step failed; the journal holds the steps that are done.
    """
    name = plan_hash(plan)
    require_own_statements(plan)
    reasons = _list_reasons(plan, partial, approved)
    if reasons:
        return Migration(run, name, plan.table, "refused", reasons=reasons)
    _require_unexpired(plan, journal, clock)
    options = ApplyOptions(clock, run, store, take_over, rehearse)
    applying = PlanRun(plan, name, executor, journal, options)
    applying.inspection = inspection
    if report is not None:
        options.report = report
    target = target_id(plan.format, plan.table)
    tick = None if report is None else applying.report_progress
    with TargetLease(leases, target, owner, clock, ttl_ms=lease_ms, tick=tick) as held_lease:
        options.require_lease = held_lease.require_held
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
    """Make all checks of `apply` on the lake table without running a statement on it.

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

    Such a plan may be continued at any time: it was approved, and had not expired, when it was begun.
    """
    lines = journal.read_target_lines(target_id(plan.format, plan.table))
    if not is_in_progress(lines):
        return False
    through = max((n for n, line in enumerate(lines) if line.state == "finished"), default=-1)
    name, open_runs = plan_hash(plan), lines[through + 1 :]
    newest = next(line.plan for line in reversed(open_runs) if line.state == "started")
    return newest == name and any(line.plan == name and line.state == "intent" for line in open_runs)


def find_drift(lake: LakeTable, expected: TableSchema) -> Diff:
    """Find what others changed since the structure that the last migration left."""
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
