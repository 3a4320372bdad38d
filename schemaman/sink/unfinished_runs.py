"""Finds the plan of a run that was killed between two steps.

Law: a kill loses no step of a plan, such as Iceberg's identifier fields of a new table, and what the plan did
before and after the kill is one plan, which a rollback takes back as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text
from schemaman.store.log import MigrationEntry


def find_unfinished_plan(lines: Sequence[MigrationEntry]) -> Plan | None:
    """Find the plan of the newest run of a lake table, if it sent a statement and neither ended nor failed.

    `lines` are those of the table in the journal. Recipes are left out, but for splits and new tables: each
    phase of a recipe is planned anew by what the table shows. So are moves, which are of another table.
    """
    sent = False
    for line in (line for line in reversed(lines) if line.plan):
        if line.state in ("finished", "failed"):
            return None
        sent = sent or line.state == "intent"
        if line.state == "started":
            plan = from_text(line.statement) if sent else None
            return plan if plan is not None and _is_resumed(plan) else None
    return None


def _is_resumed(plan: Plan) -> bool:
    kinds = {step.kind for step in plan.steps}
    is_recipe = plan.phase is not None and plan.phase.name != "split"
    return "create-table" in kinds or (not is_recipe and "rename-table" not in kinds)
