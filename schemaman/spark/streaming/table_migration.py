"""Migrate a lake table to the structure that the rows of a batch need, as far as the policy allows."""

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
    RowsUnready,
    SchemamanError,
    Stale,
    StatementFailed,
)
from schemaman.history.decisions import Decisions, Rename, apply_decisions, list_proven_renames
from schemaman.history.open_renames import describe_open_renames, treat_as_additions
from schemaman.history.struct_fields import lower_path
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.apply.apply import StoreJournal, apply, target_id
from schemaman.migration.plan import MigrationSource, Plan, Policy, Refusal
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind, Level
from schemaman.migration.properties.displaced_columns import format_displaced
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    PREDECESSOR_PROPERTY,
    STORE_PROPERTY,
    SUCCESSOR_PROPERTY,
)
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.split_plans import plan_split
from schemaman.migration.recipes.successor_plans import plan_successor
from schemaman.migration.row_columns import DELETED, ORDER, add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.spark_sql import set_properties
from schemaman.migration.split_columns import split_columns, widen_types
from schemaman.migration.successor import LakeTableAt, list_successors
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, TableId, TableSchema, walk_fields
from schemaman.model.types import Array, Map, Struct
from schemaman.registry import Registry, RegistryStore
from schemaman.settings import TargetSetting
from schemaman.sink.answered_renames import find_former_columns, plan_union
from schemaman.sink.dropped_columns import (
    add_columns,
    add_nested_fields,
    find_dropped_columns,
    has_newest_version_stamp,
    rename_displaced,
)
from schemaman.sink.key_sequence import KeySequence, NextKey
from schemaman.sink.moved_tables import TableMover, has_moved, is_renamed
from schemaman.sink.preflight import Preflight, refuse_unconfirmed_key
from schemaman.sink.reader_views import ReaderViews
from schemaman.sink.reread import hash_reading
from schemaman.sink.row_mapping import RowMap, map_columns
from schemaman.sink.row_order import SNAPSHOT, format_order
from schemaman.sink.row_places import RowPlace, find_place, make_predecessor
from schemaman.sink.stale_rows import StaleRowCheck
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.spark.sql_errors import RAISED
from schemaman.spark.streaming.noted_inspections import NotedInspections

_NEW_TABLE: tuple[ChangeKind, ...] = ("drop-table", "rename-table")
"""After these changes a table of the same name holds the rows of another table."""


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
    renamed columns. `drops`: values of columns that the source has dropped may be left out. `notes` name
    such columns of this batch, and columns that could not be added for rows that have them. `later` are the
    versions whose key the table gets after the rows with its present key are written. `keeps_both`: the table
    has both columns of a suspected rename, and the question is open. `proves_keys`: see `map_columns`.
    `place`: the table and the versions whose rows it takes; None for all rows of the source.
    """

    lake: LakeTable
    steps: tuple[str, ...] = ()
    proven: tuple[Rename, ...] = ()
    drops: bool = False
    notes: tuple[str, ...] = ()
    later: frozenset[int] = frozenset()
    keeps_both: bool = False
    proves_keys: bool = False
    place: RowPlace | None = None

    def redirect(self, sink_table: SinkTable) -> SinkTable:
        """The lake table that takes the rows: that of the source, or its successor."""
        if self.place is None or self.place.table is None:
            return sink_table
        return replace(sink_table, lake_table=self.place.table.address)

    def join_renames(self, history: TableHistory) -> TableHistory:
        """The history of the table's source with these renames."""
        return apply_decisions(history, Decisions(self.proven)) if self.proven else history

    def map_rows(self, history: TableHistory) -> RowMap:
        """The mapping of source columns to columns of this table."""
        joined = self.join_renames(history)
        joined = split_columns(treat_as_additions(joined) if self.keeps_both else joined, self.lake)
        found = map_columns(history, self.lake, joined, drops=self.drops, proves_keys=self.proves_keys)
        if self.place is None or (not self.place.first and self.place.until is None):
            return found
        until = history.latest.number + 1 if self.place.until is None else self.place.until
        return replace(found, versions=range(self.place.first, until))


@dataclass(frozen=True, slots=True)
class Blocked:
    """A lake table that can take no rows now: the reason, and the plan that a person may approve.

    `is_locked`: another process holds a lease on the table that has not expired. `is_ignored`: the policy
    leaves the table out, so its records need not wait. `is_overtaken`: the history of its source is newer
    than the one by which the rows were read.
    """

    reason: str
    plan: Plan | None = None
    is_locked: bool = False
    is_ignored: bool = False
    is_overtaken: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the table waits for a lease, for records to be read again, or for a person's answer."""
        awaits_person = self.plan is not None and any(r.kind == "reuse-name" for r in self.plan.rulings)
        return self.is_locked or self.is_overtaken or awaits_person


_OVERTAKEN = Blocked(
    "its history grew while the batch was read: its records wait, and are read again with the next batch",
    is_overtaken=True,
)


@dataclass(frozen=True, slots=True)
class UnprovenKey:
    """The key of the rows that come next, which the rows of a table do not prove, and the reason."""

    next: NextKey
    reason: str


_SUCCEEDED = (
    "the key of {} changes from {}, and the rows do not prove it: newer rows go into {}, and {} keeps the "
    "rows from before"
)
_LOST_SUCCESSOR = (
    "newer rows of {} were in {}, which does not exist: restore it; or unset the property {} to write into "
    "the older table again"
)
_UNKNOWN_BEGINNING = (
    "it is not known which versions of the source begin in a successor of its lake table: restore the "
    "property {}"
)


@dataclass(frozen=True, slots=True)
class TableMigrator:
    """Migrates lake tables by the registry, its journal, the policy and people's approvals."""

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

    def migrate(
        self,
        sink_table: SinkTable,
        executor: Executor,
        read_by: TableHistory,
        versions: Collection[int] = (),
        *,
        holds_key: bool = False,
        unfit: Collection[str] = (),
    ) -> Ready | Blocked:
        """Migrate the lake table to the newest version of its source, or return why it is blocked.

        `read_by` is the history, with decisions, with which the rows were read. If the history has changed
        since, the rows must be read again: the table would have another schema than the rows. `versions` are
        those of the rows to write: their columns that the newest version lacks are kept, under the policy for
        drops. `holds_key`: other rows with the table's present key may wait, so it gets no other key now.
        `unfit`: columns of the newest version with values that only a column of texts beside them holds.
        A fault of one table, even an unforeseen one, never blocks another; only a failure of the store
        or of the session is raised.
        """
        executor = NotedInspections(executor, self.journal, self.clock)
        try:
            recorded = self.registry.history(sink_table.table)
            history = self.apply_decisions(recorded)
            if hash_reading(history) != hash_reading(read_by):
                return _OVERTAKEN
            mover = self._make_mover(sink_table, executor)
            moved = mover.move_tables(history, sink_table.lake_table) if has_moved(history) else ()
            if self._keeps_both(sink_table):
                history = treat_as_additions(history)
            found = self._migrate_place(
                sink_table, executor, recorded, history, frozenset(versions), unfit, holds_key=holds_key
            )
            return replace(found, steps=(*moved, *found.steps)) if isinstance(found, Ready) else found
        except (StatementFailed, Stale, PartlyApplied, NoHistory, BadReference) as error:
            return Blocked(_format_error(error), is_locked=isinstance(error, Locked))
        except (SchemamanError, *RAISED):
            raise
        except Exception as error:  # an unforeseen fault has no known class
            return Blocked(f"it cannot be migrated: {type(error).__name__}: {error}")

    def _migrate_place(
        self,
        base: SinkTable,
        executor: Executor,
        recorded: TableHistory,
        whole: TableHistory,
        versions: frozenset[int],
        unfit: Collection[str],
        *,
        holds_key: bool = False,
    ) -> Ready | Blocked:
        """The lake table that takes the first of the rows: that of the source, or a successor of it."""
        tables = list_successors(lambda name: executor.inspect(name, base.target.format), base.lake_table)
        lost = read_record(tables[-1].lake.properties).successor if tables else ""
        if lost:
            return Blocked(_LOST_SUCCESSOR.format(tables[-1].lake.name, lost, SUCCESSOR_PROPERTY))
        loses_key = self._find_level("on-key-lost", base) == "auto"
        place = find_place(whole, tables, versions, begins_successors=loses_key)
        if place is None:
            return Blocked(_UNKNOWN_BEGINNING.format(PREDECESSOR_PROPERTY))
        if place.table is not None and not place.is_newest:
            proven = self._find_proven_renames(base)
            both, later = self._keeps_both(base), place.list_later(versions)
            return Ready(
                place.table.lake, (), proven, later=later, keeps_both=both, proves_keys=True, place=place
            )
        end = None if place.until is None else next(v for v in whole.versions if v.number == place.until)
        is_confirmed = "key" not in whole.latest.unconfirmed
        if (
            end is not None
            and is_confirmed
            and place.table is not None
            and not any(map(place.has_version, versions))
        ):
            begun = self._begin_successor(base, executor, whole, tables, end, whole.latest.schema.key)
            if isinstance(begun, Blocked):
                return begun
            found = self._migrate_place(base, executor, recorded, whole, versions, unfit)
            return found if isinstance(found, Blocked) else _add_before(begun, found)
        sink_table = base
        if place.table is not None:
            sink_table = replace(base, lake_table=place.table.address)
        history = place.cut_history(whole)
        live = None if place.table is None else place.table.lake
        split = self._split_columns(sink_table, executor, history, live, unfit)
        if isinstance(split, Blocked):
            return split
        live = split.lake if split is not None else live
        history = split_columns(history, live)
        dropped = find_dropped_columns(
            history, versions, reused=self._find_level("reuse-name", sink_table) == "auto"
        )
        drops = self._find_level("drop-column", sink_table) in ("auto", "approve")
        named, displaced = ((), ()) if drops else (dropped.named, dropped.displaced)
        with_fields = history if drops else add_nested_fields(history, versions)
        keys = KeySequence(
            history,
            versions,
            self._find_level("change-key", sink_table) == "auto",
            holds_key,
        )
        first = self._keep_dropped(sink_table, executor, live, (recorded, history, with_fields), named, keys)
        if isinstance(first, Blocked) and first.is_temporary:
            return first
        outcome = self._migrate_once(sink_table, executor, recorded, history, keys)
        if isinstance(outcome, Blocked):
            return outcome
        last = self._add_displaced(sink_table, executor, (recorded, history), outcome, displaced)
        if isinstance(last, Blocked) and last.is_temporary:
            return last
        done = [each for each in (split, first, outcome, last) if isinstance(each, Ready)]
        notes = [note for each in done for note in each.notes]
        notes += [
            f"{quote_name(n)}: {self._explain_missing(sink_table, first)}"
            for n in _find_missing_columns(done[-1], history, dropped.named)
        ]
        notes += [
            f"{quote_name(n)}: {self._explain_missing(sink_table, last)}"
            for n in _find_missing_columns(done[-1], history, dropped.displaced)
        ]
        united = self._unite_columns(sink_table, executor, history, done[-1])
        if isinstance(united, Blocked):
            return united
        united = self._take_over_rows(sink_table, executor, history, united)
        notes += united.notes
        done[-1] = united
        following = keys.find_next(united.lake.schema.key, united.map_rows(history).names)
        keyed = self._change_key(sink_table, executor, history, united, following)
        if isinstance(keyed, UnprovenKey):
            if self._find_level("on-key-changed", base) != "auto":
                return Blocked(keyed.reason)
            tables = (*tables[:-1], LakeTableAt(sink_table.lake_table, done[-1].lake))
            begun = self._begin_successor(base, executor, whole, tables, keyed.next.version, keyed.next.key)
            if isinstance(begun, Blocked):
                return begun
            made = tuple(step for each in done for step in each.steps)
            begun = replace(begun, steps=(*made, *begun.steps), notes=(*notes, *begun.notes))
            found = self._migrate_place(base, executor, recorded, whole, versions, unfit)
            return found if isinstance(found, Blocked) else _add_before(begun, found)
        if isinstance(keyed, Blocked):
            return keyed
        steps = tuple(step for each in done[:-1] for step in each.steps) + keyed.steps
        place = replace(place, table=LakeTableAt(sink_table.lake_table, keyed.lake))
        return replace(
            keyed,
            steps=steps,
            drops=drops,
            notes=tuple(dict.fromkeys(notes)),
            later=keyed.later | (place.list_later(versions) if is_confirmed else frozenset()),
            place=place,
        )

    def _begin_successor(
        self,
        base: SinkTable,
        executor: Executor,
        history: TableHistory,
        tables: tuple[LakeTableAt, ...],
        version: SchemaVersion,
        key: tuple[str, ...],
    ) -> Ready | Blocked:
        """Begin the next lake table of the source, for the rows from a version on, and link to it."""
        before, target = tables[-1], TARGETS.get(base.target.format)
        level = self._find_level("rename-proven", base)
        source = migration_source(history, proven=level in ("auto", "approve"))
        source = add_row_columns(replace(source, schema=replace(source.schema, key=key)))
        plans = plan_successor(
            source,
            target,
            lambda name: executor.inspect(name, base.target.format),
            tables,
            make_predecessor(before, version, history),
            self.policy,
            base.target.name,
        )
        steps: tuple[str, ...] = ()
        for plan in plans:
            done = _block_by_plan(plan, before.lake) or self._apply_plan(plan, executor)
            if isinstance(done, Blocked):
                return done
            steps += done.steps
        keys = f"({', '.join(before.lake.schema.key)}) to ({', '.join(key)})"
        note = _SUCCEEDED.format(history.table, keys, plans[0].table, before.address)
        return Ready(before.lake, steps, notes=(note,))

    def _keep_dropped(
        self,
        sink_table: SinkTable,
        executor: Executor,
        live: LakeTable | None,
        histories: tuple[TableHistory, TableHistory, TableHistory],
        dropped: tuple[Column, ...],
        keys: KeySequence,
    ) -> Ready | Blocked | None:
        """The table with columns and nested fields that the source has dropped; None if it has them.

        The last history still has such nested fields in its newest version.
        """
        recorded, history, with_fields = histories
        if not dropped and with_fields == history:
            return None
        ready = None if live is None else Ready(live)
        if (
            ready
            and not _find_missing_columns(ready, history, dropped)
            and not _lacks_nested_fields(ready, with_fields)
        ):
            return None
        return self._migrate_once(sink_table, executor, recorded, add_columns(with_fields, dropped), keys)

    def _split_columns(
        self,
        sink_table: SinkTable,
        executor: Executor,
        history: TableHistory,
        live: LakeTable | None,
        unfit: Collection[str],
    ) -> Ready | Blocked | None:
        """The table with the columns that it needs beside others; None if it has them or gets none."""
        if live is None or not self.splits_columns(sink_table) or self._refuse_foreign_store(live):
            return None
        target, name = TARGETS.get(sink_table.target.format), sink_table.target.name
        source = add_row_columns(migration_source(split_columns(history, live)))
        planner = RecipePlanner(source, target, sink_table.lake_table, self.policy, name)
        plan = plan_split(planner, history, live, unfit, has_rows=True)
        return None if plan is None else self._apply_plan(plan, executor)

    def _make_mover(self, sink_table: SinkTable, executor: Executor) -> TableMover:
        def apply_move(plan: Plan) -> tuple[str, ...] | None:
            outcome = self._apply_plan(plan, executor)
            return outcome.steps if isinstance(outcome, Ready) else None

        preflight = self._make_preflight(executor)
        return TableMover(self.registry, preflight, self.policy, sink_table.target, executor, apply_move)

    def _take_over_rows(
        self, sink_table: SinkTable, executor: Executor, history: TableHistory, ready: Ready
    ) -> Ready:
        """The table with the rows of the lake table of an earlier name of its source."""
        if not is_renamed(history):
            return ready
        mover = self._make_mover(sink_table, executor)
        steps, notes = mover.take_over_rows(history, sink_table.lake_table)
        lake = executor.inspect(sink_table.lake_table, sink_table.target.format) if steps else None
        return replace(
            ready, lake=lake or ready.lake, steps=(*ready.steps, *steps), notes=(*ready.notes, *notes)
        )

    def _unite_columns(
        self, sink_table: SinkTable, executor: Executor, history: TableHistory, ready: Ready
    ) -> Ready | Blocked:
        """The table in which columns are united whose rename was answered after it had got both.

        Where the rows do not prove which of two values holds, both columns keep theirs, and a note says so.
        """
        if self._find_level("unite-columns", sink_table) != "auto":
            return ready
        former = find_former_columns(ready.join_renames(history), ready.lake)
        target, name = TARGETS.get(sink_table.target.format), sink_table.target.name
        source = add_row_columns(migration_source(history))
        planner = RecipePlanner(source, target, sink_table.lake_table, self.policy, name)
        plan, notes = plan_union(planner, ready.lake, former, executor)
        if plan is None:
            return replace(ready, notes=(*ready.notes, *notes))
        outcome = self._apply_plan(plan, executor)
        if isinstance(outcome, Blocked):
            return outcome
        return replace(ready, lake=outcome.lake, steps=(*ready.steps, *outcome.steps), notes=notes)

    def _change_key(
        self,
        sink_table: SinkTable,
        executor: Executor,
        history: TableHistory,
        ready: Ready,
        following: NextKey | None,
    ) -> Ready | Blocked | UnprovenKey:
        """The table with the key of the rows that come next, once no row of the batch has its present one."""
        if following is None or refuse_unconfirmed_key(history) is not None:
            return ready
        if following.is_held:
            return replace(ready, later=following.later)
        schema = replace(history.latest.schema, key=following.key)
        source = replace(migration_source(history), schema=schema)
        target, name = TARGETS.get(sink_table.target.format), sink_table.target.name
        planner = RecipePlanner(add_row_columns(source), target, sink_table.lake_table, self.policy, name)
        plan = planner.plan_rekey(ready.lake)
        if plan is None:
            return ready
        if isinstance(plan, Refusal):
            return UnprovenKey(following, f"{plan.change}: {plan.reason}; instead: {plan.instead}")
        try:
            outcome = self._apply_plan(plan, executor)
        except RowsUnready as error:
            return UnprovenKey(following, _format_error(error))
        if isinstance(outcome, Blocked):
            return outcome
        later = following.later
        return replace(ready, lake=outcome.lake, steps=(*ready.steps, *outcome.steps), later=later)

    def _add_displaced(
        self,
        sink_table: SinkTable,
        executor: Executor,
        histories: tuple[TableHistory, TableHistory],
        ready: Ready,
        dropped: tuple[Column, ...],
    ) -> Ready | Blocked | None:
        """The table with columns whose names other columns have taken over; None if it has them."""
        recorded, history = histories
        missing = [c for c in dropped if _find_missing_columns(ready, history, (c,))]
        if not missing:
            return None
        target = sink_table.target
        ruling = self.policy.find_ruling("reuse-name", str(sink_table.table), target.name, target.format)
        if ruling.level not in ("auto", "approve"):
            return Blocked(f"another column has its name now ({ruling.why})")
        if not has_newest_version_stamp(ready.lake, history):
            return Blocked("another column has its name now, and the table is not of the newest version")
        style = self.policy.find_representation(str(sink_table.table), target.name, target.format).names
        kept, entries = rename_displaced(history, ready.lake, missing, style)
        executor.run(set_properties(sink_table.name, {DISPLACED_PROPERTY: format_displaced(entries)}))
        return self._migrate_once(
            sink_table, executor, recorded, kept, KeySequence(history, is_automatic=ready.proves_keys)
        )

    def _explain_missing(self, sink_table: SinkTable, kept: Ready | Blocked | None) -> str:
        """Why the table has no column for a dropped column of the source."""
        if isinstance(kept, Blocked):
            return f"the source has dropped it, and the lake did not get it for older rows: {kept.reason}"
        target = sink_table.target
        why = self.policy.find_ruling("drop-column", str(sink_table.table), target.name, target.format).why
        return f"the source has dropped it, and its values in older rows are left out ({why})"

    def _migrate_once(
        self,
        sink_table: SinkTable,
        executor: Executor,
        recorded: TableHistory,
        history: TableHistory,
        keys: KeySequence,
    ) -> Ready | Blocked:
        """The lake table with the newest structure of a history; `recorded` is without decisions."""
        plan, live = self.make_plan(sink_table, executor, history, keys)
        keeps_both = self._keeps_both(sink_table)
        if keeps_both and plan.steps:
            plan = replace(plan, notes=(*plan.notes, *describe_open_renames(self.apply_decisions(recorded))))
        wait = (
            self._refuse_foreign_store(live)
            if live is not None
            else self._refuse_creation(sink_table, executor, keys)
        )
        if wait is None and live is not None:
            preflight = self._make_preflight(executor)
            mistaken = preflight.find_mistaken_names(live, plan)
            stale_rows = preflight.find_stale_rows(recorded, live, sink_table.target.format)
            if mistaken is not None:
                wait = f"{mistaken.reason}: {mistaken.instead}"
            elif stale_rows is not None:
                wait = str(stale_rows)
        if wait is not None:
            return Blocked(wait)
        stopped = _block_by_plan(plan, live)
        if stopped is not None:
            return stopped
        emptied = self._find_emptied(sink_table, executor, recorded, live)
        if emptied and self._find_level("truncate", sink_table) in ("block", "approve"):
            return Blocked(emptied)
        outcome = Ready(live) if live is not None and not plan.steps else self._apply_plan(plan, executor)
        if isinstance(outcome, Blocked):
            return outcome
        if not self._stale_rows.record_reading(recorded, outcome.lake, sink_table.name, executor):
            return _OVERTAKEN
        return replace(
            outcome,
            proven=self._find_proven_renames(sink_table),
            keeps_both=keeps_both,
            proves_keys=keys.is_automatic,
            notes=(*outcome.notes, emptied) if emptied else outcome.notes,
        )

    def _find_emptied(
        self, sink_table: SinkTable, executor: Executor, history: TableHistory, live: LakeTable | None
    ) -> str:
        """Explain which rows a TRUNCATE emptied that a statement alone tells; empty if there are none.

        MySQL's and MariaDB's connectors send no event of it by default (`skipped.operations`), so that no
        batch deletes the rows.
        """
        level = self._find_level("truncate", sink_table)
        if live is None or DELETED not in live.schema.names or level == "ignore" or not history.versions:
            return ""
        topics = {alias.name for alias in history.aliases if alias.kind == "topic"}
        done = read_record(live.properties).truncated
        last = max(
            (
                format_order(event.at.position, SNAPSHOT, 0, 0)
                for event in history.events
                if event.kind == "truncated"
                and event.at.topic not in topics
                and event.at.position.kind != "none"
                and event.incarnation == history.latest.incarnation
            ),
            default="",
        )
        older = f"`{ORDER}` >= '' AND `{ORDER}` < '{last}'"
        alive = f"(`{ORDER}` IS NULL OR {older}) AND NOT coalesce(`{DELETED}`, false)"
        name = sink_table.name
        if last <= done or not executor.query(f"SELECT 1 FROM {name} WHERE {alive} LIMIT 1"):
            return ""
        return (
            "the source table was emptied (TRUNCATE), as a statement alone tells "
            f"(skipped.operations): delete the rows from before (DELETE FROM {name} WHERE {alive}), "
            'or write truncate = "ignore" into a [[policy]] for this table to keep them'
        )

    def splits_columns(self, sink_table: SinkTable) -> bool:
        """Whether values go into columns beside others without a person."""
        return self._find_level("split-column", sink_table) == "auto"

    def _keeps_both(self, sink_table: SinkTable) -> bool:
        """Whether the lake gets both columns of a suspected rename that nobody has answered."""
        return self._find_level("rename-unanswered", sink_table) == "auto"

    @property
    def _stale_rows(self) -> StaleRowCheck:
        return StaleRowCheck(self.store, self.modes)

    def make_plan(
        self,
        sink_table: SinkTable,
        executor: Executor,
        history: TableHistory,
        keys: KeySequence | None = None,
    ) -> tuple[Plan, LakeTable | None]:
        """The plan for a lake table, and the table as it is; `keys` are those of the rows to write.

        Raises:
            StatementFailed: the lake cannot be asked.
        """
        format = sink_table.target.format
        live = executor.inspect(sink_table.lake_table, format)
        proven = self._find_level("rename-proven", sink_table) in ("auto", "approve")
        followed = _order_key(live, migration_source(history, proven=proven))
        first = keys.find_first(history) if keys is not None and live is None else None
        if first is not None:
            followed = replace(followed, schema=replace(followed.schema, key=first))
        if live is None and keys is not None and self._find_level("split-column", sink_table) == "auto":
            wide = widen_types(history, keys.versions)
            followed = replace(followed, schema=replace(wide, key=followed.schema.key))
        source = add_row_columns(followed)
        target, name = TARGETS.get(format), sink_table.target.name
        plan = make_plan(source, live, target, sink_table.lake_table, self.policy, target_name=name)
        view = sink_table.target.find_view(sink_table.table)
        if view is None:
            return plan, live
        lines = self.journal.read_dated_lines(target_id(format, sink_table.lake_table))
        decided = self.apply_decisions(self.registry.history(sink_table.table))
        whole = treat_as_additions(decided) if self._keeps_both(sink_table) else decided
        return self.views.plan_view(plan, live, whole, view, lines, executor, self.clock()), live

    def _find_level(self, kind: ChangeKind, sink_table: SinkTable) -> Level:
        """The level that the policy gives to a kind of change of this table."""
        target = sink_table.target
        return self.policy.find_ruling(kind, str(sink_table.table), target.name, target.format).level

    def _find_proven_renames(self, sink_table: SinkTable) -> tuple[Rename, ...]:
        """The renames on proof that hold for a lake table: all under `auto`, else those that were made."""
        found = list_proven_renames(self.apply_decisions(self.registry.history(sink_table.table)))
        if not found or self._find_level("rename-proven", sink_table) == "auto":
            return found
        lines = self.journal.read_target_lines(target_id(sink_table.target.format, sink_table.lake_table))
        made = [line.statement for line in lines if line.state in ("done", "skipped")]
        words = {f"RENAME COLUMN {quote_name(r.old)} TO {quote_name(r.new)}": r for r in found}
        return tuple(
            r for ending, r in words.items() if any(statement.endswith(ending) for statement in made)
        )

    def _refuse_foreign_store(self, live: LakeTable) -> str | None:
        """Explain why a table accepts no rows: another store maintains it; None if none does."""
        keeper, own = read_record(live.properties).store, self.store.id
        if not keeper or keeper == own:
            return None
        return (
            f"the store {keeper} maintains {live.name}, and this store is {own}: use that store; or, "
            f"if it no longer exists, set the property {STORE_PROPERTY} of the table to {own}"
        )

    def _refuse_creation(self, sink_table: SinkTable, executor: Executor, keys: KeySequence) -> str | None:
        """Why a lake table must not be made now; None if it may."""
        history = self.apply_decisions(self.registry.history(sink_table.table))
        unsure = refuse_unconfirmed_key(keys.history)
        if unsure is not None and keys.find_first(keys.history) is None:
            return f"{unsure.reason}: {unsure.instead}"
        format, lake_table = sink_table.target.format, sink_table.lake_table
        missing = self._make_preflight(executor).find_missing_table(
            history, format, lake_table, sink_table.target.address
        )
        return None if missing is None else str(missing)

    def _make_preflight(self, executor: Executor) -> Preflight:
        return Preflight(self.store, self.registry, self.journal.read_target_lines, executor, self.modes)

    def _apply_plan(self, plan: Plan, executor: Executor) -> Ready | Blocked:
        inspection = None
        if isinstance(executor, NotedInspections):
            inspection, executor = executor.take_inspection(plan.table, plan.format), executor.engine
        done = apply(
            plan,
            executor,
            self.journal,
            self.clock,
            run=secrets.token_hex(6),
            leases=self.store,
            owner=f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})",
            approved=self.is_approved(plan),
            store=self.store.id,
            inspection=inspection,
        )
        if done.state == "refused" or done.lake_table is None:
            return Blocked("; ".join(done.reasons), plan)
        if done.differences:
            return Blocked("after the migration the table differs from its plan")
        steps = tuple(o.statement for o in done.outcomes if o.state == "done")
        return Ready(done.lake_table, steps, notes=(*(plan.notes if steps else ()), *done.notes))


def _add_before(begun: Ready, found: Ready) -> Ready:
    """The table with the steps and notes of its beginning."""
    return replace(found, steps=(*begun.steps, *found.steps), notes=(*begun.notes, *found.notes))


def _find_missing_columns(
    ready: Ready, history: TableHistory, columns: tuple[Column, ...]
) -> tuple[str, ...]:
    """The names of the columns that a lake table lacks."""
    mapped = ready.map_rows(history).names if columns else {}
    return tuple(c.name for c in columns if c.id not in mapped)


def _lacks_nested_fields(ready: Ready, history: TableHistory) -> bool:
    """Whether a lake table lacks a nested field of the newest version."""
    names = ready.map_rows(history).names
    types = {c.name: c for c in ready.lake.schema.columns}
    for column in history.latest.schema.columns:
        name = None if column.id is None else names.get(column.id)
        if name is not None and isinstance(types[name].type, Array | Map | Struct):
            here, there = (
                {lower_path(path[1:]) for path, _, _ in walk_fields(TableSchema((each,)))}
                for each in (types[name], column)
            )
            if there - here:
                return True
    return False


def _block_by_plan(plan: Plan, live: LakeTable | None) -> Blocked | None:
    """Explain why the policy or the plan allows no rows in a table; None if it allows them."""
    if plan.refusals:
        reasons = "; ".join(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        return Blocked(reasons, plan)
    waiting = [
        f"{r.change}: {r.why}" for r in plan.rulings if r.level == "quarantine" or r.kind in _NEW_TABLE
    ]
    if waiting:
        return Blocked("; ".join(waiting), plan)
    if live is None and not plan.steps:
        return Blocked("; ".join(plan.notes), is_ignored=True)
    return None


def _order_key(live: LakeTable | None, source: MigrationSource) -> MigrationSource:
    """The source with its key in the table's order, if only that differs: rows are merged alike."""
    key = live.schema.key if live is not None else ()
    if sorted(key) != sorted(source.schema.key):
        return source
    return replace(source, schema=replace(source.schema, key=key))


def _format_error(error: SchemamanError) -> str:
    return error.message if error.hint is None else f"{error.message} ({error.hint})"
