"""Builds the JSON document of `status`: the states of runs and targets, from journal and leases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from schemaman.history.open_questions import OpenQuestion
from schemaman.migration.apply.journal import is_forgotten, read_drift
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import read_known_plan
from schemaman.report.json.questions import build_questions
from schemaman.report.json.tables import SCHEMA_VERSION, Document
from schemaman.sink.waiting_records import WaitingRecords
from schemaman.store.log import Lease, MigrationEntry

State = Literal["finished", "running", "stopped", "failed"]
"""`running`: the lease is valid. `stopped`: no lease is valid, and the run's process died before the end."""


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of one run, from its journal lines; times are epoch milliseconds."""

    run: str
    plan: str
    target: str
    state: State
    steps_done: int
    began_ms: int
    last_ms: int
    error: str


@dataclass(frozen=True, slots=True)
class TargetState:
    """The state of one target: its newest run, its lease, and its drift.

    `source` is the version that its plan follows, such as `orders@3`. `steps` is None if the journal contains
    no plan that this release can read. `lease` is the valid lease. `drift` describes known drift, including
    drift that a run accepted, until the command `drift` has reported it.
    """

    target: str
    run: RunState
    source: str
    steps: int | None
    lease: Lease | None
    drift: str


def build_status(
    runs: Iterable[RunState],
    targets: Iterable[TargetState] = (),
    questions: Iterable[OpenQuestion] = (),
    waiting: Iterable[WaitingRecords] | None = None,
) -> Document:
    """The document of `status`, newest run last; `waiting` is None if no quarantine was named."""
    quarantine = [{**asdict(each), "command": each.command or None} for each in waiting or ()]
    return {
        "schema_version": SCHEMA_VERSION,
        "targets": [_build_target(t) for t in targets],
        "runs": [
            {
                "run": r.run,
                "plan": r.plan,
                "target": r.target,
                "state": r.state,
                "steps_done": r.steps_done,
                "began_ms": r.began_ms,
                "last_ms": r.last_ms,
                "error": r.error or None,
            }
            for r in runs
        ],
        "questions": build_questions(questions),
        **({} if waiting is None else {"quarantine": quarantine}),
    }


def list_followed_tables(targets: Iterable[TargetState]) -> tuple[str, ...]:
    """List the source tables that migrated targets follow, each once."""
    return tuple(dict.fromkeys(t.source.rpartition("@")[0] for t in targets if t.source))


def fold_run_states(
    journal: Sequence[tuple[int, MigrationEntry]], leases: Sequence[Lease] = (), now_ms: int = 0
) -> tuple[RunState, ...]:
    """The state of every run in a dated journal, in the order in which they began."""
    runs: dict[str, list[tuple[int, MigrationEntry]]] = {}
    for at_ms, line in journal:
        if line.plan:
            runs.setdefault(line.run, []).append((at_ms, line))
    newest = {lines[0][1].target: run for run, lines in runs.items()}
    held = {lease.target for lease in leases if lease.expires_ms > now_ms}
    alive = {run for target, run in newest.items() if target in held}
    return tuple(_build_run_state(lines, run in alive) for run, lines in runs.items())


def fold_target_states(
    journal: Sequence[tuple[int, MigrationEntry]], leases: Sequence[Lease], now_ms: int
) -> tuple[TargetState, ...]:
    """Returns the state of every target in a dated journal that was not forgotten, by name."""
    newest = {state.target: state for state in fold_run_states(journal, leases, now_ms)}
    alive = {lease.target: lease for lease in leases if lease.expires_ms > now_ms}
    plans: dict[str, Plan | None] = {}
    lines: dict[str, list[MigrationEntry]] = {}
    for _, line in journal:
        lines.setdefault(line.target, []).append(line)
        if line.state == "started" and line.run == newest[line.target].run:
            plans[line.target] = read_known_plan(line.statement)
    found_drifts = {target: read_drift(each) for target, each in lines.items()}
    drifts = {target: "; ".join(dict.fromkeys(filter(None, both))) for target, both in found_drifts.items()}
    kept = [target for target in sorted(newest) if not is_forgotten(lines[target])]
    return tuple(_build_target_state(newest[t], plans.get(t), alive, drifts) for t in kept)


def _build_target_state(
    run: RunState, plan: Plan | None, alive: Mapping[str, Lease], drifts: Mapping[str, str]
) -> TargetState:
    source = f"{plan.source.table}@{plan.source.version}" if plan else ""
    steps = len(plan.steps) if plan else None
    return TargetState(run.target, run, source, steps, alive.get(run.target), drifts.get(run.target, ""))


def _build_target(state: TargetState) -> Document:
    lease = state.lease
    return {
        "target": state.target,
        "source": state.source or None,
        "run": state.run.run,
        "plan": state.run.plan,
        "state": state.run.state,
        "steps_done": state.run.steps_done,
        "steps": state.steps,
        "lease": None
        if lease is None
        else {"id": lease.token, "owner": lease.owner, "until_ms": lease.expires_ms},
        "last_ms": state.run.last_ms,
        "error": state.run.error or None,
        "drift": state.drift or None,
    }


def _build_run_state(lines: Sequence[tuple[int, MigrationEntry]], alive: bool) -> RunState:
    first, last = lines[0][1], lines[-1][1]
    going: State = "running" if alive else "stopped"
    states: Mapping[str, State] = {"finished": "finished", "failed": "failed"}
    done = {line.step for _, line in lines if line.step is not None and line.state in ("done", "skipped")}
    return RunState(
        run=first.run,
        plan=first.plan,
        target=first.target,
        state=states.get(last.state, going),
        steps_done=len(done),
        began_ms=lines[0][0],
        last_ms=lines[-1][0],
        error=last.error,
    )
