"""Applies plans with the journal and the leases of a store, and checks their approvals."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial

from schemaman.api.planning import make_preflight
from schemaman.api.spark_session import open_executor, require_lasting_catalog
from schemaman.api.target_tables import cut_history
from schemaman.api.workspace import Workspace
from schemaman.errors import BadReference
from schemaman.history.decisions import Decisions
from schemaman.history.references import parse_name
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import (
    Inspection,
    Migration,
    MigrationProgress,
    StoreJournal,
    apply,
    check,
    is_begun,
)
from schemaman.migration.apply.clone import make_rehearsal
from schemaman.migration.apply.lease import TargetLease, hold_in_turn
from schemaman.migration.approvals import list_missing_approvals
from schemaman.migration.filled_columns import list_unfounded_fills
from schemaman.migration.held_columns import find_exchanged_contents, list_unrecorded_values
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.migration.properties.names import SOURCE_PROPERTY
from schemaman.migration.rename_grounds import RenameGrounds, find_rename_grounds
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import split_columns
from schemaman.migration.statement_check import require_own_statements
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.migration.target_id import target_id
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """The options of a caller.

    `partial`: run the steps although the plan has refusals. `dry_run`: check everything and run nothing.
    `clone`: try the plan on an empty clone first. `take_over`: apply even if another store maintains the
    table. `approved`: whether the plan is approved; None reads the decisions. `is_lasting`: refuse tables
    whose names Spark forgets when it ends.
    """

    partial: bool = False
    dry_run: bool = False
    clone: bool = False
    take_over: bool = False
    approved: bool | None = None
    is_lasting: bool = True


class PlanApplier:
    """Applies plans: one registry, one journal, one executor."""

    def __init__(
        self,
        workspace: Workspace,
        registry: Registry,
        request: ApplyRequest,
        *,
        decisions: Decisions | None = None,
        executor: Executor | None = None,
        report: Callable[[MigrationProgress], None] | None = None,
    ) -> None:
        self.request = request
        self.decisions = registry.decisions() if decisions is None else decisions
        self.store = registry.store
        self.clock = self.store.now_ms if isinstance(self.store, SqlStore) else registry.clock
        self.journal = StoreJournal(self.store)
        self.executor = executor or open_executor(workspace)
        self.preflight = make_preflight(self.store, registry, self.executor)
        self.registry = registry
        self.workspace = workspace
        self._report = report or self._report_step

    def note_inspection(self, format: str, table: str) -> Callable[[LakeTable | None], Inspection]:
        """Note the time before a lake table is inspected; the returned function makes the inspection."""
        at_ms = self.clock()
        lines = len(self.journal.read_target_lines(target_id(format, table)))
        return lambda lake: Inspection(lake, at_ms, lines)

    def apply_plan(self, run: str, plan: Plan, inspection: Inspection | None = None) -> Migration:
        """Apply one plan, or check it. Raises as `migration.apply.apply.apply`."""
        request = self.request
        if request.is_lasting:
            require_lasting_catalog(self.executor, plan.format, plan.table)
        read = self.executor.inspect
        lake = read(plan.table, plan.format) if inspection is None else inspection.lake
        approved = self.is_approved(plan, lake)
        missing = () if approved else self.list_missing_approvals(plan, lake)
        if missing:
            reasons = tuple(f"needs approval: {each}" for each in (*plan.approvals_needed, *missing))
            return Migration(run, plan_hash(plan), plan.table, "refused", reasons=reasons)
        target = TARGETS.get(plan.format)
        rehearse = make_rehearsal(self.executor, target, run or new_run()) if request.clone else None
        if request.dry_run:
            return check(
                plan, self.executor, self.journal, self.clock, run=run, leases=self.store,
                partial=request.partial, approved=approved, store=self.store.id,
                take_over=request.take_over, rehearse=rehearse,
            )  # fmt: skip
        return apply(
            plan, self.executor, self.journal, self.clock, run=run, leases=self.store,
            owner=_name_owner(),
            partial=request.partial, approved=approved, store=self.store.id,
            take_over=request.take_over, rehearse=rehearse, report=self._report, inspection=inspection,
        )  # fmt: skip

    def take_turn(self, what: str) -> AbstractContextManager[TargetLease]:
        """Wait for others who do something with the tables of a target, and keep them from it meanwhile."""
        return hold_in_turn(self.store, what, _name_owner(), self.clock)

    def run_steps(self, plan: Plan) -> tuple[str, ...]:
        """Apply a plan, and return the statements that were run. Raises as `apply_plan`."""
        done = self.apply_plan(new_run(), plan)
        return tuple(o.statement for o in done.outcomes if o.state == "done")

    def is_approved(self, plan: Plan, lake: LakeTable | None) -> bool:
        """Whether the plan is approved; an expired approval is still valid for a plan with a started run."""
        if not plan.approvals_needed and not self.list_missing_approvals(plan, lake):
            return True
        if self.request.approved is not None:
            return self.request.approved
        name, find_approval = plan_hash(plan), self.decisions.find_approval
        if find_approval(name, self.workspace.today()) is not None:
            return True
        return find_approval(name, date.min) is not None and is_begun(plan, self.journal)

    def list_missing_approvals(self, plan: Plan, lake: LakeTable | None) -> tuple[str, ...]:
        """The approvals that the policy of the settings demands and that the plan file does not ask for.

        A plan file says itself what needs approval, and a file can be edited.

        Raises:
            StalePlan: a statement does not follow from its step.
        """
        require_own_statements(plan)
        policy = self.workspace.settings.policy
        sources = _find_sources(plan, lake)
        histories = self._read_histories(sources)
        grounds = _find_rename_grounds(plan, lake, histories)
        layout = lake.layout if lake else ()
        missing = list_missing_approvals(plan, policy, grounds=grounds, layout=layout)
        if not missing and policy.rules:
            named = self._find_names(plan, sources)
            missing = list_missing_approvals(plan, policy, *named, grounds, layout)
        exchanged = () if missing else _find_exchanged_contents(plan, lake, histories)
        if exchanged:
            return (f"the plan records that {', '.join(exchanged)} hold other columns than now",)
        if unrecorded := () if missing else self._list_unrecorded_values(plan):
            return (f"no run on the table shows that {', '.join(unrecorded)} had this value before",)
        if missing or plan.approvals_needed:
            return missing
        inspect = partial(self.executor.inspect, format=plan.format)
        return list_unfounded_fills(plan, lake, grounds, inspect, self._find_former_names(plan, histories))

    def _list_unrecorded_values(self, plan: Plan) -> tuple[str, ...]:
        """The properties that a rollback does not restore, by what the journal has of the plan it undoes."""
        if plan.phase is None or plan.phase.name != "rollback":
            return ()
        lines = self.journal.read_target_lines(target_id(plan.format, plan.table))
        texts = (
            each.statement for each in lines if (each.state, each.plan) == ("started", plan.phase.follows)
        )
        return list_unrecorded_values(plan, next(map(from_text, texts), None))

    def _find_tables(self, names: Iterable[str]) -> list[TableId]:
        """The tables of the store that have these whole names; a text that is no name has none."""
        found = set[TableId]()
        for name in names:
            with suppress(BadReference):
                same_end = self.store.find_by_name(parse_name(name).parts[-1])
                found |= {table for table in same_end if str(table) == name}
        return sorted(found)

    def _read_histories(self, names: Iterable[str]) -> tuple[TableHistory, ...]:
        """The histories of the tables with these whole names, under people's decisions."""
        tables = self._find_tables(names)
        return tuple(self.registry.read_histories(tables, self.decisions)) if tables else ()

    def _find_former_names(self, plan: Plan, known: Iterable[TableHistory]) -> frozenset[str]:
        """The former names of the source of a plan, by the history and people's decisions.

        `known` are histories that were read before.
        """
        by_name = {str(history.table): history for history in known}
        found, names = set[str](), {plan.source.table}
        while names:
            found |= names
            read = self._read_histories(names - by_name.keys())
            histories = [*read, *(by_name[name] for name in names & by_name.keys())]
            names = {a.name for h in histories for a in h.aliases if a.kind == "table"} - found
        return frozenset(found - {plan.source.table})

    def _find_names(self, plan: Plan, sources: set[str]) -> tuple[set[str], set[str]]:
        """The sources that plan and table name, and the targets that lead them into the table."""
        named = target_id(plan.format, plan.table)
        tables = self._find_tables(sources)
        leading = [
            (target.name, target_id(target.format, target.address(table)) == named)
            for target in self.workspace.settings.targets.value
            if target.format == plan.format
            for table in tables
            if target.has_table(table)
        ]
        # Another spelling may lead to any target's table: another scheme, a catalogue that ignores case.
        is_named = any(same for _, same in leading)
        targets = {name for name, same in leading if same or not is_named}
        return sources, targets

    def _report_step(self, progress: MigrationProgress) -> None:
        step = min(progress.done + 1, progress.steps)
        self.workspace.messages.progress(
            f"run {progress.run}: {progress.table}: step {step} of {progress.steps}: {progress.activity}"
        )


def _find_sources(plan: Plan, lake: LakeTable | None) -> set[str]:
    """The sources that a plan and the properties of its table name."""
    return {plan.source.table, lake.properties.get(SOURCE_PROPERTY, "") if lake else ""} - {""}


def _name_owner() -> str:
    """Name this process for those who wait for its leases."""
    return f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})"


def _find_exchanged_contents(
    plan: Plan, lake: LakeTable | None, histories: Iterable[TableHistory]
) -> tuple[str, ...]:
    """The columns of which the plan records another content than they have, by its source's history."""
    for history in (each for each in histories if str(each.table) == plan.source.table):
        found = [find_exchanged_contents(plan, lake, history, proven=each) for each in (False, True)]
        if all(found):
            return found[0]
    return ()


def _find_rename_grounds(
    plan: Plan, lake: LakeTable | None, whole: Sequence[TableHistory]
) -> RenameGrounds | None:
    """The grounds for names in the histories of the sources that plan and table name.

    None without any step that gives a name, or if there are no histories.
    """
    if all(step.kind not in ("rename-column", "add-columns", "backfill") for step in plan.steps):
        return None
    if not whole:
        return None
    # A part of a split column is renamed by its own name, which no history has.
    histories = [
        split_columns(cut_history(history, version), lake)
        for history in whole
        for version in {v.incarnation: v for v in history.versions}.values()
    ]
    is_followed = (plan.source.table, plan.source.version, plan.source.id)
    followed = [
        cut_history(history, version)
        for history in whole
        for version in history.versions
        if (str(history.table), version.number, version.id) == is_followed
    ]
    return find_rename_grounds(
        [migration_source(history) for history in histories],
        [migration_source(history, proven=True) for history in histories],
        [migration_source(history) for history in followed or histories],
    )


def new_run() -> str:
    """Make a unique name for a run."""
    return secrets.token_hex(6)
