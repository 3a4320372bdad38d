"""Changes that no format makes in place, as several plans with gates: expand, backfill, swap, contract.

Laws: a phase begins only if the table shows that the one before it is done and lost nothing. Until the last
phase the old values are kept. After the swap the table has the structure of the ordinary plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.migration.convertible import ORDINARY, SNAPSHOT
from schemaman.migration.layout import layout_of
from schemaman.migration.part_names import PartRenames
from schemaman.migration.plan import (
    MigrationSource,
    Phase,
    Plan,
    Policy,
    Refusal,
    Step,
    describe_change,
    find_point_of_no_return,
)
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind
from schemaman.migration.policy_checks import PolicyCheck, refuse_blocked
from schemaman.migration.projection.project import Projection, project
from schemaman.migration.properties.column_swaps import read_swaps, suggest_resume
from schemaman.migration.properties.displaced_columns import is_moved_out, read_displaced
from schemaman.migration.properties.table_record import ColumnSwap, SplitColumn, read_record
from schemaman.migration.properties.validation import refuse_unreadable
from schemaman.migration.recipes.phases import PhaseDraft, find_missing_properties
from schemaman.migration.recipes.swap_checks import INTO, SwapCheck
from schemaman.migration.recipes.taken_rows import take_rows
from schemaman.migration.recipes.unite_columns import FormerColumn, unite_columns
from schemaman.migration.replacement_table import plan_replacement
from schemaman.migration.row_columns import refuse_key
from schemaman.migration.step_order import rename_columns
from schemaman.migration.taken_columns import TakenColumns
from schemaman.migration.target import LakeTable, Target, find_column, has_known_key, is_same_key
from schemaman.migration.type_mapping import Representation
from schemaman.model.ddl import quote_name
from schemaman.model.diff import AddColumn, ChangeKey, DropColumn, RenameColumn
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Floating

_UNSETTLED = "it is not decided which column is which, or what the values mean"
_OWN_COLUMN = "the source itself has a column {} by now, and its values may be in that column"
_RENAME_BY_HAND = "check the rows, rename that column of the lake table by hand, then plan again"
_PART_RENAMED = "`{0}`: the source has a column of this name by now: what was in it is in `{1}`"
SwapPhase = Literal["expand", "backfill", "swap", "contract"]
_SWAP_PHASES: tuple[SwapPhase, ...] = ("expand", "backfill", "swap", "contract")
_SWAP_KINDS: tuple[ChangeKind, ...] = ("retype", "change-key", "drop-not-null")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The plans to apply one after the other, and the refusals of changes without a recipe."""

    phases: tuple[Plan, ...] = ()
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipePlanner:
    """Makes recipes for one target table of one source, without changing the table.

    `exact` names columns that get exactly the source's type, even if the lake's type is wide enough.
    """

    source: MigrationSource
    target: Target
    table: str
    policy: Policy
    target_name: str = ""
    exact: tuple[str, ...] = ()
    expires_ms: int | None = None

    def plan_recipe(self, lake: LakeTable) -> Recipe:
        """Plan the remaining phases, from the present state of the lake table."""
        if spoilt := refuse_unreadable(lake):
            return Recipe((), spoilt)
        open_swaps = read_swaps(lake)
        if open_swaps:
            return self._continue_swaps(lake, open_swaps)
        projection = project(self.source, lake, self.target, self.policy, self.target_name)
        if projection.wanted == lake.schema and not projection.settled:
            return Recipe((), projection.refusals)
        if projection.field_renames or any(old != new for old, new in projection.renames.items()):
            return Recipe((), (Refusal(f"swap columns of {lake.name}", "renames come first", ORDINARY),))
        wanted, refusals = self._apply_exact_types(projection)
        check = self._swap_check(lake, projection)
        found = [check.plan_swap(wanted, name) for name in check.list_stuck_columns(wanted)]
        refusals += [each for each in found if isinstance(each, Refusal)]
        swaps = tuple(each for each in found if isinstance(each, ColumnSwap))
        if swaps:
            barred = self._refuse_by_policy(lake, swaps)
            all_refusals = (*refusals, *barred)
            return Recipe(
                () if barred else self._plan_phases(lake, swaps, _SWAP_PHASES, all_refusals), all_refusals
            )
        rekeyed = self._plan_rekey(lake, projection)
        if isinstance(rekeyed, Plan):
            return Recipe((rekeyed,), tuple(refusals))
        refusals += [rekeyed] if rekeyed else []
        return Recipe((), tuple(refusals)) if refusals else self._plan_leftovers(lake)

    def list_stuck_columns(self, lake: LakeTable) -> tuple[str, ...]:
        """The source's columns whose new type the format does not make in place."""
        projection = project(self.source, lake, self.target, self.policy, self.target_name)
        renames = [RenameColumn((old,), new) for old, new in projection.renames.items() if old != new]
        renamed = rename_columns(lake, renames)
        stuck = self._swap_check(renamed, projection).list_stuck_columns(projection.wanted)
        return tuple(name for name, lake_name in projection.names.items() if lake_name in stuck)

    def plan_rekey(self, lake: LakeTable) -> Plan | Refusal | None:
        """Plan only the change to the source's new key; None if the table has it, or tells no key."""
        return self._plan_rekey(lake, project(self.source, lake, self.target, self.policy, self.target_name))

    def plan_split_columns(
        self,
        lake: LakeTable,
        splits: Mapping[str, SplitColumn],
        typed: tuple[Column, ...],
        texts: tuple[Column, ...],
    ) -> Plan | None:
        """Plan to record these splits and to add their columns; None if the format cannot add one."""
        added = (AddColumn((c.name,), c, None) for c in (*typed, *texts))
        if any(isinstance(self.target.draft_change(lake, change), Refusal) for change in added):
            return None
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.split(splits, typed, texts)
        return self._make_plan(draft, lake, Phase("split", 1, 1, gate))

    def plan_part_names(self, lake: LakeTable, found: PartRenames) -> Plan | None:
        """Plan other names for parts of split columns; None if the format cannot rename one."""
        changes = (RenameColumn((old,), new) for old, new in found.renames.items())
        if any(isinstance(self.target.draft_change(lake, change), Refusal) for change in changes):
            return None
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.rename_parts(found)
        plan = self._make_plan(draft, lake, Phase("split", 1, 1, gate))
        return replace(plan, notes=tuple(_PART_RENAMED.format(*pair) for pair in found.renames.items()))

    def plan_gather_parts(
        self, lake: LakeTable, part: Column, former: Sequence[Column], texts: Sequence[str]
    ) -> Plan:
        """Plan to write the values of the parts before `part` into it, where it holds them exactly."""
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.gather(part, former, texts, self._find_approval_reason("retype"))
        return self._make_plan(draft, lake, Phase("gather", 1, 1, gate))

    def find_representation(self) -> Representation:
        """Find how the target holds the source table."""
        return self.policy.find_representation(self.source.table, *self._target_names)

    def plan_unite_columns(self, lake: LakeTable, former: Sequence[FormerColumn]) -> Plan | None:
        """Plan to unite former columns with the present ones; None without any, or by the policy."""
        ruling = self._policy_check().ask("unite-columns")
        if not former or ruling.level not in ("auto", "approve"):
            return None
        draft = PhaseDraft(self.target, self.table, lake)
        gate = unite_columns(draft, former, "" if ruling.level == "auto" else ruling.why)
        return self._make_plan(draft, lake, Phase("unite", 1, 1, gate))

    def plan_take_rows(
        self, lake: LakeTable, earlier: LakeTable, address: str, columns: TakenColumns
    ) -> Plan | Refusal:
        """Plan to take the rows of the lake table of an earlier name, where the policy lets tables move."""
        draft = PhaseDraft(self.target, self.table, lake)
        gate = take_rows(draft, earlier, address, columns, "")
        if isinstance(gate, Refusal):
            return gate
        return self._make_plan(draft, lake, Phase("take-rows", 1, 1, gate))

    def make_plans(self, lake: LakeTable, into: str | None = None) -> tuple[Plan, ...]:
        """Return the phases as plans; without any, one plan without steps that has the reasons."""
        found = self.plan_recipe(lake) if into is None else self.plan_into(lake, into)
        if found.phases:
            return (replace(found.phases[0], refusals=found.refusals), *found.phases[1:])
        return self._explain(lake, found.refusals, "no change needs a recipe")

    def _explain(
        self, lake: LakeTable, refusals: tuple[Refusal, ...], otherwise: str = ""
    ) -> tuple[Plan, ...]:
        """Make one plan without steps that has the reasons."""
        empty = self._make_plan(PhaseDraft(self.target, self.table, lake), lake, None)
        return (replace(empty, refusals=refusals, notes=() if refusals else (otherwise,)),)

    def plan_into(self, lake: LakeTable, table: str) -> Recipe:
        """Plan a new table of the wanted structure, filled from the lake table, where no swap is possible."""
        if spoilt := refuse_unreadable(lake):
            return Recipe((), spoilt)
        name, moment = self.target_name, self.expires_ms
        current = project(self.source, lake, self.target, self.policy, name)
        new = project(self.source, None, self.target, self.policy, name)
        found = plan_replacement(self.source, lake, current, new)
        if isinstance(found, list):
            return Recipe((), tuple(found))
        made = make_plan(
            self.source,
            None,
            self.target,
            table,
            self.policy,
            target_name=name,
            expires_ms=moment,
            carried=found.carried,
        )
        if made.refusals:
            return Recipe((), made.refusals)
        first = replace(made, phase=Phase("expand", 1, 2, "there is no such table yet"))
        # The table does not exist yet: only the steps of the first plan have its properties.
        kept = {k: v for each in made.steps for k, v in _read_properties(each).items() if v is not None}
        base = LakeTable(table, made.wanted, "", "", kept)
        draft = PhaseDraft(self.target, table, base)
        why = "; ".join(
            dict.fromkeys(filter(None, (self._find_approval_reason("retype"), *found.approval_reasons)))
        )
        gate = draft.fill(self.table, found.pairs, why)
        return Recipe((first, self._make_plan(draft, base, Phase("fill", 2, 2, gate, plan_hash(first)))))

    def plan_abandon(self, lake: LakeTable) -> tuple[Plan, ...]:
        """Plan to give up all column swaps; a plan without steps if that is not possible."""
        if spoilt := refuse_unreadable(lake):
            return self._explain(lake, spoilt)
        open_swaps = read_swaps(lake)
        if not open_swaps:
            return self._explain(lake, (), "no column swap is in progress")
        refused = self._refuse_half_swapped(lake, open_swaps) or self._refuse_drops(lake, open_swaps)
        return self._explain(lake, refused) if refused else (self._abandon_swaps(lake, open_swaps, (), ()),)

    def _continue_swaps(self, lake: LakeTable, open_swaps: tuple[ColumnSwap, ...]) -> Recipe:
        """Plan the remaining phases of the swaps, or give up those that are outdated."""
        refused = self._refuse_half_swapped(lake, open_swaps)
        if refused:
            return Recipe((), refused)
        projection = project(self.source, lake, self.target, self.policy, self.target_name)
        if not projection.names:
            return Recipe((), projection.refusals)
        why = {e: self._swap_check(lake, projection).explain_outdated(e) for e in open_swaps}
        missing = [e for e in open_swaps if find_column(lake.schema, e.new) is None]
        if not any(why.values()) and len(missing) in (0, len(open_swaps)):
            return Recipe(self._plan_phases(lake, open_swaps, _SWAP_PHASES if missing else _SWAP_PHASES[1:]))
        ended = [e for e in open_swaps if why[e] or e in missing]
        refused = self._refuse_drops(lake, ended)
        if refused:
            return Recipe((), refused)
        notes = [f"{quote_name(e.column)}: {why[e] or 'its new column no longer exists'}" for e in ended]
        rest = [e for e in open_swaps if e not in ended]
        return Recipe((self._abandon_swaps(lake, ended, rest, notes),))

    def _refuse_half_swapped(self, lake: LakeTable, open_swaps: Sequence[ColumnSwap]) -> tuple[Refusal, ...]:
        change = f"continue the swap of {_list_columns(open_swaps)}"
        half = read_record(lake.properties).phase != "expand"
        return (Refusal(change, "a phase is only partly applied", suggest_resume(lake)),) if half else ()

    def _refuse_drops(self, lake: LakeTable, ended: Sequence[ColumnSwap]) -> tuple[Refusal, ...]:
        """Refuse to drop the new columns of swaps where that is not possible."""
        found: list[Refusal] = []
        for e in ended:
            column = find_column(lake.schema, e.new)
            if column is not None and find_column(self.source.schema, e.new) is not None:
                change, new = f"give up the swap of {quote_name(e.column)}", quote_name(e.new)
                found.append(Refusal(change, _OWN_COLUMN.format(new), _RENAME_BY_HAND))
            elif column is not None:
                answer = self.target.draft_change(lake, DropColumn((column.name,), column))
                found += [answer] if isinstance(answer, Refusal) else []
        return tuple(found)

    def _abandon_swaps(
        self, lake: LakeTable, ended: Sequence[ColumnSwap], rest: Sequence[ColumnSwap], notes: Sequence[str]
    ) -> Plan:
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.abandon(ended, rest)
        plan = self._make_plan(draft, lake, Phase("abandon", 1, 1, gate))
        again = f"this plan abandons the swap of {_list_columns(ended)}; plan again afterwards"
        return replace(plan, notes=(*notes, again))

    def _swap_check(self, lake: LakeTable, projection: Projection) -> SwapCheck:
        representation = self.find_representation()
        return SwapCheck(self.source, self.target, lake, projection, representation, self._policy_check())

    def _apply_exact_types(self, projection: Projection) -> tuple[TableSchema, list[Refusal]]:
        """Set the source's own types in the wanted table for the columns of `exact`."""
        refusals: list[Refusal] = []
        wanted, names = projection.wanted, projection.names
        for name in self.exact:
            column, raw = find_column(wanted, names.get(name, name)), find_column(self.source.schema, name)
            representation = self.find_representation()
            held = self.target.hold_type(raw.type, representation) if raw else None
            if not projection.settled or column is None or held is None or isinstance(held, Refusal):
                reason = "the source and the lake table do not both have it"
                reason = reason if projection.settled else _UNSETTLED
                refusals.append(Refusal(f"give {quote_name(name)} the source's type", reason, ORDINARY))
                continue
            narrow = replace(column, type=held.type)
            wanted = replace(wanted, columns=tuple(narrow if c is column else c for c in wanted.columns))
        return wanted, refusals

    def _refuse_by_policy(self, lake: LakeTable, swaps: Sequence[ColumnSwap]) -> tuple[Refusal, ...]:
        """Refuse swaps that the policy blocks."""
        change = f"swap {', '.join(quote_name(e.column) for e in swaps)}"
        retype, upgrade = self._policy_check().ask("retype"), self._policy_check().ask("upgrade")
        if retype.level not in ("auto", "approve"):
            return (refuse_blocked(change, retype),)
        if find_missing_properties(self.target, lake, swaps) and upgrade.level not in ("auto", "approve"):
            reason = f"columns can be swapped only with a feature that the policy blocks: {upgrade.why}"
            return (Refusal(change, reason, INTO),)
        return ()

    @property
    def _target_names(self) -> tuple[str, str]:
        return (self.target_name or self.target.name, self.target.name)

    def _policy_check(self) -> PolicyCheck:
        return PolicyCheck(self.policy, self.source.table, self._target_names)

    def _find_approval_reason(self, kind: ChangeKind) -> str:
        """Find why a person has to approve a change of this kind; empty if no approval is needed."""
        ruling = self._policy_check().ask(kind)
        return "" if ruling.level == "auto" else ruling.why

    def _plan_phases(
        self,
        lake: LakeTable,
        swaps: tuple[ColumnSwap, ...],
        remaining: Sequence[SwapPhase],
        refusals: tuple[Refusal, ...] = (),
    ) -> tuple[Plan, ...]:
        """Make the plans of the remaining phases; the first one has the refusals."""
        plans: list[Plan] = []
        for name in remaining:
            draft = PhaseDraft(self.target, self.table, lake)
            gate = self._draw_phase(draft, name, swaps)
            follows = plan_hash(plans[-1]) if plans else None
            one = self._make_plan(
                draft, lake, Phase(name, _SWAP_PHASES.index(name) + 1, len(_SWAP_PHASES), gate, follows)
            )
            # Only the engine knows the ids of columns that a phase adds; identifier fields may be dropped.
            later = {k: v for k, v in one.base_layout.items() if not plans or k != "identifiers"}
            plans.append(replace(one, base_layout=later, refusals=() if plans else refusals))
            lake = replace(draft.now, column_ids="")
        return tuple(plans)

    def _draw_phase(self, draft: PhaseDraft, name: SwapPhase, swaps: tuple[ColumnSwap, ...]) -> str:
        match name:
            case "expand":
                return draft.expand(
                    swaps, self._find_approval_reason("upgrade"), self._find_approval_reason("add-column")
                )
            case "backfill":
                return draft.backfill(swaps, self._find_approval_reason("retype"))
            case "swap":
                return draft.swap(swaps, *map(self._find_approval_reason, _SWAP_KINDS))
            case "contract":
                return draft.contract({e.old: e.column for e in swaps})

    def _make_plan(self, draft: PhaseDraft, base: LakeTable, phase: Phase | None) -> Plan:
        steps = draft.planned.steps
        return Plan(
            self.target_name or self.target.name,
            self.target.name,
            base.name,
            self.source,
            base.identity or None,
            base.version,
            base.schema,
            draft.now.schema,
            steps,
            approvals_needed=draft.planned.approvals,
            expires_ms=self.expires_ms,
            phase=phase,
            point_of_no_return=find_point_of_no_return(steps),
            base_column_ids=base.column_ids,
            base_layout=layout_of(base) if base.identity else {},
        )

    def _plan_leftovers(self, lake: LakeTable) -> Recipe:
        """Plan to drop the columns that earlier plans displaced: the last phase alone."""
        names = [name for name in read_displaced(lake) if is_moved_out(lake, name)]
        columns = [column for column in lake.schema.columns if column.name in names]
        answers = [self.target.draft_change(lake, DropColumn((column.name,), column)) for column in columns]
        refused = tuple(answer for answer in answers if isinstance(answer, Refusal))
        if not columns or refused:
            return Recipe((), refused)
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.contract(names)
        return Recipe((self._make_plan(draft, lake, Phase("contract", 1, 1, gate)),))

    def _plan_rekey(self, lake: LakeTable, projection: Projection) -> Plan | Refusal | None:
        """Plan the change to the source's new key, if the rows allow it."""
        names = projection.names
        found = [find_column(lake.schema, names.get(name, name)) for name in self.source.schema.key]
        columns = [column for column in found if column is not None]
        key = tuple(column.name for column in columns)
        change = describe_change(ChangeKey(lake.schema.key, self.source.schema.key))
        if not has_known_key(lake) or (is_same_key(key, lake.schema.key) and len(columns) == len(found)):
            return None
        other = refuse_key(self.source.schema.key, lake)
        if other is not None:
            return other
        if not projection.settled:
            return Refusal(change, _UNSETTLED, ORDINARY)
        if len(columns) < len(found):
            return Refusal(change, "the lake table lacks columns of the new key", ORDINARY)
        if any(isinstance(column.type, Floating) for column in columns):
            return Refusal(change, "floating-point numbers cannot be a key", SNAPSHOT)
        draft = PhaseDraft(self.target, self.table, lake)
        gate = draft.rekey(key, self._find_approval_reason("change-key"))
        return self._make_plan(draft, lake, Phase("rekey", 1, 1, gate))


def _list_columns(swaps: Sequence[ColumnSwap]) -> str:
    return ", ".join(quote_name(e.column) for e in swaps)


def _read_properties(step: Step) -> Mapping[str, str | None]:
    """Read the properties that a step sets."""
    properties = step.postcondition.get("properties")
    return {str(key): value for key, value in properties.items()} if isinstance(properties, Mapping) else {}
