"""From the live table to the wanted one: steps in an order that never fails half-way, or refusals.

Laws: the steps turn `base` into `wanted`; a plan for the table that it made has no steps; every condition
can be checked on the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.migration import constraints as guards
from schemaman.migration.agreement import (
    Agreement,
    PlanInputs,
    agree_on_changes,
    agree_on_creation,
    find_approval_reason,
)
from schemaman.migration.layout import apply_changes, layout_of
from schemaman.migration.plan import MigrationSource, Plan, Policy, Refusal, find_point_of_no_return
from schemaman.migration.policy_checks import PolicyCheck
from schemaman.migration.projection.project import project
from schemaman.migration.properties.displaced_columns import displace_column, format_displaced, read_displaced
from schemaman.migration.properties.names import DISPLACED_PROPERTY, KEY_PROPERTY, SOURCE_PROPERTY
from schemaman.migration.replacement_table import NO_CARRIED_COLUMNS, CarriedColumns
from schemaman.migration.stamp import VERSION_STAMP, make_stamp
from schemaman.migration.step_order import group_changes, order_renames, place_at_end
from schemaman.migration.step_sequence import StepSequence, set_on_table
from schemaman.migration.target import Draft, LakeTable, Target, has_known_key
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeComment,
    ChangeNullable,
    ChangeType,
    DropColumn,
    RenameColumn,
    patch,
)
from schemaman.model.schema import TableSchema

_ORDER: tuple[type[Change], ...] = (ChangeNullable, ChangeType, ChangeComment, AddColumn, DropColumn)


def make_plan(
    source: MigrationSource,
    lake: LakeTable | None,
    target: Target,
    table: str,
    policy: Policy,
    *,
    target_name: str = "",
    expires_ms: int | None = None,
    carried: CarriedColumns = NO_CARRIED_COLUMNS,
) -> Plan:
    """The plan that brings one target table to the source's structure.

    `table` is the target table as users name it; `target_name` the target's name in the settings, by
    default the format's. `expires_ms` is a moment in epoch milliseconds; `carried` is for a new table alone.
    Nothing is changed by planning.

    Raises:
        BadReference: the table is no name that the format's catalogue takes.
    """
    names = (target_name or target.name, target.name)
    projection = carried.add_to(project(source, lake, target, policy, target_name))
    source_names = {lake_name: source_name for source_name, lake_name in projection.names.items()}
    check = PolicyCheck(policy, source.table, names)
    inputs = PlanInputs(source, target, table, lake, projection, check, source_names)
    agreement = agree_on_creation(inputs) if lake is None else agree_on_changes(inputs, lake)
    planned, refusals = _plan_steps(inputs, agreement)
    return Plan(
        names[0],
        target.name,
        table,
        source,
        lake.identity if lake else None,
        lake.version if lake else None,
        lake.schema if lake else None,
        planned.lake.schema if planned.lake else projection.wanted,
        planned.steps,
        tuple(dict.fromkeys((*projection.refusals, *agreement.refusals, *refusals))),
        (*projection.notes, *agreement.notes),
        planned.approvals,
        expires_ms,
        tuple(dict.fromkeys((*projection.rulings, *agreement.decisions))),
        point_of_no_return=find_point_of_no_return(planned.steps),
        base_column_ids=lake.column_ids if lake else "",
        base_layout=layout_of(lake),
    )


class _RefusedInOrder(Exception):
    """Its argument refuses a change that was agreed on for itself, once others were made before it."""


def _plan_steps(inputs: PlanInputs, agreement: Agreement) -> tuple[StepSequence, tuple[Refusal, ...]]:
    """All steps; none where one of them would be refused amid the others."""
    planned = StepSequence(inputs.lake)
    if not agreement.is_planned:
        return planned, ()
    try:
        return _plan_changes(inputs, planned, agreement) if inputs.lake else _plan_creation(inputs, agreement)
    except _RefusedInOrder as found:
        return planned, (found.args[0],)


def _plan_creation(inputs: PlanInputs, agreement: Agreement) -> tuple[StepSequence, tuple[Refusal, ...]]:
    """A new table, with its stamp at birth."""
    target, table, wanted = inputs.target, inputs.table, inputs.projection.wanted
    planned = StepSequence(None)
    namespace = target.create_namespace(table)
    if namespace is not None:
        planned = planned.add_step(namespace, None)
    stamp = _make_stamp(inputs, agreement, None, wanted.key)
    lake = LakeTable(table, wanted, "", "")
    planned = planned.add_step(target.create_table(table, wanted, stamp), lake, agreement.creation_reason)
    key = target.set_key(table, wanted)
    if key is not None:
        planned = planned.add_step(key, lake)
    for answer in guards.draft_constraints(target, table, lake, agreement.required):
        if isinstance(answer, Draft):
            planned = planned.add_step(answer, guards.apply_constraint(planned.table, answer))
    return planned, ()


def _plan_changes(
    inputs: PlanInputs, planned: StepSequence, agreement: Agreement
) -> tuple[StepSequence, tuple[Refusal, ...]]:
    """An existing table: upgrades, renames and the stamp, then the rest by kind."""
    planned = _remove_constraints(inputs, planned, agreement)
    if agreement.upgrade:
        cost = inputs.target.upgrade_features(inputs.table, agreement.upgrade)
        after = set_on_table(planned.table, agreement.upgrade)
        planned = _add_step(planned, agreement, cost, after, agreement.upgrade_reason)
    planned = _record_displaced(inputs, planned, agreement)
    planned = _rename(inputs, planned, agreement)
    for kind in _ORDER:
        for wave in group_changes(planned.table, [c for c in agreement.others if isinstance(c, kind)]):
            planned = _change(inputs, planned, agreement, wave)
    planned = _stamp(inputs, planned, agreement)
    planned, refusals = _add_constraints(inputs, planned, agreement)
    return _stamp(inputs, planned, agreement), refusals


def _remove_constraints(inputs: PlanInputs, planned: StepSequence, agreement: Agreement) -> StepSequence:
    """Without the guards that the changes, all of which are made, would break."""
    guarded = guards.list_guarded_names(agreement.required, inputs.projection.renames)
    changes = (*agreement.renames, *agreement.others)
    for guard, why in guards.find_obstacles(inputs.target, planned.table, changes, guarded):
        after = guards.apply_constraint(planned.table, guard)
        # Other engines may merge by the identifier fields, so that it is the key that changes for them.
        ruling = inputs.check.ask("change-key" if guard.kind == "drop-key" else "drop-not-null")
        planned = _add_step(
            planned, agreement, guard, after, "" if ruling.level == "auto" else why or ruling.why
        )
    return planned


def _record_displaced(inputs: PlanInputs, planned: StepSequence, agreement: Agreement) -> StepSequence:
    """What the table has to say of columns that get out of the way, before they do."""
    lake, source_names = planned.table, inputs.projection.displaced
    former_names = {c.name: c.path[0] for c in agreement.renames if c.name in source_names}
    if not former_names:
        return planned
    moved = {name: displace_column(lake, was, source_names[name]) for name, was in former_names.items()}
    known = read_displaced(lake).items()
    kept = {name: entry for name, entry in known if name not in former_names.values()}
    return _set_properties(inputs, planned, agreement, {DISPLACED_PROPERTY: format_displaced(kept | moved)})


def _rename(inputs: PlanInputs, planned: StepSequence, agreement: Agreement) -> StepSequence:
    """Renames, members first, with the stamp behind them; names that are handed on wait for it."""
    field_renames = [c for c in agreement.others if isinstance(c, RenameColumn)]
    turns, closing = order_renames(agreement.renames, field_renames)
    for rename in turns:
        planned = _change(inputs, planned, agreement, [rename])
    planned = _stamp(inputs, planned, agreement) if turns else planned
    for rename in closing:
        planned = _change(inputs, planned, agreement, [rename])
    return planned


def _change(
    inputs: PlanInputs, planned: StepSequence, agreement: Agreement, changes: Sequence[Change]
) -> StepSequence:
    """One statement for changes of one kind."""
    lake, drafts = planned.table, list[Draft]()
    after = lake.schema
    for change in changes:
        placed = place_at_end(after, change)
        drafted = inputs.target.draft_change(lake, placed)
        if isinstance(drafted, Refusal):
            raise _RefusedInOrder(drafted)
        drafts.append(drafted)
        after = patch(after, [placed])
    draft = drafts[0] if len(drafts) == 1 else inputs.target.combine_drafts(lake, drafts)
    return _add_step(planned, agreement, draft, apply_changes(lake, after, draft.changes))


def _stamp(inputs: PlanInputs, planned: StepSequence, agreement: Agreement) -> StepSequence:
    """The stamp, once: a passenger of other steps, or the only step of a table that bears none yet.

    It comes right behind the renames, since it says which names the table has.
    """
    lake, projection = planned.table, inputs.projection
    key = _find_key(inputs, agreement, lake.schema)
    wanted = _make_stamp(inputs, agreement, lake, key)
    missing = {k: v for k, v in wanted.items() if lake.properties.get(k) != v}
    # Another order of the key columns is recorded now; a key that no plan has recorded yet waits for steps.
    recorded = {*projection.properties, *({KEY_PROPERTY} & lake.properties.keys())}
    complete = SOURCE_PROPERTY in lake.properties and not missing.keys() & recorded
    asked = (projection.approval_reason or projection.adopts) and VERSION_STAMP & missing.keys()
    if missing and (planned.steps or not complete or asked):
        planned = _set_properties(inputs, planned, agreement, missing)
    keyed = replace(planned.table, schema=replace(planned.table.schema, key=key))
    return replace(planned, lake=keyed)


def _find_key(inputs: PlanInputs, agreement: Agreement, now: TableSchema) -> tuple[str, ...]:
    """The key as the plan leaves it: a column that was to be dropped and is not remains of it."""
    wanted = inputs.projection.wanted
    if inputs.lake is None or not has_known_key(inputs.lake):
        return wanted.key if all(name in wanted.names for name in wanted.key) else now.key
    return wanted.key if agreement.settled and agreement.staying.isdisjoint(now.key) else now.key


def _make_stamp(
    inputs: PlanInputs, agreement: Agreement, lake: LakeTable | None, key: Sequence[str]
) -> Mapping[str, str]:
    had = inputs.lake.schema.names if inputs.lake else ()
    settled, renamed = agreement.settled, agreement.renamed
    return make_stamp(inputs.source, inputs.projection, lake, key, settled=settled, renamed=renamed, had=had)


def _add_constraints(
    inputs: PlanInputs, planned: StepSequence, agreement: Agreement
) -> tuple[StepSequence, tuple[Refusal, ...]]:
    """Key and NOT NULL as the format can keep them, on the columns that the table had before."""
    target, before = inputs.target, inputs.lake.schema if inputs.lake else TableSchema(())
    renames = inputs.projection.renames
    names = guards.find_former_names(agreement.required, before, renames, agreement.renamed)
    if planned.steps:
        first = guards.add_null_check(planned.steps[0], target, planned.table, names)
        planned = replace(planned, steps=(first, *planned.steps[1:]))
    answers = list(guards.draft_constraints(target, inputs.table, planned.table, tuple(names)))
    for draft in (answer for answer in answers if isinstance(answer, Draft)):
        if draft.kind != "set-key" or planned.steps:
            why = "" if draft.kind == "set-key" else agreement.required_reason
            after = guards.apply_constraint(planned.table, draft)
            planned = _add_step(planned, agreement, draft, after, why)
    return planned, tuple(answer for answer in answers if isinstance(answer, Refusal))


def _set_properties(
    inputs: PlanInputs, planned: StepSequence, agreement: Agreement, properties: Mapping[str, str]
) -> StepSequence:
    """A step that sets properties and can be undone."""
    target, table, lake = inputs.target, inputs.table, planned.table
    old = {key: lake.properties.get(key) for key in properties}
    back = {key: value for key, value in old.items() if value is not None}
    new = tuple(key for key, value in old.items() if value is None)
    # No statement does both: a plan for the way back has a step for each.
    undo = [target.set_properties(table, back).statement] if back else []
    undo += [target.unset_properties(table, new).statement] if new else []
    draft = target.set_properties(table, properties)
    draft = replace(draft, undo="; ".join(undo), before={"properties": old})
    asked = inputs.projection.approval_reason if VERSION_STAMP & properties.keys() else ""
    return _add_step(planned, agreement, draft, set_on_table(lake, properties), asked)


def _add_step(
    planned: StepSequence, agreement: Agreement, draft: Draft, after: LakeTable, approval_reason: str = ""
) -> StepSequence:
    """Another step, with the reason why a person has to approve it."""
    why = approval_reason or find_approval_reason(agreement.reasons, draft.changes)
    return planned.add_step(draft, after, why)
