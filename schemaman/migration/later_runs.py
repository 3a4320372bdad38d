"""The runs on a lake table that are in effect: begun, and not taken back since.

Law: a rollback that has finished takes its run back. The rollback of a rollback brings the run into effect
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from schemaman.migration.plan import Plan
from schemaman.store.log import MigrationEntry

_ROLLBACK = "rollback"


def list_later_runs(lines: Sequence[MigrationEntry], plan: str) -> tuple[str, ...]:
    """List the runs in effect that began after a plan, newest first: they are taken back before it.

    `lines` are those of one lake table in order, `plan` is a hash.
    """
    first = next((n for n, line in enumerate(lines) if line.plan == plan), len(lines))
    earlier = {line.plan for line in lines[: first + 1]}
    in_effect, _ = _sort_runs(lines)
    return tuple(run for other, run in reversed(in_effect.items()) if other not in earlier)


def find_rollback(lines: Sequence[MigrationEntry], plan: str) -> str:
    """Find the run that has taken a plan back; empty if the plan is in effect, or changed nothing."""
    _, taken_back = _sort_runs(lines)
    return taken_back.get(plan, "")


def _sort_runs(lines: Sequence[MigrationEntry]) -> tuple[dict[str, str], dict[str, str]]:
    """Sort plans by whether they are in effect: those with their first run, others with their rollback.

    Runs that changed nothing are left out, and so are rollbacks.
    """
    changed = {line.run for line in lines if line.step is not None and line.state in ("done", "intent")}
    in_effect: dict[str, str] = {}
    first_runs: dict[str, str] = {}
    taken_back: dict[str, str] = {}
    undone: dict[str, str] = {}
    for line in lines:
        if line.state == "started" and line.run in changed:
            first_runs.setdefault(line.plan, line.run)
            follows = _find_undone(line.statement)
            if follows is None:
                in_effect.setdefault(line.plan, line.run)
            else:
                undone[line.plan] = follows
        elif line.state == "finished" and line.plan in undone:
            plan = undone[line.plan]
            if plan in undone:  # the rollback of a rollback
                plan = undone[plan]
                taken_back.pop(plan, None)
                in_effect[plan] = first_runs.get(plan, line.run)
            else:
                in_effect.pop(plan, None)
                taken_back[plan] = line.run
    return in_effect, taken_back


def _find_undone(text: str) -> str | None:
    """Find the hash of the plan that a rollback takes back; None for another plan."""
    plan: Plan | None = import_module("schemaman.migration.plan_file").read_known_plan(text)
    if plan is None or plan.phase is None or plan.phase.name != _ROLLBACK:
        return None
    return plan.phase.follows or ""
