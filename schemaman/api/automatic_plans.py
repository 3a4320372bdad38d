"""The plans that `sync` makes and applies by itself, as far as the policy lets it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from schemaman.api.planning import LakePlanner
from schemaman.api.target_tables import TargetTable
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.bounds import Bounds
from schemaman.migration.plan import Plan
from schemaman.migration.policy import ChangeKind
from schemaman.migration.recipes.filled_successors import plan_filling
from schemaman.migration.recipes.split_plans import plan_split
from schemaman.migration.recipes.successor_plans import plan_successor
from schemaman.migration.replacement_table import NO_CARRIED_COLUMNS
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import join_retyped
from schemaman.migration.successor import LakeTableAt, list_successors
from schemaman.migration.target import TARGETS, LakeTable, query_number
from schemaman.sink.answered_renames import find_former_columns, plan_answered_renames
from schemaman.sink.filled_successors import find_carried_columns, find_origin, is_filling_due, may_fill
from schemaman.sink.row_places import (
    find_key_begin,
    find_key_end,
    find_retyped_key,
    find_types,
    is_of_sink,
    make_predecessor,
)
from schemaman.sink.uncertain_keys import is_key_open


@dataclass(frozen=True, slots=True)
class AutomaticPlanner:
    """Makes the plans beside the ordinary one, for changes that the policy makes without a person."""

    planner: LakePlanner

    @property
    def bounds(self) -> Bounds:
        """What may be read and rewritten."""
        return self.planner.policy.bounds

    def plan_split(self, table: TargetTable, lake_table: LakeTable | None) -> Plan | None:
        """Plan the columns that the table needs beside others; None if the policy or the table needs none."""
        if lake_table is None or not self._is_automatic("split-column", table):
            return None
        table = self._join_retyped(table, lake_table)
        recipes = self.planner.make_recipes(table, lake_table)
        found = plan_split(recipes, self.planner.settle_renames(table, lake_table), lake_table)
        checked = found and self._check(found, lake_table, table)
        return checked if checked is not None and checked.steps else None

    def _join_retyped(self, table: TargetTable, lake_table: LakeTable) -> TargetTable:
        """The table, with one column for a rename on proof whose new type the format cannot make in place."""

        def list_stuck(joined: TableHistory) -> tuple[str, ...]:
            recipes = self.planner.make_recipes(replace(table, history=joined), lake_table)
            return recipes.list_stuck_columns(lake_table)

        renames = self.planner.list_proven_renames(table)
        return replace(table, history=join_retyped(table.history, lake_table, renames, list_stuck))

    def plan_rekey(self, table: TargetTable, lake_table: LakeTable | None) -> Plan | None:
        """Plan the change of the key if the policy makes it; None if there is none."""
        if lake_table is None or not self._is_made("change-key", table):
            return None
        found = self.planner.make_recipes(table, lake_table).plan_rekey(lake_table)
        return self._check(found, lake_table, table) if isinstance(found, Plan) else None

    def explain_scan(self, table: TargetTable) -> str:
        """Explain why the policy does not let the table be read as a whole; empty if it does."""
        if self.bounds.max_scan is None:
            return ""
        return self.bounds.explain_scan(self.measure(table))

    def measure(self, table: TargetTable) -> int | None:
        """Measure the data files of a lake table, in bytes; None if the table does not tell."""
        return TARGETS.get(table.format).measure_table(self.planner.executor, table.table)

    def list_tables(self, table: TargetTable, lake_table: LakeTable | None) -> tuple[LakeTableAt, ...]:
        """List the lake table of a source and its successors, the newest one last. Raises as `inspect`."""
        if lake_table is None:
            return ()
        return list_successors(
            lambda name: (
                lake_table if name == table.table else self.planner.executor.inspect(name, table.format)
            ),
            table.table,
        )

    def plan_successor(
        self, table: TargetTable, tables: tuple[LakeTableAt, ...], *, unproven: bool = False
    ) -> tuple[Plan, ...]:
        """Plan the next lake table of a source whose key the newest one cannot take; empty if there is none.

        `unproven`: its rows do not prove the key. The sink then writes the newer rows there, so that only
        tables of the sink have successors. Raises as `inspect`.
        """
        if not tables:
            return ()
        newest, history = tables[-1], self.planner.settle_renames(table)
        if is_key_open(history) or not is_of_sink(newest.lake):
            return ()
        end = None
        if self._is_automatic("on-key-changed" if unproven else "on-key-lost", table):
            end = find_types(history, newest.lake)
            end = end or (find_key_begin(history) if unproven else find_key_end(history, newest, ()))
        if end is None and self._is_automatic("on-key-changed", table):
            recipes = self.planner.make_recipes(replace(table, table=newest.address), newest.lake)
            end = find_retyped_key(history, newest.lake, lambda _, lake: recipes.list_stuck_columns(lake))
        if end is None:
            return ()
        names = str(table.history.table), table.target, table.format
        carried = NO_CARRIED_COLUMNS
        if self._may_fill(table, newest.lake, end):
            carried = find_carried_columns(history, newest.lake)
        proven = self.planner.policy.takes_proof(*names)
        known = self.planner.preflight.store.tables() if table.address is not None else ()
        others = [each for each in known if each != table.history.table]
        return plan_successor(
            add_row_columns(migration_source(history, proven=proven)),
            TARGETS.get(table.format),
            lambda name: self.planner.executor.inspect(name, table.format),
            tables,
            make_predecessor(newest, end, history),
            self.planner.policy,
            table.target,
            tuple(map(table.address, others)) if table.address is not None else (),
            carried,
        )

    def plan_filling(
        self, table: TargetTable, tables: tuple[LakeTableAt, ...], now_ms: int
    ) -> Plan | str | None:
        """Plan to fill the first successor that lacks rows of the table before it; None if none does.

        A text says why the bounds do not let it be filled now. Raises as `inspect`, and `StatementFailed`.
        """
        names = str(table.history.table), table.target, table.format
        demanded = self.planner.policy.has_rule("fill-successor", *names)
        history, executor = self.planner.settle_renames(table), self.planner.executor
        for before, after in pairwise(tables if self._is_automatic("fill-successor", table) else ()):
            if not is_filling_due(history, before, after, is_demanded=demanded):
                continue
            size = self.measure(replace(table, table=before.address))
            explain = self.bounds.explain_rewrite if self.bounds.max_rewrite is not None else None
            excess = explain(size, now_ms) if explain else self.bounds.explain_scan(size)
            if excess:
                return f"{after.address} is not filled from {before.address}: {excess}"
            target, count = TARGETS.get(table.format), partial(query_number, executor)
            source, origin = migration_source(history), find_origin(history)
            return plan_filling(source, target, before, after, origin, table.target, count)
        return None

    def _may_fill(self, table: TargetTable, before: LakeTable, version: SchemaVersion) -> bool:
        """Whether the successor that begins with a version may get the rows of the table before it."""
        names = str(table.history.table), table.target, table.format
        demanded = self.planner.policy.has_rule("fill-successor", *names)
        history = self.planner.settle_renames(table)
        return self._is_automatic("fill-successor", table) and may_fill(
            history, before, version, history.latest.schema.key, is_demanded=demanded
        )

    def plan_answered_renames(self, table: TargetTable, lake_table: LakeTable | None) -> Plan | None:
        """Plan to unite columns whose rename was answered late, as far as the policy makes it."""
        if lake_table is None or not self._is_made("unite-columns", table):
            return None
        former = find_former_columns(table.history, lake_table)
        recipes = self.planner.make_recipes(table, lake_table)
        found, _ = plan_answered_renames(recipes, lake_table, former, self.planner.executor)
        return None if found is None else self._check(found, lake_table, table)

    def _check(self, plan: Plan, lake_table: LakeTable, table: TargetTable) -> Plan:
        return self.planner.preflight.check_plan(plan, lake_table, table.history)

    def _is_made(self, kind: ChangeKind, table: TargetTable) -> bool:
        """Whether the policy makes a change, with or without an approval."""
        return self.planner.policy.is_made(kind, str(table.history.table), table.target, table.format)

    def _is_automatic(self, kind: ChangeKind, table: TargetTable) -> bool:
        names = str(table.history.table), table.target, table.format
        return self.planner.policy.find_ruling(kind, *names).level == "auto"
