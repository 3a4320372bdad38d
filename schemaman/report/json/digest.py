"""Builds the JSON document of `digest`.

Law: a member that is unknown is null, and never 0. Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schemaman.migration.digest import (
    Digest,
    ForeignChange,
    RunDigest,
    SourceDigest,
    StepCost,
    StepDigest,
    WaitingDigest,
    WayBack,
)
from schemaman.model.diff import Change
from schemaman.model.shell import build_command
from schemaman.report.json.changes import build_change
from schemaman.report.json.questions import build_questions
from schemaman.report.json.tables import SCHEMA_VERSION, Document, Json

SourceChanges = Sequence[tuple[SourceDigest, Sequence[tuple[str, Sequence[Change]]]]]
"""Each changed table, and the changes of each of its new and changed versions, by the version's number."""


def build_digest(digest: Digest, sources: SourceChanges) -> Document:
    """The document of `digest`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "since_ms": digest.since_ms,
        "until_ms": digest.until_ms,
        "source": [_build_source(*each) for each in sources],
        "runs": [_build_run(run) for run in digest.runs],
        "foreign": [_build_foreign(each) for each in digest.foreign],
        "cost": build_cost(sum_costs(step.cost for run in digest.runs for step in run.steps)),
        "waiting": [
            *map(_build_waiting, digest.waiting),
            *map(_build_stopped, list_stopped(digest)),
        ],
        "questions": build_questions(digest.questions),
    }


def list_stopped(digest: Digest) -> tuple[RunDigest, ...]:
    """List the runs that stopped half-way and are the newest of their tables."""
    newest = {run.target: run for run in digest.runs if not is_untouched(run)}
    return tuple(run for run in newest.values() if run.state in ("stopped", "failed"))


def is_untouched(run: RunDigest) -> bool:
    """Whether a run ended before its first step, as when a check of the rows did not hold."""
    return run.state == "stopped" and not run.steps and not run.earlier_steps


def sum_costs(costs: Iterable[StepCost]) -> StepCost:
    """Sum costs; a number that no step has is unknown."""
    every = tuple(costs)

    def add(numbers: Iterable[int | None]) -> int | None:
        known = [number for number in numbers if number is not None]
        return sum(known) if known else None

    return StepCost(add(c.ms for c in every), add(c.rows for c in every), add(c.bytes for c in every))


def build_cost(cost: StepCost) -> Document:
    """A cost; null for what is unknown."""
    return {"ms": cost.ms, "rows": cost.rows, "bytes": cost.bytes}


def build_way_back(way: WayBack) -> str:
    """The command that takes a run back."""
    return build_command(("plan",), (), "--rollback", way.run, "-o", "back.plan.json")


def _build_source(source: SourceDigest, stages: Sequence[tuple[str, Sequence[Change]]]) -> Document:
    versions = {v.number: v for v in source.history.versions}
    found: list[Json] = []
    for number, changes in stages:
        version = versions[int(number.partition(".")[0])]
        found.append(
            {
                "version": number,
                "id": version.id,
                "status": version.status,
                "is_new": version.number in source.new,
                "source_ms": version.at.ts_ms,
                "changes": [build_change(change) for change in changes],
            }
        )
    return {
        "table": str(source.history.table),
        "is_new": source.is_new,
        "versions": found,
        "confirmed": list(source.confirmed),
        "removed": list(source.removed),
        "events": [
            {"kind": e.kind, "other": None if e.other is None else str(e.other)} for e in source.events
        ],
    }


def _build_run(run: RunDigest) -> Document:
    way = run.way_back
    return {
        "run": run.run,
        "plan": run.plan,
        "target": run.target,
        "lake_table": run.table,
        "source": run.source or None,
        "state": run.state,
        "phase": run.phase or None,
        "began_ms": run.began_ms,
        "last_ms": run.last_ms,
        "earlier_steps": run.earlier_steps,
        "steps": [_build_step(step) for step in run.steps],
        "cost": build_cost(sum_costs(step.cost for step in run.steps)),
        "approved": list(run.asked),
        "notes": list(run.notes),
        "error": run.error or None,
        "rollback": None
        if way is None
        else {"command": build_way_back(way), "obstacle": way.obstacle or None, "after": list(way.after)},
    }


def _build_step(step: StepDigest) -> Document:
    return {
        "step": step.number,
        "kind": step.kind or None,
        "state": step.state,
        "statement": step.statement,
        "checks": [{"query": check.query, "result": check.result} for check in step.checks],
        "cost": build_cost(step.cost),
        "error": step.error or None,
    }


def _build_foreign(change: ForeignChange) -> Document:
    return {
        "at_ms": change.at_ms,
        "target": change.target,
        "changes": change.text or None,
        "settled": change.is_settled,
    }


def _build_waiting(found: WaitingDigest) -> Document:
    waiting = found.waiting
    return _build_item(
        waiting.state,
        table=waiting.source or None,
        target=waiting.target,
        records=waiting.records,
        since_ms=found.since_ms,
        reason=waiting.reason,
        command=waiting.command or None,
    )


def _build_stopped(run: RunDigest) -> Document:
    return _build_item(
        "stopped",
        table=run.source.rpartition("@")[0] or None,
        target=run.target,
        since_ms=run.last_ms,
        reason=run.error or "the run stopped before its end",
        command=build_command(("resume",), (run.run,)),
    )


def _build_item(state: str, **facts: Json) -> Document:
    """Something that waits; every member is there."""
    empty: Document = dict.fromkeys(("table", "target", "records", "since_ms", "reason", "command"))
    return {"state": state, **empty, **facts}
