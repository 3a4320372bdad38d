"""The rollback of a plan: its steps are undone in reverse order, or refused with the reason.

Laws: a rollback ends at the version stamp that the plan was made for, and at its structure, except that what
holds more than before stays. Rows that were written since then are never lost: where they could be, a gate
counts them first. A step that needed approval is not undone without approval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from schemaman.errors import StalePlan
from schemaman.migration.alterations import alters_at_once, split_step
from schemaman.migration.conditions import describe_state, fingerprint_structure, is_met
from schemaman.migration.constraints import count_nulls
from schemaman.migration.key_queries import count_unfit_keys
from schemaman.migration.layout import layout_of
from schemaman.migration.plan import (
    Phase,
    Plan,
    Refusal,
    Step,
    StepKind,
)
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.properties.column_swaps import is_between_names, suggest_resume
from schemaman.migration.properties.names import (
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    RECIPE_PROPERTY,
    SUCCESSOR_PROPERTY,
    TAKEN_PROPERTY,
    VERSION_PROPERTY,
)
from schemaman.migration.properties.table_record import ColumnSwap, read_record
from schemaman.migration.recipes.phases import count_differing
from schemaman.migration.returned_rows import count_returned, is_returning_rows
from schemaman.migration.row_columns import DELETED
from schemaman.migration.statement_check import find_structure_after, read_moved_table
from schemaman.migration.successor_rows import count_newer_rows, read_filling_table
from schemaman.migration.target import TARGETS, LakeTable, Target
from schemaman.migration.view_steps import VIEW_KINDS, undo_view_steps
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableSchema
from schemaman.model.types import widens
from schemaman.store.log import MigrationEntry

_UNDO_KINDS: Mapping[StepKind, StepKind] = {
    "add-columns": "drop-columns",
    "rename-column": "rename-column",
    "change-comment": "change-comment",
    "set-properties": "set-properties",
    "set-key": "drop-key",
    "drop-key": "set-key",
    "add-constraint": "drop-constraint",
    "drop-constraint": "add-constraint",
    "backfill": "backfill",
}
_FROM_NOTHING: Mapping[StepKind, str | None] = {"add-constraint": None, "set-key": "[]"}
"""The value of the property before a step of such a kind."""
_RECORDED = (
    KEY_PROPERTY, VERSION_PROPERTY, SUCCESSOR_PROPERTY, TAKEN_PROPERTY, KEPT_PROPERTY, FOREIGN_PROPERTY,
)  # fmt: skip
_PLAN_AGAIN = "make a new plan with `schemaman plan`"
_VALUES_LOST = "values written into the columns since then are lost"
_APPROVED = "the step that it undoes needed approval"
_MADE = "the plan created the table, and its rows may be needed"
_IN_USE = "the table may be in use by now, and its rows may be needed"
_UNMOVED = "the table is as the plan left it"


def find_version_before(lines: Iterable[MigrationEntry]) -> str | None:
    """Find the version that the table had when the plan was first begun."""
    return next((line.version for line in lines if line.state == "started"), None)


def plan_rollback(plan: Plan, lake: LakeTable | None, done: int, *, may_hold_more: bool = False) -> Plan:
    """Plan to undo the first `done` steps of a plan, with refusals for steps that cannot be undone.

    A wider type, a column that takes NULL and an enabled feature stay, and a note says so: they hold all that
    the table held before. A refused step does not stop the others, which a person may apply in part.
    `may_hold_more`: such things of later plans, which were taken back, do not count as changes.

    Raises:
        StalePlan: the table is not as those steps left it.
    """
    taken = plan.steps[:done]
    expected = fingerprint_structure(plan.base_schema)
    for each in taken:
        expected = cast("str | None", each.postcondition.get("structure", expected))
    written = {"properties": _find_written_properties(taken)}
    is_same = fingerprint_structure(lake.schema if lake else None) == expected
    if not is_same and may_hold_more and lake is not None:
        # A rollback drops no table that the plan made, so that the table may have any structure by now.
        is_made = any(step.kind == "create-table" for step in taken)
        is_same = is_made or _holds_more(lake.schema, _find_left_schema(plan, taken))
    if not is_same or (lake is not None and not is_met(lake, written)):
        raise StalePlan(
            f"{plan.table} is not as the plan left it: it was changed since then",
            hint=suggest_resume(lake) if lake is not None and is_between_names(lake) else _PLAN_AGAIN,
        )
    if lake is not None and taken and taken[0].kind == "rename-table" and taken[0].undo is not None:
        return _plan_move_back(plan, taken[0], taken[0].undo, lake)
    target = TARGETS.get(plan.format)
    gates = _list_gates(plan, target.table_name(plan.table), taken)
    undone: list[tuple[Step, str]] = []
    refusals: list[Refusal] = []
    kept: list[str] = []
    after = lake
    for step, gate in zip(reversed(taken), gates, strict=True):
        if step.kind == "create-namespace" or step.kind in VIEW_KINDS:
            continue
        staying = describe_staying(step) or _describe_unset_key(plan, step, lake)
        kept += [staying] if staying else []
        for undo, why in () if staying else _undo_step(plan, target, step):
            for part in _split_undo(undo, lake):
                placed, after = _place_step(plan, part, after)
                if isinstance(placed, Refusal):
                    refusals.append(placed)
                else:
                    undone.append((_add_gate(placed, gate), why))
    if any(refusal.reason in (_MADE, _IN_USE) for refusal in refusals):
        undone, kept, after = [], [], lake
    # A view can be made only on a table that has what it reads, so that views come last.
    views = () if any(refusal.reason in (_MADE, _IN_USE) for refusal in refusals) else undo_view_steps(taken)
    steps = (*(each for each, _ in undone), *views)
    back = _make_plan(plan, lake, after, steps, tuple(refusals))
    approvals = tuple(f"{each.kind}: {each.statement} ({why})" for each, why in undone if why)
    notes = (*back.notes, *kept, *(_list_notes(taken) if undone else ()))
    return replace(back, approvals_needed=approvals, notes=notes)


def _plan_move_back(plan: Plan, step: Step, statement: str, lake: LakeTable) -> Plan:
    """Plan to give a table its former name back, if no other table has it by then."""
    back = replace(step, statement=statement, undo=step.statement)
    made = _make_plan(plan, None, lake, (back,), ())
    return replace(made, table=read_moved_table(step))


def is_whole(plan: Plan, back: Plan) -> bool:
    """Whether a rollback leads back to the structure that the plan was made for, with nothing left out."""
    before = fingerprint_structure(plan.base_schema)
    return not back.refusals and fingerprint_structure(back.wanted) == before


def plan_restore(plan: Plan, lake: LakeTable, version: str, target: Target) -> Plan | None:
    """Plan to restore a table to its version before a plan, where no statements undo the plan.

    No rows may have been written since then. Return None if the format restores no version.
    """
    there = target.restore_version(plan.table, version)
    if there is None:
        return None
    post = {"structure": fingerprint_structure(plan.base_schema)}
    step = Step(
        "restore",
        there,
        "metadata",
        "time-travel",
        {"structure": fingerprint_structure(lake.schema), "version": lake.version},
        post,
        target.restore_version(plan.table, lake.version),
        ("streams that read the table: they stop at this change",),
    )
    back = _make_plan(plan, lake, lake, (step, *undo_view_steps(plan.steps)), ())
    back = replace(back, wanted=plan.base_schema or back.wanted)
    why = "the whole table is restored to that version; enabled features stay enabled"
    return replace(back, approvals_needed=(f"restore: {step.statement} ({why})",))


def _make_plan(
    plan: Plan,
    lake: LakeTable | None,
    after: LakeTable | None,
    steps: tuple[Step, ...],
    refusals: tuple[Refusal, ...],
) -> Plan:
    """Make the plan of a rollback: from the present table to the one that its steps leave."""
    wanted = plan.wanted if after is None else after.schema
    if steps and plan.base_schema is not None:
        wanted = replace(wanted, key=plan.base_schema.key)
    note = "the next ordinary plan makes the changes again" if steps else "there is nothing to undo"
    return Plan(
        plan.target,
        plan.format,
        plan.table,
        plan.source,
        lake.identity if lake else None,
        lake.version if lake else None,
        lake.schema if lake else None,
        wanted,
        steps,
        refusals,
        () if refusals and not steps else (note,),
        phase=Phase("rollback", 1, 1, _describe_gate(steps), plan_hash(plan)),
        point_of_no_return=next((n for n, each in enumerate(steps, 1) if each.kind == "drop-columns"), None),
        base_column_ids=lake.column_ids if lake else "",
        base_layout=layout_of(lake),
    )


def describe_staying(step: Step) -> str:
    """Describe what a step leaves that no statement undoes and that does no harm; empty if it is undone.

    A wider type and a column that takes NULL hold all that the table held before.
    """
    before, after = step.precondition.get("columns"), step.postcondition.get("columns")
    before = before if isinstance(before, Mapping) else {}
    after = after if isinstance(after, Mapping) else {}
    if step.kind == "change-type":
        changed = [
            f"{quote_name(name)} stays {after[name]}, which holds all that {before.get(name)} did"
            for name in after
        ]
        return "; ".join(changed)
    if step.kind == "drop-not-null":
        freed = ", ".join(map(quote_name, after))
        return f"{freed} may hold NULL from then on, too: no statement forbids it again"
    if step.step_class == "capability-upgrade":
        properties = step.postcondition.get("properties")
        enabled = ", ".join(sorted(map(str, properties))) if isinstance(properties, Mapping) else ""
        return f"the features that the plan enabled stay enabled: {enabled}"
    return ""


def _describe_unset_key(plan: Plan, step: Step, lake: LakeTable | None) -> str:
    """Describe identifier fields that stay unset, since one of them takes NULL by now; empty otherwise.

    Source: Iceberg specification, Identifier Field IDs: such a field is required.
    """
    schema = lake.schema if lake is not None else None
    if step.kind != "drop-key" or schema is None or plan.base_schema is None:
        return ""
    columns = [schema.column(name) for name in plan.base_schema.key]
    freed = ", ".join(quote_name(each.name) for each in columns if each is not None and each.nullable)
    return freed and f"the identifier fields stay unset, since {freed} may hold NULL: writers use the key"


def _split_undo(step: Step | Refusal, lake: LakeTable | None) -> tuple[Step | Refusal, ...]:
    """Split a step of the rollback if the engine of the table alters one column in a statement."""
    if isinstance(step, Refusal) or lake is None or alters_at_once(lake):
        return (step,)
    return split_step(step)


def _place_step(
    plan: Plan, step: Step | Refusal, lake: LakeTable | None
) -> tuple[Step | Refusal, LakeTable | None]:
    """Place a step of the rollback on the table that those before it leave; the table after it.

    What stays of the plan, such as a wider type, is in the conditions of all steps.
    """
    if lake is None or isinstance(step, Refusal):
        return step, lake
    try:
        after = replace(lake, schema=find_structure_after(plan, step, lake.schema))
    except ValueError as error:
        return Refusal(f"undo by {step.kind}", str(error), _PLAN_AGAIN), lake
    conditions = (
        {**condition, **_describe_columns(condition, table)}
        for condition, table in ((step.precondition, lake), (step.postcondition, after))
    )
    return replace(step, precondition=next(conditions), postcondition=next(conditions)), after


def _describe_columns(condition: Mapping[str, object], lake: LakeTable) -> Mapping[str, object]:
    """Describe the structure of a table, and the columns of a condition, as far as the condition has them."""
    columns = condition.get("columns")
    state = describe_state(lake, [str(name) for name in columns] if isinstance(columns, Mapping) else ())
    return {name: value for name, value in state.items() if name in condition}


def _undo_step(plan: Plan, target: Target, step: Step) -> Iterator[tuple[Step | Refusal, str]]:
    """Undo a step: steps or a refusal, each with the reason for an approval; empty if none is needed."""
    kind = _UNDO_KINDS.get(step.kind)
    if step.kind == "create-table":
        yield Refusal(f"undo {step.kind}", _MADE, f"check its rows, then run: {step.undo}"), ""
        return
    if step.kind == "backfill" and plan.phase is not None and plan.phase.name == "fill":
        instead = f"point readers and writers back to the old table, check this one, then run: {step.undo}"
        yield Refusal(f"undo {step.kind}", _IN_USE, instead), ""
        return
    if step.kind == "backfill" and plan.phase is not None and plan.phase.name == "fill-successor":
        yield _refuse_unfilling(plan, target, step), ""
        return
    ways = (
        _undo_properties(plan, target, step)
        if kind == "set-properties"
        else ((step.undo, _former_state(step)),)
    )
    asked = any(each.startswith(f"{step.kind}: {step.statement} (") for each in plan.approvals_needed)
    for undo, before in ways:
        if undo is None or kind is None or before is None:
            reason = f"no statement undoes it: {step.statement}"
            yield Refusal(f"undo {step.kind}", reason, _suggest_other_way(step)), ""
            return
        lost = kind == "drop-columns"
        yield (
            Step(
                kind,
                undo,
                "metadata" if lost else step.step_class,
                "no" if lost else "reversible",
                _find_state_left(step, before),
                before,
                None if lost else step.statement,
                step.hurts,
            ),
            _VALUES_LOST if lost else _APPROVED if asked else _explain_reversal(kind, step),
        )


def _refuse_unfilling(plan: Plan, target: Target, step: Step) -> Refusal:
    """Refuse to take rows out of a successor, which may have newer ones by now; say how to find out."""
    name = target.table_name(plan.table)
    before = target.table_name(read_filling_table(step.statement))
    newer = count_newer_rows(name, before)
    instead = (
        f"take the run back that linked {before} to {name}; if this then gives 0, {before} has all rows, and "
        f"you may drop {name}: {newer}"
    )
    return Refusal(f"undo {step.kind}", _IN_USE, instead)


def _find_state_left(step: Step, before: Mapping[str, object]) -> dict[str, object]:
    """Find the state that a step left, as its undo requires it; of properties, those that it restores."""
    left = {key: step.postcondition[key] for key in ("structure", "columns") if key in step.postcondition}
    after, restored = step.postcondition.get("properties"), before.get("properties")
    if step.kind == "set-properties" and isinstance(after, Mapping) and isinstance(restored, Mapping):
        left["properties"] = {name: after[name] for name in restored}
    return left


def _explain_reversal(kind: StepKind, step: Step) -> str:
    """Explain why a person has to approve the undo of a step that needed no approval; empty if none has to.

    The way back is a change of another kind than the way there.
    """
    properties = step.precondition.get("properties")
    forgets = isinstance(properties, Mapping) and properties.get(KEY_PROPERTY, "") is None
    if kind == "drop-key" or (kind == "set-properties" and forgets):
        return "the table has no key afterwards"
    if is_returning_rows(step.undo or ""):
        return "rows leave the table that the other one has unchanged"
    return "it changes whether columns take NULL" if kind in ("add-constraint", "drop-constraint") else ""


def _undo_properties(
    plan: Plan, target: Target, step: Step
) -> Iterator[tuple[str | None, dict[str, object] | None]]:
    """Restore the values of properties: one statement sets those with a value, one unsets the others.

    No statement does both. Source: Spark SQL reference, ALTER TABLE.
    """
    after, before = step.postcondition.get("properties"), step.precondition.get("properties")
    state = _former_state(step)
    if not isinstance(after, Mapping) or not isinstance(before, Mapping) or state is None:
        yield None, None
        return
    there = {str(key): str(before[key]) for key in after if before[key] is not None}
    if there:
        yield target.set_properties(plan.table, there).statement, state | {"properties": there}
    new = [str(key) for key in after if before[key] is None]
    if new:
        yield target.unset_properties(plan.table, new).statement, state | {"properties": dict.fromkeys(new)}


def _add_gate(step: Step, counts: Mapping[str, int]) -> Step:
    """Add a gate to a step."""
    return replace(step, precondition={**step.precondition, "counts": dict(counts)}) if counts else step


def _list_gates(plan: Plan, name: str, taken: Sequence[Step]) -> list[dict[str, int]]:
    """List the gate before each step is undone, the last step first; the first gate checks all of them.

    Swapped names go back only if no row has different values in the new and the old column: values written
    since then are only in the new one. A key comes back only if it still identifies the rows. NULL is
    forbidden again only if the column holds none.
    """
    swaps, key = _find_swaps(taken), _find_former_key(plan, taken)
    keeps_deleted = plan.base_schema is not None and plan.base_schema.column(DELETED) is not None
    again = dict.fromkeys(count_unfit_keys(name, key, keeps_deleted=keeps_deleted), 0) if key else {}
    gates: list[dict[str, int]] = []
    first: dict[ColumnSwap | str, str] = {}
    later_names: dict[str, str] = {}
    for each in reversed(taken):
        gate = dict(again)
        for swap in swaps:
            pair = _locate_swap(each, swap)
            if pair is not None:
                query = count_differing(name, (pair,))
                gate[query] = 0
                first.setdefault(swap, query)
        for column in _list_freed_columns(each):
            gate[count_nulls(name, column)] = 0
            first[column] = count_nulls(name, later_names.get(column, column))
        later_names |= {old: later_names.get(new, new) for old, new in _list_renames(each)}
        gates.append(gate)
    if gates:
        gates[0] |= dict.fromkeys(first.values(), 0)
    return gates


def _find_written_properties(taken: Sequence[Step]) -> dict[str, object]:
    """Find what the steps wrote last of the table and its columns; the structure does not show it."""
    properties = [each.postcondition.get("properties") for each in taken]
    return {
        name: each[name]
        for each in properties
        if isinstance(each, Mapping)
        for name in _RECORDED
        if name in each
    }


def _find_left_schema(plan: Plan, taken: Sequence[Step]) -> TableSchema | None:
    """Find the structure that the steps left; None if they made the table."""
    schema = plan.base_schema
    for step in taken if schema is not None else ():
        schema = schema and find_structure_after(plan, step, schema)
    return schema


def _holds_more(found: TableSchema, left: TableSchema | None) -> bool:
    """Whether a table has the columns of another structure, and each holds all that it held there."""
    if left is None or found.names != left.names:
        return False
    return all(
        widens(before.type, now.type) and (now.nullable or not before.nullable)
        for before, now in zip(left.columns, found.columns, strict=True)
    )


def _list_freed_columns(step: Step) -> Iterator[str]:
    """List the column that may hold NULL by now, since a step dropped its constraint; see `allow_null`."""
    constraints = step.precondition.get("properties")
    checks = (
        constraints.values() if step.kind == "drop-constraint" and isinstance(constraints, Mapping) else ()
    )
    for check in checks:
        found = re.fullmatch(r"`((?:[^`]|``)+)` IS NOT NULL", str(check))
        if found is not None:
            yield found[1].replace("``", "`")


def _list_renames(step: Step) -> Iterator[tuple[str, str]]:
    """List the renamed column of a step: its name before, and its name after."""
    before, after = step.precondition.get("columns"), step.postcondition.get("columns")
    if step.kind == "rename-column" and isinstance(before, Mapping) and isinstance(after, Mapping):
        dropped = [column for column in before if after.get(column) is None]
        added = [column for column in after if before.get(column) is None]
        if len(dropped) == len(added) == 1:
            yield str(dropped[0]), str(added[0])


def _find_swaps(taken: Sequence[Step]) -> tuple[ColumnSwap, ...]:
    """Find the column swaps of the steps in the property that they write."""
    properties = [each.postcondition.get("properties") for each in taken]
    texts = (
        {RECIPE_PROPERTY: str(p.get(RECIPE_PROPERTY, "{}"))} for p in properties if isinstance(p, Mapping)
    )
    found = [read_record(each).swaps for each in texts]
    return next((each for each in found if each), ())


def _locate_swap(step: Step, swap: ColumnSwap) -> ColumnSwap | None:
    """Find the names of a pair of swapped columns after a rename; None if the step renames neither."""
    columns = step.postcondition.get("columns")
    if step.kind != "rename-column" or not isinstance(columns, Mapping):
        return None
    pair = {swap.column, swap.old, swap.new}
    if not columns.keys() <= pair:
        return None
    if columns.get(swap.column, "") is None:
        return replace(swap, column=swap.old)
    return replace(swap, column=swap.old, new=swap.column)


def _find_former_key(plan: Plan, taken: Sequence[Step]) -> tuple[str, ...]:
    """Find the former key if the steps set another one; empty if only its columns were renamed."""
    properties = [each.postcondition.get("properties") for each in taken]
    written = any(isinstance(each, Mapping) and KEY_PROPERTY in each for each in properties)
    renamed = any(each.kind == "rename-column" for each in taken)
    before = plan.base_schema.key if plan.base_schema is not None else ()
    return before if written and not renamed and before != plan.wanted.key else ()


def _describe_gate(steps: Sequence[Step]) -> str:
    counted = any("counts" in each.precondition for each in steps)
    return f"{_UNMOVED}, and no row written since then would be lost or hidden" if counted else _UNMOVED


def _list_notes(taken: Sequence[Step]) -> Iterator[str]:
    """Note what a person can do about rows that a gate would count."""
    for each in _find_swaps(taken):
        if any(_locate_swap(step, each) for step in taken):
            old, new = quote_name(each.old), quote_name(each.column)
            yield (
                f"values written since then are only in {new}: while a row has another value there than in "
                f"{old}, nothing is undone; write such values into {old} first, or make a new plan"
            )


def _former_state(step: Step) -> dict[str, object] | None:
    """Find the condition that the undo of a step meets; None if the step does not contain it.

    The undo of a backfill has no condition, since its statement may be repeated; that of rows which were
    taken over leaves none of them.
    """
    if step.kind == "backfill":
        left = count_returned(step.undo or "")
        return {"counts": {left: 0}} if left else {}
    state = {key: step.precondition[key] for key in ("structure", "columns") if key in step.precondition}
    after, before = step.postcondition.get("properties"), step.precondition.get("properties")
    if not isinstance(after, Mapping):
        return state
    if step.kind in _FROM_NOTHING:
        return state | {"properties": dict.fromkeys(after, _FROM_NOTHING[step.kind])}
    if not isinstance(before, Mapping) or not after.keys() <= before.keys():
        return None
    return state | {"properties": {key: before[key] for key in after}}


def _suggest_other_way(step: Step) -> str:
    if step.reversible == "time-travel":
        return "RESTORE the Delta table to the version before; rows written since then are lost"
    return "make a new plan: the point of no return is passed"
