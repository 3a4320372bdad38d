"""The way back from a plan: its steps undone in reverse order, or why there is none.

Laws: the way back ends at the structure and the stamps that the plan was made for; rows that were written
since are never thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from schemaman.conditions import structure
from schemaman.errors import StalePlan
from schemaman.log import Migrated
from schemaman.plan import Live, Phase, Plan, Refusal, Step, StepKind, Target
from schemaman.planfile import plan_hash

_UNDONE: Mapping[StepKind, StepKind] = {
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
"""What the property of such a step is before it."""
_GONE = "values written into the columns since are lost"
_MADE = "the plan made the table: nothing says whether somebody needs its rows"
_HARMLESS = frozenset({
    "ADD COLUMNS", "DROP COLUMNS", "RENAME COLUMN", "CHANGE COLUMN", "CHANGE COLUMNS", "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES", "ADD CONSTRAINT", "DROP CONSTRAINT", "SET TABLE COMMENT", "UPGRADE PROTOCOL",
    "UPDATE SCHEMA", "OPTIMIZE", "VACUUM START", "VACUUM END", "COMPUTE STATS",
})  # fmt: skip
"""Operations of a Delta table's history that write no rows. Source: Delta `DeltaOperations`."""


def steps_done(lines: Iterable[Migrated]) -> int:
    """How many steps of a plan its journal knows to be done."""
    done = [line.step for line in lines if line.step is not None and line.state in ("done", "skipped")]
    return max(done, default=-1) + 1


def version_before(lines: Iterable[Migrated]) -> str | None:
    """The version that the table had when the plan was first begun."""
    return next((line.version for line in lines if line.state == "started"), None)


def rollback(plan: Plan, live: Live | None, done: int) -> Plan:
    """The plan that takes `done` steps of another plan back, with refusals where a step has no way back.

    Raises:
        StalePlan: the table does not stand where those steps left it.
    """
    taken = plan.steps[:done]
    stands = structure(plan.base_schema)
    for each in taken:
        stands = cast("str | None", each.postcondition.get("structure", stands))
    if structure(live.schema if live else None) != stands:
        raise StalePlan(
            f"{plan.table} is not as the plan left it: someone changed it since",
            hint="bring it on with a new plan: schemaman plan",
        )
    undone = [_undone(each) for each in reversed(taken) if each.kind != "create-namespace"]
    refusals = tuple(each for each in undone if isinstance(each, Refusal))
    steps = () if refusals else tuple(each for each in undone if isinstance(each, Step))
    return _back(plan, live, steps, refusals)


def restored(plan: Plan, live: Live, version: str, target: Target) -> Plan:
    """The plan that sets a Delta table back to the version before another plan: where no statement would do.

    Nobody may have written rows since. Source: Delta "Restore a Delta table to an earlier state".
    """
    name = target.table_name(plan.table)
    post = {"structure": structure(plan.base_schema)}
    step = Step(
        "restore",
        f"RESTORE TABLE {name} TO VERSION AS OF {int(version)}",
        "metadata",
        "time-travel",
        {"structure": structure(live.schema), "version": live.version},
        post,
        f"RESTORE TABLE {name} TO VERSION AS OF {int(live.version)}",
        ("streams that read the table: they stop at this change",),
    )
    back = _back(plan, live, (step,), ())
    why = "everything in the table is set back, the features that it was given stay"
    return replace(back, approvals_needed=(f"restore: {step.statement} ({why})",))


def rows_written(operations: Sequence[tuple[int, str]], version: str) -> tuple[str, ...]:
    """The operations behind a version that may have written rows; `operations` as Delta's history tells."""
    return tuple(
        f"{name} made version {number}"
        for number, name in sorted(operations)
        if number > int(version) and name not in _HARMLESS
    )


def _back(plan: Plan, live: Live | None, steps: tuple[Step, ...], refusals: tuple[Refusal, ...]) -> Plan:
    """The frame of a way back: from the table as it stands to what it was."""
    drops = [each for each in steps if each.kind == "drop-columns"]
    wanted = plan.base_schema if plan.base_schema is not None and not refusals else live and live.schema
    told = "the next ordinary plan leads forward again" if steps else "there is nothing to take back"
    return Plan(
        plan.target,
        plan.format,
        plan.table,
        plan.source,
        live.identity if live else None,
        live.version if live else None,
        live.schema if live else None,
        wanted or plan.wanted,
        steps,
        refusals,
        () if refusals else (told,),
        tuple(f"{each.kind}: {each.statement} ({_GONE})" for each in drops),
        phase=Phase("rollback", 1, 1, "the table stands where the plan left it", plan_hash(plan)),
        point_of_no_return=next((n for n, each in enumerate(steps, 1) if each.kind == "drop-columns"), None),
        base_column_ids=live.column_ids if live else "",
    )


def _undone(step: Step) -> Step | Refusal:
    kind = _UNDONE.get(step.kind)
    if step.kind == "create-table":
        return Refusal(f"undo {step.kind}", _MADE, f"look at it, and then: {step.undo}")
    before = _before(step)
    if step.undo is None or kind is None or before is None:
        reason = f"no statement undoes it: {step.statement}"
        return Refusal(f"undo {step.kind}", reason, _otherwise(step))
    lost = kind == "drop-columns"
    return Step(
        kind,
        step.undo,
        "metadata" if lost else step.step_class,
        "no" if lost else "reversible",
        {key: step.postcondition[key] for key in ("structure", "columns") if key in step.postcondition},
        before,
        None if lost else step.statement,
        step.hurts,
    )


def _before(step: Step) -> dict[str, object] | None:
    """What was true before a step, as its undoing brings it about; None where the step does not tell.

    Rows that a backfill wrote are taken back by a statement that may be repeated.
    """
    if step.kind == "backfill":
        return {}
    told = {key: step.precondition[key] for key in ("structure", "columns") if key in step.precondition}
    after, before = step.postcondition.get("properties"), step.precondition.get("properties")
    if not isinstance(after, Mapping):
        return told
    if step.kind in _FROM_NOTHING:
        return told | {"properties": dict.fromkeys(after, _FROM_NOTHING[step.kind])}
    if not isinstance(before, Mapping) or not after.keys() <= before.keys():
        return None
    return told | {"properties": {key: before[key] for key in after}}


def _otherwise(step: Step) -> str:
    if step.reversible == "time-travel":
        return "RESTORE the Delta table to the version before, which throws away rows written since"
    return "none: the point of no return is passed; go forward with a new plan"
