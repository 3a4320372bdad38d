"""Applying plans from the command line: store, journal, lease, executor, and what it came to."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from schemaman.errors import SchemamanError
from schemaman.history.decisions import Decisions
from schemaman.migration.apply.apply import Migration, MigrationProgress, StoreJournal, apply, check, is_begun
from schemaman.migration.apply.clone import make_rehearsal
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.target import TARGETS, Executor
from schemaman.report.json.migrations import FailedPlan
from schemaman.report.views.migrations import build_apply_report
from schemaman.store.sql.store import SqlStore
from schemaman_cli.faults import ALONE, unforeseen
from schemaman_cli.main import FAILED
from schemaman_cli.main import exit_code as code_of
from schemaman_cli.options import Door
from schemaman_cli.planning import lookout
from schemaman_cli.sessions import executor, require_lasting
from schemaman_cli.wiring import decisions_of, open_store


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the flags of `apply` and `resume` ask for."""

    partial: bool = False
    dry_run: bool = False
    clone: bool = False
    take_over: bool = False


def new_run() -> str:
    """A name for a run that nobody else has."""
    return secrets.token_hex(6)


def migrate(
    door: Door,
    plans: Sequence[tuple[str, Plan]],
    wishes: Wishes,
    format: str,
    unread: Sequence[tuple[str, str, SchemamanError]] = (),
) -> int:
    """Apply plans, each with the name of its run, and tell of them; the exit code.

    One plan that fails raises; of several each is tried, and the gravest exit code counts. `unread` are
    files beside them that hold no plan to apply: run, file, and what is wrong.

    Raises:
        Stale: the table moved, the plan expired, or someone else migrates the table.
        PartlyApplied: a later step failed.
        StatementFailed: the first step failed.
    """
    mover = Mover(door, wishes)
    if len(plans) == 1 and not unread:
        ((run, plan),) = plans
        done = mover.moved(run, plan)
        door.console.show(build_apply_report([done]), format)
        return exit_code(done, plan, wishes.partial)
    told: list[Migration | FailedPlan] = [
        FailedPlan(r, "", file, e.message, e.hint or "") for r, file, e in unread
    ]
    codes = [0, *(code_of(error) for _, _, error in unread)]
    for run, plan in plans:
        try:
            done = mover.moved(run, plan)
        except SchemamanError as error:
            told.append(FailedPlan(run, plan_hash(plan), plan.table, error.message, error.hint or ""))
            codes.append(code_of(error))
        except Exception as error:  # nobody foresaw it; the others go on all the same
            told.append(FailedPlan(run, plan_hash(plan), plan.table, unforeseen(error), ALONE))
            codes.append(FAILED)
        else:
            told.append(done)
            codes.append(exit_code(done, plan, wishes.partial))
    door.console.show(build_apply_report(told), format)
    return max(codes)


def exit_code(done: Migration, plan: Plan, partial: bool) -> int:
    """5 if the table is not what the plan promised, 1 for what was refused, also where the rest was done."""
    if done.differences:
        return 5
    return 1 if done.state == "refused" or (partial and plan.refusals) else 0


class Mover:
    """What applies plans for a command: one store, one journal, one Spark session."""

    def __init__(self, door: Door, wishes: Wishes, answers: Decisions | None = None) -> None:
        self.door = door
        self.wishes = wishes
        self.approved = decisions_of(door) if answers is None else answers
        self.store: SqlStore = open_store(door, create=not wishes.dry_run)
        self.journal = StoreJournal(self.store)
        self.spark: Executor = executor(door)
        self.around = lookout(self.store, self.spark)

    def moved(self, run: str, plan: Plan) -> Migration:
        """One plan, applied or looked at. Raises as `migrate.apply`."""
        require_lasting(self.spark, plan.format, plan.table)
        approved = self.is_approved(plan)
        rehearse = (
            make_rehearsal(self.spark, TARGETS.get(plan.format), run or new_run())
            if self.wishes.clone
            else None
        )
        if self.wishes.dry_run:
            return check(
                plan, self.spark, self.journal, self.store.now_ms, run=run, leases=self.store,
                partial=self.wishes.partial, approved=approved, store=self.store.id,
                take_over=self.wishes.take_over, rehearse=rehearse,
            )  # fmt: skip
        return apply(
            plan, self.spark, self.journal, self.store.now_ms, run=run, leases=self.store,
            owner=f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})",
            partial=self.wishes.partial, approved=approved, store=self.store.id,
            take_over=self.wishes.take_over, rehearse=rehearse, report=self.tell,
        )  # fmt: skip

    def is_approved(self, plan: Plan) -> bool:
        """Whether people approved it; an approval that has expired is good for a plan that had been begun."""
        if not plan.approvals_needed:
            return True
        name, approved = plan_hash(plan), self.approved.find_approval
        if approved(name, datetime.now(UTC).date()) is not None:
            return True
        return approved(name, date.min) is not None and is_begun(plan, self.journal)

    def tell(self, now: MigrationProgress) -> None:
        """How far it is, on stderr."""
        step = min(now.done + 1, now.steps)
        self.door.console.progress(f"run {now.run}: {now.table}: step {step} of {now.steps}: {now.activity}")
