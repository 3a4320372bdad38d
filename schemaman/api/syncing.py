"""Keeps lake tables up to date with their sources: plans and migrates them under the policy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from schemaman.api.applying import ApplyRequest, PlanApplier, new_run
from schemaman.api.exit_codes import FAILED, REFUSED, exit_code, exit_code_of_run
from schemaman.api.plan_files import plan_file, read_plan_key, write_plan
from schemaman.api.planning import LakePlanner, describe_near_tables
from schemaman.api.rewriting import rewrite_columns
from schemaman.api.target_tables import TargetTable, list_all_target_tables
from schemaman.api.workspace import Workspace
from schemaman.errors import RowsUnready, SchemamanError, SessionLost, message_of
from schemaman.history.decisions import Decisions
from schemaman.ingest.ingest import Summary
from schemaman.migration.apply.apply import Inspection
from schemaman.migration.apply.journal import (
    find_expected_table,
    is_in_progress,
    read_drift,
    target_id,
)
from schemaman.migration.apply.waiting import (
    Waiting,
    WaitingKind,
    WaitingState,
    list_waiting_lines,
)
from schemaman.migration.layout import describe_layout_change, find_layout_changes
from schemaman.migration.plan import Plan, describe_change
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import Executor, LakeTable
from schemaman.model.diff import diff
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command, quote_word
from schemaman.registry import Registry
from schemaman.report.json.sync import FollowedTable, State
from schemaman.sink.moved_tables import TableMover, has_moved, is_renamed

_REST = 60.0
"""Seconds before the next attempt at a failed table without new records."""


def describe_report_hint(table: str) -> str:
    """Return the hint for an unexpected error of one table."""
    return f"please report it with the output of `schemaman plan {quote_word(str(table))} --debug`"


class LakeSync:
    """Keeps all lake tables of the settings up to date with their sources, round after round.

    A table is planned in the first round, after new records of its source, and while it is not up to date.
    Plans that need a person are in `folder`, one file per lake table.
    """

    def __init__(
        self,
        workspace: Workspace,
        registry: Registry,
        folder: Path,
        *,
        partial: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self._workspace = workspace
        self._registry = registry
        self._folder = folder
        self._request = ApplyRequest(partial=partial, is_lasting=executor is None)
        self._executor = executor
        self._applier: PlanApplier | None = None
        self._recorded: set[TableId] = set()
        self._foreign: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unsettled: set[tuple[str, str]] | None = None
        self._rests: dict[tuple[str, str], float] = {}

    def note_records(self, read: Summary) -> None:
        """Remember the tables with new records for the next round."""
        self._recorded |= set(read.tables)

    def run_round(self, decisions: Decisions) -> tuple[FollowedTable, ...]:
        """Migrate the tables that may not be up to date, under these decisions.

        Raises:
            CouldNotDo: Spark does not start or has stopped, or the store cannot be read.
        """
        chosen = self._choose(list_all_target_tables(self._workspace, self._registry, decisions))
        self._recorded.clear()
        if not chosen:
            return ()
        if self._applier is None:
            self._applier = PlanApplier(
                self._workspace,
                self._registry,
                self._request,
                decisions=decisions,
                executor=self._executor,
            )
        self._applier.decisions = decisions
        found = self._follow_tables(self._applier, chosen)
        self._note_waiting(chosen, found)
        self._unsettled = (self._unsettled or set()) - {_identify(f) for f in found}
        self._unsettled |= {_identify(f) for f in found if not f.is_current}
        rest = time.monotonic() + _REST
        self._rests |= {_identify(f): rest for f in found if f.state == "failed"}
        return found

    def _note_waiting(self, tables: Sequence[TargetTable], found: Sequence[FollowedTable]) -> None:
        """Write into the journal which lake tables wait now, and which no longer do."""
        now: dict[tuple[str, WaitingKind], Waiting | None] = {}
        for table, followed in zip(tables, found, strict=True):
            target = target_id(table.format, table.table)
            now[target, "table"] = None if followed.is_current else _describe_waiting(target, followed)
        read_lines = self._applier.journal.read_target_lines if self._applier else lambda _: ()
        lines = list_waiting_lines((line for target, _ in now for line in read_lines(target)), now)
        if lines:
            self._registry.note(*lines)

    def _choose(self, tables: Sequence[TargetTable]) -> tuple[TargetTable, ...]:
        if self._unsettled is None:
            return tuple(tables)
        now = time.monotonic()
        waiting = {name for name in self._unsettled if self._rests.get(name, now) <= now}
        return tuple(t for t in tables if t.history.table in self._recorded or (t.target, t.table) in waiting)

    def _follow_tables(
        self, applier: PlanApplier, chosen: Sequence[TargetTable]
    ) -> tuple[FollowedTable, ...]:
        """Migrate tables side by side, as many as the engine has slots; the results are in their order."""
        slots = min(int(getattr(applier.executor, "slots", 1)), len(chosen))
        if slots < 2:
            return tuple(self._follow(applier, table) for table in chosen)
        pool = ThreadPoolExecutor(slots, "schemaman-sync")
        try:
            return tuple(pool.map(lambda table: self._follow(applier, table), chosen))
        finally:
            pool.shutdown(cancel_futures=True)

    def _follow(self, applier: PlanApplier, table: TargetTable) -> FollowedTable:
        """Migrate one lake table; an error does not stop the other tables."""
        self._workspace.messages.progress(f"reading {table.table}")
        try:
            return self._migrate(applier, table)
        except SessionLost:
            raise
        except SchemamanError as error:
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            return _build_result(table, "failed", code=exit_code(error), reasons=(reason,))
        except Exception as error:  # unexpected; the other tables are still migrated
            reason = f"{message_of(error)}; {describe_report_hint(str(table.history.table))}"
            return _build_result(table, "failed", code=FAILED, reasons=(reason,))

    def _migrate(self, applier: PlanApplier, table: TargetTable) -> FollowedTable:
        policy = self._workspace.settings.policy
        planner = LakePlanner(applier.preflight, policy, self._request.is_lasting)
        mover = self._make_mover(applier, table)
        moved = mover.move_tables(table.history, table.table) if mover and has_moved(table.history) else ()
        inspected = applier.note_inspection(table.format, table.table)
        lake = planner.inspect(table)
        tables = planner.list_tables(table, lake)
        begun = self._begin_successor(applier, planner, table, tables)
        if begun is not None:
            return _add_statements(moved, begun)
        newest = table
        if len(tables) > 1:
            newest = replace(table, table=tables[-1].address)
            inspected = applier.note_inspection(newest.format, newest.table)
            lake = planner.inspect(newest)
        found = self._migrate_newest(applier, planner, newest, inspected(lake))
        return replace(_add_statements(moved, found), lake_table=table.table)

    def _migrate_newest(
        self, applier: PlanApplier, planner: LakePlanner, table: TargetTable, inspection: Inspection
    ) -> FollowedTable:
        """Migrate the lake table that takes the newest rows; its key comes last."""

        def apply_phase(plan: Plan) -> FollowedTable:
            return self._follow_plan(applier, table, plan, None)[0]

        rewritten = rewrite_columns(planner, table, inspection.lake, applier.clock(), apply_phase)
        if isinstance(rewritten, tuple):
            found = self._migrate_in_place(applier, planner, table, inspection)
            return replace(found, reasons=(*found.reasons, *rewritten))
        if not rewritten.is_current:
            return rewritten
        inspected = applier.note_inspection(table.format, table.table)
        found = self._migrate_in_place(applier, planner, table, inspected(planner.inspect(table)))
        return _add_statements(rewritten.statements, found)

    def _migrate_in_place(
        self, applier: PlanApplier, planner: LakePlanner, table: TargetTable, inspection: Inspection
    ) -> FollowedTable:
        """Make the changes that rewrite no rows."""
        split = planner.plan_split(table, inspection.lake)
        statements: tuple[str, ...] = ()
        if split is not None:
            first, _ = self._follow_plan(applier, table, split, inspection)
            if not first.is_current:
                return first
            statements = first.statements
            inspected = applier.note_inspection(table.format, table.table)
            inspection = inspected(planner.inspect(table))
        plan = planner.plan_from(table, inspection.lake)
        found, lake = self._follow_plan(applier, table, plan, inspection)
        found = _add_statements(statements, found)
        union = planner.plan_union(table, lake) if found.is_current else None
        if union is not None:
            united, lake = self._follow_plan(applier, table, union, None)
            found = _add_statements(found.statements, united)
        mover = self._make_mover(applier, table) if found.is_current and is_renamed(table.history) else None
        if mover is not None:
            found = _add_statements(mover.take_over_rows(table.history, table.table)[0], found)
        rekey = planner.plan_rekey(table, lake) if found.is_current else None
        if rekey is None:
            return found
        excess = planner.explain_scan(table)
        if excess:
            return replace(found, reasons=(*found.reasons, f"the key is not changed: {excess}"))
        # Another key comes last: the rows have all columns by then.
        try:
            keyed, _ = self._follow_plan(applier, table, rekey, None)
        except RowsUnready:
            tables = planner.list_tables(table, planner.inspect(table))
            begun = self._begin_successor(applier, planner, table, tables, unproven=True)
            if begun is None:
                raise
            keyed = begun
        return replace(keyed, statements=(*found.statements, *keyed.statements))

    def _begin_successor(
        self,
        applier: PlanApplier,
        planner: LakePlanner,
        table: TargetTable,
        tables: tuple[LakeTableAt, ...],
        *,
        unproven: bool = False,
    ) -> FollowedTable | None:
        """Begin the next lake table of a source whose key the newest one cannot take; None if it can."""
        found: FollowedTable | None = None
        for plan in planner.plan_successor(table, tables, unproven=unproven):
            before = () if found is None else found.statements
            done, _ = self._follow_plan(applier, replace(table, table=plan.table), plan, None)
            found = replace(done, lake_table=table.table, statements=(*before, *done.statements))
            if not done.is_current:
                return found
        return found

    def _make_mover(self, applier: PlanApplier, table: TargetTable) -> TableMover | None:
        """Make what moves the lake tables of a target; None for one that the settings do not name."""
        targets = (t for t in self._workspace.settings.targets.value if t.name == table.target)
        target = next(targets, None)
        if target is None:
            return None

        def apply_move(plan: Plan) -> tuple[str, ...] | None:
            done = applier.apply_plan(new_run(), plan)
            ran = tuple(o.statement for o in done.outcomes if o.state == "done")
            return None if done.state == "refused" else ran

        policy = self._workspace.settings.policy
        return TableMover(
            self._registry, applier.preflight, policy, target, applier.preflight.executor, apply_move
        )

    def _follow_plan(
        self, applier: PlanApplier, table: TargetTable, plan: Plan, inspection: Inspection | None
    ) -> tuple[FollowedTable, LakeTable | None]:
        """Apply one plan of a lake table, or keep it for a person; the result, and the table afterwards."""
        lake = None if inspection is None else inspection.lake
        file = plan_file(self._folder, table.target, table.table)
        foreign_before = _describe_foreign_changes(applier, plan)
        if not plan.steps and not plan.refusals:
            _remove_plan(file)
            return _build_result(table, "current", reasons=self._new_foreign(table, foreign_before)), lake
        plan = _keep_shown_plan(plan, file, applier.clock())
        done = applier.apply_plan(new_run(), plan, inspection)
        changes = (*map(describe_change, done.foreign), *map(describe_layout_change, done.foreign_layout))
        foreign = tuple(f"the table had changed outside of schemaman: {change}" for change in changes)
        ran = tuple(o.statement for o in done.outcomes if o.state == "done")
        if done.state != "refused" and not plan.refusals:
            _remove_plan(file)
            code = exit_code_of_run(done.state, done.differences, plan.refusals)
            reasons: tuple[str, ...] = (
                ("the table does not match its plan: see schemaman drift",) if code else ()
            )
            state: State = "failed" if code else "applied"
            near = describe_near_tables(table) if plan.base_identity is None else ()
            result = _build_result(
                table, state, code, plan, "", ran, (*reasons, *foreign, *near, *done.notes)
            )
            return result, done.lake_table
        write_plan(file, plan, read_plan_key(self._workspace.settings))
        refused = tuple(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        # With `partial` a refusal does not stop the plan: only the missing approval can have stopped it.
        is_waiting = done.state == "refused" and (self._request.partial or not plan.refusals)
        reasons = (*dict.fromkeys((*done.reasons, *refused)), *(foreign or foreign_before))
        word: State = "waiting" if is_waiting else "refused"
        return _build_result(table, word, REFUSED, plan, str(file), ran, reasons), done.lake_table or lake

    def _new_foreign(self, table: TargetTable, foreign: tuple[str, ...]) -> tuple[str, ...]:
        """Return the foreign changes of a table without a plan; empty if they were already returned."""
        name = (table.target, table.table)
        before, self._foreign[name] = self._foreign.get(name, ()), foreign
        return foreign if foreign != before else ()


def _describe_waiting(target: str, followed: FollowedTable) -> Waiting:
    """Describe a lake table that is not migrated, with the command that settles it."""
    states: dict[State, WaitingState] = {"waiting": "approval", "refused": "refused"}
    state = states.get(followed.state, "failed")
    if state == "approval" and followed.file:
        command = build_command(("approve",), (followed.file,))
    else:
        # The plan names each refusal or fault, with what to do instead.
        command = build_command(("plan",), (followed.table,), "--target", followed.target)
    return Waiting("table", state, target, followed.table, "; ".join(followed.reasons), command)


def _add_statements(before: tuple[str, ...], found: FollowedTable) -> FollowedTable:
    """The result of a table with statements that were run before."""
    state: State = "applied" if before and found.state == "current" else found.state
    return replace(found, state=state, statements=(*before, *found.statements))


def _identify(followed: FollowedTable) -> tuple[str, str]:
    return (followed.target, followed.lake_table)


def _describe_foreign_changes(applier: PlanApplier, plan: Plan) -> tuple[str, ...]:
    """Describe the foreign changes since the last migration that no run and no `drift` has reported."""
    lines = applier.journal.read_target_lines(target_id(plan.format, plan.table))
    expected = find_expected_table(lines, plan.format, plan.table)
    if expected is None or plan.base_schema is None or is_in_progress(lines):
        return ()
    layout = find_layout_changes(expected.layout, plan.base_layout)
    columns = diff(expected.structure, plan.base_schema)
    changes = [*map(describe_change, columns), *map(describe_layout_change, layout)]
    known = read_drift(lines)[1].split("; ")
    if all(change in known for change in changes):
        return ()
    text = "; ".join(changes)
    return (f"the table has changed outside of schemaman since the last migration: {text}; schemaman drift",)


def _remove_plan(file: Path) -> None:
    """Remove a plan file that no longer needs a person, and its SQL file."""
    file.unlink(missing_ok=True)
    file.with_suffix(".sql").unlink(missing_ok=True)


def _keep_shown_plan(plan: Plan, file: Path, now_ms: int) -> Plan:
    """Return the plan in the file if it differs only in the table's version, that is, by committed rows.

    An approval names a plan by its hash, and each commit of rows makes a new version of the table. A plan
    that the command `plan` wrote into this folder is kept until it expires.
    """
    try:
        shown = from_text(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SchemamanError):
        return plan
    if shown.expires_ms is not None and shown.expires_ms < now_ms:
        return plan
    alike = replace(shown, base_version=plan.base_version, expires_ms=plan.expires_ms)
    return shown if alike == plan else plan


def _build_result(
    table: TargetTable,
    state: State,
    code: int = 0,
    plan: Plan | None = None,
    file: str = "",
    statements: tuple[str, ...] = (),
    reasons: tuple[str, ...] = (),
) -> FollowedTable:
    name = "" if plan is None else plan_hash(plan)
    source = str(table.history.table)
    return FollowedTable(source, table.target, table.table, state, code, name, file, statements, reasons)
