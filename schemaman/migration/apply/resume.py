"""Finds the resume point of a plan from the structure of its table and from the journal.

Law: a plan is resumed only on a table that this plan itself left in its present state. There is one
exception: between two names of a column no other plan can go on, so changes of other columns do not stop it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from schemaman.errors import StalePlan
from schemaman.migration.conditions import fingerprint_structure, is_met
from schemaman.migration.layout import describe_layout_changes, layout_of
from schemaman.migration.plan import Plan, Step, describe_change, find_point_of_no_return
from schemaman.migration.properties.column_swaps import is_between_names, suggest_resume
from schemaman.migration.statement_check import find_structure_after
from schemaman.migration.target import LakeTable
from schemaman.migration.view_steps import without_views
from schemaman.model.diff import Change, ChangeComment, ChangeKey, Diff, MoveColumn, RenameColumn, diff
from schemaman.model.schema import TableSchema

REPLAN = "make the plan again with `schemaman plan`"


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The place where a plan goes on: the plan as it fits the table, and how many steps are done.

    `foreign` is what others changed beside the columns of the plan.
    """

    plan: Plan
    done: int
    foreign: Diff = ()


def resume_plan(plan: Plan, lake: LakeTable | None, done: int, begun: int) -> ResumePoint:
    """Find where a plan goes on; see `find_resume_point`. It fits a plan that stopped between two names.

    Raises:
        StalePlan: it is another table, or others changed what the plan changes.
    """
    try:
        return ResumePoint(plan, find_resume_point(plan, lake, done, begun))
    except StalePlan:
        own = lake is not None and lake.identity == plan.base_identity and plan.base_schema is not None
        if lake is None or not own or not begun or not is_between_names(lake):
            raise
    return _fit_plan(plan, lake, done, begun)


def _fit_plan(plan: Plan, lake: LakeTable, done: int, begun: int) -> ResumePoint:
    """Fit the remaining steps of a plan to a table that others changed beside its columns."""
    assert plan.base_schema is not None
    states = [plan.base_schema]
    for step in plan.steps:
        states.append(find_structure_after(plan, step, states[-1]))
    touched = {name.lower() for step in plan.steps for name in _list_touched(step)}
    numbers = range(done, begun + 1)
    foreign = {at: diff(states[at], lake.schema) for at in numbers}
    collisions = {at: [c for c in foreign[at] if _touches(c, touched)] for at in numbers}
    at = min(numbers, key=lambda number: len(collisions[number]))
    if collisions[at]:
        changes = "; ".join(map(describe_change, collisions[at]))
        text = f"the run stopped between two names, and others changed its columns since: {changes}"
        raise StalePlan(f"{plan.table}: {text}", hint=f"take these changes back, then {suggest_resume(lake)}")
    steps, schema = list(plan.steps), lake.schema
    for number in range(at, len(steps)):
        after = find_structure_after(plan, steps[number], schema)
        steps[number] = replace(
            steps[number],
            precondition=_set_structure(steps[number].precondition, schema),
            postcondition=_set_structure(steps[number].postcondition, after),
        )
        schema = after
    wanted = replace(schema, key=plan.wanted.key)
    return ResumePoint(replace(plan, steps=tuple(steps), wanted=wanted), at, foreign[at])


def _list_touched(step: Step) -> Iterator[str]:
    """List the columns that a step changes or names anew."""
    for condition in (step.precondition, step.postcondition):
        columns = condition.get("columns")
        yield from map(str, columns) if isinstance(columns, Mapping) else ()


def _touches(change: Change, touched: Set[str]) -> bool:
    """Whether a change of others meets a column of the plan; another order and comments meet none."""
    match change:
        case ChangeKey() | MoveColumn() | ChangeComment():
            return False
        case RenameColumn(path, name):
            return not touched.isdisjoint((path[0].lower(), name.lower()))
        case _:
            return change.path[0].lower() in touched


def _set_structure(condition: Mapping[str, object], schema: TableSchema) -> Mapping[str, object]:
    structure = {"structure": fingerprint_structure(schema)}
    return {**condition, **structure} if "structure" in condition else condition


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
    raise StalePlan(describe_move(plan, lake), hint=suggest_way_on(lake))


def suggest_way_on(lake: LakeTable | None) -> str:
    """Suggest the way on where a plan does not fit its table: another plan, unless none can be made."""
    return suggest_resume(lake) if lake is not None and is_between_names(lake) else REPLAN


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
    after = without_views(plan.steps[at].postcondition)
    checked = {name: value for name, value in after.items() if name != "counts"}
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
        point_of_no_return=find_point_of_no_return(plan.steps[at:]),
        base_identity=lake.identity if lake else None,
        base_version=lake.version if lake else None,
        base_schema=lake.schema if lake else None,
        base_column_ids=lake.column_ids if lake else "",
        base_layout=layout_of(lake),
    )
