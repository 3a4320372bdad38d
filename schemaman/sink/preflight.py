"""Checks before a lake table is migrated: its rows, its key, and earlier tables of the source.

Law: plans by command, `sync` and streams make the same checks, and none migrates a table against them. If a
person may overrule a check, the plan needs an approval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from schemaman.history.versions import TableEvent, TableHistory
from schemaman.migration.apply.journal import list_run_steps
from schemaman.migration.exchanged_names import (
    NameCheck,
    check_names,
    refuse_exchanged_names,
    refuse_second_column,
)
from schemaman.migration.plan import Plan, Refusal
from schemaman.migration.properties.names import (
    BEGAN_PROPERTY,
    READ_PROPERTY,
    SOURCE_PROPERTY,
    VERSION_PROPERTY,
)
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.move_table import name_displaced
from schemaman.migration.spark_sql import read_set_properties
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS, Executor, LakeTable, has_known_key
from schemaman.migration.target_id import target_id
from schemaman.model.schema import TableId, TableSchema
from schemaman.registry import Registry, RegistryStore
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.ended_incarnations import is_older, list_previous_names
from schemaman.sink.stale_rows import StaleRowCheck, StaleRows
from schemaman.sink.uncertain_keys import is_key_open
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.store.log import MigrationEntry

Address = Callable[[TableId], str]
"""The address of the lake table of a source table in a target."""
_STAMPS = (VERSION_PROPERTY, BEGAN_PROPERTY)
_CREATE_NAMESPACE = "CREATE NAMESPACE "
"""The beginning of a statement that creates only a namespace."""


@dataclass(frozen=True, slots=True)
class MissingTable:
    """Why a lake table should not be created without a person: what to do instead, and the consequence."""

    reason: str
    instead: str
    consequence: str

    @property
    def approval(self) -> str:
        """The text that a person approves to let the table be created."""
        return f"{self.reason}: {self.consequence}; instead: {self.instead}"

    def __str__(self) -> str:
        again = "create it again (`schemaman plan`, `schemaman approve`, `schemaman apply`)"
        return f"{self.reason}: {self.instead}; or {again}: {self.consequence}"


@dataclass(frozen=True, slots=True)
class PreviousTable:
    """The lake table of an earlier name of a source table."""

    table: TableId
    address: str
    lake: LakeTable


@dataclass(frozen=True, slots=True)
class Preflight:
    """Checks a lake table against the store and, with the executor, against the lake.

    `journal` gives the entries of a target.
    """

    store: RegistryStore
    registry: Registry
    journal: Callable[[str], Sequence[MigrationEntry]]
    executor: Executor
    modes: ConnectorModes = UNKNOWN_MODES

    def check_plan(
        self, plan: Plan, lake: LakeTable | None, history: TableHistory, address: Address | None = None
    ) -> Plan:
        """Return the plan, withheld if a check fails; `history` is with decisions.

        `lake` is the table that has the rows, None if there is none. Without `address` the lake table of a
        previous name of the source table is not searched.

        Raises:
            StatementFailed: the lake cannot be queried.
        """
        if lake is not None:
            names = check_names(self.journal(target_id(plan.format, lake.name)), lake)
            refusal = _refuse_names(names, lake, plan)
            if refusal is not None:
                return withhold_plan(plan, refusal)
            plan = replace(plan, notes=(*plan.notes, *names.notes))
        if not plan.steps:
            return plan
        if lake is not None and READ_PROPERTY in lake.properties:
            misread = self.find_stale_rows(self.registry.history(history.table), lake, plan.format)
            if misread is not None:
                change = f"migrate {plan.table} to follow {plan.source.table}"
                return withhold_plan(plan, Refusal(change, misread.reason, misread.instead))
        keyed = plan.base_schema is not None and (lake is None or has_known_key(lake))
        unsure = refuse_unconfirmed_key(history)
        if unsure is not None and (not keyed or (plan.phase is not None and plan.phase.name == "rekey")):
            return withhold_plan(plan, unsure)
        if plan.base_schema is not None:
            return plan
        missing = self.find_missing_table(
            history, plan.format, plan.table, None if lake is not None else address
        )
        return plan if missing is None else _require_approval(plan, missing)

    def find_mistaken_names(self, lake: LakeTable, plan: Plan) -> Refusal | None:
        """Find names of a lake table that others exchanged or took away: no row may be written by them."""
        return _refuse_names(check_names(self.journal(target_id(plan.format, lake.name)), lake), lake, plan)

    def find_stale_rows(self, history: TableHistory, lake: LakeTable, format: str) -> StaleRows | None:
        """Find rows that were read by a wrong structure: their table must not change.

        `history` is without decisions. Raises `StatementFailed`.
        """
        name = TARGETS.get(format).table_name(lake.name)
        return StaleRowCheck(self.store, self.modes).find_stale_rows(history, lake, name, self.executor)

    def find_misread_rows(self, history: TableHistory, lake: LakeTable, format: str) -> StaleRows | None:
        """As `find_stale_rows`, of rows that are there; that rows of an earlier name lack is no fault."""
        name = TARGETS.get(format).table_name(lake.name)
        return StaleRowCheck(self.store, self.modes).find_misread_rows(history, lake, name, self.executor)

    def find_missing_table(
        self, history: TableHistory, format: str, lake_table: str, address: Address | None
    ) -> MissingTable | None:
        """Find why a person must decide about a missing lake table. Raises `StatementFailed`."""
        lost = self._find_lost_table(history, format, lake_table)
        if lost is not None or address is None:
            return lost
        previous = self.find_previous_table(history, format, lake_table, address)
        if previous is None:
            return None
        return MissingTable(
            f"the source renamed {previous.table} to {history.table}, and its rows are in {previous.address}",
            f"rename that table to {lake_table} and set its property {SOURCE_PROPERTY} to {history.table}",
            "the new table begins empty beside that one",
        )

    def _find_lost_table(self, history: TableHistory, format: str, lake_table: str) -> MissingTable | None:
        """Find out whether the table existed before, with rows of the present incarnation."""
        lines = self.journal(target_id(format, lake_table))
        made = [line for line in list_run_steps(lines) if not line.statement.startswith(_CREATE_NAMESPACE)]
        if not made:
            return None
        stamp = {
            name: text for line in made for name, text in read_set_properties(line.statement, _STAMPS).items()
        }
        incarnation = find_incarnation(LakeTable(lake_table, TableSchema(()), "", "", stamp), history)
        # The plan of the new incarnation moved the table of the earlier one.
        if incarnation is not None and incarnation != history.latest.incarnation:
            return None
        if not stamp and not _began_by_rename(history):
            return None  # a table that only ever came by a rename was that of an earlier incarnation
        return MissingTable(
            f"{lake_table} no longer exists, but this store has migrated it before",
            "restore the table",
            f"the new table begins empty, and earlier rows (run {made[-1].run} was the last migration) are "
            "then only in the source",
        )

    def find_previous_table(
        self, history: TableHistory, format: str, lake_table: str, address: Address
    ) -> PreviousTable | None:
        """Find the lake table of the newest previous name of the source table that has one; None if none has.

        Raises:
            StatementFailed: the lake cannot be read.
        """
        return next(self.list_previous_tables(history, format, lake_table, address), None)

    def list_previous_tables(
        self, history: TableHistory, format: str, lake_table: str, address: Address
    ) -> Iterator[PreviousTable]:
        """List the lake tables of previous names of the source table, one a name, the newest name first.

        Names are followed back in time: a name may have been of several tables, and a table may have had one
        more than once.

        Raises:
            StatementFailed: the lake cannot be read.
        """
        # The newest name comes last, and is tried first.
        names = dict.fromkeys(list_previous_names(history))
        if not names:
            return
        known = {str(table): table for table in self.store.tables()}
        passed = self._find_by_passed_names(names.keys() - known.keys())
        todo: list[tuple[TableId, TableId, TableEvent | None]] = []
        for name in names:
            todo += [(known[name], history.table, None)] if name in known else passed.get(name, ())
        histories = {history.table: history}
        seen: set[tuple[TableId, int]] = set()
        inspect = partial(self.executor.inspect, format=format)
        while todo:
            previous, next, before = todo.pop()
            recorded = histories.get(previous) or self.registry.history(previous)
            histories[previous] = recorded
            end = _find_rename(recorded, next, before)
            if end is None and (next != history.table or previous == next or _was_renamed(recorded)):
                continue
            if end is not None and next in histories and _made_earlier(end, histories[next], before):
                continue
            incarnation = recorded.latest.incarnation if end is None else end.incarnation
            if (previous, incarnation) in seen:
                continue
            seen.add((previous, incarnation))
            for each in self.list_addresses(address(previous), format, recorded):
                lake = self.executor.inspect(each, format)
                if lake is not None and each != lake_table:
                    is_adopted = _is_of_newest(lake, history, previous)
                    tables = list_successors(inspect, each)
                    own = [t for t in tables if find_incarnation(t.lake, recorded) == incarnation]
                    if (is_adopted or own) and all(table.address != lake_table for table in tables):
                        # the newest rows are in the last successor of this incarnation
                        newest = own[-1] if own else tables[0]
                        yield PreviousTable(previous, newest.address, newest.lake)
                        break
            earlier = dict.fromkeys(a.name for a in recorded.aliases if a.kind == "table")
            todo += [(known[name], previous, end) for name in earlier if name in known]

    def _find_by_passed_names(
        self, names: Collection[str]
    ) -> Mapping[str, Sequence[tuple[TableId, TableId, None]]]:
        """The tables that the source renamed to each of these names, under which no record came."""
        found: dict[str, list[tuple[TableId, TableId, None]]] = {}
        if names:
            for history in filter(None, map(self.store.history, self.store.tables())):
                for event in history.events:
                    if event.kind == "renamed" and event.other and str(event.other) in names:
                        found.setdefault(str(event.other), []).append((history.table, event.other, None))
        return found

    def list_addresses(self, address: str, format: str, history: TableHistory) -> tuple[str, ...]:
        """The address of a lake table, and those of tables that made room for it.

        `history` is that of its source: each incarnation that ended made room at most once. The first of such
        tables may have got another name since, so that a name between others is free.
        """
        tried, displaced = 0, list[str]()
        ended = len({e.incarnation for e in history.events if e.kind in ("dropped", "renamed")})

        def is_last(name: str) -> bool:
            nonlocal tried
            tried += 1
            is_free = self.executor.inspect(name, format) is None
            displaced.extend(() if is_free else (name,))
            return is_free and tried >= ended

        name_displaced(address, is_last)
        return (address, *displaced)


def _is_of_newest(lake: LakeTable, history: TableHistory, previous: TableId) -> bool:
    """Whether the table of a previous name has the stamp of the source already, but not yet its name.

    Where a source has its first name back, tables of all its incarnations name it: the stamp decides.
    """
    is_named = read_record(lake.properties).source == str(history.table)
    newest = history.latest.incarnation
    return is_named and (previous != history.table or find_incarnation(lake, history) == newest)


def _began_by_rename(history: TableHistory) -> bool:
    """Whether the newest incarnation may be a table that had another name before."""
    newest = history.latest.incarnation
    begin = next(v.at for v in history.versions if v.incarnation == newest)
    renames = [alias.until for alias in history.aliases if alias.kind == "table"]
    return newest == history.versions[0].incarnation or None in renames or begin in renames


def _was_renamed(history: TableHistory) -> bool:
    """Whether the source states that the table was renamed."""
    return any(event.kind == "renamed" for event in history.events)


def _find_rename(history: TableHistory, new: TableId, before: TableEvent | None) -> TableEvent | None:
    """Find the last rename of a table to another name, before another event; None if there was none."""
    found = [e for e in history.events if e.kind == "renamed" and e.other == new]
    if before is not None and before.at.position.kind != "none":
        kind = before.at.position.kind
        # the renames of one statement have one position
        found = [e for e in found if e.at.position.kind == kind and is_older(e.at, before.at)]
    return found[-1] if found else None


def _made_earlier(rename: TableEvent, new: TableHistory, before: TableEvent | None) -> bool:
    """Whether a rename gave its new name to an earlier incarnation than the one that `before` ended.

    Without `before`, the newest incarnation is meant.
    """
    incarnation = new.latest.incarnation if before is None else before.incarnation
    ends = [e.at for e in new.events if e.kind in ("dropped", "renamed") and e.incarnation < incarnation]
    kind = rename.at.position.kind
    return kind != "none" and any(at.position.kind == kind and is_older(rename.at, at) for at in ends)


def _refuse_names(names: NameCheck, lake: LakeTable, plan: Plan) -> Refusal | None:
    target = TARGETS.get(plan.format)
    return refuse_exchanged_names(names, target, lake) or refuse_second_column(names, target, lake, plan)


def refuse_unconfirmed_key(history: TableHistory) -> Refusal | None:
    """Refuse to identify rows by the newest key if it replaced another one and is unconfirmed."""
    newest = history.latest
    earlier = {v.schema.key for v in history.versions if v.incarnation == newest.incarnation}
    if not is_key_open(history) or earlier == {newest.schema.key}:
        return None
    key = f"({', '.join(newest.schema.key)})"
    return Refusal(
        f"identify the rows of {history.table} by {key}",
        f"it is not confirmed that its key is now {key}",
        f"run `schemaman decide confirm {history.table} key`, or wait for records that confirm it",
    )


def withhold_plan(plan: Plan, *refusals: Refusal) -> Plan:
    """Remove the steps from a plan, and add these refusals."""
    return replace(
        plan,
        steps=(),
        wanted=plan.wanted if plan.base_schema is None else plan.base_schema,
        refusals=(*refusals, *plan.refusals),
        approvals_needed=(),
        point_of_no_return=None,
    )


def _require_approval(plan: Plan, missing: MissingTable) -> Plan:
    """Make the plan need an approval for the missing table; the approval's text changes its hash."""
    made = (f"{s.kind}: {plan.table} ({missing.approval})" for s in plan.steps if s.kind == "create-table")
    return replace(plan, approvals_needed=(*plan.approvals_needed, *made))
