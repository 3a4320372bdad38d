"""Makes plans for lake tables, and runs the preflight checks on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schemaman.api.spark_session import require_lasting_catalog
from schemaman.api.target_tables import TargetTable
from schemaman.history.open_renames import describe_open_renames, treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan import MigrationSource, Plan, Refusal
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy
from schemaman.migration.properties.table_record import SplitColumn, read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import find_new_split, split_columns
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.registry import Registry, RegistryStore
from schemaman.sink.answered_renames import find_former_columns, plan_union
from schemaman.sink.preflight import Preflight, withhold_plan


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
        """Make the ordinary plan for the current state of one lake table. Raises as `inspect`."""
        lake_table = self.inspect(table)
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
            return plan
        return withhold_plan(plan, _refuse_shared_table(table))

    def find_splits(self, table: TargetTable) -> Mapping[str, SplitColumn] | None:
        """Find the parts of split columns that the table has to record; None if it needs no other part.

        Raises as `inspect`.
        """
        names = str(table.history.table), table.target, table.format
        lake_table = self.inspect(table)
        if lake_table is None or self.policy.find_ruling("split-column", *names).level != "auto":
            return None
        recipes = self._make_recipes(table, lake_table)
        history = split_columns(self._settle_renames(table), lake_table)
        splits = (
            find_new_split(history, name, lake_table) for name in recipes.list_stuck_columns(lake_table)
        )
        return next((each for each in splits if each is not None), None)

    def plan_rekey(self, table: TargetTable) -> Plan | None:
        """Plan the change of the key if the policy makes it by itself; None if there is none.

        Raises as `inspect`.
        """
        names = str(table.history.table), table.target, table.format
        lake_table = self.inspect(table)
        if lake_table is None or self.policy.find_ruling("change-key", *names).level != "auto":
            return None
        found = self._make_recipes(table, lake_table).plan_rekey(lake_table)
        return (
            self.preflight.check_plan(found, lake_table, table.history) if isinstance(found, Plan) else None
        )

    def plan_union(self, table: TargetTable) -> Plan | None:
        """Plan to unite columns whose rename was answered late, as far as the policy makes it by itself.

        Raises as `inspect`.
        """
        names = str(table.history.table), table.target, table.format
        lake_table = self.inspect(table)
        if lake_table is None or self.policy.find_ruling("unite-columns", *names).level != "auto":
            return None
        former = find_former_columns(table.history, lake_table)
        recipes = self._make_recipes(table, lake_table)
        found, _ = plan_union(recipes, lake_table, former, self.executor)
        return None if found is None else self.preflight.check_plan(found, lake_table, table.history)

    def _make_recipes(self, table: TargetTable, lake_table: LakeTable) -> RecipePlanner:
        source, target = self.make_source(table, lake_table), TARGETS.get(table.format)
        return RecipePlanner(source, target, table.table, self.policy, table.target)

    def _settle_renames(self, table: TargetTable) -> TableHistory:
        return treat_as_additions(table.history) if self._keeps_both(table) else table.history

    def make_source(self, table: TargetTable, lake_table: LakeTable | None = None) -> MigrationSource:
        """Make the migration source of a lake table, with the proven renames that the policy accepts.

        A column that `lake_table` has in several parts is several columns.
        """
        name = str(table.history.table)
        proven = self.policy.is_made("rename-proven", name, table.target, table.format)
        history = split_columns(self._settle_renames(table), lake_table)
        return migration_source(history, proven=proven, newer=table.newer)

    def _keeps_both(self, table: TargetTable) -> bool:
        """Whether the lake gets both columns of a suspected rename that nobody has answered."""
        return self.policy.is_made("rename-unanswered", str(table.history.table), table.target, table.format)


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
