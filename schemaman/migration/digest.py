"""The digest: what the log says of a time, for people who were not there.

Laws: the log is the only source. Each line of the journal after the position is in one digest entry, and none
before it is. The digest lists what waits at its end, whenever it began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from schemaman.history.open_questions import OpenQuestion
from schemaman.history.recorded_table import RecordedTable
from schemaman.history.versions import TableEvent, TableHistory
from schemaman.migration.apply.waiting import Waiting
from schemaman.migration.later_runs import find_rollback, list_later_runs
from schemaman.migration.plan import Plan, Step
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.store.log import MigrationEntry

DigestStepState = Literal["done", "skipped", "failed", "sent"]
"""`skipped`: the table showed its result already. `sent`: no line says whether it was committed."""
DigestRunState = Literal["finished", "running", "stopped", "failed"]
_ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step cost: its milliseconds with its checks, and the rows and bytes that it wrote.

    None is unknown: the format tells nothing, or an older release wrote the line.
    """

    ms: int | None = None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that a step asked of the rows before it ran, and the number that it gave."""

    query: str
    result: int


@dataclass(frozen=True, slots=True)
class StepDigest:
    """A step of a run, numbered from 0. `kind` is empty and `checks` are unknown without a readable plan.

    `rewrites`: the step writes rows, so that rows and bytes belong to its cost.
    """

    number: int
    state: DigestStepState
    statement: str
    kind: str = ""
    checks: tuple[CheckedQuery, ...] = ()
    cost: StepCost = StepCost()
    rewrites: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class WayBack:
    """How a run is taken back: the run to name, and what prevents it, empty for nothing.

    `after` are later runs on the table, newest first, which are taken back before.
    """

    run: str
    obstacle: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunDigest:
    """What one run did in the time; `source` is the version that its plan follows, such as `orders@3`.

    `earlier_steps` counts the steps that were done before the time. `notes` are those of the plan.
    `asked` is what needed an approval, which a person or the profile gave. `way_back` is None for a run that
    changed nothing.
    """

    run: str
    plan: str
    target: str
    table: str
    source: str
    state: DigestRunState
    began_ms: int
    last_ms: int
    steps: tuple[StepDigest, ...] = ()
    earlier_steps: int = 0
    phase: str = ""
    notes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    error: str = ""
    way_back: WayBack | None = None


@dataclass(frozen=True, slots=True)
class ForeignChange:
    """What others changed in a lake table; `is_settled`: the table is as the last migration left it again."""

    at_ms: int
    target: str
    text: str
    is_settled: bool = False


@dataclass(frozen=True, slots=True)
class SourceDigest:
    """What changed at the source in one table: its history now, and the numbers of versions by what happened.

    `revisions` are the numbers of new revisions, as `3` or `3.1`, also of `new` versions. `confirmed`
    versions were provisional before. `events` are those of the whole table that are new. `is_new`: the table
    was not known before.
    """

    history: TableHistory
    new: tuple[int, ...] = ()
    revisions: tuple[str, ...] = ()
    confirmed: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    events: tuple[TableEvent, ...] = ()
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class WaitingDigest:
    """What waits at the end of the time, with the time since when it is known (epoch ms)."""

    since_ms: int
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class Digest(DisplayedValue):
    """What happened from `since_ms` to `until_ms` (epoch ms), and what waits at the end."""

    since_ms: int
    until_ms: int
    sources: tuple[SourceDigest, ...] = ()
    runs: tuple[RunDigest, ...] = ()
    foreign: tuple[ForeignChange, ...] = ()
    waiting: tuple[WaitingDigest, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()

    def __repr__(self) -> str:
        counts = (
            count_noun(len(self.sources), "changed table"),
            count_noun(len(self.runs), "run"),
            f"{len(self.waiting) + len(self.questions)} waiting",
        )
        return f"<Digest: {', '.join(counts)}>"


DatedLine = tuple[int, int, MigrationEntry]
"""A line of the journal with its place in the log and the time when it was written (epoch ms)."""


def digest_sources(tables: Iterable[RecordedTable]) -> tuple[SourceDigest, ...]:
    """List the tables in which something changed at the source; more records alone are no change."""
    found = []
    for table in tables:
        before, after = table.before, table.after
        if after is None:
            continue
        known = before.events if before is not None else ()
        digest = SourceDigest(
            after,
            tuple(version.number for version in table.new),
            table.new_revisions,
            tuple(version.number for version in table.confirmed),
            tuple(version.number for version in table.removed),
            tuple(event for event in after.events if event not in known),
            before is None,
        )
        if digest.revisions or digest.confirmed or digest.removed or digest.events:
            found.append(digest)
    return tuple(found)


def digest_runs(lines: Sequence[DatedLine], after: int, held: Collection[str] = ()) -> tuple[RunDigest, ...]:
    """Digest the runs with lines after a position, in the order in which they began.

    Args:
        lines: the whole journal, in order.
        after: the position in the log.
        held: targets with a valid lease, whose newest run goes on.
    """
    runs: dict[str, list[DatedLine]] = {}
    for dated in lines:
        if dated[2].plan:
            runs.setdefault(dated[2].run, []).append(dated)
    newest = {each[0][2].target: run for run, each in runs.items()}
    journals: dict[str, list[MigrationEntry]] = {}
    for _, _, line in lines:
        journals.setdefault(line.target, []).append(line)
    found = []
    for run, each in runs.items():
        recent = [dated for dated in each if dated[0] > after]
        if recent:
            target = each[0][2].target
            is_running = target in held and newest[target] == run
            found.append(_digest_run(each, recent, journals[target], is_running))
    return tuple(found)


def digest_foreign(lines: Iterable[DatedLine], after: int) -> tuple[ForeignChange, ...]:
    """List what others changed, as lines after a position say, in order."""
    return tuple(
        ForeignChange(at_ms, line.target, line.statement, line.state == "settled")
        for sequence, at_ms, line in lines
        if sequence > after and line.state in ("drifted", "settled")
    )


def _digest_run(
    every: Sequence[DatedLine],
    recent: Sequence[DatedLine],
    journal: Sequence[MigrationEntry],
    is_running: bool,
) -> RunDigest:
    first, last = every[0][2], every[-1][2]
    text = next((line.statement for _, _, line in every if line.state == "started" and line.statement), "")
    plan: Plan | None = import_module("schemaman.migration.plan_file").read_known_plan(text)
    steps = _digest_steps(plan, recent)
    numbers = {step.number for step in steps}
    done = {line.step for _, _, line in every if line.step is not None and line.state == "done"}
    earlier = {
        line.step for _, _, line in every if line.step is not None and line.state in ("done", "skipped")
    } - numbers
    states: Mapping[str, DigestRunState] = {"finished": "finished", "failed": "failed"}
    going: DigestRunState = "running" if is_running else "stopped"
    return RunDigest(
        first.run,
        first.plan,
        first.target,
        plan.table if plan else first.target.partition(":")[2],
        f"{plan.source.table}@{plan.source.version}" if plan else "",
        states.get(last.state, going),
        every[0][1],
        every[-1][1],
        steps,
        len(earlier),
        plan.phase.name if plan and plan.phase else "",
        plan.notes if plan else (),
        plan.approvals_needed if plan else (),
        last.error,
        _find_way_back(first, plan, done, journal) if done else None,
    )


def _digest_steps(plan: Plan | None, recent: Sequence[DatedLine]) -> tuple[StepDigest, ...]:
    """Digest the steps of a run in order; the last line of a step decides its state."""
    found: dict[int, StepDigest] = {}
    states: Mapping[str, DigestStepState] = {
        "done": "done", "skipped": "skipped", "failed": "failed", "intent": "sent",
    }  # fmt: skip
    for _, _, line in recent:
        if line.step is None or line.state not in states:
            continue
        step = plan.steps[line.step] if plan and line.step < len(plan.steps) else None
        found[line.step] = StepDigest(
            line.step,
            states[line.state],
            line.statement,
            step.kind if step else "",
            tuple(_list_checks(step)) if step and line.state == "done" else (),
            _read_cost(line),
            step is not None and step.step_class == "needs-rewrite",
            line.error,
        )
    return tuple(found[number] for number in sorted(found))


def _list_checks(step: Step) -> Iterable[CheckedQuery]:
    """List the queries of a step that ran: it ran only since each gave this number."""
    counts = step.precondition.get("counts")
    after = step.postcondition.get("counts")
    for found in (counts, after):
        if isinstance(found, Mapping):
            yield from (CheckedQuery(str(query), int(str(number))) for query, number in found.items())


def _read_cost(line: MigrationEntry) -> StepCost:
    details = dict(line.details)
    ms, rows, size = (
        int(details[name]) if details.get(name, "").isdecimal() else None for name in ("ms", "rows", "bytes")
    )
    return StepCost(ms, rows, size)


def _find_way_back(
    first: MigrationEntry, plan: Plan | None, done: Collection[int], journal: Sequence[MigrationEntry]
) -> WayBack:
    """Find how a run is taken back; only the table itself shows whether rows stand in the way.

    `first` is the first line of the run, `journal` has those of its lake table.
    """
    run, later = first.run, list_later_runs(journal, first.plan)
    taken_back = find_rollback(journal, first.plan)
    if taken_back:
        return WayBack(run, f"run {taken_back} has taken it back", later)
    if plan is None:
        return WayBack(run, "its plan is of another release", later)
    if plan.phase is not None and plan.phase.name == _ROLLBACK:
        return WayBack(run, "the next ordinary plan makes the changes again", later)
    steps = [plan.steps[number] for number in sorted(done) if number < len(plan.steps)]
    if any(step.kind == "create-table" for step in steps):
        made = "it created the table, and rows may be needed: check them before you drop it"
        return WayBack(run, made, later)
    final = next((step for step in steps if not _is_undone(step)), None)
    return WayBack(run, "" if final is None else f"no statement undoes: {final.statement}", later)


def _is_undone(step: Step) -> bool:
    """Whether a rollback undoes a step, or leaves what does no harm."""
    if step.undo is not None or step.kind == "create-namespace":
        return True
    rollback = import_module("schemaman.migration.rollback")  # only a digest needs the planner's recipes
    return bool(rollback.describe_staying(step))
