"""Makes plans for lake tables, and runs the preflight checks on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemaman.api.spark_session import open_executor, require_lasting_catalog
from schemaman.api.target_tables import TargetTable, list_target_tables
from schemaman.api.workspace import Workspace
from schemaman.errors import UsageError
from schemaman.history.decisions import Rename, list_proven_renames
from schemaman.history.open_renames import describe_open_renames, treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan import MigrationSource, Plan, Refusal
from schemaman.migration.plan_file import parse_expiry
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy
from schemaman.migration.properties.names import SUCCESSOR_PROPERTY
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import join_split_renames, split_columns
from schemaman.migration.successor import find_first_address, is_numbered, list_successors
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.migration.target_id import target_id
from schemaman.registry import Registry, RegistryStore
from schemaman.sink.preflight import Preflight, withhold_plan
from schemaman.sink.reader_views import ReaderViews
from schemaman.sink.row_places import (
    RowPlace,
    find_first_version,
)


@dataclass(frozen=True, slots=True)
class LakePlanner:
    """Makes plans under a policy; checks each plan against the store and the lake table.

    `is_lasting`: refuse tables whose names Spark forgets at the end of the session.
    """

    preflight: Preflight
    policy: Policy
    is_lasting: bool = True

    @property
    def executor(self) -> Executor:
        """The executor that reads the lake tables."""
        return self.preflight.executor

    def inspect(self, table: TargetTable) -> LakeTable | None:
        """Read the lake table; None if it does not exist.

        Raises:
            UsageError: Spark forgets the table's name at the end of the session.
            StatementFailed: the lake cannot be read.
        """
        if self.is_lasting:
            require_lasting_catalog(self.executor, table.format, table.table)
        return self.executor.inspect(table.table, table.format)

    def plan_table(self, table: TargetTable, expires_ms: int | None = None) -> Plan:
        """Make the ordinary plan for the lake table that takes the newest rows. Raises as `inspect`."""
        newest, lake_table = self.find_newest(table)
        plan = self.plan_from(newest, lake_table, expires_ms)
        lost = read_record(lake_table.properties).successor if lake_table is not None else ""
        return withhold_plan(plan, _refuse_lost_successor(newest, lost)) if lost else plan

    def find_first(self, table: TargetTable) -> TargetTable:
        """Find the first lake table of a source: another one if a successor of another source has its name.

        A lake table that the user named is the one. Raises as `inspect`.
        """
        if table.address is None or not is_numbered(table.table):
            return table

        def inspect(name: str) -> LakeTable | None:
            return self.executor.inspect(name, table.format)

        return replace(table, table=find_first_address(inspect, table.table, str(table.history.table)))

    def find_newest(self, table: TargetTable) -> tuple[TargetTable, LakeTable | None]:
        """Find the last successor of a lake table, which takes the newest rows. Raises as `inspect`."""
        table = self.find_first(table)
        first = self.inspect(table)
        if first is None:
            return table, None

        def inspect(name: str) -> LakeTable | None:
            return first if name == table.table else self.executor.inspect(name, table.format)

        newest = list_successors(inspect, table.table)[-1]
        return replace(table, table=newest.address), newest.lake

    def plan_from(
        self, table: TargetTable, lake_table: LakeTable | None, expires_ms: int | None = None
    ) -> Plan:
        """Make the ordinary plan from the inspected state of a lake table; only checks of rows read it."""
        plan = make_plan(
            self.make_source(table, lake_table),
            lake_table,
            TARGETS.get(table.format),
            table.table,
            self.policy,
            target_name=table.target,
            expires_ms=expires_ms,
        )
        if lake_table is None:
            plan = replace(plan, notes=(*plan.notes, *describe_near_tables(table)))
        if plan.steps and self._keeps_both(table):
            plan = replace(plan, notes=(*plan.notes, *describe_open_renames(table.history)))
        plan = self.preflight.check_plan(plan, lake_table, table.history, table.address)
        owner = None if lake_table is None else read_record(lake_table.properties).source
        if not table.others or owner == str(table.history.table):
            return self._plan_view(plan, lake_table, table)
        return withhold_plan(plan, _refuse_shared_table(table))

    def _plan_view(self, plan: Plan, lake_table: LakeTable | None, table: TargetTable) -> Plan:
        if table.view is None:
            return plan
        registry = self.preflight.registry
        lines = registry.dated_journal(target=target_id(table.format, table.table))
        history = self.settle_renames(table, lake_table)
        others = tuple(each for each in table.neighbours if each != table.history.table)
        how = (lines, self.executor, registry.clock(), others, table.address or str)
        return ReaderViews().plan_view(plan, lake_table, history, table.view, *how)

    def make_recipes(self, table: TargetTable, lake_table: LakeTable) -> RecipePlanner:
        """Make the planner of the recipes of one lake table."""
        source, target = self.make_source(table, lake_table), TARGETS.get(table.format)
        return RecipePlanner(source, target, table.table, self.policy, table.target)

    def settle_renames(self, table: TargetTable, lake_table: LakeTable | None = None) -> TableHistory:
        """The history of the source, in which an open rename is an addition where the policy has it so.

        A column that `lake_table` has in parts since a rename on proof is one column.
        """
        history = join_split_renames(table.history, lake_table, self.list_proven_renames(table))
        return treat_as_additions(history) if self._keeps_both(table) else history

    def list_proven_renames(self, table: TargetTable) -> tuple[Rename, ...]:
        """List the renames on proof of the source; none where the policy does not accept them."""
        is_taken = self.policy.takes_proof(str(table.history.table), table.target, table.format)
        return list_proven_renames(table.history) if is_taken else ()

    def make_source(self, table: TargetTable, lake_table: LakeTable | None = None) -> MigrationSource:
        """Make the migration source of a lake table, with the proven renames that the policy accepts.

        A column that `lake_table` has in several parts is several columns.
        """
        name = str(table.history.table)
        proven = self.policy.takes_proof(name, table.target, table.format)
        history = split_columns(self.settle_renames(table, lake_table), lake_table)
        first = None if lake_table is None else find_first_version(history, lake_table)
        if first is not None:
            history = RowPlace(None, first).cut_history(history)
        return migration_source(history, proven=proven, newer=table.newer)

    def _keeps_both(self, table: TargetTable) -> bool:
        """Whether the lake gets both columns of a suspected rename without an answer."""
        return self.policy.keeps_both(str(table.history.table), table.target, table.format)


def _refuse_lost_successor(table: TargetTable, successor: str) -> Refusal:
    return Refusal(
        f"follow {table.history.table}",
        f"its newer rows were in {successor}, which does not exist",
        f"restore that table; or unset the property {SUCCESSOR_PROPERTY} of {table.table} to follow the "
        "older table again",
    )


def _refuse_shared_table(table: TargetTable) -> Refusal:
    return Refusal(
        f"bring {table.table} to {table.history.table}",
        f"targets lead {', '.join(table.others)} into this lake table, too: rows would overwrite each other",
        "put {schema}, {database} or {server} into the name of the [[target]], or select the tables more "
        "narrowly; read them together by a view with UNION ALL",
    )


def describe_near_tables(table: TargetTable) -> tuple[str, ...]:
    """Describe the lake tables of other source tables that only case tells apart from this one."""
    canonical_name = TARGETS.get(table.format).canonical_name
    own_name = canonical_name(table.table)
    return tuple(
        _NEAR_TABLE.format(other, address)
        for other, address in table.twins
        if canonical_name(address) != own_name and canonical_name(address).lower() == own_name.lower()
    )


_NEAR_TABLE = (
    "{} goes into {}: a catalogue or file system without regard to case takes both for one table; then give "
    "each a [[target]] of its own"
)


def make_preflight(store: RegistryStore, registry: Registry, executor: Executor) -> Preflight:
    """Make the checks beyond the lake table's own schema; they read histories without decisions."""
    bare = Registry(store, registry.clock)
    return Preflight(store, bare, StoreJournal(store).read_target_lines, executor)


def plan_source(
    workspace: Workspace,
    registry: Registry,
    source: str,
    *,
    target: str | None,
    table: str | None,
    executor: Executor | None,
    policy: Policy | None,
    expires: str | None,
) -> Plan:
    """Make the plan for the one lake table that follows a source. Raises as `list_target_tables`."""
    found = list_target_tables(workspace, registry, [source], target, table)
    if len(found) != 1:
        names = ", ".join(f"{one.table} (target {one.target})" for one in found)
        raise UsageError(f"several lake tables follow {source}: {names}", hint="name the target")
    until = read_expiry(workspace, expires)
    preflight = make_preflight(registry.store, registry, executor or open_executor(workspace))
    planner = LakePlanner(preflight, policy or workspace.settings.policy, is_lasting=executor is None)
    return planner.plan_table(found[0], until)


def read_expiry(workspace: Workspace, expires: str | None) -> int | None:
    """Return the expiry of a plan in epoch milliseconds, by default that of the settings; None for never.

    Raises:
        UsageError: the time is in the past.
    """
    lasts = expires or workspace.settings.plan_expires.value
    now = workspace.clock()
    until = parse_expiry(lasts, now)
    if until is not None and until <= now:
        raise UsageError(f"{lasts} is in the past", hint="give 30d, 12h, a later date, or never")
    return until
