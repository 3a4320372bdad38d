"""Whether a column of a live table can hand its place to one of another type, and why it cannot.

Law: no exchange gives a column values that its source never had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemaman.migration import casts as conversion
from schemaman.migration.convertible import RESPELLED, SNAPSHOT, unconvertible
from schemaman.migration.plan import Refusal, Source, words
from schemaman.migration.policy_checks import Judge
from schemaman.migration.projection.project import Projection
from schemaman.migration.projection.widen_types import without_comments
from schemaman.migration.properties.column_swaps import Exchange, free_name
from schemaman.migration.recipes.phases import without_identifiers
from schemaman.migration.target import (
    Held,
    Live,
    Target,
    column_of,
)
from schemaman.migration.type_mapping import Representation
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import AddColumn, ChangeType, RenameColumn, diff
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type

INTO = "plan into a new table: schemaman plan TABLE --recipe --into LAKE_TABLE"


@dataclass(frozen=True, slots=True)
class Exchanging:
    """Asks about the columns of one live table, next to what its source wants of it."""

    source: Source
    target: Target
    live: Live
    projection: Projection
    how: Representation
    judge: Judge

    def stuck(self, wanted: TableSchema) -> tuple[str, ...]:
        """The columns whose type cannot be changed in place."""
        changes = [c for c in diff(self.live.schema, wanted) if isinstance(c, ChangeType)]
        barred = self.judge.ask("upgrade").level not in ("auto", "approve")
        stuck = [
            change.path[0]
            for change in changes
            if isinstance(self.target.alter(self.live, change), Refusal)
            or (barred and self.target.needs(self.live, change))
        ]
        return tuple(dict.fromkeys(stuck))

    def exchange(self, wanted: TableSchema, name: str) -> Exchange | Refusal:
        """How the values of a column move to one of the wanted type, or why they cannot."""
        column, aim = self.live.schema.column(name), column_of(wanted, name)
        assert column is not None
        assert aim is not None
        change = words(ChangeType((name,), column.type, aim.type))
        if name in self.live.layout:
            reason = "the files are partitioned, clustered or sorted by it"
            return Refusal(change, reason, f"change the layout of the table first; or {INTO}")
        unfit = self._unconvertible(name, column.type, aim.type)
        if unfit:
            return Refusal(change, unfit, SNAPSHOT)
        if name in self.live.schema.key and not conversion.is_spelled_alike(column.type, aim.type):
            return Refusal(change, RESPELLED, SNAPSHOT)
        taken = (*self.live.schema.names, *self.source.schema.names)
        new = free_name(name, "new", taken)
        old = free_name(name, "old", (*taken, new))
        exchange = Exchange(name, new, old, column.type, aim.type)
        moved = self._moved(exchange)
        return replace(moved, change=change) if moved else exchange

    def outdated(self, e: Exchange) -> str:
        """Why an exchange that was begun makes no sense any more; empty if it does."""
        live = self.live
        column, new = column_of(live.schema, e.column), column_of(live.schema, e.new)
        aim = column_of(self.projection.wanted, e.column)
        raw = column_of(self.source.schema, self._called(e.column))
        if column is None or aim is None or raw is None or e.column in self.projection.renames:
            return "the source calls no column so any more"
        if not _alike(column.type, e.was) or (new is not None and not _alike(new.type, e.type)):
            return "it is of another type than when the exchange was begun"
        held = self.target.hold(raw.type, self.how)
        exact = isinstance(held, Held) and _alike(held.type, e.type)
        if not exact and not _alike(aim.type, e.type):
            return f"the source wants {format_type(aim.type)} now, and not {format_type(e.type)}"
        unfit = self._unconvertible(e.column, e.was, e.type)
        if unfit:
            return unfit
        if e.column in live.schema.key and not conversion.is_spelled_alike(e.was, e.type):
            return RESPELLED
        if e.column in live.layout:
            return "the files are partitioned, clustered or sorted by it by now"
        if column_of(live.schema, e.old) is not None:
            return f"another column is called {quote_name(e.old)} by now"
        retype = self.judge.ask("retype")
        if retype.level not in ("auto", "approve"):
            return f"the policy does not want it any more ({retype.why})"
        moved = self._moved(e)
        return moved.reason if moved else ""

    def _unconvertible(self, name: str, held: Type, wanted: Type) -> str:
        return unconvertible(self.source, self._called(name), held, wanted)

    def _called(self, name: str) -> str:
        """What the source calls a column of the lake; empty where it has no such column."""
        return next((there for there, lake in self.projection.names.items() if lake == name), "")

    def _moved(self, e: Exchange) -> Refusal | None:
        """Why the names of two columns cannot be exchanged; None if they can."""
        added = AddColumn((e.new,), Column(e.new, e.type), None)
        changes = (added, RenameColumn((e.column,), e.old), RenameColumn((e.new,), e.column))
        answers = (self.target.alter(without_identifiers(self.live), change) for change in changes)
        return next((answer for answer in answers if isinstance(answer, Refusal)), None)


def _alike(here: Type, there: Type) -> bool:
    """Whether two types are one but for comments on members, which come and go."""
    return format_type(without_comments(here)) == format_type(without_comments(there))
