"""Applies a plan to its table: each step checked, journalled, run, read back, checked again.

Laws: a crash anywhere loses nothing and repeats nothing, since the table itself tells which steps ran; a
plan whose table moved is not applied; after a whole plan the table is what the plan promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from schemaman.columns import format_columns, parse_columns
from schemaman.conditions import holds, structure
from schemaman.diff import Diff, diff
from schemaman.errors import (
    Conflict,
    PartlyApplied,
    SchemamanError,
    StalePlan,
    StatementConflict,
    StatementFailed,
)
from schemaman.log import Entry, Leases, Migrated, StepState
from schemaman.plan import Executor, Live, Plan, Step, words
from schemaman.planfile import plan_hash, to_text
from schemaman.schema import TableSchema

Clock = Callable[[], int]
"""The time in epoch milliseconds."""

LEASE_MS = 60_000
"""How long a target stays locked after its migration died: longer than any one statement takes."""

_ATTEMPTS = 3


class Journal(Protocol):
    """Where the lines of migrations are kept: written before and after each step, never changed."""

    def journal(self, plan: str) -> Sequence[Migrated]:
        """The lines of one plan, oldest first, whatever run wrote them."""

    def write(self, line: Migrated) -> None:
        """Add a line; it is durable when this returns."""


class Log(Protocol):
    """The part of a store that a journal needs."""

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append if the log still ends at `expect`. Raises `Conflict` otherwise."""

    def end(self) -> int:
        """Where the log ends."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one step: run now, or found done already."""

    number: int
    state: Literal["done", "skipped"]
    statement: str
    version: str


@dataclass(frozen=True, slots=True)
class Migration:
    """What applying a plan came to.

    `refused`: nothing was run, `reasons` says why. `unchanged`: every step had been done before.
    `differences` is empty when the table is what the plan promised; `live` is the table afterwards.
    """

    run: str
    plan: str
    table: str
    state: Literal["applied", "unchanged", "refused"]
    outcomes: tuple[Outcome, ...] = ()
    reasons: tuple[str, ...] = ()
    differences: Diff = ()
    live: Live | None = None


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
) -> Migration:
    """Run the steps of a plan that the table does not show yet.

    A table that stands where the journal of this very plan left it is taken up from there. `partial`: run
    what is not refused. `approved`: people have approved the plan as far as it asks for approval.

    Raises:
        StalePlan: the plan has expired, or its table moved since it was made.
        Locked: someone else migrates this table.
        StatementFailed: the target refused the first step; the table is untouched.
        PartlyApplied: a later step failed; what was done is in the journal.
    """
    name = plan_hash(plan)
    reasons = _against(plan, partial, approved)
    if reasons:
        return Migration(run, name, plan.table, "refused", reasons=reasons)
    if plan.expires_ms is not None and clock() > plan.expires_ms:
        raise StalePlan(f"the plan for {plan.table} has expired", hint="make it again with `schemaman plan`")
    target = target_id(plan.format, plan.table)
    token = leases.acquire(target, owner, clock(), LEASE_MS) if leases else ""

    def hold() -> None:
        if leases:
            leases.renew(target, token, clock(), LEASE_MS)

    try:
        return _Applying(plan, name, run, executor, journal, hold).all()
    finally:
        if leases:
            leases.release(target, token)


def drift(live: Live, expected: TableSchema) -> Diff:
    """What someone else changed: from the structure that the last migration left to the live one."""
    return diff(expected, live.schema)


def expected_structure(lines: Iterable[Migrated], format: str, table: str) -> TableSchema | None:
    """The structure that the last finished migration of a table left; None if there was none."""
    target = target_id(format, table)
    left = [line for line in lines if line.target == target and line.state == "finished"]
    return parse_columns(left[-1].statement) if left else None


def target_id(format: str, table: str) -> str:
    """How journals and leases name a target table."""
    return f"{format}:{table}"


class StoreJournal:
    """A journal in the registry's own log."""

    def __init__(self, log: Log, read: Callable[[], Iterable[Migrated]]) -> None:
        self._log = log
        self._read = read

    def journal(self, plan: str) -> Sequence[Migrated]:
        """The lines of one plan."""
        return [line for line in self._read() if line.plan == plan]

    def write(self, line: Migrated) -> None:
        """Append a line, behind whatever else is written meanwhile."""
        while True:
            try:
                self._log.append([line], self._log.end())
            except Conflict:
                continue
            return


def _against(plan: Plan, partial: bool, approved: bool) -> tuple[str, ...]:
    reasons: list[str] = []
    if not partial:
        reasons += (f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
    if not approved:
        reasons += (f"needs approval: {each}" for each in plan.approvals_needed)
    return tuple(reasons)


class _Applying:
    """One run of one plan."""

    def __init__(
        self, plan: Plan, name: str, run: str, executor: Executor, journal: Journal, hold: Callable[[], None]
    ) -> None:
        self.plan = plan
        self.name = name
        self.run = run
        self.executor = executor
        self.journal = journal
        self.hold = hold
        self.outcomes: list[Outcome] = []

    def all(self) -> Migration:
        live = self.inspect()
        done, begun = _told(self.journal.journal(self.name))
        at = _place(self.plan, live, done, begun)
        self.write(None, "started", live, statement=to_text(self.plan))
        for number, step in enumerate(self.plan.steps):
            if number < at:
                self.skip(number, step, live)
            else:
                self.hold()
                live = self.step(number, step, live)
        live = self.inspect()
        differences = diff(self.plan.wanted, live.schema) if live else ()
        if not differences:
            self.write(None, "finished", live, statement=format_columns(self.plan.wanted))
        ran = any(outcome.state == "done" for outcome in self.outcomes)
        state: Literal["applied", "unchanged"] = "applied" if ran else "unchanged"
        return Migration(
            self.run, self.name, self.plan.table, state, tuple(self.outcomes), (), differences, live
        )

    def step(self, number: int, step: Step, live: Live | None) -> Live | None:
        if step.postcondition and self.holds(live, step.postcondition):
            self.skip(number, step, live)
            return live
        if not self.holds(live, step.precondition):
            raise self.stopped(number, StalePlan(f"{self.plan.table} was changed by someone else meanwhile"))
        self.write(number, "intent", live, step.statement)
        after = self.attempt(number, step)
        self.write(number, "done", after, step.statement)
        self.outcomes.append(Outcome(number, "done", step.statement, _version(after)))
        return after

    def attempt(self, number: int, step: Step) -> Live | None:
        """The table after the statement. What the table shows counts, not what the statement reported."""
        for left in reversed(range(_ATTEMPTS)):
            failure: StatementFailed | None = None
            try:
                self.executor.run(step.statement)
            except StatementFailed as error:
                failure = error
            live = self.inspect()
            if self.holds(live, step.postcondition) and (failure is None or step.postcondition):
                return live
            again = left and isinstance(failure, StatementConflict) and self.holds(live, step.precondition)
            if not again:
                fault = failure or PartlyApplied(_unexpected(step))
                self.write(number, "failed", live, step.statement, error=fault.message)
                raise self.stopped(number, fault)
        raise AssertionError("the last attempt returns or raises")

    def stopped(self, number: int, error: SchemamanError) -> Exception:
        if not self.outcomes and not isinstance(error, PartlyApplied):
            return error
        stopped = PartlyApplied(
            f"{self.plan.table}: stopped at step {number + 1} of {len(self.plan.steps)}: {error.message}",
            hint=f"`schemaman resume {self.run}` goes on from there, or plan again",
        )
        stopped.__cause__ = error
        return stopped

    def skip(self, number: int, step: Step, live: Live | None) -> None:
        self.write(number, "skipped", live, step.statement)
        self.outcomes.append(Outcome(number, "skipped", step.statement, _version(live)))

    def holds(self, live: Live | None, condition: Mapping[str, object]) -> bool:
        return holds(live, condition, self.ask)

    def ask(self, query: str) -> int:
        ((number,),) = self.executor.query(query)
        return int(str(number))

    def inspect(self) -> Live | None:
        return self.executor.inspect(self.plan.table, self.plan.format)

    def write(
        self,
        step: int | None,
        state: StepState | Literal["started", "finished"],
        live: Live | None,
        statement: str = "",
        error: str = "",
    ) -> None:
        target = target_id(self.plan.format, self.plan.table)
        line = Migrated(self.run, self.name, target, step, state, statement, _version(live), error)
        self.journal.write(line)


def _unexpected(step: Step) -> str:
    """Why a statement that ran is not the end of its step."""
    return f"{step.statement}: ran, and the table does not show it alone: someone else is changing it"


def _version(live: Live | None) -> str:
    return live.version if live else ""


def _told(lines: Sequence[Migrated]) -> tuple[int, int]:
    """How many steps of the plan are known to be done, and how many may be."""
    done = [line.step for line in lines if line.step is not None and line.state in ("done", "skipped")]
    begun = [line.step for line in lines if line.step is not None and line.state == "intent"]
    return max(done, default=-1) + 1, max([*done, *begun], default=-1) + 1


def _place(plan: Plan, live: Live | None, done: int, begun: int) -> int:
    """How many steps the table shows: none for the base, more only where this plan's journal agrees.

    Raises:
        StalePlan: it is another table, or it stands where this plan never left it.
    """
    if plan.base_identity is not None and (live is None or live.identity != plan.base_identity):
        raise StalePlan(
            f"{plan.table} is not the table that the plan was made for: it was dropped or made anew",
            hint=_REPLAN,
        )
    here = structure(live.schema if live else None)
    stands = structure(plan.base_schema)
    for number, step in enumerate((None, *plan.steps)):
        if step is not None:
            stands = _structure_after(step, stands)
        if stands == here and done <= number <= begun:
            return number
    raise StalePlan(_moved(plan, live), hint=_REPLAN)


_REPLAN = "make the plan again with `schemaman plan`"


def _structure_after(step: Step, before: str | None) -> str | None:
    after = step.postcondition.get("structure", before)
    return after if isinstance(after, str) else None


def _moved(plan: Plan, live: Live | None) -> str:
    if live is None:
        return f"{plan.table} is gone since the plan was made"
    if plan.base_schema is None:
        return f"{plan.table} exists since the plan was made"
    changes = "; ".join(words(change) for change in diff(plan.base_schema, live.schema))
    return f"{plan.table} moved since the plan was made: {changes or 'it is back where it began'}"
