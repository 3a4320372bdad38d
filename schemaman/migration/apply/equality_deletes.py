"""Refuses the remaining drops of a plan whose columns delete files name by now.

Writers such as Flink add delete files at any time, without a change of structure or layout. So the plan's own
check is repeated on the table before the first statement, and before each drop.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.errors import StalePlan
from schemaman.migration.layout import apply_changes
from schemaman.migration.plan import Plan, Refusal
from schemaman.migration.statement_check import find_structure_after, read_step_changes
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.model.diff import DropColumn


def require_undeleting_drops(plan: Plan, lake: LakeTable | None, at: int) -> None:
    """Require that no step from `at` on drops a column whose values in a delete file delete rows.

    The table has the structure before that step. Renames of the plan on the way are followed.

    Raises:
        StalePlan: a step would drop such a column; the hint says how the delete files go.
    """
    if lake is None or not lake.equality_deletes:
        return
    target = TARGETS.get(plan.format)
    for step in plan.steps[at:]:
        changes = read_step_changes(plan, step, lake.schema)
        # Without key and layout nothing but the delete files refuses a drop.
        bare = replace(lake.schema, key=())
        deleting = LakeTable(lake.name, bare, "", "", equality_deletes=lake.equality_deletes)
        for drop in (change for change in changes if isinstance(change, DropColumn)):
            answer = target.draft_change(deleting, drop)
            if isinstance(answer, Refusal):
                raise StalePlan(f"{plan.table}: {answer.change}: {answer.reason}", hint=answer.instead)
        lake = apply_changes(lake, find_structure_after(plan, step, lake.schema), changes)
