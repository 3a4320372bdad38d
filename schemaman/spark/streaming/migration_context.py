"""What the migration of the sink's lake tables asks and changes: registry, journal, policy, and the lake."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from schemaman.history.decisions import Rename, list_proven_renames
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import StoreJournal, apply, target_id
from schemaman.migration.apply.lease import TargetLease, hold_in_turn
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.policy import ChangeKind, Level
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.target import TARGETS, Executor, LakeTable, Target
from schemaman.model.ddl import quote_name
from schemaman.model.schema import TableId
from schemaman.registry import Registry, RegistryStore
from schemaman.sink.ended_incarnations import EndedRows, open_earlier_store
from schemaman.sink.moved_tables import TableMover
from schemaman.sink.preflight import Preflight
from schemaman.sink.reader_views import ReaderViews
from schemaman.sink.stale_rows import StaleRowCheck
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.spark.streaming.noted_inspections import NotedInspections
from schemaman.spark.streaming.sink_table import Blocked, Ready, SinkTable

_ADDITIONS: tuple[ChangeKind, ...] = ("add-column", "add-required-column", "rename-suspected")
"""Changes that leave a column of the source out of the lake where they are ignored."""


@dataclass(frozen=True, slots=True)
class MigrationContext:
    """The registry, its journal, the policy and people's approvals: the same for all lake tables."""

    store: RegistryStore
    registry: Registry
    policy: Policy
    clock: Callable[[], int]
    is_approved: Callable[[Plan], bool]
    apply_decisions: Callable[[TableHistory], TableHistory]
    modes: ConnectorModes = UNKNOWN_MODES
    journal: StoreJournal = field(init=False, compare=False)
    views: ReaderViews = field(default_factory=lambda: ReaderViews(checks=False), compare=False)

    def __post_init__(self) -> None:
        # One for all tables: each line of the log is read once, however many tables there are.
        object.__setattr__(self, "journal", StoreJournal(self.store))

    def look_back(self, before: EndedRows) -> MigrationContext:
        """The same with the histories that the source had before an event."""
        store = open_earlier_store(self.store, before)
        earlier = replace(self, store=store, registry=Registry(store, self.clock))
        object.__setattr__(earlier, "journal", self.journal)
        return earlier

    def open_table(self, sink_table: SinkTable, executor: Executor) -> TableContext:
        """The context of one lake table."""
        return TableContext(self, sink_table, executor)


@dataclass(frozen=True, slots=True)
class TableContext:
    """One lake table, and what its migration asks and changes."""

    shared: MigrationContext
    sink_table: SinkTable
    executor: Executor

    @property
    def target(self) -> Target:
        """The format of the table."""
        return TARGETS.get(self.sink_table.target.format)

    @property
    def keeps_both(self) -> bool:
        """Whether the lake gets both columns of a suspected rename without an answer."""
        target, table = self.sink_table.target, str(self.sink_table.table)
        return self.shared.policy.keeps_both(table, target.name, target.format)

    @property
    def splits_columns(self) -> bool:
        """Whether values go into columns beside others without a person."""
        return self.find_level("split-column") == "auto"

    @property
    def ignores_additions(self) -> bool:
        """Whether values of columns that the policy does not add are left out."""
        return any(self.find_level(kind) == "ignore" for kind in _ADDITIONS)

    @property
    def takes_proof(self) -> bool:
        """Whether a rename by column order counts as one, also where the lake keeps the old name."""
        target, table = self.sink_table.target, str(self.sink_table.table)
        return self.shared.policy.takes_proof(table, target.name, target.format)

    @property
    def stale_rows(self) -> StaleRowCheck:
        """The check for rows that were read by an older history."""
        return StaleRowCheck(self.shared.store, self.shared.modes)

    def at_address(self, address: str) -> TableContext:
        """The context of another lake table of the same source."""
        return replace(self, sink_table=replace(self.sink_table, lake_table=address))

    def list_addresses(self) -> tuple[str, ...]:
        """The addresses of the lake tables to which this target leads the other tables of the store."""
        return tuple(map(self.sink_table.target.address, self.list_other_tables()))

    def list_other_tables(self) -> tuple[TableId, ...]:
        """The other tables of the store that this target includes."""
        target, own = self.sink_table.target, self.sink_table.table
        others = (table for table in self.shared.store.tables() if table != own)
        return tuple(table for table in others if target.has_table(table))

    def inspect(self, address: str) -> LakeTable | None:
        """Read a lake table; None if there is none. Raises as `Executor.inspect`."""
        return self.executor.inspect(address, self.sink_table.target.format)

    def find_level(self, kind: ChangeKind) -> Level:
        """The level that the policy gives to a kind of change of this table."""
        target, table = self.sink_table.target, str(self.sink_table.table)
        return self.shared.policy.find_ruling(kind, table, target.name, target.format).level

    def has_rule(self, kind: ChangeKind) -> bool:
        """Whether a rule of the user gives this kind of change its level."""
        target, table = self.sink_table.target, str(self.sink_table.table)
        return self.shared.policy.has_rule(kind, table, target.name, target.format)

    def decide_history(self) -> TableHistory:
        """The history of the source with people's decisions."""
        return self.shared.apply_decisions(self.shared.registry.history(self.sink_table.table))

    def find_proven_renames(self) -> tuple[Rename, ...]:
        """The renames on proof that hold for the table: all under `auto` and `ignore`, else those made."""
        found = list_proven_renames(self.decide_history())
        if not found or self.find_level("rename-proven") in ("auto", "ignore"):
            return found
        target = target_id(self.sink_table.target.format, self.sink_table.lake_table)
        lines = self.shared.journal.read_target_lines(target)
        made = [line.statement for line in lines if line.state in ("done", "skipped")]
        words = {f"RENAME COLUMN {quote_name(r.old)} TO {quote_name(r.new)}": r for r in found}
        return tuple(
            r for ending, r in words.items() if any(statement.endswith(ending) for statement in made)
        )

    def make_preflight(self) -> Preflight:
        """The checks beyond the schema of the lake table."""
        shared = self.shared
        lines = shared.journal.read_target_lines
        return Preflight(shared.store, shared.registry, lines, self.executor, shared.modes)

    def make_recipes(self, source: MigrationSource) -> RecipePlanner:
        """The planner of the recipes of this table, with the columns of its rows."""
        address, name = self.sink_table.lake_table, self.sink_table.target.name
        return RecipePlanner(add_row_columns(source), self.target, address, self.shared.policy, name)

    def make_mover(self) -> TableMover:
        """What moves the lake tables of this target."""
        target, policy = self.sink_table.target, self.shared.policy
        parts = self.executor, self.run_steps, self.take_turn
        return TableMover(self.shared.registry, self.make_preflight(), policy, target, *parts)

    @contextmanager
    def take_turn(self, what: str, *, patience_ms: int = 0) -> Iterator[TargetLease]:
        """Keep other jobs from doing something with the tables of this target meanwhile. Raises `Locked`."""
        shared = self.shared
        with hold_in_turn(shared.store, what, _name_owner(), shared.clock, patience_ms=patience_ms) as lease:
            if isinstance(self.executor, NotedInspections):
                self.executor.forget()
            yield lease

    def run_steps(self, plan: Plan) -> tuple[str, ...]:
        """Apply a plan, and return the statements that were run. Raises as `apply`."""
        done = self.apply_plan(plan)
        return done.steps if isinstance(done, Ready) else ()

    def apply_approved(self, plan: Plan) -> Ready | Blocked:
        """Apply a plan beside the ordinary one, once it is approved where it has to be. Raises as `apply`.

        Rows are written while it waits, so that it is known without the version that they make.
        """
        return self.apply_plan(replace(plan, base_version=None) if plan.approvals_needed else plan)

    def explain_scan(self, address: str) -> str:
        """Explain why the policy does not let a table be read as a whole; empty if it does."""
        bounds = self.shared.policy.bounds
        if bounds.max_scan is None:
            return ""
        return bounds.explain_scan(self.target.measure_table(self.executor, address))

    def explain_rewrite(self, address: str) -> str:
        """Explain why the rows of a table are not written into another one now; empty if they may be.

        Without a bound on what is rewritten, only the bound on what is read counts.
        """
        bounds = self.shared.policy.bounds
        if bounds.max_rewrite is None:
            return self.explain_scan(address)
        return bounds.explain_rewrite(self.target.measure_table(self.executor, address), self.shared.clock())

    def apply_plan(self, plan: Plan) -> Ready | Blocked:
        """Apply a plan; the table has only the steps and notes of this plan. Raises as `apply`."""
        shared, executor, inspection = self.shared, self.executor, None
        if isinstance(executor, NotedInspections):
            inspection, executor = executor.take_inspection(plan.table, plan.format), executor.engine
        done = apply(
            plan,
            executor,
            shared.journal,
            shared.clock,
            run=secrets.token_hex(6),
            leases=shared.store,
            owner=_name_owner(),
            approved=shared.is_approved(plan),
            store=shared.store.id,
            inspection=inspection,
        )
        if done.state == "refused" or done.lake_table is None:
            return Blocked("; ".join(done.reasons), plan)
        if done.differences:
            return Blocked("after the migration the table differs from its plan")
        steps = tuple(o.statement for o in done.outcomes if o.state == "done")
        return Ready(done.lake_table, steps, notes=(*(plan.notes if steps else ()), *done.notes))


def _name_owner() -> str:
    """Name this process for those who wait for its leases."""
    return f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})"
