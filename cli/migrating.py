"""Applying a plan from the command line: store, journal, lease, executor, and what it came to."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from datetime import UTC, datetime

from schemaman.migrate import Migration, StoreJournal, apply
from schemaman.plan import Plan
from schemaman.planfile import plan_hash
from schemaman.registry import Registry
from schemaman.summary.moves import apply_report
from schemaman_cli.options import Door
from schemaman_cli.sessions import executor, require_lasting
from schemaman_cli.wiring import decisions_of, now_ms, open_store


def new_run() -> str:
    """A name for a run that nobody else has."""
    return secrets.token_hex(6)


def migrate(door: Door, plan: Plan, run: str, *, partial: bool, format: str) -> int:
    """Apply a plan and tell of it; the exit code.

    Raises:
        Stale: the table moved, the plan expired, or someone else migrates the table.
        PartlyApplied: a later step failed.
        StatementFailed: the first step failed.
    """
    approval = decisions_of(door).approved(plan_hash(plan), datetime.now(UTC).date())
    store = open_store(door, create=True)
    registry = Registry(store, now_ms)
    spark = executor(door)
    require_lasting(spark, plan.format, plan.table)
    door.console.progress(f"run {run}: {plan.table}")
    done = apply(
        plan,
        spark,
        StoreJournal(store, registry.journal),
        now_ms,
        run=run,
        leases=store,
        owner=f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})",
        partial=partial,
        approved=approval is not None,
    )
    door.console.show(apply_report(done), format)
    return exit_code(done, plan, partial)


def exit_code(done: Migration, plan: Plan, partial: bool) -> int:
    """5 if the table is not what the plan promised, 1 for what was refused, also where the rest was done."""
    if done.differences:
        return 5
    return 1 if done.state == "refused" or (partial and plan.refusals) else 0
