"""Applies the plans of `sync`, and keeps those that need a person as files in one folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from schemaman.api.applying import PlanApplier, new_run
from schemaman.api.exit_codes import REFUSED, exit_code_of_run
from schemaman.api.plan_files import plan_file, read_plan_key, write_plan
from schemaman.api.planning import describe_near_tables
from schemaman.api.target_tables import TargetTable
from schemaman.errors import SchemamanError
from schemaman.migration.apply.apply import Inspection
from schemaman.migration.apply.journal import find_expected_table, is_in_progress, read_drift, target_id
from schemaman.migration.layout import describe_layout_change, find_layout_changes
from schemaman.migration.plan import Plan, describe_change
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.target import LakeTable
from schemaman.model.diff import diff
from schemaman.report.json.sync import FollowedTable, State
from schemaman.settings import Settings


@dataclass(frozen=True, slots=True)
class SyncPlans:
    """The plans of `sync`: `folder` has one file for each lake table whose plan needs a person.

    `settings` name the key that signs the files. `partial`: what is not refused is applied. `foreign` are the
    foreign changes that were returned before, by target and lake table.
    """

    folder: Path
    settings: Settings
    partial: bool
    foreign: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def follow_plan(
        self, applier: PlanApplier, table: TargetTable, plan: Plan, inspection: Inspection | None
    ) -> tuple[FollowedTable, LakeTable | None]:
        """Apply one plan of a lake table, or keep it for a person; the result, and the table afterwards.

        Raises as `PlanApplier.apply_plan`.
        """
        lake = None if inspection is None else inspection.lake
        file = plan_file(self.folder, table.target, table.table)
        foreign_before = _describe_foreign_changes(applier, plan)
        if not plan.steps and not plan.refusals:
            _remove_plan(file)
            return build_result(table, "current", reasons=self._new_foreign(table, foreign_before)), lake
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
            result = build_result(table, state, code, plan, "", ran, (*reasons, *foreign, *near, *done.notes))
            return result, done.lake_table
        write_plan(file, plan, read_plan_key(self.settings))
        refused = tuple(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        # With `partial` a refusal does not stop the plan: only the missing approval can have stopped it.
        is_waiting = done.state == "refused" and (self.partial or not plan.refusals)
        reasons = (*dict.fromkeys((*done.reasons, *refused)), *(foreign or foreign_before))
        word: State = "waiting" if is_waiting else "refused"
        return build_result(table, word, REFUSED, plan, str(file), ran, reasons), done.lake_table or lake

    def _new_foreign(self, table: TargetTable, foreign: tuple[str, ...]) -> tuple[str, ...]:
        """Return the foreign changes of a table without a plan; empty if they were already returned."""
        name = (table.target, table.table)
        before, self.foreign[name] = self.foreign.get(name, ()), foreign
        return foreign if foreign != before else ()


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


def build_result(
    table: TargetTable,
    state: State,
    code: int = 0,
    plan: Plan | None = None,
    file: str = "",
    statements: tuple[str, ...] = (),
    reasons: tuple[str, ...] = (),
) -> FollowedTable:
    """The result of one lake table; `code` is its exit code."""
    name = "" if plan is None else plan_hash(plan)
    source = str(table.history.table)
    return FollowedTable(source, table.target, table.table, state, code, name, file, statements, reasons)
