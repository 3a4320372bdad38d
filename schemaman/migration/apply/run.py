"""One run of one plan: it finds the resume point, then runs a step at a time.

Laws: a step is run only if the table shows that it is due, and is done only if the table shows its result. A
run that a later one replaced notices it at its next inspection, or at its next line in the journal.

A step that only records properties of schemaman is sent right after a statement that succeeded, and so is
the key of a created table; one inspection checks both. If the table names this store already, a last step
that records properties also marks the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from schemaman.errors import (
    Locked,
    OtherStore,
    PartlyApplied,
    RowsUnready,
    SchemamanError,
    SessionLost,
    Stale,
    StalePlan,
    StatementConflict,
    StatementFailed,
    message_of,
)
from schemaman.migration.apply.engine_check import require_capable_engine
from schemaman.migration.apply.equality_deletes import require_undeleting_drops
from schemaman.migration.apply.journal import (
    Journal,
    count_progress,
    find_expected_table,
    is_in_progress,
    list_unrecorded_steps,
    target_id,
)
from schemaman.migration.apply.pending_lines import JournalledExecutor, PendingLines
from schemaman.migration.apply.resume import REPLAN, cut_plan, describe_move, resume_plan
from schemaman.migration.apply.run_mark import RunMark, follows_at_once
from schemaman.migration.conditions import find_unmet_query, is_met
from schemaman.migration.exchanged_names import check_names, refuse_exchanged_names
from schemaman.migration.layout import (
    LayoutChange,
    describe_layout_change,
    describe_layout_changes,
    find_layout_changes,
    layout_of,
    record_layout,
)
from schemaman.migration.plan import Plan, Step, describe_change
from schemaman.migration.plan_file import to_text
from schemaman.migration.properties.names import PLAN_PROPERTY, STORE_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.statement_check import read_moved_table
from schemaman.migration.target import TARGETS, Executor, LakeTable, query_number
from schemaman.migration.view_steps import (
    has_made_view,
    has_views,
    is_view_step,
    list_view_names,
    read_view_mark,
    without_views,
)
from schemaman.model.column_list import format_columns
from schemaman.model.diff import Diff, diff
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.store.log import MigrationEntry, RunState, StepState

Clock = Callable[[], int]
"""The time in epoch milliseconds."""

FRESH_MS = 250
"""The age up to which an inspection of the table need not be repeated."""

_ATTEMPTS = 3
_STATUS = "run `schemaman status`"


@dataclass(frozen=True, slots=True)
class Inspection:
    """A lake table as its executor showed it at a time (epoch ms), or shortly after it.

    `lines` is the number of lines that the journal had of its target by then.
    """

    lake: LakeTable | None
    at_ms: int
    lines: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one step: run now (`done`), done before (`skipped`), or to be run (`pending`)."""

    number: int
    state: Literal["done", "skipped", "pending"]
    statement: str
    version: str


@dataclass(frozen=True, slots=True)
class Migration(DisplayedValue):
    """The result of applying a plan.

    `refused`: nothing was run, `reasons` has the causes. `unchanged`: every step had been done before.
    `checked`: the plan could be applied now, and nothing was run. `differences` is empty if the table has the
    structure of the plan. `foreign` and `foreign_layout` are what others changed since the migration before.
    `lake_table` is the table afterwards. `took_ms` is the time from the first inspection to the last.
    """

    run: str
    plan: str
    table: str
    state: Literal["applied", "unchanged", "refused", "checked"]
    outcomes: tuple[Outcome, ...] = ()
    reasons: tuple[str, ...] = ()
    differences: Diff = ()
    lake_table: LakeTable | None = None
    foreign: Diff = ()
    notes: tuple[str, ...] = ()
    took_ms: int = 0
    foreign_layout: tuple[LayoutChange, ...] = ()

    def __repr__(self) -> str:
        done = sum(outcome.state == "done" for outcome in self.outcomes)
        steps = f"{done} of {count_noun(len(self.outcomes), 'step')} run"
        return f"<Migration {self.state}: {self.table}, {steps}, run {self.run}>"


@dataclass(frozen=True, slots=True)
class MigrationProgress:
    """The progress of a run: `done` of `steps` steps, and the present activity."""

    run: str
    table: str
    done: int
    steps: int
    activity: str


@dataclass(slots=True)
class ApplyOptions:
    """The options of a caller; see `apply`."""

    clock: Clock
    run: str
    store: str = ""
    take_over: bool = False
    rehearse: Callable[[Plan], None] | None = None
    report: Callable[[MigrationProgress], None] = field(default=lambda _: None)
    require_lease: Callable[[], None] = field(default=lambda: None)


class PlanRun:
    """One run of one plan."""

    def __init__(
        self, plan: Plan, name: str, executor: Executor, journal: Journal, options: ApplyOptions
    ) -> None:
        self.plan = plan
        self.text = to_text(plan)
        self.name = name
        self.journal = journal
        self.options = options
        self.target = target_id(plan.format, plan.table)
        self.outcomes: list[Outcome] = []
        self.foreign_layout: tuple[LayoutChange, ...] = ()
        self.notes: list[str] = []
        self.activity = "inspecting the table"
        self.inspection: Inspection | None = None
        self.inspected_ms = 0
        self.began_ms = options.clock()
        self.mark = RunMark(plan, name, options.store)
        self.lines = PendingLines(journal, self.set_fence)
        self.executor: Executor = JournalledExecutor(executor, self.lines)
        # The steps that were sent and whose end no line records, each with whether this run sent it.
        self.sent: dict[int, bool] = {}

    def run(self) -> Migration:
        """Run every step from the resume point on."""
        try:
            return self.run_steps()
        except Exception:
            with suppress(SchemamanError):  # the first error says more
                self.lines.write()
            raise

    def run_steps(self) -> Migration:
        """Run every step; the journal may still lack the last lines if this raises."""
        lake, at, foreign = self.inspect_state()
        if self.options.rehearse is not None and at < len(self.plan.steps):
            self.start_activity("trying the plan on a clone")
            self.options.rehearse(cut_plan(self.plan, at, lake))
        if not self.plan.steps and (lake is None or self.plan.refusals):
            return self.make_migration(
                "unchanged", lake, foreign
            )  # no migration, so the journal gets no line
        self.mark.begin(lake)
        self.add_line(None, "started", lake, self.text)
        described = [*map(describe_change, foreign), *map(describe_layout_change, self.foreign_layout)]
        if described:
            self.add_line(None, "drifted", lake, "; ".join(described))
        for number, step in enumerate(self.plan.steps):
            if number < at:
                self.skip_step(number, step, lake)
            elif is_view_step(self.plan.steps, number):
                self.run_view_step(number, step, lake)
            else:
                with self.report_partial(number):
                    lake = self.run_step(number, step, lake)
        with self.report_partial(len(self.plan.steps) - 1):
            return self.finish(lake, foreign)

    @contextmanager
    def report_partial(self, number: int) -> Iterator[None]:
        """Turn any error after the first step into `PartlyApplied`."""
        try:
            yield
        except (Stale, PartlyApplied):
            raise  # the message already has the progress
        except Exception as error:  # unforeseen errors too leave the plan partly applied
            if not self.outcomes:
                raise
            raise self.wrap_error(number, error) from error

    def finish(self, lake: LakeTable | None, foreign: Diff) -> Migration:
        """Return the result; the journal gets it if the table has the structure of the plan."""
        if self.options.clock() - self.inspected_ms > FRESH_MS:
            lake = self.inspect()
        if lake is None and self.plan.steps:
            raise PartlyApplied(f"{self.plan.table} was dropped during the run", hint=REPLAN)
        if self.plan.steps and not self.mark.is_shown(lake, STORE_PROPERTY, PLAN_PROPERTY):
            lake = self.claim(lake)
        differences = diff(self.plan.wanted, lake.schema) if lake else ()
        if not differences:
            line = self.make_line(None, "finished", lake, format_columns(self.plan.wanted))
            self.lines.add(replace(line, layout=tuple(self.record_layout(lake).items())))
        self.lines.write()
        ran = any(outcome.state == "done" for outcome in self.outcomes)
        state: Literal["applied", "unchanged"] = "applied" if ran else "unchanged"
        return self.make_migration(state, lake, foreign, differences)

    def check(self) -> Migration:
        """Return what a run would do, without running it."""
        lake, at, foreign = self.inspect_state()
        for number, step in enumerate(self.plan.steps):
            state: Literal["skipped", "pending"] = "skipped" if number < at else "pending"
            self.outcomes.append(Outcome(number, state, step.statement, ""))
        rest = self.plan.steps[at:]
        if (
            rest
            and not self.is_met(lake, rest[0].postcondition)
            and not self.is_met(lake, rest[0].precondition)
        ):
            raise self.explain_not_due(rest[0], lake, StalePlan(describe_move(self.plan, lake), hint=REPLAN))
        if rest and self.options.rehearse is not None:
            self.options.rehearse(cut_plan(self.plan, at, lake))
        self.mark.begin(lake)
        self.mark.set_fence("…")
        shown = self.plan.steps and self.mark.properties
        notes = (f"mark of the table: {self.mark.write_statement()}",) if shown else ()
        return replace(self.make_migration("checked", lake, foreign), notes=notes)

    def inspect_state(self) -> tuple[LakeTable | None, int, Diff]:
        """Inspect the table: it, the resume point, and what others changed since the last migration."""
        lake = self.inspect_first()
        self.require_ours(lake)
        before = self.journal.read_target_lines(self.target)
        own = [line for line in before if line.plan == self.name]
        self.sent = dict.fromkeys(list_unrecorded_steps(own), False)
        point = resume_plan(self.plan, lake, *count_progress(own))
        self.plan, at = point.plan, point.done
        require_undeleting_drops(self.plan, lake, at)
        require_capable_engine(self.plan, lake, at)
        if point.foreign:
            return lake, at, point.foreign
        expected = find_expected_table(before, self.plan.format, self.plan.table)
        if lake is None or expected is None or is_in_progress(before):
            return lake, at, ()
        self.require_names(lake, before)
        self.foreign_layout = find_layout_changes(expected.layout, self.record_layout(lake))
        return lake, at, diff(expected.structure, lake.schema)

    def inspect_first(self) -> LakeTable | None:
        """The table as the caller inspected it, if that was just now and no run has begun since."""
        given = self.inspection
        if given is None or self.options.clock() - given.at_ms > FRESH_MS:
            return self.inspect()
        if len(self.journal.read_target_lines(self.target)) != given.lines:
            return self.inspect()
        self.inspected_ms = given.at_ms
        return given.lake

    def record_layout(self, lake: LakeTable | None) -> Mapping[str, str]:
        """List the layout of the table; empty for a missing one."""
        return record_layout(TARGETS.get(self.plan.format), lake) if lake else {}

    def require_names(self, lake: LakeTable, lines: Sequence[MigrationEntry]) -> None:
        """Raises `StalePlan` if others exchanged names of columns since the last migration."""
        target = TARGETS.get(self.plan.format)
        refusal = refuse_exchanged_names(check_names(lines, lake), target, lake)
        if refusal is not None:
            raise StalePlan(f"{self.plan.table}: {refusal.reason}", hint=refusal.instead)

    def require_ours(self, lake: LakeTable | None) -> None:
        """Raises `OtherStore` for a table that belongs to another store."""
        keeper = read_record(lake.properties).store if lake else None
        if keeper and self.options.store and keeper != self.options.store and not self.options.take_over:
            raise OtherStore(
                f"{self.plan.table} belongs to the store {keeper}, and this store is {self.options.store}",
                hint="use that store with --store, or pass --take-over if it no longer exists",
            )

    def run_step(self, number: int, step: Step, lake: LakeTable | None) -> LakeTable | None:
        """Run one step, or skip it if it is done, and return the table after it."""
        self.start_activity(step.kind)
        began_ms = self.options.clock()
        self.options.require_lease()
        if self.options.clock() - self.inspected_ms > FRESH_MS:
            lake = self.inspect_again(number, lake)
        if step.postcondition and self.is_met(lake, step.postcondition):
            if self.sent.get(number):
                self.record_done(number, step, lake, began_ms)
            else:
                self.skip_step(number, step, lake)
            return lake
        self.require_due(number, step, lake)
        if step.kind == "rename-table":
            self.require_own_move(step)
        if "version" in step.precondition:
            self.mark.forget()  # a mark would be a commit before it, and the restored table has another
        elif lake is not None and not self.mark.is_set and not self.mark.comes_last:
            lake = self.claim(lake)
            self.require_due(number, step, lake)
        self.write_line(number, "intent", lake, step.statement)
        after = self.attempt(number, step, lake)
        self.record_done(number, step, after, began_ms)
        return after

    def record_done(self, number: int, step: Step, lake: LakeTable | None, began_ms: int) -> None:
        """Record a step that ran, whose result the table shows, and what it cost."""
        self.outcomes.append(Outcome(number, "done", step.statement, _version(lake)))
        line = self.make_line(number, "done", lake, step.statement)
        self.lines.add(replace(line, details=self.measure_cost(step, began_ms)))
        if self.mark.note(lake):
            self.add_line(None, "claimed", lake, self.mark.write_statement())

    def run_view_step(self, number: int, step: Step, lake: LakeTable | None) -> None:
        """Run the step of a view; a view that cannot be made stops nothing, and a note says so."""
        self.start_activity(step.kind)
        self.options.require_lease()
        began_ms = self.options.clock()
        try:
            self.require_own_views(step, lake)
            if step.postcondition and self.is_met(lake, step.postcondition):
                self.skip_step(number, step, lake)
                return
            if not self.is_met(lake, step.precondition):
                raise StatementFailed("others made or changed it since the plan was made")
            self.write_line(number, "intent", lake, step.statement)
            self.executor.run(step.statement)
        except SessionLost:
            raise
        except StatementFailed as error:
            self.write_line(number, "failed", lake, step.statement, error=error.message)
            self.outcomes.append(Outcome(number, "pending", step.statement, ""))
            views = ", ".join(list_view_names([step])) or step.statement
            self.notes.append(f"not made: {views}: {error.message}")
            return
        self.outcomes.append(Outcome(number, "done", step.statement, _version(lake)))
        line = self.make_line(number, "done", lake, step.statement)
        self.lines.add(replace(line, details=self.measure_cost(step, began_ms)))

    def require_own_views(self, step: Step, lake: LakeTable | None) -> None:
        """Require that runs on this table, or on one before it, made the views that a step replaces or drops.

        A plan file is text: it may name the view of another table.

        Raises:
            StatementFailed: another table has the view.
        """
        views = step.precondition.get("views")
        replaced = [name for name, mark in views.items() if mark] if isinstance(views, Mapping) else []
        tables, address = list[str](), self.plan.table
        while replaced and address and address not in tables:
            tables.append(address)
            lines = self.journal.read_target_lines(target_id(self.plan.format, address))
            replaced = [name for name in replaced if not has_made_view(lines, name)]
            before = read_record(lake.properties).predecessor if lake is not None else None
            address = before.table if before is not None else ""
            lake = self.executor.inspect(address, self.plan.format) if replaced and address else None
        if replaced:
            raise StatementFailed("no run on this table made it: drop it by hand to have it made anew")

    def require_own_move(self, step: Step) -> None:
        """Require that the table that a step moves follows the source of the plan.

        Raises:
            StalePlan: it follows another source, or others made it.
        """
        moved = read_moved_table(step)
        lake = self.executor.inspect(moved, self.plan.format)
        source = read_record(lake.properties).source if lake is not None else None
        if lake is not None and source != self.plan.source.table:
            raise StalePlan(
                f"{moved} does not follow {self.plan.source.table}, so it does not get the name "
                f"{self.plan.table}",
                hint="a table is moved by `schemaman sync` and by the sink alone",
            )

    def measure_cost(self, step: Step, began_ms: int) -> tuple[tuple[str, str], ...]:
        """Measure what a step cost: its time with its checks, and the rows and bytes that it wrote.

        A format that does not tell them, or a table that cannot be read, leaves them out.
        """
        cost = {"ms": max(0, self.options.clock() - began_ms)}
        if step.step_class == "needs-rewrite":
            with suppress(Exception):  # the step is done, whatever the measurement comes to
                cost |= TARGETS.get(self.plan.format).read_commit_cost(self.executor, self.plan.table)
        return tuple((name, str(number)) for name, number in cost.items())

    def inspect_again(self, number: int, before: LakeTable | None) -> LakeTable | None:
        """Inspect the table and check that its layout is unchanged, since no precondition has the layout."""
        lake = self.inspect()
        other = describe_layout_changes(layout_of(before), layout_of(lake))
        if other:
            raise self.wrap_error(number, StalePlan(f"others changed it during the run: {other}"))
        return lake

    def require_due(self, number: int, step: Step, lake: LakeTable | None) -> None:
        """Raises `StalePlan` or `PartlyApplied` if the table does not meet the precondition of the step."""
        if not self.is_met(lake, step.precondition):
            changed = StalePlan(f"{self.plan.table} was changed by others during the run")
            raise self.wrap_error(number, self.explain_not_due(step, lake, changed))
        try:
            require_undeleting_drops(replace(self.plan, steps=(step,)), lake, 0)
        except StalePlan as unreadable:
            raise self.wrap_error(number, unreadable) from unreadable

    def explain_not_due(self, step: Step, lake: LakeTable | None, otherwise: StalePlan) -> StalePlan:
        """Explain why a step is not due: by the query of its rows, else by the given error."""
        query = find_unmet_query(lake, step.precondition, partial(query_number, self.executor))
        message = f"{self.plan.table} is not ready: {query}"
        return otherwise if query is None else RowsUnready(message, hint=_SETTLE_ROWS)

    def attempt(self, number: int, step: Step, before: LakeTable | None) -> LakeTable | None:
        """Run the statement and return the table after it; the table decides, not the statement's report.

        Only a step without a postcondition, such as a namespace, is done by the report alone.
        """
        for remaining in reversed(range(_ATTEMPTS)):
            failure = self.run_statement(self.mark.complete_statement(number, step))
            if failure is None and not step.postcondition:
                return before
            try:
                if failure is None:
                    self.send_record(number, before)
                lake = self.inspect()
            except Locked as lost:
                sent = "the last statement was already sent; run `schemaman drift` to see its effect"
                raise Locked(f"{lost.message}; {sent}", hint=lost.hint) from lost
            except Exception as blind:
                raise self.wrap_error(number, PartlyApplied(f"{_SENT}: {message_of(blind)}")) from blind
            if self.is_met(lake, step.postcondition) and (failure is None or step.postcondition):
                return lake
            again = (
                remaining and isinstance(failure, StatementConflict) and self.is_met(lake, step.precondition)
            )
            if not again:
                fault = failure or PartlyApplied(_describe_unexpected(step))
                self.write_line(number, "failed", lake, step.statement, error=fault.message)
                raise self.wrap_error(number, fault)
        raise AssertionError("the last attempt returns or raises")

    def send_record(self, number: int, before: LakeTable | None) -> None:
        """Send the step after this one if it may follow at once; its own turn finds its failure."""
        if not follows_at_once(self.plan, number, before):
            return
        step = self.plan.steps[number + 1]
        self.options.require_lease()
        self.write_line(number + 1, "intent", before, step.statement)
        if self.run_statement(self.mark.complete_statement(number + 1, step)) is None:
            self.sent[number + 1] = True

    def claim(self, lake: LakeTable | None) -> LakeTable | None:
        """Mark the table, so that others see its run, and this run sees whether it was replaced."""
        if not self.mark.properties or lake is None:
            return lake
        self.lines.write()
        for remaining in reversed(range(_ATTEMPTS)):
            failure = self.run_statement(self.mark.write_statement())
            lake = self.executor.inspect(self.plan.table, self.plan.format)
            if self.mark.is_shown(lake):
                break
            if not remaining or not isinstance(failure, StatementConflict):
                raise failure or Locked(_describe_takeover(self.plan, lake), hint=_STATUS)
        self.mark.note(lake)
        self.inspected_ms = self.options.clock()
        self.add_line(None, "claimed", lake, self.mark.write_statement())
        self.lines.write()  # the journal shows whether the mark went over that of a later run
        return lake

    def is_met(self, lake: LakeTable | None, condition: Mapping[str, object]) -> bool:
        """Whether the table, and the views of a condition, meet a condition of a step."""
        if not is_met(lake, without_views(condition), partial(query_number, self.executor)):
            return False
        return has_views(condition, lambda name: read_view_mark(self.executor, name))

    def run_statement(self, statement: str) -> StatementFailed | None:
        """Run a statement and return its error, or None."""
        try:
            self.executor.run(statement)
        except StatementFailed as error:
            return error
        return None

    def wrap_error(self, number: int, error: Exception) -> Exception:
        """Return the error, or `PartlyApplied` with it if earlier steps were run."""
        if not self.outcomes and not isinstance(error, PartlyApplied):
            return error
        stopped = PartlyApplied(
            f"{self.plan.table}: stopped at step {number + 1} of {len(self.plan.steps)}: {message_of(error)}",
            hint=f"`schemaman resume {self.options.run}` continues from there; or plan again",
        )
        stopped.__cause__ = error
        return stopped

    def skip_step(self, number: int, step: Step, lake: LakeTable | None) -> None:
        """Record a step that the table already shows, as done if a killed run sent it and recorded no end."""
        self.add_line(number, "done" if number in self.sent else "skipped", lake, step.statement)
        self.outcomes.append(Outcome(number, "skipped", step.statement, _version(lake)))

    def inspect(self) -> LakeTable | None:
        """Inspect the table. Raises `Locked` if it has the mark of a later run."""
        lake = self.executor.inspect(self.plan.table, self.plan.format)
        self.inspected_ms = self.options.clock()
        if lake is not None and self.mark.is_replaced(lake):
            raise Locked(_describe_takeover(self.plan, lake), hint=_STATUS)
        return lake

    def make_migration(
        self,
        state: Literal["applied", "unchanged", "checked"],
        lake: LakeTable | None,
        foreign: Diff,
        differences: Diff = (),
    ) -> Migration:
        """Make the result so far."""
        return Migration(
            self.options.run, self.name, self.plan.table, state, tuple(self.outcomes), (), differences, lake,
            foreign, tuple(self.notes), self.options.clock() - self.began_ms, self.foreign_layout,
        )  # fmt: skip

    def start_activity(self, doing: str) -> None:
        """Set the present activity and report it."""
        self.activity = doing
        self.report_progress()

    def report_progress(self) -> None:
        """Report the progress to the caller."""
        steps = len(self.plan.steps)
        self.options.report(
            MigrationProgress(self.options.run, self.plan.table, len(self.outcomes), steps, self.activity)
        )

    def set_fence(self, number: int) -> None:
        """Set the number of the run, which the journal gave to its first line."""
        self.mark.set_fence(f"{number} {self.options.run}")

    def write_line(
        self, step: int, state: StepState, lake: LakeTable | None, text: str, error: str = ""
    ) -> None:
        """Write a line to the journal, with all before it."""
        self.lines.add(self.make_line(step, state, lake, text, error))
        self.lines.write()

    def add_line(
        self, step: int | None, state: StepState | RunState, lake: LakeTable | None, text: str
    ) -> None:
        """Add a line, which the journal has before the engine is called next, or at the end of the run."""
        self.lines.add(self.make_line(step, state, lake, text))

    def make_line(
        self,
        step: int | None,
        state: StepState | RunState,
        lake: LakeTable | None,
        text: str,
        error: str = "",
    ) -> MigrationEntry:
        """Make a line of the journal."""
        return MigrationEntry(
            self.options.run, self.name, self.target, step, state, text, _version(lake), error
        )


_SENT = "the statement was sent, but the table cannot be read to see its effect"
_SETTLE_ROWS = "correct those rows, then plan again; this step was not run"


def _describe_takeover(plan: Plan, lake: LakeTable | None) -> str:
    other = read_record(lake.properties).plan if lake else ""
    return f"{plan.table} has the mark of another run, of plan {other[:12]}, which took it over"


def _describe_unexpected(step: Step) -> str:
    """Explain why a step is not done although its statement ran."""
    return f"{step.statement}: it ran, but the table is not as expected: others are changing it"


def _version(lake: LakeTable | None) -> str:
    return lake.version if lake else ""
