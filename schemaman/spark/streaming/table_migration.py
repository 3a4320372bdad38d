"""Brings a lake table to the structure that the rows of a batch need, as far as the policy lets it."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from schemaman.errors import (
    BadReference,
    Locked,
    NoHistory,
    PartlyApplied,
    SchemamanError,
    Stale,
    StatementFailed,
)
from schemaman.history.decisions import Decisions, Rename, decided, proofs
from schemaman.history.struct_fields import lowered
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import StoreJournal, apply, target_id
from schemaman.migration.plan import Plan, Policy, Source
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind, Level
from schemaman.migration.properties.displaced_columns import retired_text
from schemaman.migration.properties.names import RETIRED_PROPERTY, STORE_PROPERTY
from schemaman.migration.row_columns import with_row_columns
from schemaman.migration.source import source_of
from schemaman.migration.spark_sql import set_properties
from schemaman.migration.target import TARGETS, Executor, Live
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, TableId, TableSchema, walk
from schemaman.model.types import Array, Map, Struct
from schemaman.registry import Memory, Registry
from schemaman.settings import TargetSetting
from schemaman.sink.dropped_columns import (
    bears_the_newest,
    left_columns,
    out_of_the_way,
    with_columns,
    with_members,
)
from schemaman.sink.preflight import Lookout, unconfirmed_key
from schemaman.sink.reread import reading_of
from schemaman.sink.row_mapping import RowMap, row_map
from schemaman.sink.stale_rows import LetThrough
from schemaman.sink.values.connector_modes import UNTOLD, Modes
from schemaman.spark.sql_errors import RAISED

_LIVES: tuple[ChangeKind, ...] = ("drop-table", "rename-table")
"""After these a table of that name holds the rows of another one, whatever else the policy says of it."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A lake table that follows a source table."""

    table: TableId
    target: TargetSetting
    lake_table: str

    @property
    def name(self) -> str:
        """The lake table as SQL writes it."""
        return TARGETS.get(self.target.format).table_name(self.lake_table)


@dataclass(frozen=True, slots=True)
class Brought:
    """A lake table that can take rows; `steps` are the statements that were run for it just now.

    `proven` are renames that the evidence alone proves and that hold here, as the policy makes them unasked
    or the table was renamed so: rows from before them belong into the renamed columns. `drops`: values of
    columns that the source has dropped may be left out; of which this batch has some, `notes` say. They also
    say which columns could not be added for rows that have them.
    """

    live: Live
    steps: tuple[str, ...] = ()
    proven: tuple[Rename, ...] = ()
    drops: bool = False
    notes: tuple[str, ...] = ()

    def joined(self, history: TableHistory) -> TableHistory:
        """The history of the table's source with these renames."""
        return decided(history, Decisions(self.proven)) if self.proven else history

    def rows(self, history: TableHistory) -> RowMap:
        """How the rows of the table's source find their place in it."""
        return row_map(history, self.live, self.joined(history), drops=self.drops)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A lake table that can take no rows now: why, and its plan, which a person may approve or look at.

    `locked`: somebody migrates it, or died while he did, and his lease has not run out. `unwanted`: the
    policy leaves the table out, so that its records need not wait. `overtaken`: more is told of its source by
    now than its rows were read by.
    """

    reason: str
    plan: Plan | None = None
    locked: bool = False
    unwanted: bool = False
    overtaken: bool = False

    @property
    def for_now(self) -> bool:
        """Whether a lease has to end, records to be read again, or a person to answer before rows come in."""
        asked = self.plan is not None and any(r.kind == "reuse-name" for r in self.plan.rulings)
        return self.locked or self.overtaken or asked


_OVERTAKEN = Stopped(
    "more was told of it while the batch was read: its records wait, and are read again with the next one",
    overtaken=True,
)


@dataclass(frozen=True, slots=True)
class Bringer:
    """What brings lake tables up to date: the registry and its journal, the policy, and who approves."""

    store: Memory
    registry: Registry
    policy: Policy
    clock: Callable[[], int]
    approved: Callable[[Plan], bool]
    decided: Callable[[TableHistory], TableHistory]
    modes: Modes = UNTOLD
    journal: StoreJournal = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # One for all tables: each line of the log is read once, however many tables there are.
        object.__setattr__(self, "journal", StoreJournal(self.store))

    def bring(
        self, follower: Follower, executor: Executor, read_by: TableHistory, versions: Collection[int] = ()
    ) -> Brought | Stopped:
        """The lake table with the structure of its source's newest version, or why it has not got it.

        `read_by` is the history that the rows were read by, as people have answered it: where more is told by
        now they have to be read again, for the table would be of another structure than they. `versions` are
        those of the rows that are to be written: columns that they have and the newest version has not are
        kept, as the policy says of drops. What one table stops for never stops another, whether or not
        anybody foresaw it: only what they all need is raised, such as a store or a session that fails.
        """
        try:
            told = self.registry.history(follower.table)
            history = self.decided(told)
            if reading_of(history) != reading_of(read_by):
                return _OVERTAKEN
            left = left_columns(history, versions, reused=self._ruled("reuse-name", follower) == "auto")
            drops = self._ruled("drop-column", follower) in ("auto", "approve")
            named, displaced = ((), ()) if drops else (left.named, left.displaced)
            members = history if drops else with_members(history, versions)
            first = self._keeping(follower, executor, (told, history, members), named)
            if isinstance(first, Stopped) and first.for_now:
                return first
            brought = self._once(follower, executor, told, history)
            if isinstance(brought, Stopped):
                return brought
            last = self._displaced(follower, executor, (told, history), brought, displaced)
            if isinstance(last, Stopped) and last.for_now:
                return last
            done = [each for each in (first, brought, last) if isinstance(each, Brought)]
            notes = [note for each in done for note in each.notes]
            notes += [
                f"{quote_name(n)}: {self._why_not(follower, first)}"
                for n in _homeless(done[-1], history, left.named)
            ]
            notes += [
                f"{quote_name(n)}: {self._why_not(follower, last)}"
                for n in _homeless(done[-1], history, left.displaced)
            ]
            steps = tuple(step for each in done for step in each.steps)
            return replace(done[-1], steps=steps, drops=drops, notes=tuple(dict.fromkeys(notes)))
        except (StatementFailed, Stale, PartlyApplied, NoHistory, BadReference) as error:
            return Stopped(_told(error), locked=isinstance(error, Locked))
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # nobody foresaw it, so its kind is not known
            return Stopped(f"it cannot be brought up to date: {type(error).__name__}: {error}")

    def _keeping(
        self,
        follower: Follower,
        executor: Executor,
        histories: tuple[TableHistory, TableHistory, TableHistory],
        left: tuple[Column, ...],
    ) -> Brought | Stopped | None:
        """The table with columns, and members, that have left the source by now; None if it has them.

        The last history has such members in its newest version still.
        """
        told, history, members = histories
        if not left and members == history:
            return None
        live = executor.inspect(follower.lake_table, follower.target.format)
        there = None if live is None else Brought(live)
        if there and not _homeless(there, history, left) and not _without_members(there, members):
            return None
        return self._once(follower, executor, told, with_columns(members, left))

    def _displaced(
        self,
        follower: Follower,
        executor: Executor,
        histories: tuple[TableHistory, TableHistory],
        brought: Brought,
        left: tuple[Column, ...],
    ) -> Brought | Stopped | None:
        """The table with columns of which others have the names by now; None if it has them."""
        told, history = histories
        missing = [c for c in left if _homeless(brought, history, (c,))]
        if not missing:
            return None
        target = follower.target
        ruling = self.policy.ruling("reuse-name", str(follower.table), target.name, target.format)
        if ruling.level not in ("auto", "approve"):
            return Stopped(f"another column has its name now ({ruling.why})")
        if not bears_the_newest(brought.live, history):
            return Stopped("another column has its name now, and the table is not of the newest version")
        style = self.policy.representation(str(follower.table), target.name, target.format).names
        kept, entries = out_of_the_way(history, brought.live, missing, style)
        executor.run(set_properties(follower.name, {RETIRED_PROPERTY: retired_text(entries)}))
        return self._once(follower, executor, told, kept)

    def _why_not(self, follower: Follower, kept: Brought | Stopped | None) -> str:
        """Why the table has no place for a column that left."""
        if isinstance(kept, Stopped):
            return f"the source has dropped it, and the lake did not get it for older rows: {kept.reason}"
        target = follower.target
        why = self.policy.ruling("drop-column", str(follower.table), target.name, target.format).why
        return f"the source has dropped it, and its values in older rows are left out ({why})"

    def _once(
        self, follower: Follower, executor: Executor, told: TableHistory, history: TableHistory
    ) -> Brought | Stopped:
        """The lake table with the structure of the newest version of a history, `told` without answers."""
        plan, live = self.plan(follower, executor, history)
        wait = self._kept_elsewhere(live) if live is not None else self._not_yet(follower, executor)
        if wait is None and live is not None:
            misread = self._lookout(executor).misread(told, live, follower.target.format)
            wait = None if misread is None else str(misread)
        if wait is not None:
            return Stopped(wait)
        stopped = _stopped(plan, live)
        if stopped is not None:
            return stopped
        brought = Brought(live) if live is not None and not plan.steps else self._apply(plan, executor)
        if isinstance(brought, Stopped):
            return brought
        if not self._let_through.note(told, brought.live, follower.name, executor):
            return _OVERTAKEN
        return replace(brought, proven=self._proven(follower))

    @property
    def _let_through(self) -> LetThrough:
        return LetThrough(self.store, self.modes)

    def plan(self, follower: Follower, executor: Executor, history: TableHistory) -> tuple[Plan, Live | None]:
        """What is to be done to a lake table, and the table as it is.

        Raises:
            StatementFailed: the lake cannot be asked.
        """
        format = follower.target.format
        live = executor.inspect(follower.lake_table, format)
        proven = self._ruled("rename-proven", follower) in ("auto", "approve")
        source = with_row_columns(_in_the_order_of(live, source_of(history, proven=proven)))
        target, name = TARGETS.get(format), follower.target.name
        return make_plan(source, live, target, follower.lake_table, self.policy, target_name=name), live

    def _ruled(self, kind: ChangeKind, follower: Follower) -> Level:
        """What the policy says of a kind of change of this table."""
        target = follower.target
        return self.policy.ruling(kind, str(follower.table), target.name, target.format).level

    def _proven(self, follower: Follower) -> tuple[Rename, ...]:
        """The renames on proof that hold for a lake table: all under `auto`, else those that were made."""
        found = proofs(self.decided(self.registry.history(follower.table)))
        if not found or self._ruled("rename-proven", follower) == "auto":
            return found
        lines = self.journal.about(target_id(follower.target.format, follower.lake_table))
        made = [line.statement for line in lines if line.state in ("done", "skipped")]
        words = {f"RENAME COLUMN {quote_name(r.old)} TO {quote_name(r.new)}": r for r in found}
        return tuple(r for said, r in words.items() if any(statement.endswith(said) for statement in made))

    def _kept_elsewhere(self, live: Live) -> str | None:
        """Why a table takes no rows from this store: another one keeps it; None if none does."""
        keeper, own = live.properties.get(STORE_PROPERTY), self.store.id
        if not keeper or keeper == own:
            return None
        return (
            f"{live.name} is kept by the store {keeper}, and this is {own}: use that store; or, if it is "
            f"gone for good, set the property {STORE_PROPERTY} of the table to {own}"
        )

    def _not_yet(self, follower: Follower, executor: Executor) -> str | None:
        """Why a lake table must not be made now; None if it may."""
        history = self.decided(self.registry.history(follower.table))
        unsure = unconfirmed_key(history)
        if unsure is not None:
            return f"{unsure.reason}: {unsure.instead}"
        format, lake_table = follower.target.format, follower.lake_table
        doubt = self._lookout(executor).doubt(history, format, lake_table, follower.target.address)
        return None if doubt is None else str(doubt)

    def _lookout(self, executor: Executor) -> Lookout:
        return Lookout(self.store, self.registry, self.journal.about, executor, self.modes)

    def _apply(self, plan: Plan, executor: Executor) -> Brought | Stopped:
        done = apply(
            plan,
            executor,
            self.journal,
            self.clock,
            run=secrets.token_hex(6),
            leases=self.store,
            owner=f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})",
            approved=self.approved(plan),
            store=self.store.id,
        )
        if done.state == "refused" or done.live is None:
            return Stopped("; ".join(done.reasons), plan)
        if done.differences:
            return Stopped("after the migration the table is not what its plan promised")
        steps = tuple(o.statement for o in done.outcomes if o.state == "done")
        return Brought(done.live, steps, notes=plan.notes if steps else ())


def _homeless(brought: Brought, history: TableHistory, left: tuple[Column, ...]) -> tuple[str, ...]:
    """Those of the columns that have no place in a lake table."""
    there = brought.rows(history).names if left else {}
    return tuple(c.name for c in left if c.id not in there)


def _without_members(brought: Brought, history: TableHistory) -> bool:
    """Whether a lake table lacks a member of the newest version."""
    names = brought.rows(history).names
    types = {c.name: c for c in brought.live.schema.columns}
    for column in history.latest.schema.columns:
        name = None if column.id is None else names.get(column.id)
        if name is not None and isinstance(types[name].type, Array | Map | Struct):
            here, there = (
                {lowered(path[1:]) for path, _, _ in walk(TableSchema((each,)))}
                for each in (types[name], column)
            )
            if there - here:
                return True
    return False


def _stopped(plan: Plan, live: Live | None) -> Stopped | None:
    """Why the policy, or the plan itself, lets no rows into a table; None if they may come."""
    if plan.refusals:
        told = "; ".join(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        return Stopped(told, plan)
    waiting = [f"{r.change}: {r.why}" for r in plan.rulings if r.level == "quarantine" or r.kind in _LIVES]
    if waiting:
        return Stopped("; ".join(waiting), plan)
    if live is None and not plan.steps:
        return Stopped("; ".join(plan.notes), unwanted=True)
    return None


def _in_the_order_of(live: Live | None, source: Source) -> Source:
    """The source with its key in the table's order, if only that differs: rows are merged alike."""
    key = live.schema.key if live is not None else ()
    if sorted(key) != sorted(source.schema.key):
        return source
    return replace(source, schema=replace(source.schema, key=key))


def _told(error: SchemamanError) -> str:
    return error.message if error.hint is None else f"{error.message} ({error.hint})"
