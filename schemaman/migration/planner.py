"""From the live table to the wanted one: steps in an order that never fails half-way, or refusals.

Laws: the steps turn `base` into `wanted`; a plan for the table that it made has no steps; every condition
can be checked on the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.migration import constraints as guards
from schemaman.migration.conditions import make_step
from schemaman.migration.layout import apply_changes, layout_of
from schemaman.migration.partial_plans import (
    is_name_reused,
    note_unfilled_columns,
    refuse_addition,
    refuse_field_renames,
    refuse_renames,
)
from schemaman.migration.plan import (
    MigrationSource,
    Plan,
    Policy,
    Refusal,
    Step,
    describe_change,
    find_point_of_no_return,
)
from schemaman.migration.policy import Level, Ruling
from schemaman.migration.policy_checks import ApprovalCheck, PolicyCheck, classify_change, refuse_blocked
from schemaman.migration.projection.project import Projection, has_known_key, project
from schemaman.migration.properties.column_swaps import refuse_during_swap
from schemaman.migration.properties.displaced_columns import displace_column, format_displaced, read_displaced
from schemaman.migration.properties.names import DISPLACED_PROPERTY, SOURCE_PROPERTY
from schemaman.migration.replacement_table import NO_CARRIED_COLUMNS, CarriedColumns
from schemaman.migration.stamp import VERSION_STAMP, make_stamp
from schemaman.migration.step_order import (
    group_changes,
    is_inside,
    list_dropped_columns,
    order_renames,
    place_at_end,
    rename_columns,
)
from schemaman.migration.target import Draft, LakeTable, Target
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeComment,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    Diff,
    DropColumn,
    RenameColumn,
    diff,
    patch,
)
from schemaman.model.schema import Path, TableSchema

_ORDER: tuple[type[Change], ...] = (ChangeNullable, ChangeType, ChangeComment, AddColumn, DropColumn)
_NOT_MADE: tuple[Level, ...] = ("ignore", "quarantine")
_LACKS_FEATURE = (
    "the table lacks a feature that this needs, and older readers cannot read tables that have it"
)


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
    projection = carried.add_to(project(source, lake, target, policy, target_name))
    check = PolicyCheck(policy, source.table, (target_name or target.name, target.name))
    draft = _Drawing(target, source, table, lake, projection, check)
    draft.draw(lake)
    return Plan(
        target_name or target.name,
        target.name,
        table,
        source,
        lake.identity if lake else None,
        lake.version if lake else None,
        lake.schema if lake else None,
        draft.now.schema if draft.now else projection.wanted,
        tuple(draft.steps),
        tuple(dict.fromkeys((*projection.refusals, *draft.refusals))),
        (*projection.notes, *draft.notes),
        tuple(draft.approvals),
        expires_ms,
        tuple(dict.fromkeys((*projection.rulings, *check.rulings))),
        point_of_no_return=find_point_of_no_return(draft.steps),
        base_column_ids=lake.column_ids if lake else "",
        base_layout=layout_of(lake),
    )


class _Standstill(Exception):
    """Its argument refuses a change that was agreed on for itself, where it stands among the others."""


class _Drawing:
    """A plan being drawn: `now` is the table as it stands after the steps drawn so far."""

    def __init__(
        self,
        target: Target,
        source: MigrationSource,
        table: str,
        lake: LakeTable | None,
        projection: Projection,
        check: PolicyCheck,
    ) -> None:
        self.target = target
        self.source = source
        self.table = table
        self.now = lake
        self.keyed = lake is not None and has_known_key(lake)
        self.settled = projection.settled
        self.projection = projection
        self.judge = check
        self.renamed = True
        self.had = lake.schema.names if lake else ()
        self.staying: frozenset[str] = frozenset()
        self.called = {lake_name: source_name for source_name, lake_name in projection.names.items()}
        self.steps: list[Step] = []
        self.refusals: list[Refusal] = []
        self.notes: list[str] = []
        self.approvals: list[str] = []
        self.approving = ApprovalCheck(check, projection.kept)

    def draw(self, lake: LakeTable | None) -> None:
        """All steps; none where one of them would be refused amid the others."""
        try:
            self.create() if lake is None else self.alter()
        except _Standstill as found:
            self.refusals.append(found.args[0])
            self.now, self.steps, self.approvals = lake, [], []

    def create(self) -> None:
        """A new table, with its stamp at birth."""
        wanted = self.projection.wanted
        if not wanted.columns:
            self.refusals.append(Refusal(f"create {self.table}", "no column can be held", "see the others"))
            return
        ruling = self.judge.decide(f"create {self.table}", (), "new-table")
        if ruling.level == "block":
            self.refusals.append(refuse_blocked(f"create {self.table}", ruling))
        elif ruling.level in _NOT_MADE:
            self.notes.append(f"the table is not created ({ruling.why})")
        else:
            self._create(ruling)

    def _create(self, ruling: Ruling) -> None:
        wanted = self.projection.wanted
        namespace = self.target.create_namespace(self.table)
        if namespace is not None:
            self._add(namespace, None)
        why = ruling.why if ruling.level == "approve" else ""
        made = self.target.create_table(self.table, wanted, self._stamp(wanted.key, settled=True))
        self._add(made, LakeTable(self.table, wanted, "", ""), why)
        key = self.target.set_key(self.table, wanted)
        if key is not None:
            self._add(key, self.now)
        assert self.now is not None
        free = self.judge.ask("set-not-null").level == "auto"
        for answer in guards.draft_constraints(self.target, self.table, self.now, self._required()):
            if free and isinstance(answer, Draft):
                self._add(answer, guards.apply_constraint(self.now, answer))

    def alter(self) -> None:
        """An existing table: upgrades, renames and the stamp, then the rest by kind."""
        assert self.now is not None
        lake = self.now
        before, projection = lake.schema, self.projection
        if projection.wanted == before and not self.settled:
            return
        changes = diff(before, projection.wanted, projection.renames, projection.field_renames)
        guarded = guards.list_guarded_names(self._required(), projection.renames)
        renames, others = self._judged(guards.remove_obstacles(self.target, lake, changes, guarded), changes)
        lake = self._unguarded(lake, (*renames, *others), guarded)
        self.staying = list_dropped_columns(changes) - list_dropped_columns(others)
        upgrade: dict[str, str] = {}
        for change in (*renames, *others):
            upgrade |= self.target.find_missing_properties(lake, change)
        if upgrade:
            cost = self.target.upgrade_features(self.table, upgrade)
            ruling = self.judge.decide(f"set {', '.join(sorted(upgrade))}", (), "upgrade")
            why = ruling.why if ruling.level == "approve" else ""
            self._add(cost, replace(lake, properties={**lake.properties, **upgrade}), why)
        self.notes += note_unfilled_columns(self.source, others, self.called)
        self._move_away(renames)
        self._rename(renames, [c for c in others if isinstance(c, RenameColumn)])
        for kind in _ORDER:
            for wave in group_changes([c for c in others if isinstance(c, kind)]):
                self._change(wave)
        self._mark()
        self._guard(before)
        self._mark()

    def _rename(self, renames: Sequence[RenameColumn], field_renames: Sequence[RenameColumn]) -> None:
        """Renames, members first, with the stamp behind them; names that are handed on wait for it."""
        turns, closing = order_renames(renames, field_renames)
        for rename in turns:
            self._change([rename])
        if turns:
            self._mark()
        for rename in closing:
            self._change([rename])

    def _unguarded(self, lake: LakeTable, changes: Sequence[Change], guarded: Sequence[str]) -> LakeTable:
        """The table without the guards that the changes, all of which are made, would break."""
        for guard, why in guards.find_obstacles(self.target, lake, changes, guarded):
            self._add(guard, guards.apply_constraint(lake, guard), why)
            lake = guards.apply_constraint(lake, guard)
        return lake

    def _required(self) -> tuple[str, ...]:
        wanted = self.judge.ask("set-not-null").level in ("auto", "approve")
        projection = self.projection
        return (
            guards.list_required_columns(self.source, projection.wanted, projection.names) if wanted else ()
        )

    def _guard(self, before: TableSchema) -> None:
        """Key and NOT NULL as the format can keep them, on the columns that the table had before."""
        ruling = self.judge.ask("set-not-null")
        why = ruling.why if ruling.level == "approve" else ""
        names = guards.find_former_names(self._required(), before, self.projection.renames, self.renamed)
        assert self.now is not None
        if self.steps:
            self.steps[0] = guards.add_null_check(self.steps[0], self.target, self.now, names)
        for answer in guards.draft_constraints(self.target, self.table, self.now, tuple(names)):
            if isinstance(answer, Refusal):
                self.refusals.append(answer)
            elif answer.kind != "set-key" or self.steps:
                self._add(
                    answer, guards.apply_constraint(self.now, answer), "" if answer.kind == "set-key" else why
                )

    def _move_away(self, renames: Sequence[RenameColumn]) -> None:
        """What the table has to say of columns that get out of the way, before they do."""
        assert self.now is not None
        called = self.projection.displaced
        away = {c.name: c.path[0] for c in renames if c.name in called}
        if away:
            moved = {name: displace_column(self.now, was, called[name]) for name, was in away.items()}
            kept = {
                name: each for name, each in read_displaced(self.now).items() if name not in away.values()
            }
            self._set({DISPLACED_PROPERTY: format_displaced(kept | moved)})

    def _set(self, properties: Mapping[str, str]) -> None:
        """A step that sets properties and can be undone."""
        assert self.now is not None
        old = {key: self.now.properties.get(key) for key in properties}
        back = {key: value for key, value in old.items() if value is not None}
        new = tuple(key for key, value in old.items() if value is None)
        # No statement does both: a plan for the way back has a step for each.
        undo = [self.target.set_properties(self.table, back).statement] if back else []
        undo += [self.target.unset_properties(self.table, new).statement] if new else []
        draft = self.target.set_properties(self.table, properties)
        draft = replace(draft, undo="; ".join(undo), before={"properties": old})
        asked = self.projection.approval_reason if VERSION_STAMP & properties.keys() else ""
        self._add(draft, replace(self.now, properties={**self.now.properties, **properties}), asked)

    def _judged(self, lake: LakeTable, changes: Diff) -> tuple[list[RenameColumn], list[Change]]:
        """What the target agrees to. Renames are taken all or none: they hang together."""
        renames = [c for c in changes if isinstance(c, RenameColumn) and len(c.path) == 1]
        agreed = [self._agreed(lake, c) for c in renames]
        made = all(agreed)
        self.settled = self.settled and self._members_follow(lake, renames, changes)
        reused = is_name_reused(self.source, lake, self.projection.wanted, self.called, renames)
        if made and reused and not self.settled:
            made = False
            self.refusals += refuse_renames(renames)
        if not made:
            self.settled = self.renamed = False
            renames = []
        return renames, self._judged_others(lake, renames, changes)

    def _judged_others(self, lake: LakeTable, renames: Sequence[RenameColumn], changes: Diff) -> list[Change]:
        """The other changes, each judged on the table as it will be by then: drops come last."""
        planned = rename_columns(lake, renames)
        whole = [c for c in changes if isinstance(c, RenameColumn)]
        agreed: list[Change] = [*self._judged_members(planned, [c for c in whole if len(c.path) > 1])]
        planned = replace(planned, schema=patch(planned.schema, agreed))
        # A change names places as they are called after the renames: without those it has none.
        lost: set[Path] = {(*c.path[:-1], c.name) for c in whole if c not in renames and c not in agreed}
        for change in sorted(changes, key=lambda c: isinstance(c, DropColumn)):
            if isinstance(change, ChangeKey) or change in whole or is_inside(change.path, lost):
                continue
            barred = refuse_addition(change, self.source, planned, self.called, settled=self.settled)
            if barred is not None:
                self.refusals.append(barred)
                continue
            if self._agreed(planned, change):
                agreed.append(change)
                planned = replace(
                    planned, schema=patch(planned.schema, [place_at_end(planned.schema, change)])
                )
        return agreed

    def _judged_members(
        self, planned: LakeTable, field_renames: Sequence[RenameColumn]
    ) -> list[RenameColumn]:
        """Renames of members, all or none: the stamp alone can say that they were made."""
        agreed = [c for c in field_renames if self._agreed(planned, c)]
        if self.settled:
            return agreed
        self.refusals += refuse_field_renames(agreed)
        return []

    def _members_follow(self, lake: LakeTable, renames: Sequence[RenameColumn], changes: Diff) -> bool:
        """Whether all members get the names that they have at the source; nothing is said of it yet."""
        planned = rename_columns(lake, renames)
        field_renames = [c for c in changes if isinstance(c, RenameColumn) and len(c.path) > 1]
        made = not field_renames or self.judge.ask("rename-stated").level in ("auto", "approve")
        return made and not any(isinstance(self._answer(planned, c), Refusal) for c in field_renames)

    def _agreed(self, lake: LakeTable, change: Change) -> bool:
        """Whether policy and target both agree to a change; what stands against it is said."""
        answer = self._answer(lake, change)
        refused = answer if isinstance(answer, Refusal) else None
        missing = {} if refused else self.target.find_missing_properties(lake, change)
        kinds = classify_change(
            change, self.source, lake, self.called, in_place=refused is None, upgrade=bool(missing)
        )
        path = () if isinstance(change, ChangeKey) else change.path
        path = (*(self.called.get(name, name) for name in path[:1]), *path[1:])
        ruling = self.judge.decide(describe_change(change), path, *kinds)
        if ruling.level in _NOT_MADE:
            self.notes.append(f"{describe_change(change)}: not made ({ruling.why})")
        elif refused is not None:
            self.refusals.append(refused)
        elif ruling.level == "block":
            self.refusals.append(self._blocked(change, ruling, missing))
        else:
            self.approving.note_change(change, kinds)
            return True
        return False

    def _answer(self, lake: LakeTable, change: Change) -> Draft | Refusal:
        return refuse_during_swap(lake, change) or self.target.draft_change(lake, change)

    def _blocked(self, change: Change, ruling: Ruling, missing: Mapping[str, str]) -> Refusal:
        if ruling.kind != "upgrade":
            return refuse_blocked(describe_change(change), ruling)
        statement = self.target.set_properties(self.table, missing).statement
        instead = f"allow upgrades in the policy, or run: {statement}"
        return Refusal(describe_change(change), f"{_LACKS_FEATURE} ({ruling.why})", instead)

    def _change(self, changes: Sequence[Change]) -> None:
        """One statement for changes of one kind."""
        assert self.now is not None
        drafts: list[Draft] = []
        after = self.now.schema
        for change in changes:
            placed = place_at_end(after, change)
            drafted = self.target.draft_change(self.now, placed)
            if isinstance(drafted, Refusal):
                raise _Standstill(drafted)
            drafts.append(drafted)
            after = patch(after, [placed])
        draft = drafts[0] if len(drafts) == 1 else self.target.combine_drafts(self.now, drafts)
        self._add(draft, apply_changes(self.now, after, draft.changes))

    def _mark(self) -> None:
        """The stamp, once: a passenger of other steps, or the only step of a table that bears none yet.

        It comes right behind the renames, since it says which names the table has.
        """
        assert self.now is not None
        key = self._key(self.now.schema)
        wanted = self._stamp(key, settled=self.settled)
        missing = {k: v for k, v in wanted.items() if self.now.properties.get(k) != v}
        projection = (
            SOURCE_PROPERTY in self.now.properties and not missing.keys() & self.projection.properties
        )
        asked = self.projection.approval_reason and VERSION_STAMP & missing.keys()
        if missing and (self.steps or not projection or asked):
            self._set(missing)
        self.now = replace(self.now, schema=replace(self.now.schema, key=key))

    def _key(self, now: TableSchema) -> tuple[str, ...]:
        """The key as the plan leaves it: a column that was to be dropped and is not remains of it."""
        wanted = self.projection.wanted
        if not self.keyed:
            return wanted.key if all(name in wanted.names for name in wanted.key) else now.key
        return wanted.key if self.settled and self.staying.isdisjoint(now.key) else now.key

    def _stamp(self, key: Sequence[str], *, settled: bool) -> dict[str, str]:
        renamed, had = self.renamed, self.had
        return make_stamp(
            self.source, self.projection, self.now, key, settled=settled, renamed=renamed, had=had
        )

    def _add(self, draft: Draft, after: LakeTable | None, approve: str = "") -> None:
        """Another step; `approve` says why a person has to approve it."""
        why = approve or self.approving.find_reason(draft.changes)
        if why:
            self.approvals.append(f"{draft.kind}: {draft.statement} ({why})")
        self.steps.append(make_step(draft, self.now, after))
        self.now = after
