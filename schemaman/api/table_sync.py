"""Brings one lake table up to date with its source in `sync`, stage after stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from schemaman.api.applying import PlanApplier
from schemaman.api.automatic_plans import AutomaticPlanner
from schemaman.api.planning import LakePlanner
from schemaman.api.rewriting import NotRewritten, rewrite_columns
from schemaman.api.sync_plans import SyncPlans, build_result
from schemaman.api.target_tables import TargetTable
from schemaman.errors import RowsUnready
from schemaman.migration.apply.apply import Inspection
from schemaman.migration.plan import Plan
from schemaman.migration.recipes.split_plans import SPLIT_PLANS
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import LakeTable
from schemaman.report.json.sync import FollowedTable, State
from schemaman.sink.moved_tables import TableMover, has_moved, is_renamed
from schemaman.sink.table_stages import Stage, run_stages
from schemaman.sink.unfinished_runs import finish_killed_runs


@dataclass(frozen=True, slots=True)
class SyncedTable:
    """A lake table between two stages.

    `table` takes the newest rows, which a successor may be. `lake` is the table as the last stage left it,
    and `inspection` belongs to it if no plan was applied since. `found` is the result so far. `is_over`:
    what is left comes with the next round.
    """

    table: TargetTable
    found: FollowedTable
    lake: LakeTable | None = None
    inspection: Inspection | None = None
    is_over: bool = False

    @property
    def is_stopped(self) -> bool:
        """Whether no further stage is run."""
        return self.is_over or not self.found.is_current

    def add(self, found: FollowedTable, lake: LakeTable | None) -> SyncedTable:
        """The table after a stage with this result, which goes on as `lake`."""
        return replace(self, found=_join_results(self.found, found), lake=lake, inspection=None)

    def add_texts(
        self, *, ran: tuple[str, ...] = (), reasons: tuple[str, ...] = (), bounds: tuple[str, ...] = ()
    ) -> SyncedTable:
        """The table after these statements, and with these reasons; `bounds` are reasons, too."""
        following = replace(
            self.found, state="current", statements=ran, reasons=(*reasons, *bounds), bounds=bounds
        )
        return replace(self, found=_join_results(self.found, following))


@dataclass(frozen=True, slots=True)
class TableSync:
    """What the stages of a lake table in `sync` read and apply; `mover` is None for an unnamed target."""

    applier: PlanApplier
    planner: LakePlanner
    plans: SyncPlans
    mover: TableMover | None

    @property
    def automatic(self) -> AutomaticPlanner:
        """The planner of changes that the policy makes without a person."""
        return AutomaticPlanner(self.planner)

    def sync_table(self, table: TargetTable) -> FollowedTable:
        """Run all stages for one lake table, until one needs a person, fails, or waits for the next round.

        Raises:
            SchemamanError: the lake or the store cannot be read, or a statement failed.
        """
        stages: Mapping[Stage, Callable[[SyncedTable], SyncedTable]] = {
            "move-tables": self._move_tables,
            "choose-table": self._choose_table,
            "rewrite-columns": self._rewrite_columns,
            "split-columns": self._split_columns,
            "migrate": self._migrate,
            "unite-columns": self._unite_columns,
            "take-rows": self._take_rows,
            "change-key": self._change_key,
        }
        table = self.planner.find_first(table)
        done = run_stages(SyncedTable(table, build_result(table, "current")), stages)
        return replace(done.found, lake_table=table.table)

    def _move_tables(self, synced: SyncedTable) -> SyncedTable:
        """Give the lake table its name."""
        table = synced.table
        if self.mover is None or not has_moved(table.history):
            return synced
        return synced.add_texts(ran=self.mover.move_tables(table.history, table.table))

    def _choose_table(self, synced: SyncedTable) -> SyncedTable:
        """Choose the lake table that takes the newest rows, or begin it where the newest one ends."""
        read = self._inspect(synced)
        tables = self.automatic.list_tables(read.table, read.lake)
        ran = self._finish_killed_runs(tables, read.table.format)
        if ran:
            read = self._inspect(read.add_texts(ran=ran))
            tables = self.automatic.list_tables(read.table, read.lake)
        begun = self._begin_successor(read, tables)
        if begun is not None:
            return begun
        if len(tables) < 2:
            return read
        filled = self.automatic.plan_filling(read.table, tables, self.applier.clock())
        if isinstance(filled, Plan):
            return self._follow_other(read, (filled,))
        read = read if filled is None else read.add_texts(reasons=(filled,))
        return self._inspect(replace(read, table=replace(read.table, table=tables[-1].address)))

    def _finish_killed_runs(self, tables: tuple[LakeTableAt, ...], format: str) -> tuple[str, ...]:
        """Take the remaining steps of killed runs of these tables; the statements that were run."""
        applier = self.applier
        lines = applier.journal.read_target_lines
        return finish_killed_runs(tables, format, applier.store.id, lines, applier.run_steps)

    def _rewrite_columns(self, synced: SyncedTable) -> SyncedTable:
        """Swap columns within the bounds of the policy; the reasons say what is not rewritten."""

        def apply_phase(plan: Plan) -> FollowedTable:
            return self.plans.follow_plan(self.applier, synced.table, plan, None)[0]

        now = self.applier.clock()
        found = rewrite_columns(self.automatic, synced.table, synced.lake, now, apply_phase)
        if isinstance(found, NotRewritten):
            reasons = (found.reason,) if found.reason else ()
            return synced.add_texts(bounds=reasons) if found.is_bounded else synced.add_texts(reasons=reasons)
        return self._inspect_again(synced.add(found, synced.lake))

    def _split_columns(self, synced: SyncedTable) -> SyncedTable:
        """Add the columns that the table needs beside others."""
        for _ in SPLIT_PLANS:
            plan = self.automatic.plan_split(synced.table, synced.lake)
            if plan is None:
                break
            synced = self._inspect_again(self._follow(synced, plan))
        return synced

    def _migrate(self, synced: SyncedTable) -> SyncedTable:
        """Follow the ordinary plan."""
        return self._follow(synced, self.planner.plan_from(synced.table, synced.lake))

    def _unite_columns(self, synced: SyncedTable) -> SyncedTable:
        """Unite columns whose rename was answered after the table had got both."""
        plan = self.automatic.plan_answered_renames(synced.table, synced.lake)
        return synced if plan is None else self._follow(synced, plan)

    def _take_rows(self, synced: SyncedTable) -> SyncedTable:
        """Take the rows of the lake table of an earlier name of the source."""
        table = synced.table
        if self.mover is None or not is_renamed(table.history):
            return synced
        ran, notes = self.mover.take_rows(table.history, table.table)
        taken = synced.add_texts(ran=ran, reasons=notes) if ran or notes else synced
        return self._inspect_again(taken) if ran else taken

    def _change_key(self, synced: SyncedTable) -> SyncedTable:
        """Give the table the source's key, or begin a successor if the rows do not prove it."""
        table = synced.table
        plan = self.automatic.plan_rekey(table, synced.lake)
        if plan is None:
            return synced
        excess = self.automatic.explain_scan(table)
        if excess:
            return synced.add_texts(bounds=(f"the key is not changed: {excess}",))
        try:
            return self._follow(synced, plan)
        except RowsUnready:
            tables = self.automatic.list_tables(table, self.planner.inspect(table))
            begun = self._begin_successor(synced, tables, unproven=True)
            if begun is None:
                raise
            return begun

    def _begin_successor(
        self, synced: SyncedTable, tables: tuple[LakeTableAt, ...], *, unproven: bool = False
    ) -> SyncedTable | None:
        """Begin the next lake table of a source whose key the newest one cannot take; None if it can.

        The next round brings it to the newest version.
        """
        plans = self.automatic.plan_successor(synced.table, tables, unproven=unproven)
        return self._follow_other(synced, plans) if plans else None

    def _follow_other(self, synced: SyncedTable, plans: tuple[Plan, ...]) -> SyncedTable:
        """Follow plans of other lake tables of the source; the next round goes on."""
        done = replace(synced, inspection=None, is_over=True)
        for plan in plans:
            table = replace(synced.table, table=plan.table)
            done = done.add(self.plans.follow_plan(self.applier, table, plan, None)[0], synced.lake)
            if not done.found.is_current:
                break
        return done

    def _follow(self, synced: SyncedTable, plan: Plan) -> SyncedTable:
        """Follow one plan of the table."""
        found, lake = self.plans.follow_plan(self.applier, synced.table, plan, synced.inspection)
        return synced.add(found, lake or synced.lake)

    def _inspect(self, synced: SyncedTable) -> SyncedTable:
        """The table as it is now; the time of an inspection is that of its beginning."""
        inspected = self.applier.note_inspection(synced.table.format, synced.table.table)
        inspection = inspected(self.planner.inspect(synced.table))
        return replace(synced, lake=inspection.lake, inspection=inspection)

    def _inspect_again(self, synced: SyncedTable) -> SyncedTable:
        """The table as a stage left it, unless the stage stopped it."""
        return synced if synced.is_stopped else self._inspect(synced)


def make_mover(applier: PlanApplier, planner: LakePlanner, table: TargetTable) -> TableMover | None:
    """Make what moves the lake tables of a target; None for one that the settings do not name."""
    targets = (t for t in applier.workspace.settings.targets.value if t.name == table.target)
    target = next(targets, None)
    if target is None:
        return None

    parts = applier.preflight.executor, applier.run_steps, applier.take_turn
    return TableMover(applier.registry, applier.preflight, planner.policy, target, *parts)


def _join_results(before: FollowedTable, found: FollowedTable) -> FollowedTable:
    """The result of two stages: of the later one, with the statements and reasons of both."""
    statements = (*before.statements, *found.statements)
    state: State = "applied" if statements and found.state == "current" else found.state
    reasons = tuple(dict.fromkeys((*before.reasons, *found.reasons)))
    bounds = tuple(dict.fromkeys((*before.bounds, *found.bounds)))
    plan = found.plan or before.plan
    return replace(found, state=state, plan=plan, statements=statements, reasons=reasons, bounds=bounds)
