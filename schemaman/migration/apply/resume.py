"""Finds the resume point of a plan from the structure of its table and from the journal.

Law: a plan is resumed only on a table that this plan itself left in its present state.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.errors import StalePlan
from schemaman.migration.conditions import fingerprint_structure, is_met
from schemaman.migration.layout import describe_layout_changes, layout_of
from schemaman.migration.plan import Plan, Step, describe_change
from schemaman.migration.target import LakeTable
from schemaman.model.diff import diff

REPLAN = "make the plan again with `schemaman plan`"


def find_resume_point(plan: Plan, lake: LakeTable | None, done: int, begun: int) -> int:
    """Find how many steps the table shows as done; more than none only if the journal agrees.

    Raises:
        StalePlan: it is another table, or it is in a state in which this plan never left it.
    """
    if plan.base_identity is not None and (lake is None or lake.identity != plan.base_identity):
        raise StalePlan(
            f"{plan.table} is not the table that the plan was made for: it was dropped or created again",
            hint=REPLAN,
        )
    structure = fingerprint_structure(lake.schema if lake else None)
    if not begun and _is_recreated(plan, lake):
        raise StalePlan(
            f"{plan.table} changed since the plan was made: its columns have the same names but other ids, "
            "so at least one column was dropped and created again",
            hint=REPLAN,
        )
    other = "" if begun else describe_layout_changes(plan.base_layout, layout_of(lake))
    if other:
        raise StalePlan(f"{plan.table} changed since the plan was made: {other}", hint=REPLAN)
    expected = fingerprint_structure(plan.base_schema)
    for number, step in enumerate((None, *plan.steps)):
        if step is not None:
            expected = _structure_after(step, expected)
        if expected == structure and done <= number <= begun:
            if not begun and lake and plan.base_schema and lake.schema.key != plan.base_schema.key:
                break
            return number
    raise StalePlan(describe_move(plan, lake), hint=REPLAN)


def count_steps_behind(plan: Plan, lake: LakeTable | None, done: int, begun: int) -> int:
    """Count the steps of a plan that were run on a table; the journal may lack the end of the last one.

    Rows do not show whether a backfill ran, so its undo must be repeatable.

    Raises:
        StalePlan: it is another table, or it is in a state in which this plan never left it.
    """
    if begun <= done:
        return done
    at = find_resume_point(plan, lake, done, begun)
    if at == begun:
        return at
    checked = {name: value for name, value in plan.steps[at].postcondition.items() if name != "counts"}
    return at + 1 if plan.steps[at].kind == "backfill" or (checked and is_met(lake, checked)) else at


def _is_recreated(plan: Plan, lake: LakeTable | None) -> bool:
    """Whether columns look the same but have other ids; False if one side has no ids."""
    if lake is None or fingerprint_structure(lake.schema) != fingerprint_structure(plan.base_schema):
        return False
    return bool(plan.base_column_ids and lake.column_ids) and plan.base_column_ids != lake.column_ids


def _structure_after(step: Step, before: str | None) -> str | None:
    after = step.postcondition.get("structure", before)
    return after if isinstance(after, str) else None


def describe_move(plan: Plan, lake: LakeTable | None) -> str:
    """Describe in words how a table differs from the one that the plan was made for."""
    if lake is None:
        return f"{plan.table} was dropped after the plan was made"
    if plan.base_schema is None:
        return f"{plan.table} was created after the plan was made"
    changes = "; ".join(describe_change(change) for change in diff(plan.base_schema, lake.schema))
    return (
        f"{plan.table} changed since the plan was made: {changes or 'its structure changed and changed back'}"
    )


def cut_plan(plan: Plan, at: int, lake: LakeTable | None) -> Plan:
    """Cut a plan: its steps from one number on, with the present table as its base."""
    return replace(
        plan,
        steps=plan.steps[at:],
        base_identity=lake.identity if lake else None,
        base_version=lake.version if lake else None,
        base_schema=lake.schema if lake else None,
        base_column_ids=lake.column_ids if lake else "",
        base_layout=layout_of(lake),
    )
