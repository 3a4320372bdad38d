"""A lake table into which rows go, and what its migration comes to: it is ready, or it is blocked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemaman.history.decisions import Decisions, Rename, apply_decisions
from schemaman.history.open_renames import treat_as_additions
from schemaman.history.versions import TableHistory
from schemaman.migration.plan import Plan
from schemaman.migration.settings import TargetSetting
from schemaman.migration.target import TARGETS, LakeTable
from schemaman.model.schema import TableId
from schemaman.sink.progress import NO_ORDERS, ReadOrders
from schemaman.sink.row_mapping import RowMap, limit_versions, map_columns
from schemaman.sink.row_places import RowPlace


@dataclass(frozen=True, slots=True)
class SinkTable:
    """A lake table into which the rows of a source table go."""

    table: TableId
    target: TargetSetting
    lake_table: str

    @property
    def name(self) -> str:
        """The lake table as SQL writes it."""
        return TARGETS.get(self.target.format).table_name(self.lake_table)


@dataclass(frozen=True, slots=True)
class Ready:
    """A lake table that can take rows; `steps` are the statements that were run for it just now.

    `proven` are renames that the evidence alone proves and that this table has made: older rows go into the
    renamed columns. `drops`: values of columns that the source has dropped may be left out.
    `ignores_additions`: so may those of columns that the table does not have. `notes` name such columns of
    this batch, and columns that could not be added for rows that have them. `later` are the versions whose
    key the table gets after the rows with its present key are written. `keeps_both`: the table has both
    columns of a suspected rename, and the question is open. `proves_keys`: see `map_columns`. `place`: the
    table and the versions whose rows it takes; None for all rows of the source. `waiting` is a plan that a
    person may approve while rows are written. `adds_texts`, `is_over`, `closed` and `supersedes`: see
    `RowMap`.
    """

    lake: LakeTable
    steps: tuple[str, ...] = ()
    proven: tuple[Rename, ...] = ()
    drops: bool = False
    ignores_additions: bool = False
    notes: tuple[str, ...] = ()
    later: frozenset[int] = frozenset()
    keeps_both: bool = False
    proves_keys: bool = False
    place: RowPlace | None = None
    waiting: Plan | None = None
    adds_texts: bool = False
    is_over: bool = False
    closed: str = ""
    supersedes: bool = False

    def redirect(self, sink_table: SinkTable) -> SinkTable:
        """The lake table that takes the rows: that of the source, or its successor."""
        if self.place is None or self.place.table is None:
            return sink_table
        return replace(sink_table, lake_table=self.place.table.address)

    def join_renames(self, history: TableHistory) -> TableHistory:
        """The history of the table's source with these renames."""
        return apply_decisions(history, Decisions(self.proven)) if self.proven else history

    def map_rows(self, history: TableHistory, read_orders: ReadOrders = NO_ORDERS) -> RowMap:
        """The mapping of source columns to columns of this table."""
        history = history if self.place is None else self.place.cut_incarnations(history)
        joined = self.join_renames(history)
        joined = joined if self.place is None else self.place.drop_candidates(joined)
        joined = treat_as_additions(joined) if self.keeps_both else joined
        found = map_columns(
            history,
            self.lake,
            joined,
            drops=self.drops,
            ignores_additions=self.ignores_additions,
            proves_keys=self.proves_keys,
            is_over=self.is_over,
            read_orders=read_orders,
        )
        found = replace(found, adds_texts=self.adds_texts, closed=self.closed, supersedes=self.supersedes)
        if self.place is None or (not self.place.first and self.place.until is None):
            return found
        until = history.latest.number + 1 if self.place.until is None else self.place.until
        return limit_versions(found, range(self.place.first, until))


@dataclass(frozen=True, slots=True)
class Blocked:
    """A lake table that can take no rows now: the reason, and the plan that a person may approve.

    `is_locked`: another process holds a lease on the table that has not expired, or commits to the table.
    `is_ignored`: the policy leaves the table out, so its records need not wait. `is_overtaken`: the history
    of its source is newer than the one by which the rows were read. `copy` is the table where another one has
    taken over its rows: records whose changes it has need not wait either.
    """

    reason: str
    plan: Plan | None = None
    is_locked: bool = False
    is_ignored: bool = False
    is_overtaken: bool = False
    copy: Ready | None = None

    @property
    def is_temporary(self) -> bool:
        """Whether the table waits for a lease, for records to be read again, or for a person's answer."""
        awaits_person = self.plan is not None and any(r.kind == "reuse-name" for r in self.plan.rulings)
        return self.is_locked or self.is_overtaken or awaits_person


OVERTAKEN = Blocked(
    "its history grew while the batch was read: its records wait, and are read again with the next batch",
    is_overtaken=True,
)
