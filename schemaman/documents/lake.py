"""Migrations, their journal and drift as the JSON that scripts read: `apply`, `status`, `drift`.

The document of `plan` is the plan file itself, see `planfile`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemaman.applying import Migration
from schemaman.diff import Diff
from schemaman.documents.changes import change
from schemaman.documents.tables import SCHEMA_VERSION, Document
from schemaman.log import Migrated


@dataclass(frozen=True, slots=True)
class RunState:
    """Where one run stands, folded from its journal lines; times are epoch milliseconds.

    `state`: `finished`, `running` (or died: nobody can tell from the journal alone) or `failed`.
    """

    run: str
    plan: str
    target: str
    state: str
    steps_done: int
    began_ms: int
    last_ms: int
    error: str


@dataclass(frozen=True, slots=True)
class Drift:
    """What someone else changed on one target table; `gone` if it is there no more."""

    format: str
    table: str
    changes: Diff
    gone: bool = False

    @property
    def found(self) -> bool:
        """Whether the table is not as the last migration left it."""
        return self.gone or bool(self.changes)


def apply(done: Migration) -> Document:
    """The document of `apply` and `resume`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": done.run,
        "plan": done.plan,
        "table": done.table,
        "state": done.state,
        "steps": [
            {"step": o.number, "state": o.state, "statement": o.statement, "version": o.version}
            for o in done.outcomes
        ],
        "reasons": list(done.reasons),
        "differences": [change(c) for c in done.differences],
    }


def status(runs: Iterable[RunState]) -> Document:
    """The document of `status`, newest run last."""
    return {
        "schema_version": SCHEMA_VERSION,
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
    }


def drift(found: Iterable[Drift]) -> Document:
    """The document of `drift`: every table that was looked at."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tables": [
            {
                "format": d.format,
                "table": d.table,
                "drift": d.found,
                "gone": d.gone,
                "changes": [change(c) for c in d.changes],
            }
            for d in found
        ],
    }


def run_states(journal: Sequence[tuple[int, Migrated]]) -> tuple[RunState, ...]:
    """The state of every run in a dated journal, in the order in which they began."""
    runs: dict[str, list[tuple[int, Migrated]]] = {}
    for at_ms, line in journal:
        runs.setdefault(line.run, []).append((at_ms, line))
    return tuple(_run_state(lines) for lines in runs.values())


def _run_state(lines: Sequence[tuple[int, Migrated]]) -> RunState:
    first, last = lines[0][1], lines[-1][1]
    states = {"finished": "finished", "failed": "failed"}
    done = {line.step for _, line in lines if line.step is not None and line.state in ("done", "skipped")}
    return RunState(
        run=first.run,
        plan=first.plan,
        target=first.target,
        state=states.get(last.state, "running"),
        steps_done=len(done),
        began_ms=lines[0][0],
        last_ms=lines[-1][0],
        error=last.error,
    )
