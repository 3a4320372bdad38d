"""The kinds of a change of a lake table, and the decision of the policy about it.

Law: for a change of several kinds the strictest of their levels applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from schemaman.migration.foreign_columns import find_unrecorded_columns, is_recorded_foreign
from schemaman.migration.plan import MigrationSource, PolicyDecision, Refusal
from schemaman.migration.policy import ChangeKind, Policy, Ruling
from schemaman.migration.target import LakeTable
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.schema import Path
from schemaman.model.types import Decimal, Floating, Integer


@dataclass(slots=True)
class PolicyCheck:
    """Checks the changes of one table against the policy, and keeps each decision that is not `auto`.

    `targets` are the names of the target: its own, then that of its format.
    """

    policy: Policy
    table: str
    targets: tuple[str, ...]
    rulings: list[PolicyDecision] = field(default_factory=list)

    def ask(self, *kinds: ChangeKind) -> Ruling:
        """Find the level for a change of these kinds, without keeping it."""
        return self.policy.find_strictest(kinds, self.table, *self.targets)

    def decide(self, change: str, path: Path, *kinds: ChangeKind) -> Ruling:
        """Decide about a change, and keep the decision."""
        ruling = self.ask(*kinds)
        if ruling.level != "auto":
            self.rulings.append(PolicyDecision(change, path, ruling.kind, ruling.level, ruling.why))
        return ruling


def refuse_blocked(change: str, ruling: Ruling, reason: str = "") -> Refusal:
    """Refuse a change that the policy blocks; `reason` is a further cause."""
    why = f"the policy blocks it: {ruling.why}"
    return Refusal(change, f"{reason}; {why}" if reason else why, suggest_rule(ruling.kind))


def suggest_rule(kind: ChangeKind) -> str:
    """Suggest the setting that lets a kind of change be approved."""
    return f'to allow it, write {kind} = "approve" into a [[policy]] for this table'


def classify_change(
    change: Change,
    source: MigrationSource,
    lake: LakeTable,
    names: Mapping[str, str],
    *,
    in_place: bool,
    upgrade: bool,
) -> tuple[ChangeKind, ...]:
    """Find the kinds of a change of a lake table.

    `names` maps columns of the lake to those of the source where the names differ. `in_place`: the format
    makes the change without rewriting data. `upgrade`: it needs a feature that older readers do not know.
    """
    kinds = _classify_alone(change, source, names, in_place)
    if isinstance(change, AddColumn) and len(change.path) == 1 and is_recorded_foreign(lake, change.path[0]):
        kinds = (*kinds, "reuse-name")
    if isinstance(change, RenameColumn) and any(
        find_unrecorded_columns(source, lake).get(change.path[0], ())
    ):
        kinds = (*kinds, "rename-suspected")
    if isinstance(change, ChangeType) and change.path[0] in lake.layout:
        kinds = (*kinds, "change-layout-column")
    return (*kinds, "upgrade") if upgrade else kinds


def _classify_alone(
    change: Change, source: MigrationSource, names: Mapping[str, str], in_place: bool
) -> tuple[ChangeKind, ...]:
    match change:
        case AddColumn(path):
            return _classify_addition((names.get(path[0], path[0]), *path[1:]), source)
        case DropColumn():
            return ("drop-column",)
        case RenameColumn(path, name):
            proven = len(path) == 1 and name in source.proven
            return ("rename-proven" if proven else "rename-stated",)
        case ChangeType(path, old, new):
            kind = classify_widening(old, new) if in_place else "retype"
            unsure = names.get(path[0], path[0]) in source.unsure_types
            return (kind, "change-representation") if unsure else (kind,)
        case ChangeNullable(_, _, new):
            return ("drop-not-null" if new else "set-not-null",)
        case ChangeComment():
            return ("change-comment",)
        case ChangeKey():
            return ("change-key",)
        case MoveColumn():
            return ("reorder",)
        case ChangeDefault() | ChangeAttribute():
            return ("change-default",)
        case _:
            assert_never(change)


def _classify_addition(path: Path, source: MigrationSource) -> tuple[ChangeKind, ...]:
    if len(path) > 1:
        return ("add-column",)
    column = source.schema.column(path[0])
    required = column is not None and not column.nullable
    kind: ChangeKind = "add-required-column" if required else "add-column"
    return (kind, "reuse-name") if _is_name_reused(source, path[0]) else (kind,)


def _is_name_reused(source: MigrationSource, name: str) -> bool:
    """Whether an earlier version had another column of this name, which was dropped or renamed."""
    lowered = name.lower()
    return any(
        then.lower() == lowered and (now is None or now.lower() != lowered)
        for past in source.past
        for then, now in past.names.items()
    )


def classify_widening(old: object, new: object) -> ChangeKind:
    """Find the kind of a change of type that the format makes in place."""
    match old, new:
        case Integer(), Decimal():
            return "integer-to-decimal"
        case Integer(), Floating():
            return "integer-to-double"
        case _:
            return "widen"
