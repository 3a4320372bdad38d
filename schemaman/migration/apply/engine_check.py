"""Checks before the first statement that the engine of a table can run every statement of a plan.

Plans are made for the Spark that read the table. Law: what an older Spark cannot run is refused before
anything is run, so that it never stops a plan in the middle.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.errors import StalePlan
from schemaman.migration.alterations import alters_at_once, split_alteration
from schemaman.migration.plan import Plan, Refusal, Step
from schemaman.migration.statement_check import find_structure_after, read_step_changes
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.model.diff import ChangeType
from schemaman.model.schema import walk_fields

_HINT = "make the plan again with `schemaman plan` on this Spark, or apply it on the newer one"


def require_capable_engine(plan: Plan, lake: LakeTable | None, at: int) -> None:
    """Require that the engine which read a table can run the steps of a plan from number `at` on.

    Raises:
        StalePlan: a step alters several columns at once, or changes a type as this engine does not.
    """
    if lake is None or alters_at_once(lake):
        return
    for step in plan.steps[at:]:
        if len(split_alteration(step)) > 1:
            reason = f"Spark {lake.spark_major} alters one column in a statement: {step.statement}"
            raise StalePlan(f"{plan.table}: the plan was made on a newer Spark; {reason}", hint=_HINT)
        refusal = _refuse_type(plan, step, lake)
        if refusal is not None:
            reason = f"{refusal.change}: {refusal.reason}"
            raise StalePlan(f"{plan.table}: the plan was made on a newer Spark; {reason}", hint=_HINT)
        lake = replace(lake, schema=find_structure_after(plan, step, lake.schema))


def _refuse_type(plan: Plan, step: Step, lake: LakeTable) -> Refusal | None:
    """The refusal of a change of a type that the engine does not make."""
    types = {path: type for path, type, _ in walk_fields(lake.schema)}
    for change in read_step_changes(plan, step, lake.schema):
        if isinstance(change, ChangeType) and change.path in types:
            drafted = TARGETS.get(plan.format).draft_change(lake, replace(change, old=types[change.path]))
            if isinstance(drafted, Refusal):
                return drafted
    return None
