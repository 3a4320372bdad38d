"""What a plan fills from other columns and tables without a person, and on what grounds.

A plan file may say of any two columns that they are one, and of any table that it is an earlier one. Law: a
column is filled from one that is the same column of the source by the history, or a part of the same split
column by the table's own record; rows are taken over from a table that followed the same source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.linked_tables import list_unfounded_links
from schemaman.migration.plan import Plan, Step
from schemaman.migration.properties.names import SPLIT_PROPERTY
from schemaman.migration.properties.table_record import TableRecord, read_record
from schemaman.migration.rename_grounds import RenameGrounds, follow_renames
from schemaman.migration.statement_check import is_taking_rows
from schemaman.migration.step_kinds import FILLING_PHASES
from schemaman.migration.successor import Inspect, LakeTableAt
from schemaman.migration.successor_rows import is_filling_successor, is_own_filling
from schemaman.migration.target import TARGETS, LakeTable

_NAME = r"`(?:[^`]|``)+`"
_UNION = re.compile(
    rf"UPDATE {sql.TABLE_PATTERN} SET (?P<new>{_NAME}) = (?P<value>.*) "
    rf"WHERE (?P<old>{_NAME}) IS NOT NULL AND ",
    re.DOTALL,
)
_TAKEN_VALUE = re.compile(rf"o\.({_NAME})|try_cast\(o\.({_NAME}) AS [A-Z_]+(?:\([0-9]+(?:,[0-9]+)?\))?\)")
_TAKEOVER = re.compile(
    rf"INSERT INTO {sql.TABLE_PATTERN} \(({sql.NAMES_PATTERN})\) SELECT (.*) "
    rf"FROM ({sql.TABLE_PATTERN}) AS o LEFT ANTI JOIN ",
    re.DOTALL,
)


def list_unfounded_fills(
    plan: Plan,
    lake: LakeTable | None,
    grounds: RenameGrounds | None,
    inspect: Inspect,
    sources: Collection[str],
) -> tuple[str, ...]:
    """List what a plan fills, or records as parts of one column, without grounds; each as a sentence.

    Args:
        plan: a plan whose statements are those of its steps.
        lake: its table as it is.
        grounds: the names of one column, by the history of the source.
        inspect: reads another lake table.
        sources: the former names of the source of the plan.

    Raises:
        StatementFailed: the lake cannot be read.
    """
    record = read_record(lake.properties if lake is not None else {})
    return (
        *_list_new_parts(plan, record),
        *_list_fills(plan, lake, grounds, inspect, sources),
        *list_unfounded_links(plan, record, inspect),
    )


def _list_fills(
    plan: Plan,
    lake: LakeTable | None,
    grounds: RenameGrounds | None,
    inspect: Inspect,
    sources: Collection[str],
) -> Iterator[str]:
    record = read_record(lake.properties if lake is not None else {})
    for step in plan.steps:
        if step.kind != "backfill" or plan.phase is None or plan.phase.name not in FILLING_PHASES:
            continue
        union = _UNION.match(step.statement)
        if is_filling_successor(step.statement):
            if not _is_own_filling(plan, step, lake, inspect):
                yield f"{plan.table} is not filled so from the table before it: {step.statement}"
        elif is_taking_rows(step.statement):
            if not _is_own_takeover(plan, step, record, grounds, inspect, sources):
                yield f"no history says that these are rows of {plan.source.table}: {step.statement}"
        elif union is None or not _is_own_union(union, record, grounds):
            yield f"no history says that these columns are one: {step.statement}"


def _is_own_takeover(
    plan: Plan,
    step: Step,
    record: TableRecord,
    grounds: RenameGrounds | None,
    inspect: Inspect,
    sources: Collection[str],
) -> bool:
    """Whether rows come from a table of a former name, each value into a column that is the same one.

    That column has the same name, or one that the source had for it; or the table keeps it for such values.
    """
    found = _TAKEOVER.match(step.statement)
    if found is None:
        return False
    columns, values, there = found.groups()
    names = re.findall(_NAME, columns)
    read = list(_TAKEN_VALUE.finditer(values))
    if len(read) != len(names) or ", ".join(each[0] for each in read) != values:
        return False
    try:
        lake = inspect(sql.format_table_name(sql.split_table_name(there)))
    except BadReference:
        return False
    if lake is None or read_record(lake.properties).source not in sources:
        return False
    earlier = read_record(lake.properties)
    before = () if plan.base_schema is None else plan.base_schema.names
    for name, value in zip(names, read, strict=True):
        old, new = (text[1:-1].replace("``", "`") for text in (value[1] or value[2], name))
        pairs = ((one, other) for one in _list_names(earlier, old) for other in _list_names(record, new))
        if new in before and not any(
            one.lower() == other.lower() or (grounds is not None and grounds.has_pair(one, other))
            for one, other in pairs
        ):
            return False
    return True


def _list_names(record: TableRecord, name: str) -> tuple[str, ...]:
    """The names of a column of a table: its own, the source's, and those of the column it is a part of."""
    displaced = record.displaced.get(name)
    was = () if displaced is None else (displaced.was, displaced.column)
    names = (name, record.names.get(name, ""), *_list_part_names(record, name), *was)
    return tuple(filter(None, names))


def _is_own_filling(plan: Plan, step: Step, lake: LakeTable | None, inspect: Inspect) -> bool:
    """Whether the rows come from the table before a successor, each value into the column of its name."""
    predecessor = read_record(lake.properties).predecessor if lake is not None else None
    before = inspect(predecessor.table) if predecessor is not None else None
    if lake is None or predecessor is None or before is None:
        return False
    if read_record(before.properties).source != plan.source.table:
        return False
    tables = LakeTableAt(predecessor.table, before), LakeTableAt(plan.table, lake)
    return is_own_filling(step.statement, TARGETS.get(plan.format), *tables)


def _is_own_union(union: re.Match[str], record: TableRecord, grounds: RenameGrounds | None) -> bool:
    """Whether a column is filled from one other alone, which is the same column of the source."""
    old, new = (union[name][1:-1].replace("``", "`") for name in ("old", "new"))
    if set(re.findall(_NAME, union["value"])) != {union["old"]}:
        return False
    names = [{name, *_list_part_names(record, name)} for name in (old, new)]
    return any(
        one.lower() == other.lower() or (grounds is not None and grounds.has_pair(one, other))
        for one in names[0]
        for other in names[1]
    )


def _list_part_names(record: TableRecord, name: str) -> tuple[str, ...]:
    part = record.split.get(name)
    return () if part is None else tuple(filter(None, (part.column, part.beside)))


def _list_new_parts(plan: Plan, record: TableRecord) -> Iterator[str]:
    """List the columns that were there before a plan, and that it records as parts of a split column."""
    if plan.base_schema is None or (plan.phase is not None and plan.phase.name == "rollback"):
        return
    before = {new: old for old, new in follow_renames(plan)}
    for step in plan.steps:
        written = step.postcondition.get("properties")
        text = written.get(SPLIT_PROPERTY) if isinstance(written, dict) else None
        for name, part in read_record({SPLIT_PROPERTY: str(text)}).split.items() if text else ():
            was = before.get(name, name)
            known = record.split.get(was)
            if was in plan.base_schema.names and (known is None or known.column != part.column):
                yield f"the plan records that {name}, which was there before, is a part of {part.column}"
