"""Which changes of a lake table its target and the policy agree to, before any step is planned.

Laws: renames of columns are agreed to all or none; each change is judged on the table as it will be by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.struct_fields import format_path
from schemaman.migration import constraints as guards
from schemaman.migration.partial_plans import (
    is_name_reused,
    note_unfilled_columns,
    refuse_addition,
    refuse_field_renames,
    refuse_renames,
)
from schemaman.migration.plan import MigrationSource, PolicyDecision, Refusal, describe_change
from schemaman.migration.policy import ChangeKind, Level, Ruling
from schemaman.migration.policy_checks import PolicyCheck, classify_change, refuse_blocked
from schemaman.migration.projection.project import Projection
from schemaman.migration.properties.column_swaps import refuse_during_swap
from schemaman.migration.properties.table_record import find_newest_part, read_record
from schemaman.migration.step_order import is_inside, list_dropped_columns, place_at_end, rename_columns
from schemaman.migration.target import Draft, LakeTable, Target
from schemaman.model.ddl import format_type
from schemaman.model.diff import Change, ChangeKey, ChangeType, Diff, DropColumn, RenameColumn, diff, patch
from schemaman.model.schema import Path

_NOT_MADE: tuple[Level, ...] = ("ignore", "quarantine")
_LACKS_FEATURE = (
    "the table lacks a feature that this needs, and older readers cannot read tables that have it"
)
_VARIABLE = (
    "a name in the statement has ${…}, into which Spark would put a setting or an environment variable"
)
_RENAME_IT = "rename it in the lake with spark.sql.variable.substitute = false"
_KEPT_BEFORE = "it was kept when the source dropped it, and another policy alone drops nothing"

ApprovalReasons = Mapping[tuple[type[Change], Path], str]
"""Why a person has to approve a change, by its kind and its path."""


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """What one plan is made from; `source_names` maps the lake's columns to those of the source."""

    source: MigrationSource
    target: Target
    table: str
    lake: LakeTable | None
    projection: Projection
    check: PolicyCheck
    source_names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What target and policy answer to one change: it is made unless a refusal or a note says why not."""

    change: Change
    refusal: Refusal | None = None
    note: str = ""
    decisions: tuple[PolicyDecision, ...] = ()
    approval_reason: str = ""

    @property
    def path(self) -> Path:
        """The path of what is changed, empty for the table."""
        return () if isinstance(self.change, ChangeKey) else self.change.path

    @property
    def is_agreed(self) -> bool:
        """Whether the change is made."""
        return self.refusal is None and not self.note


@dataclass(frozen=True, slots=True)
class Agreement:
    """The changes that a plan makes, and what it has to say of the rest.

    `is_planned`: there are steps to plan at all. `renames` are those of whole columns, `others` all other
    changes. `settled`: all names become those of the source; `renamed`: columns get the names that the
    projection wants. `staying` columns were to be dropped and are not. `upgrade` are table properties to
    switch on first. `required` columns shall hold no NULL in the end.
    """

    is_planned: bool = True
    renames: tuple[RenameColumn, ...] = ()
    others: tuple[Change, ...] = ()
    settled: bool = True
    renamed: bool = True
    staying: frozenset[str] = frozenset()
    upgrade: Mapping[str, str] = field(default_factory=dict)
    upgrade_reason: str = ""
    required: tuple[str, ...] = ()
    required_reason: str = ""
    creation_reason: str = ""
    reasons: ApprovalReasons = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    decisions: tuple[PolicyDecision, ...] = ()


def agree_on_creation(inputs: PlanInputs) -> Agreement:
    """Whether a new table is created."""
    change = f"create {inputs.table}"
    if not inputs.projection.wanted.columns:
        refusal = Refusal(change, "the lake can hold none of its columns", "see the refusals of its columns")
        return Agreement(is_planned=False, refusals=(refusal,))
    ruling = inputs.check.ask("new-table")
    decisions = _record_ruling(change, (), ruling)
    if ruling.level == "block":
        refusals = (refuse_blocked(change, ruling),)
        return Agreement(is_planned=False, refusals=refusals, decisions=decisions)
    if ruling.level in _NOT_MADE:
        notes = (f"the table is not created ({ruling.why})",)
        return Agreement(is_planned=False, notes=notes, decisions=decisions)
    free = inputs.check.ask("set-not-null").level == "auto"
    return Agreement(
        required=_list_required_columns(inputs) if free else (),
        creation_reason=_read_approval_reason(ruling),
        notes=_note_sink_table(inputs),
        decisions=decisions,
    )


def agree_on_changes(inputs: PlanInputs, lake: LakeTable) -> Agreement:
    """What target and policy agree to of the changes that lead a live table to the wanted one."""
    projection, target = inputs.projection, inputs.target
    if projection.wanted == lake.schema and not projection.settled:
        return Agreement(is_planned=False)
    changes = diff(lake.schema, projection.wanted, projection.renames, projection.field_renames)
    required = _list_required_columns(inputs)
    guarded = guards.list_guarded_names(required, projection.renames)
    free = guards.remove_obstacles(target, lake, changes, guarded)
    whole = _agree_on_renames(inputs, free, changes)
    rest = _agree_on_other_changes(inputs, free, changes, whole)
    verdicts = (*whole.verdicts, *rest.verdicts)
    agreed = (*whole.renames, *rest.changes)
    upgrade = _find_upgrade(inputs, guards.remove_obstacles(target, lake, agreed, guarded), agreed)
    ruling = inputs.check.ask("upgrade")
    decisions = _record_ruling(f"set {', '.join(sorted(upgrade))}", (), ruling) if upgrade else ()
    return Agreement(
        renames=whole.renames,
        others=rest.changes,
        settled=whole.settled,
        renamed=whole.renamed,
        staying=list_dropped_columns(changes) - list_dropped_columns(rest.changes),
        upgrade=upgrade,
        upgrade_reason=_read_approval_reason(ruling),
        required=required,
        required_reason=_read_approval_reason(inputs.check.ask("set-not-null")),
        reasons={(type(v.change), v.path): v.approval_reason for v in verdicts if v.approval_reason},
        refusals=(*whole.refusals, *rest.refusals),
        notes=(
            *(v.note for v in verdicts if v.note),
            *note_unfilled_columns(inputs.source, rest.changes, inputs.source_names),
            *_note_sink_table(inputs),
        ),
        decisions=(*(d for v in verdicts for d in v.decisions), *decisions),
    )


@dataclass(frozen=True, slots=True)
class _Renaming:
    """What becomes of the renames of whole columns; see `Agreement`."""

    renames: tuple[RenameColumn, ...]
    settled: bool
    renamed: bool
    verdicts: tuple[Verdict, ...]
    refusals: tuple[Refusal, ...]


def _agree_on_renames(inputs: PlanInputs, lake: LakeTable, changes: Diff) -> _Renaming:
    """Renames are taken all or none: they hang together."""
    renames = tuple(c for c in changes if isinstance(c, RenameColumn) and len(c.path) == 1)
    verdicts = tuple(_judge_change(inputs, lake, c) for c in renames)
    made = all(verdict.is_agreed for verdict in verdicts)
    settled = inputs.projection.settled and _are_fields_renamed(inputs, lake, renames, changes)
    refusals = [verdict.refusal for verdict in verdicts if verdict.refusal is not None]
    wanted, source_names = inputs.projection.wanted, inputs.source_names
    if made and not settled and is_name_reused(inputs.source, lake, wanted, source_names, renames):
        made = False
        refusals += refuse_renames(renames)
    return _Renaming(renames if made else (), settled and made, made, verdicts, tuple(refusals))


def _are_fields_renamed(
    inputs: PlanInputs, lake: LakeTable, renames: Sequence[RenameColumn], changes: Diff
) -> bool:
    """Whether all nested fields get the names that they have at the source."""
    planned = rename_columns(lake, renames)
    field_renames = [c for c in changes if isinstance(c, RenameColumn) and len(c.path) > 1]
    made = not field_renames or inputs.check.ask("rename-stated").level in ("auto", "approve")
    return made and not any(isinstance(_draft_change(inputs, planned, c), Refusal) for c in field_renames)


@dataclass(frozen=True, slots=True)
class _AgreedChanges:
    """The changes that are made besides renames of whole columns, and all verdicts on such changes."""

    changes: tuple[Change, ...]
    verdicts: tuple[Verdict, ...]
    refusals: tuple[Refusal, ...]


def _agree_on_other_changes(
    inputs: PlanInputs, lake: LakeTable, changes: Diff, renaming: _Renaming
) -> _AgreedChanges:
    """Each of the other changes is judged on the table as it will be by then: drops come last."""
    planned = rename_columns(lake, renaming.renames)
    all_renames = [c for c in changes if isinstance(c, RenameColumn)]
    found = _agree_on_field_renames(inputs, planned, [c for c in all_renames if len(c.path) > 1], renaming)
    agreed, verdicts, refusals = list(found.changes), list(found.verdicts), list(found.refusals)
    planned = replace(planned, schema=patch(planned.schema, agreed))
    # A change names paths as they are called after the renames: without those it has none.
    lost: set[Path] = {
        (*c.path[:-1], c.name) for c in all_renames if c not in renaming.renames and c not in agreed
    }
    for change in sorted(changes, key=lambda c: isinstance(c, DropColumn)):
        if isinstance(change, ChangeKey) or change in all_renames or is_inside(change.path, lost):
            continue
        barred = refuse_addition(
            change, inputs.source, planned, inputs.source_names, settled=renaming.settled
        )
        verdict = _judge_change(inputs, planned, change) if barred is None else Verdict(change, barred)
        verdicts.append(verdict)
        refusals += [verdict.refusal] if verdict.refusal is not None else []
        if verdict.is_agreed:
            agreed.append(change)
            planned = replace(planned, schema=patch(planned.schema, [place_at_end(planned.schema, change)]))
    return _AgreedChanges(tuple(agreed), tuple(verdicts), tuple(refusals))


def _agree_on_field_renames(
    inputs: PlanInputs, lake: LakeTable, field_renames: Sequence[RenameColumn], renaming: _Renaming
) -> _AgreedChanges:
    """Nested fields are renamed only where the stamp can record it."""
    verdicts = tuple(_judge_change(inputs, lake, c) for c in field_renames)
    agreed = [c for c, verdict in zip(field_renames, verdicts, strict=True) if verdict.is_agreed]
    refusals = tuple(verdict.refusal for verdict in verdicts if verdict.refusal is not None)
    if renaming.settled:
        return _AgreedChanges(tuple(agreed), verdicts, refusals)
    return _AgreedChanges((), verdicts, (*refusals, *refuse_field_renames(agreed)))


def _judge_change(inputs: PlanInputs, lake: LakeTable, change: Change) -> Verdict:
    """What target and policy answer to one change of a table that is `lake` by then."""
    answer = _draft_change(inputs, lake, change)
    refused = answer if isinstance(answer, Refusal) else None
    missing = {} if refused else inputs.target.find_missing_properties(lake, change)
    names = inputs.source_names
    kinds = classify_change(
        change, inputs.source, lake, names, in_place=refused is None, upgrade=bool(missing)
    )
    text, path = describe_change(change), () if isinstance(change, ChangeKey) else change.path
    path = (*(names.get(name, name) for name in path[:1]), *path[1:])
    ruling = inputs.check.ask(*kinds)
    decisions = _record_ruling(text, path, ruling)
    if ruling.level in _NOT_MADE:
        return Verdict(change, note=f"{text}: not made ({ruling.why})", decisions=decisions)
    if refused is not None:
        return Verdict(change, _suggest_acceptance(inputs, change, path, refused), decisions=decisions)
    if ruling.level == "block":
        return Verdict(change, _refuse_blocked(inputs, change, ruling, missing), decisions=decisions)
    return Verdict(change, decisions=decisions, approval_reason=_explain_approval(inputs, change, kinds))


def _draft_change(inputs: PlanInputs, lake: LakeTable, change: Change) -> Draft | Refusal:
    answer = refuse_during_swap(lake, change) or inputs.target.draft_change(lake, change)
    if isinstance(answer, Draft) and "${" in answer.statement:
        return Refusal(describe_change(change), _VARIABLE, _RENAME_IT)
    return answer


def _suggest_acceptance(inputs: PlanInputs, change: Change, path: Path, refusal: Refusal) -> Refusal:
    """The refusal of a type, with the decision that lets the lake keep its own; `path` is the source's."""
    if not isinstance(change, ChangeType):
        return refusal
    words = f"accept-type {inputs.source.table} {format_path(path)} '{format_type(change.old)}'"
    return replace(
        refusal, instead=f"{refusal.instead}; or keep the type for good, `schemaman decide {words}`"
    )


def _refuse_blocked(
    inputs: PlanInputs, change: Change, ruling: Ruling, missing: Mapping[str, str]
) -> Refusal:
    if ruling.kind != "upgrade":
        return refuse_blocked(describe_change(change), ruling)
    statement = inputs.target.set_properties(inputs.table, missing).statement
    instead = f"allow upgrades in the policy, or run: {statement}"
    return Refusal(describe_change(change), f"{_LACKS_FEATURE} ({ruling.why})", instead)


def _explain_approval(inputs: PlanInputs, change: Change, kinds: Sequence[ChangeKind]) -> str:
    """Why a person has to approve a change of these kinds; an upgrade is a step of its own."""
    asked = [inputs.check.ask(kind) for kind in kinds if kind != "upgrade"]
    why = "; ".join(r.why for r in asked if r.level == "approve")
    kept = isinstance(change, DropColumn) and change.path in inputs.projection.kept
    return why or (_KEPT_BEFORE if kept and not _is_earlier_part(inputs, change) else "")


def _is_earlier_part(inputs: PlanInputs, change: Change) -> bool:
    """Whether a column was kept for its type, before the source dropped the column that it is a part of."""
    if inputs.lake is None or not isinstance(change, DropColumn) or len(change.path) > 1:
        return False
    return find_newest_part(read_record(inputs.lake.properties).split, change.path[0]) is not None


def find_approval_reason(reasons: ApprovalReasons, changes: Sequence[Change]) -> str:
    """Why a statement for these changes needs approval; renames hang together, of columns or of members.

    A rename may have another path by its turn: what holds it still has its old name, or it has a temporary
    name itself.
    """
    whys: list[str] = []
    for change in changes:
        match change:
            case ChangeKey():
                continue
            case RenameColumn():
                alike = [
                    (len(path) == 1, why) for (kind, path), why in reasons.items() if kind is RenameColumn
                ]
                whys += (why for whole, why in alike if whole is (len(change.path) == 1))
            case _:
                whys.append(reasons.get((type(change), change.path), ""))
    return "; ".join(dict.fromkeys(why for why in whys if why))


def _find_upgrade(inputs: PlanInputs, lake: LakeTable, changes: Sequence[Change]) -> Mapping[str, str]:
    """The table properties to switch on before these changes."""
    upgrade: dict[str, str] = {}
    for change in changes:
        upgrade |= inputs.target.find_missing_properties(lake, change)
    return upgrade


def _list_required_columns(inputs: PlanInputs) -> tuple[str, ...]:
    """The columns that shall hold no NULL in the end, where the policy lets them."""
    wanted = inputs.check.ask("set-not-null").level in ("auto", "approve")
    projection = inputs.projection
    return guards.list_required_columns(inputs.source, projection.wanted, projection.names) if wanted else ()


def _note_sink_table(inputs: PlanInputs) -> tuple[str, ...]:
    wanted = inputs.check.ask("set-not-null").level in ("auto", "approve")
    return guards.note_sink_table(inputs.source, inputs.projection.wanted) if wanted else ()


def _record_ruling(change: str, path: Path, ruling: Ruling) -> tuple[PolicyDecision, ...]:
    """What a plan records of a ruling: nothing where the change is simply made."""
    if ruling.level == "auto":
        return ()
    return (PolicyDecision(change, path, ruling.kind, ruling.level, ruling.why),)


def _read_approval_reason(ruling: Ruling) -> str:
    return ruling.why if ruling.level == "approve" else ""
