"""The view of a lake table for its readers: what it shows, and when it is made anew.

Laws: a view shows every value of the living rows, under the names of the table; a renamed column also has its
old name for a time. Parts of a split column are one column only in a type that holds the values of each part.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.versions import TableHistory
from schemaman.migration.casts import is_convertible, write_conversion
from schemaman.migration.column_map import make_column_map
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.plan import Plan
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED, OP, list_row_columns
from schemaman.migration.settings import ViewSetting
from schemaman.migration.source import migration_source
from schemaman.migration.spark_sql import quote_table_name, split_table_name
from schemaman.migration.split_columns import list_former_parts, list_text_parts, split_columns
from schemaman.migration.successor import name_successor_view
from schemaman.migration.target import TARGETS, Executor, LakeTable, Target
from schemaman.migration.type_mapping import list_common_types
from schemaman.migration.view_steps import (
    ViewColumn,
    add_steps,
    make_drop_steps,
    make_view_steps,
    read_view_mark,
    write_view,
)
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import String, Type, widens
from schemaman.store.log import MigrationEntry

_RENAME = re.compile(r"ALTER TABLE .* RENAME COLUMN `((?:[^`]|``)+)` TO `((?:[^`]|``)+)`", re.DOTALL)
_AGAIN_MS = 3_600_000
"""The time after which a view that could not be made is tried again."""
DatedLines = Sequence[tuple[int, MigrationEntry]]
_NAME_OF_A_TABLE = (
    "the view {} is not made: it would have the name of the lake table of {}; change `view` of the [[target]]"
)


@dataclass(slots=True)
class ReaderViews:
    """Plans the views of a process.

    `checks`: each plan looks whether the view is there; else only a plan that changes the view does. The
    names of views that others made are remembered, so that each is looked up, and named in a note, once.
    """

    checks: bool = True
    _foreign: dict[str, str] = field(default_factory=dict)

    def plan_view(
        self,
        plan: Plan,
        lake: LakeTable | None,
        history: TableHistory,
        setting: ViewSetting | None,
        lines: DatedLines,
        executor: Executor,
        now_ms: int,
        others: Iterable[TableId] = (),
        address: Callable[[TableId], str] = str,
    ) -> Plan:
        """Add what the view needs to the plan of its table.

        Args:
            plan: the plan of the table; one that has refusals alone is returned unchanged.
            lake: the table as it is.
            history: the history that the plan follows, with decisions; no column of it is split.
            setting: the view; None without one.
            lines: the journal of the table with the time of each line (epoch ms).
            executor: reads the mark of the view.
            now_ms: the time in epoch milliseconds.
            others: other source tables of the target; no view takes the name of a lake table of theirs.
            address: names the lake table of a source table.

        Raises:
            StatementFailed: the catalogue of the view cannot be read.
        """
        if setting is None or (not plan.steps and (plan.refusals or lake is None)):
            return plan
        after = _find_table_after(plan, lake)
        renames = list_renames(lines, plan, now_ms - setting.alias_ms) if setting.alias_ms else ()
        columns = list_view_columns(history, after, renames)
        name = quote_table_name(split_table_name(name_successor_view(setting.name, after, plan.table)))
        table = TARGETS.get(plan.format).table_name(plan.table)
        where = f"{quote_name(DELETED)} IS NOT TRUE" if DELETED in after.schema.names else ""
        mark = _hash_view(columns, table, where, after.schema)
        text = write_view(name, columns, table, where, mark)
        previous = _find_last_text(lines, name)
        taken = _find_table_of_name(name, TARGETS.get(plan.format), others, address)
        if taken is not None:
            return self._plan_without_view(plan, name, taken, previous, executor)
        if (previous == text and not self.checks) or self._foreign.get(name) == mark:
            return plan
        if _failed_lately(lines, text, now_ms):
            return plan
        before = read_view_mark(executor, name)
        if before == mark:
            return plan
        if before == "":
            self._foreign[name] = mark
            note = f"the view {name} is not made: others made a table or view of this name"
            return replace(plan, notes=(*plan.notes, note))
        if before and _gives_read_name(plan, lake, after, previous):
            dropped, (*_, made) = (
                make_drop_steps(name, before, previous),
                make_view_steps(name, text, mark, None, ""),
            )
            return replace(plan, steps=(*dropped, *plan.steps, made))
        return add_steps(plan, make_view_steps(name, text, mark, before, previous if before else ""))

    def _plan_without_view(
        self, plan: Plan, name: str, taken: TableId, previous: str, executor: Executor
    ) -> Plan:
        """Drop the view that has the name of the lake table of another source, and note it once."""
        if self._foreign.get(name) != str(taken):
            self._foreign[name] = str(taken)
            plan = replace(plan, notes=(*plan.notes, _NAME_OF_A_TABLE.format(name, taken)))
        before = read_view_mark(executor, name) if previous else None
        return add_steps(plan, make_drop_steps(name, before)) if before else plan


def _find_table_of_name(
    name: str, target: Target, others: Iterable[TableId], address: Callable[[TableId], str]
) -> TableId | None:
    """Find the source table whose lake table has a name, whatever the case of its letters."""
    lowered = name.lower()
    # an address holds the name of its table: most of thousands of tables need not be addressed
    near = (table for table in others if table.table.lower() in lowered)
    return next((each for each in near if target.table_name(address(each)).lower() == lowered), None)


def list_view_columns(
    history: TableHistory, lake: LakeTable, renames: Iterable[tuple[str, str]] = ()
) -> tuple[ViewColumn, ...]:
    """List the columns of the view of a table, in the table's order; old names come last.

    `renames` are those of columns of the table whose old names are still shown, oldest first.
    """
    hidden = {c.name for c in list_row_columns(lake.schema.key)} - {OP}
    parts = list(_list_splits(history, lake))
    joined = {name: gathered for gathered in parts for name in gathered.names}
    found: dict[str, ViewColumn] = {}
    shown: dict[str, str] = {}
    for column in lake.schema.columns:
        if column.name in hidden:
            continue
        gathered = joined.get(column.name)
        if gathered is None:
            each = ViewColumn(column.name, quote_name(column.name))
        elif gathered.names[0] == column.name:
            each = ViewColumn(gathered.name, gathered.expression)
        else:
            continue
        found[each.name.lower()] = each
        shown |= dict.fromkeys(gathered.names if gathered else (column.name,), each.name)
    old_names = read_record(lake.properties).split
    for old, new in _chain_renames(renames):
        target = shown.get(new)
        alias = old_names[old].column if old in old_names else old
        if target is not None and alias.lower() not in found:
            found[alias.lower()] = ViewColumn(alias, found[target.lower()].expression)
    return tuple(found.values())


def list_renames(lines: DatedLines, plan: Plan, since_ms: int) -> tuple[tuple[str, str], ...]:
    """List the renames of columns that runs made since a time, and those of a plan, oldest first.

    A rename over other names, as for a column swap, is one from the first to the last name.
    """
    runs: dict[str, list[str]] = {}
    for at_ms, line in lines:
        if at_ms >= since_ms and line.plan and line.state in ("done", "skipped"):
            runs.setdefault(line.run, []).append(line.statement)
    found = [_join_renames(statements) for statements in runs.values()]
    found.append(_join_renames(step.statement for step in plan.steps))
    return tuple(pair for pairs in found for pair in pairs)


def _join_renames(statements: Iterable[str]) -> list[tuple[str, str]]:
    names: dict[str, str] = {}
    for statement in statements:
        rename = _RENAME.fullmatch(statement)
        if rename is not None:
            old, new = (part.replace("``", "`") for part in rename.groups())
            names[new] = names.pop(old, old)
    return [(first, last) for last, first in names.items() if first != last]


def _chain_renames(renames: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pair each old name with the name that its column has after all renames, newest first."""
    names: dict[str, list[str]] = {}
    for old, new in renames:
        names[new] = [*names.pop(old, ()), old]
    for new, older in names.items():
        yield from ((old, new) for old in reversed(older) if old != new)


@dataclass(frozen=True, slots=True)
class _GatheredColumn:
    """A split column that a view shows as one: its name, the columns of its parts, and the expression."""

    name: str
    names: tuple[str, ...]
    expression: str


def _list_splits(history: TableHistory, lake: LakeTable) -> Iterator[_GatheredColumn]:
    """List the split columns of a table whose parts a type holds."""
    splits = read_record(lake.properties).split
    if not splits:
        return
    joined = split_columns(history, lake)
    source = migration_source(joined)
    foreign = find_foreign_columns(source, lake)
    own = TableSchema(tuple(c for c in lake.schema.columns if c.name not in foreign), lake.schema.key)
    lake_names = make_column_map(source, replace(lake, schema=own)).names
    ids: dict[int, dict[int, None]] = {}
    for version, split in zip(history.versions, joined.versions, strict=True):
        for column, part in zip(version.schema.columns, split.schema.columns, strict=False):
            if column.id is not None and part.id is not None:
                ids.setdefault(column.id, {})[part.id] = None
    columns = {c.name: c for c in lake.schema.columns}
    former, texts = list_former_parts(history, lake), list_text_parts(history, lake)
    for id, parts in ids.items():
        earlier = [columns[name] for name, each in former.items() if each == id]
        found = [*earlier, *(columns[lake_names[p]] for p in parts if lake_names.get(p) in columns)]
        text = columns.get(texts.get(id, ""))
        gathered = _gather(found, text) if len(found) > 1 else None
        if gathered is not None:
            newest = found[-1].name
            name = splits[newest].column if newest in splits else newest
            if name in columns and columns[name] not in found:  # another column of the source has it by now
                name = next((c.name for c in reversed(found) if c.name not in splits), newest)
            names, expression = gathered
            order = sorted(names, key=lake.schema.names.index)
            yield _GatheredColumn(name, tuple(order), expression)


def _gather(parts: Sequence[Column], text: Column | None) -> tuple[tuple[str, ...], str] | None:
    """Gather the parts of a column, oldest first: names, and expression; None if no type holds the values.

    `text` has values that no part holds, as texts: it is gathered where the others become texts, too.
    """
    newest = parts[-1].type
    candidates: list[Type] = [newest, *(t for c in parts[:-1] for t in list_common_types(c.type, newest))]
    candidates.append(String())
    type = next((t for t in candidates if all(_is_held(c.type, t) for c in parts)), None)
    if type is None:
        return None
    values = [write_conversion(quote_name(c.name), c.type, type) for c in reversed(parts)]
    names = tuple(c.name for c in parts)
    if text is not None and type == String():
        values, names = [*values, quote_name(text.name)], (*names, text.name)
    return names, f"coalesce({', '.join(values)})"


def _is_held(old: Type, new: Type) -> bool:
    """Whether each value of a type has one conversion to another one that loses nothing."""
    if old == new:
        return True
    return is_convertible(old, new) and (widens(old, new) or new == String())


def _find_table_after(plan: Plan, lake: LakeTable | None) -> LakeTable:
    """Find the table as the plan leaves it."""
    base = lake or LakeTable(plan.table, plan.wanted, "", "")
    properties = dict(base.properties)
    for step in plan.steps:
        changed = step.postcondition.get("properties")
        for name, value in changed.items() if isinstance(changed, Mapping) else ():
            properties.pop(str(name), None)
            if value is not None:
                properties[str(name)] = str(value)
    return replace(base, schema=plan.wanted, properties=properties)


def _gives_read_name(plan: Plan, lake: LakeTable | None, after: LakeTable, view: str) -> bool:
    """Whether a plan gives a name that a view reads to another column, whose values the view would show.

    The text of the view is empty if it is unknown.
    """
    there = set() if lake is None else {*lake.schema.names}
    left = {old for old, _ in _join_renames(step.statement for step in plan.steps)}
    given = {name for name in after.schema.names if name not in there or name in left}
    query = view.partition(" AS SELECT ")[2].lower()
    return any(not view or quote_name(name).lower() in query for name in given)


def _hash_view(columns: Sequence[ViewColumn], table: str, where: str, schema: TableSchema) -> str:
    """Hash what a view shows, and the types below it: a view keeps the types that it was made with."""
    types = [f"{c.name!r} {format_type(c.type)}" for c in schema.columns]
    shown = [f"{c.name!r} {c.expression}" for c in columns]
    return hashlib.sha256("\n".join([table, where, *shown, "", *types]).encode()).hexdigest()[:12]


def _find_last_text(lines: DatedLines, name: str) -> str:
    """Find the text of the newest statement that made a view; empty if none did, or it was dropped."""
    text = ""
    for _, line in lines:
        if line.state not in ("done", "skipped"):
            continue
        made = re.match(r"CREATE (?:OR REPLACE )?VIEW ", line.statement)
        if made is not None and line.statement[made.end() :].startswith(f"{name} TBLPROPERTIES"):
            text = line.statement[made.end() :]
        elif line.statement == f"DROP VIEW {name}":
            text = ""
    return text


def _failed_lately(lines: DatedLines, text: str, now_ms: int) -> bool:
    """Whether the newest try to make this very view failed a short time ago."""
    tries = [(at_ms, line.state) for at_ms, line in lines if line.statement.endswith(f"VIEW {text}")]
    return bool(tries) and tries[-1][1] == "failed" and tries[-1][0] > now_ms - _AGAIN_MS
