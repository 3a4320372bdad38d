"""Lake tables follow the names of their source tables: renamed ones, exchanged ones, and ones made anew.

Law: no row is lost. A table that gives up its name keeps its rows under another one, and a table whose source
was renamed goes on under the new name with all of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from schemaman.debezium.records import Coordinates
from schemaman.errors import Locked, RowsUnready, SchemamanError, StatementFailed
from schemaman.history.versions import SchemaVersion, TableEvent, TableHistory
from schemaman.migration.apply.lease import TargetLease
from schemaman.migration.column_map import make_column_map
from schemaman.migration.conditions import find_unmet_query
from schemaman.migration.moved_parts import record_moved_parts
from schemaman.migration.plan import MigrationSource, Plan, Policy, Refusal
from schemaman.migration.plan_file import from_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind
from schemaman.migration.properties.names import (
    BEGAN_PROPERTY,
    PLAN_PROPERTY,
    PREDECESSOR_PROPERTY,
    SOURCE_PROPERTY,
    SUCCESSOR_PROPERTY,
    TAKEN_PROPERTY,
    VERSION_PROPERTY,
    format_property,
)
from schemaman.migration.properties.stamped_version import find_version_around, format_began
from schemaman.migration.properties.table_record import format_predecessor, read_record
from schemaman.migration.recipes.move_table import name_displaced, plan_move
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.split_plans import SPLIT_PLANS, plan_split
from schemaman.migration.row_columns import ORDER, add_row_columns
from schemaman.migration.settings import TargetSetting
from schemaman.migration.source import migration_source
from schemaman.migration.spark_sql import set_properties
from schemaman.migration.split_columns import split_columns
from schemaman.migration.successor import LakeTableAt, find_first_address, list_successors
from schemaman.migration.taken_columns import match_taken_columns
from schemaman.migration.target import TARGETS, Executor, LakeTable, query_number
from schemaman.model.schema import TableId, TableSchema
from schemaman.registry import Registry
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.ended_incarnations import find_end, list_previous_names
from schemaman.sink.preflight import Preflight, PreviousTable
from schemaman.sink.stale_rows import clear_reading

Turn = AbstractContextManager[TargetLease]
Apply = Callable[[Plan], tuple[str, ...]]
"""Applies a plan: the statements that were run, none if it was refused."""


_CHANGED_BETWEEN = (
    "the rows of {0} stay there: the columns of {1} changed while it had a name in between, under which it "
    "has no table; write them by hand into its table, where that has no row of the same key"
)
_EARLIER_KEY = (
    "the rows of {0} have an earlier key and stay there: read it together with {1}; a row that the source "
    "sent again since is newer in {1}"
)
_COPY = (
    "{1} has taken over the rows of {0}, which is a copy from before and gets no later row: it may be dropped"
)
_NOT_AUTOMATIC = "the rows of {} stay there: set `rename-table` to `auto`, and they come along"
_OWN_SOURCE = (
    "the rows of {0} stay there: it names {1} as its source, as {2} does; compare them, and write the rows "
    "that {2} lacks into it by hand"
)
_UNAPPLIED = (
    "the rows of {} stay there: the plan that takes them was not applied; `schemaman sync` tries again"
)
_WAITS = "the rows of {} stay there until those of {} are taken, which are newer"
_SETTLED = "where this was done by hand, or the rows are not needed, run: {}"
_MOVED_MEANWHILE = "another job has moved {} meanwhile"


def has_moved(history: TableHistory) -> bool:
    """Whether a table was renamed or dropped, or got its name from another one."""
    ended = any(event.kind in ("dropped", "renamed") for event in history.events)
    return ended or is_renamed(history)


def is_renamed(history: TableHistory) -> bool:
    """Whether a table had another name before."""
    return bool(list_previous_names(history))


@dataclass(frozen=True, slots=True)
class TableMover:
    """Moves the lake tables of one target, as far as the policy lets it."""

    registry: Registry
    preflight: Preflight
    policy: Policy
    target: TargetSetting
    executor: Executor
    apply: Apply
    take_turn: Callable[[str], Turn]

    def move_tables(self, history: TableHistory, address: str) -> tuple[str, ...]:
        """Give the lake table of a source its name, and return the statements that were run.

        A table of an earlier incarnation makes room. Where the source was renamed, its lake table comes. Of
        several jobs one moves tables at a time, since a name may be that of another table a moment later.

        Raises:
            StatementFailed: the lake cannot be read.
            Locked: another job moves tables of the target.
            RowsUnready: a table to move has rows that belong to the next table of its name.
        """
        if not self._may_move(history, address):
            return ()
        with self.take_turn(f"{self.target.format}:{self.target.name} (names of tables)") as turn:
            return self._move_in_turn(history, address, turn)

    def _may_move(self, history: TableHistory, address: str) -> bool:
        """Whether a lake table has or lacks a name other than its source does; it is cheap to find out."""
        if not any(self._is_automatic(history.table, kind) for kind in ("rename-table", "drop-table")):
            return False
        lake = self._inspect(address)
        if lake is None:
            return is_renamed(history)
        newest = (None, history.latest.incarnation)
        is_own = read_record(lake.properties).source == str(history.table)
        return not is_own or find_incarnation(lake, history) not in newest

    def _move_in_turn(self, history: TableHistory, address: str, turn: TargetLease) -> tuple[str, ...]:
        steps: tuple[str, ...] = ()
        lake = self._inspect(address)
        if lake is not None:
            steps = self._make_room(history, lake, address, turn)
            lake = self._inspect(address) if steps else lake
        return steps if lake is not None else (*steps, *self._bring_table_along(history, address, turn))

    def take_rows(self, history: TableHistory, address: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take the rows of the lake tables of previous names; the statements, and notes.

        So it is where the source states no rename, and a person did once both tables had rows. The newest
        name comes first. Where its rows stay, those of earlier names wait, since they may be older. Each
        table whose rows stay has a note.

        Raises:
            StatementFailed: the lake cannot be read.
        """
        lake = self._inspect(address) if is_renamed(history) else None
        if lake is None:
            return (), ()
        steps: tuple[str, ...] = ()
        notes: tuple[str, ...] = ()
        covered, waits_for = self._list_covered(history), ""
        find_tables = self.preflight.list_previous_tables
        for found in find_tables(history, self.target.format, address, self.target.address):
            if found.address in covered:
                continue
            if waits_for:
                notes += (_WAITS.format(found.address, waits_for),)
                continue
            explained = self._explain_staying_rows(history, lake, address, found)
            plan = explained or self._plan_taking(history, lake, address, found)
            if isinstance(plan, str):
                settled = self._write_settlement(lake, address, found.address)
                waits_for, notes = found.address, (*notes, f"{plan}; {settled}")
                continue
            ran = self.apply(plan)
            if not ran:
                waits_for, notes = found.address, (*notes, _UNAPPLIED.format(found.address))
                continue
            steps, lake = (*steps, *ran), self._inspect(address) or lake
            covered |= self._follow_taken([found.address])
            notes += self._explain_earlier_keys(found.address, address)
            former = self.registry.history(found.table)
            displaced = self._list_displaced(former, self.target.address(found.table))
            if any(each.address == found.address for each in displaced):
                notes += (_COPY.format(found.address, address),)
        return steps, notes

    def _list_covered(self, history: TableHistory) -> set[str]:
        """The lake tables whose rows those of a source have taken, be it by way of another table."""
        first = find_first_address(self._inspect, self.target.address(history.table), str(history.table))
        own = list_successors(self._inspect, first, str(history.table))
        return self._follow_taken([name for each in own for name in read_record(each.lake.properties).taken])

    def _follow_taken(self, addresses: Iterable[str]) -> set[str]:
        """These tables, and those whose rows they, or the tables before them, have taken."""
        todo, seen, covered = list(addresses), set[str](), set(addresses)
        while todo:
            address = todo.pop()
            lake = None if address in seen else self._inspect(address)
            seen.add(address)
            if lake is not None:
                record = read_record(lake.properties)
                covered |= {*record.taken}
                todo += record.taken
                todo += [] if record.predecessor is None else [record.predecessor.table]
        return covered

    def _explain_staying_rows(
        self, history: TableHistory, lake: LakeTable, address: str, found: PreviousTable
    ) -> str:
        """Explain why no plan is made that takes the rows of a table; empty if one is."""
        if not self._is_automatic(history.table, "rename-table"):
            return _NOT_AUTOMATIC.format(found.address)
        if read_record(found.lake.properties).source == str(history.table):
            return _OWN_SOURCE.format(found.address, history.table, address)
        former = _end_at(self.registry.history(found.table), found.lake)
        _, has_changed = self._follow_names(former, history)
        if has_changed:
            return _CHANGED_BETWEEN.format(found.address, history.table)
        return self._find_misread_rows(found.table, found.lake)

    def _plan_taking(
        self, history: TableHistory, lake: LakeTable, address: str, found: PreviousTable
    ) -> Plan | str:
        """Plan to take the rows of a table, or say why they stay."""
        source, target = migration_source(history), TARGETS.get(self.target.format)
        planner = RecipePlanner(source, target, address, self.policy, self.target.name)
        former = _end_at(self.registry.history(found.table), found.lake)
        named, _ = self._follow_names(former, history)
        began = None if named is None else named.at
        columns = match_taken_columns(former, found.lake, history, lake, began)
        plan = planner.plan_take_rows(lake, found.lake, found.address, columns)
        if isinstance(plan, Refusal):
            return f"{plan.change}: {plan.reason}; instead: {plan.instead}"
        gate = next(step for step in plan.steps if step.kind == "backfill").precondition
        unmet = find_unmet_query(lake, gate, partial(query_number, self.executor))
        if unmet is None:
            return plan
        return f"the rows of {found.address} stay there: {plan.phase and plan.phase.gate}: {unmet}"

    def _write_settlement(self, lake: LakeTable, address: str, stays: str) -> str:
        """Write the command that states that the rows of a table were taken by hand, or are not needed."""
        taken = format_property([*read_record(lake.properties).taken, stays])
        target = TARGETS.get(self.target.format)
        return _SETTLED.format(target.set_properties(address, {TAKEN_PROPERTY: taken}).statement)

    def _explain_earlier_keys(self, taken: str, address: str) -> tuple[str, ...]:
        """Say which tables keep the rows of earlier keys, where the newest one of a name was taken over.

        Rows that the taken table has from another one had earlier keys there, too. A table before it may be
        of an earlier incarnation, which is another table of the source.
        """
        notes: list[str] = []
        todo, seen = [taken], {address}
        while todo:
            name = todo.pop(0)
            lake = None if name in seen else self._inspect(name)
            seen.add(name)
            if lake is None:
                continue
            record, table = read_record(lake.properties), self._find_source(lake)
            todo += record.taken
            before = None if record.predecessor is None else self._inspect(record.predecessor.table)
            if table is None or record.predecessor is None or before is None or record.is_filled:
                continue
            history = self.registry.history(table)
            if find_incarnation(before, history) == find_incarnation(lake, history):
                notes.append(_EARLIER_KEY.format(record.predecessor.table, address))
                todo.append(record.predecessor.table)
        return tuple(notes)

    def _follow_names(self, former: TableHistory, history: TableHistory) -> tuple[TableEvent | None, bool]:
        """Find the event that gave a source its present name, by way of names that it had for a moment.

        None if no event shows it. Also whether its columns changed under one of those names.
        """
        end = find_end(former, former.latest.incarnation)
        seen = {former.table}
        while end is not None and end.other is not None and end.other not in {*seen, history.table}:
            seen.add(end.other)
            between = self.registry.store.history(end.other)
            if between is None:
                return None, False
            begun = _find_begun(between, end.at)
            if len([v for v in between.versions if v.incarnation == begun]) != 1:
                return None, True
            end = None if begun is None else find_end(between, begun)
        return (end if end is not None and end.other == history.table else None), False

    def takes_ended_rows(self, history: TableHistory, end: TableEvent, address: str) -> bool:
        """Whether the rows of an ended incarnation may be written before its table gives up the name.

        So it is until the lake table has moved or has rows of a later incarnation, and where it moves by
        itself. The rows of a copy that was swapped in come after those of the table for which it was: no
        lake table moves. `history` is the whole one. Raises `StatementFailed`.
        """
        if self._find_swapped(end) is not None:
            return False
        if not self._is_automatic(history.table, "drop-table" if end.kind == "dropped" else "rename-table"):
            return False
        tables = list_successors(self._inspect, address, str(history.table))
        if not tables:
            return self.find_moved_table(history, end, address) is None
        lake = tables[-1].lake
        is_own = read_record(lake.properties).source == str(history.table)
        if not is_own or self._find_taker(history, end, address) is not None:
            return False
        incarnation = find_incarnation(lake, history)
        return incarnation is not None and incarnation <= end.incarnation

    def _find_taker(self, history: TableHistory, end: TableEvent, address: str) -> LakeTableAt | None:
        """Find the table of a next name that has taken the rows: no reader looks for later ones here."""
        moved = self.find_moved_table(history, end, address)
        return moved if moved is not None and address in read_record(moved.lake.properties).taken else None

    def find_late_place(self, history: TableHistory, end: TableEvent, address: str) -> LakeTableAt | None:
        """Find the moved lake table that surely takes late rows of an ended incarnation; None if none does.

        The table still has the structure that it had when it moved, or has got columns alone since. Where it
        was made under its new name, it takes these rows whatever the policy says: nothing moves. `history` is
        the whole one. Raises `StatementFailed`.
        """
        moved = self.find_moved_table(history, end, address)
        kind: ChangeKind = "drop-table" if end.kind == "dropped" else "rename-table"
        if moved is None or not (
            self._is_automatic(history.table, kind) or self._is_made_under_next_name(history, end, address)
        ):
            return None
        record = read_record(moved.lake.properties)
        own = [v for v in history.versions if v.incarnation == end.incarnation]
        swapped = self._find_swapped(end)
        if swapped is not None:
            is_apart = not self._is_made_under_next_name(history, end, address)
            return None if is_apart or not own else self._read_as_copy(history, own[-1], swapped, moved)
        if not own:
            return None
        if record.source != str(history.table):
            # the id of a version does not tell whether two columns exchanged their names since
            return self._read_as_before(history, own[-1], moved)
        if record.version is not None and any(v.has_id(record.version) for v in own):
            return moved
        return _read_by_place(history, own, moved)

    def find_renamed_table(self, history: TableHistory, address: str) -> LakeTableAt | None:
        """Find the lake table that a source has under its next name, while it has none under this one.

        So it is, too, where that table has taken the rows of the one under this name.

        Raises `StatementFailed`.
        """
        end = find_end(history, history.latest.incarnation)
        if end is None:
            return None
        if self._is_made_under_next_name(history, end, address):
            return self.find_moved_table(history, end, address)
        return self._find_taker(history, end, address)

    def find_superseding_table(self, history: TableHistory, address: str) -> LakeTableAt | None:
        """Find the lake table of the next name, if each newer row of it supersedes one of the former name.

        So it is where no column was dropped, and the key has had the same columns and names all the time.
        Raises `StatementFailed`.
        """
        renamed = self.find_renamed_table(history, address)
        table = None if renamed is None else self._find_source(renamed.lake)
        if renamed is None or table is None:
            return None
        other = _end_at(self.registry.history(table), renamed.lake)
        before, after = _list_versions(history), _list_versions(other)
        if not after[0].has_id(before[-1].id) or any(map(_drops_columns, (before, after))):
            return None
        keys = {_list_key(v.schema) for v in after}
        names = {frozenset(name for _, name in key) for key in keys}
        own = {frozenset(renamed.lake.schema.key), frozenset(before[-1].schema.key)}
        return renamed if len(keys) == 1 and names == own != {frozenset()} else None

    def _is_made_under_next_name(self, history: TableHistory, end: TableEvent, address: str) -> bool:
        """Whether a renamed incarnation has no lake table under the name that it had."""
        if end.kind != "renamed":
            return False
        tables = list_successors(self._inspect, address, str(history.table))
        return all(find_incarnation(each.lake, history) != end.incarnation for each in tables)

    def _read_as_before(
        self, history: TableHistory, version: SchemaVersion, moved: LakeTableAt
    ) -> LakeTableAt | None:
        """The table as it was at a version from before a rename, if columns alone were added since.

        The added columns are then as foreign ones: late rows, which have no values for them, leave them as
        they are.
        """
        record, table = read_record(moved.lake.properties), self._find_source(moved.lake)
        other = None if table is None else self.registry.store.history(table)
        incarnation = None if other is None else find_incarnation(moved.lake, other)
        if other is None or incarnation is None or not record.version:
            return None
        versions = [v for v in other.versions if v.incarnation == incarnation]
        last = [number for number, v in enumerate(versions) if v.has_id(record.version)]
        if not last or not versions[0].has_id(version.id):
            return None
        if not all(_only_adds(versions[0].schema, v.schema) for v in versions[: last[-1] + 1]):
            return None
        cut = _cut_after(history, version)
        properties = {**moved.lake.properties, **_make_stamp(migration_source(cut))}
        return LakeTableAt(moved.address, replace(moved.lake, properties=properties))

    def is_swapped_in(self, history: TableHistory) -> bool:
        """Whether a table was the copy of an online schema change: its table goes on with the rows of it."""
        end = find_end(history, history.latest.incarnation)
        return end is not None and self._find_swapped(end) is not None

    def _find_swapped(self, end: TableEvent) -> TableHistory | None:
        """The history of the table for which a copy was swapped in, up to the version that it got by that.

        The event of the rename then begins a later version of an incarnation, and no incarnation.
        """
        other = None if end.other is None else self.registry.store.history(end.other)
        if other is None or not self.target.has_table(other.table):
            return None
        begun = next((v for v in other.versions if v.at == end.at), None)
        before = () if begun is None else [v for v in other.versions if v.number < begun.number]
        if begun is None or not before or before[-1].incarnation != begun.incarnation:
            return None
        return replace(other, versions=(*before, begun))

    def _read_as_copy(
        self, history: TableHistory, version: SchemaVersion, swapped: TableHistory, moved: LakeTableAt
    ) -> LakeTableAt | None:
        """The table for which a copy was swapped in, as one of the last version of the copy; else None.

        The source has the rows of the copy from then on, and both tables share a log: a row of the copy is
        merged by the key, and is older than each row that the table got after it. The table is brought to the
        version that the swap gave it, if that adds columns alone. Each column has one name in both versions
        and in the lake, so that no two mix.
        """
        whole = self.registry.history(swapped.table)
        own = [v for v in whole.versions if v.incarnation == find_incarnation(moved.lake, whole)]
        stamp = read_record(moved.lake.properties).version or ""
        held = next((v.number for v in reversed(own) if v.has_id(stamp)), None)
        if held is None or not swapped.latest.has_id(version.id):
            return None
        first, last = sorted((held, swapped.latest.number))
        known = [v for v in own if first <= v.number <= last]
        is_same = swapped.latest in known and all(_only_adds(known[0].schema, v.schema) for v in known)
        if not is_same or self._find_misread_rows(swapped.table, moved.lake):
            return None
        lake, cut = moved.lake, _cut_after(history, version)
        if held < last == swapped.latest.number:
            lake, _ = self._bring_up_to_date(swapped, lake, moved.address)
        if not _has_own_names(_cut_after(whole, known[-1]), swapped.latest.schema, lake):
            return None
        properties = {**lake.properties, **_make_stamp(migration_source(cut))}
        return LakeTableAt(moved.address, replace(lake, properties=properties))

    def find_displaced_address(self, history: TableHistory, end: TableEvent, address: str) -> str | None:
        """Find the address of the lake table that an ended incarnation left, or would have left; else None.

        It would have left one where its name was used again, and no other table has its rows. Raises
        `StatementFailed`.
        """
        kind: ChangeKind = "drop-table" if end.kind == "dropped" else "rename-table"
        if not self._is_automatic(history.table, kind) or end.incarnation == history.latest.incarnation:
            return None
        for each in list_successors(self._inspect, address, str(history.table)):
            if find_incarnation(each.lake, history) == end.incarnation:
                return None  # the table could not move: it takes its rows where it is
        moved = self.find_moved_table(history, end, address)
        if moved is not None:
            is_own = read_record(moved.lake.properties).source == str(history.table)
            return moved.address if is_own else None
        if end.other is not None and self.target.has_table(end.other):
            return None
        return name_displaced(address, lambda name: self._inspect(name) is None)

    def find_moved_table(self, history: TableHistory, end: TableEvent, address: str) -> LakeTableAt | None:
        """Find the lake table of an ended incarnation that has another name already, or is about to get it.

        Where a table has taken the rows of one that made room, it is the former. Raises `StatementFailed`.
        """
        displaced = next(
            (
                each
                for each in self._list_displaced(history, address)
                if find_incarnation(each.lake, history) == end.incarnation
            ),
            None,
        )
        return _choose_holder(displaced, self._find_next_table(history, end, address))

    def _list_displaced(self, history: TableHistory, address: str) -> Iterator[LakeTableAt]:
        """The tables that made room for the one of an address, which is that of a source."""
        for each in self.preflight.list_addresses(address, self.target.format, history)[1:]:
            lake = self._inspect(each)
            if lake is not None:
                yield LakeTableAt(each, lake)

    def _find_next_table(self, history: TableHistory, end: TableEvent, address: str) -> LakeTableAt | None:
        """Find the lake table that an ended incarnation has under a later name."""
        other = None if end.other is None else self.registry.store.history(end.other)
        if other is None or not self.target.has_table(other.table):
            return None
        begun = _find_begun(other, end.at)
        if begun is None:
            return None
        to = self.target.address(other.table)
        # A killed job may have marked the table for its move, and not moved it; a path begins a successor.
        found = next(
            (
                each
                for name in (to, address)
                for each in list_successors(self._inspect, name, str(other.table))
                if read_record(each.lake.properties).source == str(other.table)
                and find_incarnation(each.lake, other) == begun
            ),
            None,
        )
        next_end = find_end(other, begun)
        return (
            found if next_end is None else _choose_holder(found, self.find_moved_table(other, next_end, to))
        )

    def takes_rows_over(self, table: TableId, address: str) -> bool:
        """Whether a renamed table gets a new lake table with the rows of the earlier one, as paths do."""
        is_path = TARGETS.get(self.target.format).rename_table(address, address) is None
        return is_path and self._is_automatic(table, "rename-table")

    def _make_room(
        self, history: TableHistory, lake: LakeTable, address: str, turn: TargetLease
    ) -> tuple[str, ...]:
        """Move the table of an ended incarnation to where its source went, or out of the way."""
        other = self._find_adopter(history, lake)
        if other is not None:
            restored = self._restore_stamp(history, lake, address, other)
            return restored or self._finish_move(lake, address, other, turn)
        incarnation = find_incarnation(lake, history)
        end = next(
            (e for e in history.events if e.incarnation == incarnation and e.kind in ("dropped", "renamed")),
            None,
        )
        is_own = read_record(lake.properties).source == str(history.table)
        if not is_own:
            return self._move_home(lake, address)
        if end is None or incarnation in (None, history.latest.incarnation):
            return ()
        if not self._is_automatic(history.table, "drop-table" if end.kind == "dropped" else "rename-table"):
            return ()
        self._require_own_rows(history.table, lake)
        taker = self._find_taker(history, end, address)
        known = end.other is not None and self.registry.store.history(end.other) is not None
        if end.other is not None and known and self.target.has_table(end.other):
            to = self.target.address(end.other)
            if self._inspect(to) is None and taker is None:
                tables = list_successors(self._inspect, address)
                newest = [t for t in tables if find_incarnation(t.lake, history) == incarnation][-1]
                moved = self._adopt(history, newest.lake, (newest.address, to), (end.other, end.at), turn)
                if moved and newest.address != address:
                    # the rows of earlier keys stay in a table of their own, which makes room
                    lake = self._inspect(address) or lake
                    return (*moved, *self._displace(history, lake, address, turn))
                if moved:
                    return moved
        return self._displace(history, lake, address, turn, taker)

    def _displace(
        self,
        history: TableHistory,
        lake: LakeTable,
        address: str,
        turn: TargetLease,
        taker: LakeTableAt | None = None,
    ) -> tuple[str, ...]:
        """Move a table out of the way of a later incarnation, under a name of its own.

        A table that has taken its rows names the new address. A killed job leaves the former one there: the
        rows are then taken once more, which adds none.
        """
        free = name_displaced(address, lambda name: self._inspect(name) is None)
        moved = () if free is None else self._move(migration_source(history), lake, (address, free), turn)
        linked = self._link_successor(lake, address, str(free)) if moved else ()
        moved = (*moved, *linked)
        if taker is None or not moved:
            return moved
        addresses = [free if each == address else each for each in read_record(taker.lake.properties).taken]
        name = TARGETS.get(self.target.format).table_name(taker.address)
        statement = set_properties(name, {TAKEN_PROPERTY: format_property(addresses)})
        self.executor.run(statement)
        return (*moved, statement)

    def explain_copies(self, history: TableHistory, address: str) -> tuple[str, ...]:
        """Say which tables that made room have rows that another table has taken over.

        Raises `StatementFailed`.
        """
        notes = []
        for each in self._list_displaced(history, address):
            end = find_end(history, find_incarnation(each.lake, history) or 0)
            moved = None if end is None else self.find_moved_table(history, end, address)
            if moved is not None and each.address in read_record(moved.lake.properties).taken:
                notes.append(_COPY.format(each.address, moved.address))
        return tuple(notes)

    def _require_own_rows(self, table: TableId, lake: LakeTable) -> None:
        """Require that no row of a table came after the change that ends it. Raises `RowsUnready`."""
        misread = self._find_misread_rows(table, lake)
        if misread:
            raise RowsUnready(misread)

    def _find_misread_rows(self, table: TableId, lake: LakeTable) -> str:
        """Explain which rows of a table were read by a wrong structure; empty if none were."""
        recorded = self.registry.history(table)
        found = self.preflight.find_misread_rows(recorded, lake, self.target.format)
        return "" if found is None else str(found)

    def _move_home(self, lake: LakeTable, address: str) -> tuple[str, ...]:
        """Move a table that has the name of another source to its own name, if that is free.

        A job that slept for longer than its turn, and was killed then, left it there.
        """
        own = self._find_source(lake)
        if own is None or not self.target.has_table(own) or not self._is_automatic(own, "rename-table"):
            return ()
        home = self.target.address(own)
        if home == address or self._inspect(home) is not None:
            return ()
        history, target = self.registry.history(own), TARGETS.get(self.target.format)
        plan = plan_move(migration_source(history), lake, address, home, target, self.target.name)
        return () if plan is None else self.apply(plan)

    def _find_source(self, lake: LakeTable) -> TableId | None:
        """The source that a table names; None if it names none that the store has."""
        name = read_record(lake.properties).source
        return next((table for table in self.registry.store.tables() if str(table) == name), None)

    def _restore_stamp(
        self, history: TableHistory, lake: LakeTable, address: str, other: TableId
    ) -> tuple[str, ...]:
        """Give a table its own stamp back that got the one of an earlier table of its name.

        A job that slept for longer than its turn, and was killed then, wrote it. By its last plan, the table
        is of an incarnation of the source that did not become the other one.
        """
        own = self._find_last_stamp(lake)
        if own is None or own[SOURCE_PROPERTY] != str(history.table):
            return ()
        before = find_incarnation(replace(lake, properties={**lake.properties, **own}), history)
        renamed = {e.incarnation for e in history.events if e.kind == "renamed" and e.other == other}
        if before is None or before in renamed:
            return ()
        statement = set_properties(TARGETS.get(self.target.format).table_name(address), own)
        self.executor.run(statement)
        return (statement,)

    def _find_adopter(self, history: TableHistory, lake: LakeTable) -> TableId | None:
        """The new name of a source in whose lake table it stands already, which a killed run did not move."""
        adopter = read_record(lake.properties).source
        names = (e.other for e in history.events if e.kind == "renamed" and e.other is not None)
        other = next((name for name in names if str(name) == adopter and name != history.table), None)
        is_moved = other is not None and self.target.has_table(other)
        return other if is_moved and self._is_automatic(history.table, "rename-table") else None

    def _finish_move(
        self, lake: LakeTable, address: str, other: TableId, turn: TargetLease
    ) -> tuple[str, ...]:
        """Move a table that names its new source to that name, or out of the way where a table is there."""
        to: str | None = self.target.address(other)
        if to == address:
            return ()
        if self._inspect(str(to)) is not None:
            to = name_displaced(address, lambda name: self._inspect(name) is None)
        followed = self._find_followed(lake, other) or migration_source(self.registry.history(other))
        return () if to is None else self._move(followed, lake, (address, to), turn)

    def _bring_table_along(self, history: TableHistory, address: str, turn: TargetLease) -> tuple[str, ...]:
        """Move the lake table of the previous name of a source to the present one."""
        if not self._is_automatic(history.table, "rename-table"):
            return ()
        found = self.preflight.find_previous_table(history, self.target.format, address, self.target.address)
        if found is None:
            return ()
        if read_record(found.lake.properties).source == str(found.table):
            self._require_own_rows(found.table, found.lake)
        former = self.registry.history(found.table)
        begun = next(v.at for v in history.versions if v.incarnation == history.latest.incarnation)
        return self._adopt(former, found.lake, (found.address, address), (history.table, begun), turn)

    def _adopt(
        self,
        history: TableHistory,
        lake: LakeTable,
        names: tuple[str, str],
        renamed: tuple[TableId, Coordinates | None],
        turn: TargetLease,
    ) -> tuple[str, ...]:
        """Move a lake table to another name of its source; empty if its columns are not surely the same.

        `names` are its address and the next one; `renamed` is the name of the source, and where it got it:
        several tables may have had that name for a moment. Without a place, the last of them has it. The
        table names its new source before it moves, so that a run that stops in between goes on.
        """
        (address, to), (other, at) = names, renamed
        # a source that has its first name back has a table that names it, with the stamp of its first stay
        is_back = other == history.table and find_incarnation(lake, history) != history.latest.incarnation
        if read_record(lake.properties).source == str(other) and not is_back:
            known = self._find_followed(lake, other) or migration_source(self.registry.history(other))
            return self._move(known, lake, names, turn)
        updated, steps = self._bring_up_to_date(history, lake, address)
        followed = self._find_followed(updated, other, at)
        if followed is None or TARGETS.get(self.target.format).rename_table(address, to) is None:
            return ()
        parts = record_moved_parts(_end_at(history, updated), updated, followed)
        own = {**_make_stamp(followed), **clear_reading(updated, other)}
        stamp, before = {**own, **parts}, updated.properties
        turn.require_held()
        stamped = self._stamp(updated, address, stamp)
        moved = self._move(followed, stamped, names, turn)
        if not moved:
            self._stamp(stamped, address, {n: before[n] for n in stamp if n in before})
        return (*steps, *moved, *(self._link_predecessor(history, lake, address, to) if moved else ()))

    def _link_predecessor(
        self, history: TableHistory, lake: LakeTable, address: str, to: str
    ) -> tuple[str, ...]:
        """Let the table before a moved successor name its new address; that table may have moved, too."""
        predecessor, format = read_record(lake.properties).predecessor, self.target.format
        find_addresses = self.preflight.list_addresses
        for each in () if predecessor is None else find_addresses(predecessor.table, format, history):
            before = self._inspect(each)
            if before is not None and read_record(before.properties).successor == address:
                name = TARGETS.get(self.target.format).table_name(each)
                statement = set_properties(name, {SUCCESSOR_PROPERTY: to})
                self.executor.run(statement)
                return (statement,)
        return ()

    def _link_successor(self, lake: LakeTable, address: str, to: str) -> tuple[str, ...]:
        """Let the table after one that made room name its new address: another one has the former name."""
        successor = read_record(lake.properties).successor
        after = self._inspect(successor) if successor else None
        named = None if after is None else read_record(after.properties).predecessor
        if named is None or named.table != address:
            return ()
        name = TARGETS.get(self.target.format).table_name(str(successor))
        statement = set_properties(name, {PREDECESSOR_PROPERTY: format_predecessor(replace(named, table=to))})
        self.executor.run(statement)
        return (statement,)

    def _stamp(self, lake: LakeTable, address: str, stamp: Mapping[str, str]) -> LakeTable:
        """Write a stamp into a table that is still under its name, and return it.

        A job that slept for longer than its turn may have written it into another table: that one gets the
        stamp of its own last plan back.

        Raises:
            Locked: another table has the name by now.
        """
        self._require_there(lake, address)
        name = TARGETS.get(self.target.format).table_name(address)
        self.executor.run(set_properties(name, stamp))
        found = self._inspect(address)
        if found is not None and _is_same(found, lake):
            return found
        own = None if found is None else self._find_last_stamp(found)
        if own is not None:
            self.executor.run(set_properties(name, own))
        raise Locked(_MOVED_MEANWHILE.format(address))

    def _require_there(self, lake: LakeTable, address: str) -> None:
        """Require that a table is still under its name. Raises `Locked`."""
        found = self._inspect(address)
        if found is None or not _is_same(found, lake):
            raise Locked(_MOVED_MEANWHILE.format(address))

    def _find_last_stamp(self, lake: LakeTable) -> Mapping[str, str] | None:
        """The stamp that the last plan of a table left, by the journal; None if it has no such plan."""
        plan = lake.properties.get(PLAN_PROPERTY)
        lines = self.registry.journal(plan=plan) if plan else ()
        text = next((line.statement for line in lines if line.state == "started"), None)
        return None if text is None else _make_stamp(from_text(text).source)

    def _bring_up_to_date(
        self, history: TableHistory, lake: LakeTable, address: str
    ) -> tuple[LakeTable, tuple[str, ...]]:
        """Bring the table of an ended incarnation to its last version, and return it."""
        incarnation = find_incarnation(lake, history)
        versions = tuple(v for v in history.versions if v.incarnation == incarnation)
        if not versions or read_record(lake.properties).version == versions[-1].id:
            return lake, ()
        ended, has_rows = replace(history, versions=versions), ORDER in lake.schema.names
        target, name = TARGETS.get(self.target.format), self.target.name
        done: tuple[str, ...] = ()
        for _ in SPLIT_PLANS if self._is_automatic(history.table, "split-column") else ():
            source = migration_source(split_columns(ended, lake))
            planner = RecipePlanner(
                add_row_columns(source) if has_rows else source, target, address, self.policy, name
            )
            split = plan_split(planner, ended, lake, has_rows=has_rows)
            steps = () if split is None else self.apply(split)
            done, lake = (*done, *steps), (self._inspect(address) or lake) if steps else lake
        source = migration_source(split_columns(ended, lake))
        source = add_row_columns(source) if has_rows else source
        plan = make_plan(source, lake, target, address, self.policy, target_name=name)
        if not plan.refusals and not plan.steps:  # the version is another one for the source alone
            return replace(lake, properties={**lake.properties, **_make_stamp(source)}), done
        steps = () if plan.refusals else self.apply(plan)
        return self._inspect(address) or lake, (*done, *steps)

    def _find_followed(
        self, lake: LakeTable, other: TableId, at: Coordinates | None = None
    ) -> MigrationSource | None:
        """The version of a table under the name that its source got at a place; None if it is unknown."""
        history, record = self.registry.history(other), read_record(lake.properties)
        id, begun = record.version, _find_begun(history, at)
        if begun is None and record.source == str(other):
            begun = find_incarnation(lake, history)
        incarnation = history.latest.incarnation if begun is None else begun
        own = [v for v in history.versions if v.incarnation == incarnation]
        # rows that come under the name at a later version may have the names of this one for other columns
        own = own[:1] if at is not None and begun is not None else own
        version = next((v for v in own if v.has_id(id or "")), None)
        if version is None:
            return None
        cut = _cut_after(history, version)
        return migration_source(cut)

    def _move(
        self, source: MigrationSource, lake: LakeTable, names: tuple[str, str], turn: TargetLease
    ) -> tuple[str, ...]:
        """Rename a table that is still under its name; no statement if its catalogue renames none.

        Raises:
            Locked: another table had the name: a job that slept for longer than its turn moves it back.
        """
        plan = plan_move(source, lake, *names, TARGETS.get(self.target.format), self.target.name)
        turn.require_held()
        if plan is None:
            return ()
        self._require_there(lake, names[0])
        try:
            steps = self.apply(plan)
        except StatementFailed:  # catalogues of Hadoop's rename no table: both tables are as before
            steps = ()
        except SchemamanError:
            self._return_other_table(lake, names)
            raise
        self._return_other_table(lake, names)
        return steps

    def _return_other_table(self, lake: LakeTable, names: tuple[str, str]) -> None:
        """Move another table back that got the name of this one. Raises `Locked` if there is another."""
        moved = self._inspect(names[1])
        if moved is not None and not _is_same(moved, lake):
            self._move_home(moved, names[1])
            raise Locked(_MOVED_MEANWHILE.format(names[0]))

    def _inspect(self, address: str) -> LakeTable | None:
        return self.executor.inspect(address, self.target.format)

    def _is_automatic(self, table: TableId, kind: ChangeKind) -> bool:
        ruling = self.policy.find_ruling(kind, str(table), self.target.name, self.target.format)
        return ruling.level == "auto"


def _find_begun(history: TableHistory, at: Coordinates | None) -> int | None:
    """Find the incarnation that began at a place; None if none did."""
    return next((v.incarnation for v in history.versions if v.at == at), None)


def _choose_holder(table: LakeTableAt | None, following: LakeTableAt | None) -> LakeTableAt | None:
    """The table under the next name if it has taken the rows of the other one, or if that is not there."""
    if table is None or following is None:
        return table or following
    return following if table.address in read_record(following.lake.properties).taken else table


def _read_by_place(
    history: TableHistory, own: Sequence[SchemaVersion], moved: LakeTableAt
) -> LakeTableAt | None:
    """A moved table with the stamp of the version of its own source in whose time it began; None if unknown.

    The id that its rows gave the version has gone once the statement of the table was read.
    """
    began = read_record(moved.lake.properties).began
    last = replace(history, versions=tuple(v for v in history.versions if v.number <= own[-1].number))
    past = migration_source(last).past
    around = find_version_around(past, began) if len(past) == len(own) else None
    if around is None:
        return None
    cut = replace(history, versions=tuple(v for v in last.versions if v.number <= own[around].number))
    properties = {**moved.lake.properties, **_make_stamp(migration_source(cut))}
    return LakeTableAt(moved.address, replace(moved.lake, properties=properties))


def _has_own_names(history: TableHistory, schema: TableSchema, lake: LakeTable) -> bool:
    """Whether a table has each column of a schema under its name, and no column in two parts."""
    names = make_column_map(migration_source(history), lake).names
    own = all(names.get(c.id or 0) == c.name for c in schema.columns)
    return own and not read_record(lake.properties).split


def _list_versions(history: TableHistory) -> tuple[SchemaVersion, ...]:
    """The versions of the newest incarnation."""
    return tuple(v for v in history.versions if v.incarnation == history.latest.incarnation)


def _drops_columns(versions: Sequence[SchemaVersion]) -> bool:
    """Whether the last version lacks a column of an earlier one."""
    last = {c.id for c in versions[-1].schema.columns}
    return any(c.id not in last for v in versions for c in v.schema.columns)


def _list_key(schema: TableSchema) -> frozenset[tuple[int | None, str]]:
    """The columns of a key, by id and name."""
    return frozenset((column.id, column.name) for column in schema.columns if column.name in schema.key)


def _cut_after(history: TableHistory, version: SchemaVersion) -> TableHistory:
    """The history up to a version."""
    return replace(history, versions=tuple(v for v in history.versions if v.number <= version.number))


def _only_adds(before: TableSchema, after: TableSchema) -> bool:
    """Whether a structure has each column of an earlier one as it was, and the same key."""
    kept = {column.id: (column.name, column.type) for column in after.columns}
    own = {column.id: (column.name, column.type) for column in before.columns}
    return before.key == after.key and own.items() <= kept.items()


def _end_at(history: TableHistory, lake: LakeTable) -> TableHistory:
    """The history with the incarnation that a lake table holds as its newest."""
    incarnation = find_incarnation(lake, history)
    versions = tuple(v for v in history.versions if v.incarnation == incarnation)
    return replace(history, versions=versions) if versions else history


def _make_stamp(source: MigrationSource) -> dict[str, str]:
    """The version stamp of a table that follows a version."""
    began = format_began(source.began)
    return {SOURCE_PROPERTY: source.table, VERSION_PROPERTY: source.id, BEGAN_PROPERTY: began}


def _is_same(found: LakeTable, lake: LakeTable) -> bool:
    """Whether an inspection shows the table of an earlier one; a format without ids tells no difference."""
    return not lake.identity or found.identity == lake.identity
