"""Checks whether a column of a lake table can be swapped with one of another type.

Law: no swap gives a column values that its source never had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemaman.migration import casts as conversion
from schemaman.migration.convertible import RESPELLED, SNAPSHOT, explain_unconvertible
from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.policy_checks import PolicyCheck
from schemaman.migration.projection.project import Projection
from schemaman.migration.projection.widen_types import remove_comments
from schemaman.migration.properties.column_swaps import find_free_name
from schemaman.migration.properties.table_record import ColumnSwap
from schemaman.migration.recipes.phases import remove_identifiers
from schemaman.migration.target import (
    LakeTable,
    LakeType,
    Target,
    find_column,
)
from schemaman.migration.type_mapping import Representation
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import AddColumn, ChangeType, RenameColumn, diff
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type

INTO = "plan into a new table with `schemaman plan TABLE --recipe --into LAKE_TABLE`"


@dataclass(frozen=True, slots=True)
class SwapCheck:
    """Checks the columns of one lake table against the projection of its source."""

    source: MigrationSource
    target: Target
    lake: LakeTable
    projection: Projection
    representation: Representation
    check: PolicyCheck

    def list_stuck_columns(self, wanted: TableSchema) -> tuple[str, ...]:
        """List the columns whose type cannot be changed in place."""
        changes = [c for c in diff(self.lake.schema, wanted) if isinstance(c, ChangeType)]
        barred = self.check.ask("upgrade").level not in ("auto", "approve")
        stuck_columns = [
            change.path[0]
            for change in changes
            if isinstance(self.target.draft_change(self.lake, change), Refusal)
            or (barred and self.target.find_missing_properties(self.lake, change))
        ]
        return tuple(dict.fromkeys(stuck_columns))

    def plan_swap(self, wanted: TableSchema, name: str) -> ColumnSwap | Refusal:
        """Plan the swap of a column with one of the wanted type, or refuse it."""
        column, aim = self.lake.schema.column(name), find_column(wanted, name)
        assert column is not None
        assert aim is not None
        change = describe_change(ChangeType((name,), column.type, aim.type))
        if name in self.lake.layout:
            reason = "the files are partitioned, clustered or sorted by it"
            return Refusal(change, reason, f"change the layout of the table first; or {INTO}")
        obstacle = self._explain_obstacle(name)
        if obstacle:
            return Refusal(change, obstacle, INTO)
        misfit = self._explain_unconvertible(name, column.type, aim.type)
        if misfit:
            return Refusal(change, misfit, SNAPSHOT)
        if name in self.lake.schema.key and not conversion.is_spelled_alike(column.type, aim.type):
            return Refusal(change, RESPELLED, SNAPSHOT)
        taken = (*self.lake.schema.names, *self.source.schema.names)
        new = find_free_name(name, "new", taken)
        old = find_free_name(name, "old", (*taken, new))
        swap = ColumnSwap(name, new, old, column.type, aim.type)
        refusal = self._refuse_swap(swap)
        return replace(refusal, change=change) if refusal else swap

    def explain_outdated(self, e: ColumnSwap) -> str:
        """Explain why a swap in progress is outdated; empty if it is not."""
        lake = self.lake
        column, new = find_column(lake.schema, e.column), find_column(lake.schema, e.new)
        aim = find_column(self.projection.wanted, e.column)
        raw = find_column(self.source.schema, self._find_source_name(e.column))
        if column is None or aim is None or raw is None or e.column in self.projection.renames:
            return "the source has no column of this name any more"
        if not _is_same_type(column.type, e.old_type) or (
            new is not None and not _is_same_type(new.type, e.new_type)
        ):
            return "its type changed after the swap had begun"
        held = self.target.hold_type(raw.type, self.representation)
        exact = isinstance(held, LakeType) and _is_same_type(held.type, e.new_type)
        if not exact and not _is_same_type(aim.type, e.new_type):
            return f"the wanted type is {format_type(aim.type)} now, not {format_type(e.new_type)}"
        misfit = self._explain_unconvertible(e.column, e.old_type, e.new_type)
        if misfit:
            return misfit
        if e.column in lake.schema.key and not conversion.is_spelled_alike(e.old_type, e.new_type):
            return RESPELLED
        if e.column in lake.layout:
            return "by now, the files are partitioned, clustered or sorted by it"
        obstacle = self._explain_obstacle(e.column)
        if obstacle:
            return obstacle
        if find_column(lake.schema, e.old) is not None:
            return f"another column is called {quote_name(e.old)} by now"
        retype = self.check.ask("retype")
        if retype.level not in ("auto", "approve"):
            return f"the policy no longer allows it ({retype.why})"
        refusal = self._refuse_swap(e)
        return refusal.reason if refusal else ""

    def _explain_obstacle(self, name: str) -> str:
        """Explain why rows cannot be updated, or the old column cannot be dropped; empty if both can."""
        former = self.lake.former_layout
        if former is None or any(path[0] == name for path in former):
            return "a former partition spec or sort order names it, or may name it: it could never be dropped"
        return self.target.explain_append_only(self.lake)

    def _explain_unconvertible(self, name: str, held: Type, wanted: Type) -> str:
        return explain_unconvertible(self.source, self._find_source_name(name), held, wanted)

    def _find_source_name(self, name: str) -> str:
        """Find the source's name of a column of the lake; empty if the source has no such column."""
        return next(
            (source_name for source_name, lake_name in self.projection.names.items() if lake_name == name), ""
        )

    def _refuse_swap(self, e: ColumnSwap) -> Refusal | None:
        """Refuse a swap whose changes the format refuses; None if it makes them."""
        added = AddColumn((e.new,), Column(e.new, e.new_type), None)
        changes = (added, RenameColumn((e.column,), e.old), RenameColumn((e.new,), e.column))
        answers = (self.target.draft_change(remove_identifiers(self.lake), change) for change in changes)
        return next((answer for answer in answers if isinstance(answer, Refusal)), None)


def _is_same_type(here: Type, source_name: Type) -> bool:
    """Whether two types are equal without the comments on nested fields, which vary."""
    return format_type(remove_comments(here)) == format_type(remove_comments(source_name))
