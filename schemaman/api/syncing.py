"""Keeps lake tables up to date with their sources: plans and migrates them under the policy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from schemaman.api.applying import ApplyRequest, PlanApplier
from schemaman.api.exit_codes import FAILED, exit_code
from schemaman.api.planning import LakePlanner
from schemaman.api.sync_plans import SyncPlans, build_result
from schemaman.api.table_sync import TableSync, make_mover
from schemaman.api.target_tables import TargetTable, list_all_target_tables
from schemaman.api.workspace import Workspace
from schemaman.errors import SchemamanError, SessionLost, message_of
from schemaman.history.decisions import Decisions
from schemaman.ingest.ingest import Summary
from schemaman.migration.apply.journal import (
    target_id,
)
from schemaman.migration.apply.waiting import (
    Waiting,
    WaitingKind,
    WaitingState,
    list_waiting_lines,
)
from schemaman.migration.target import Executor
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command, quote_word
from schemaman.registry import Registry
from schemaman.report.json.sync import FollowedTable, State
from schemaman.sink.moved_tables import has_moved

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
        self._request = ApplyRequest(partial=partial, is_lasting=executor is None)
        self._plans = SyncPlans(folder, workspace.settings, partial)
        self._executor = executor
        self._applier: PlanApplier | None = None
        self._recorded: set[TableId] = set()
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
        self._await_window(found)
        return found

    def _await_window(self, found: Sequence[FollowedTable]) -> None:
        """Look at tables within no bound again when the window begins: no record may come by then."""
        policy, clock = self._workspace.settings.policy, self._workspace.clock
        closed_ms = policy.bounds.find_opening(clock())
        bounded = {_identify(f) for f in found if f.bounds} if closed_ms else set()
        self._unsettled = (self._unsettled or set()) | bounded
        self._rests |= dict.fromkeys(bounded, time.monotonic() + closed_ms / 1000)

    def _note_waiting(self, tables: Sequence[TargetTable], found: Sequence[FollowedTable]) -> None:
        """Write into the journal which lake tables wait now, and which no longer do."""
        now: dict[tuple[str, WaitingKind], Waiting | None] = {}
        for table, followed in zip(tables, found, strict=True):
            target = target_id(table.format, table.table)
            is_waiting = followed.bounds or not followed.is_current
            now[target, "table"] = _describe_waiting(target, followed) if is_waiting else None
        read_lines = self._applier.journal.read_target_lines if self._applier else lambda _: ()
        lines = list_waiting_lines((line for target, _ in now for line in read_lines(target)), now)
        if lines:
            self._registry.note(*lines)

    def _choose(self, tables: Sequence[TargetTable]) -> tuple[TargetTable, ...]:
        chosen = tables
        if self._unsettled is not None:
            now = time.monotonic()
            waiting = {name for name in self._unsettled if self._rests.get(name, now) <= now}
            recorded = self._recorded
            chosen = [t for t in tables if t.history.table in recorded or (t.target, t.table) in waiting]
        # A run that was killed amid an exchange of tables left a name without a table: that comes first.
        return tuple(sorted(chosen, key=lambda t: not has_moved(t.history)))

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
            return build_result(table, "failed", code=exit_code(error), reasons=(reason,))
        except Exception as error:  # unexpected; the other tables are still migrated
            reason = f"{message_of(error)}; {describe_report_hint(str(table.history.table))}"
            return build_result(table, "failed", code=FAILED, reasons=(reason,))

    def _migrate(self, applier: PlanApplier, table: TargetTable) -> FollowedTable:
        planner = LakePlanner(applier.preflight, self._workspace.settings.policy, self._request.is_lasting)
        mover = make_mover(applier, planner, table)
        return TableSync(applier, planner, self._plans, mover).sync_table(table)


def _describe_waiting(target: str, followed: FollowedTable) -> Waiting:
    """Describe a lake table that is not migrated or within no bound, with the command that settles it."""
    if followed.is_current:
        return Waiting("table", "bound", target, followed.table, "; ".join(followed.bounds))
    states: dict[State, WaitingState] = {"waiting": "approval", "refused": "refused"}
    state = states.get(followed.state, "failed")
    if state == "approval" and followed.file:
        command = build_command(("approve",), (followed.file,))
    else:
        # The plan names each refusal or fault, with what to do instead.
        command = build_command(("plan",), (followed.table,), "--target", followed.target)
    return Waiting("table", state, target, followed.table, "; ".join(followed.reasons), command)


def _identify(followed: FollowedTable) -> tuple[str, str]:
    return (followed.target, followed.lake_table)
