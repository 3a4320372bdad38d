"""What a plan records of other lake tables and of united columns, and whether its own steps bring it about.

A plan file may name any table as the one that takes the newer rows, or that has the older ones. Law: a table
is linked only with one that follows the same source and names it in turn; a table or a column is recorded as
taken or united only by the plan whose statements take its rows or its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from schemaman.errors import BadReference
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import PhaseName, Plan, Step
from schemaman.migration.properties.names import (
    FILLED_PROPERTY,
    PREDECESSOR_PROPERTY,
    SUCCESSOR_PROPERTY,
    TAKEN_PROPERTY,
    UNITED_PROPERTY,
)
from schemaman.migration.properties.table_record import TableRecord, read_record
from schemaman.migration.successor import Inspect
from schemaman.migration.successor_rows import read_filling_table
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import quote_name

_PHASES: Mapping[str, tuple[PhaseName, ...]] = {
    SUCCESSOR_PROPERTY: ("link", "rollback"),
    UNITED_PROPERTY: ("unite", "rollback"),
    TAKEN_PROPERTY: ("take-rows", "rollback"),
    FILLED_PROPERTY: ("fill-successor", "rollback"),
    PREDECESSOR_PROPERTY: ("rollback",),
}
"""The phases that set these properties of a table that exists."""
_TAKEN_FROM = re.compile(rf" FROM ({sql.TABLE_PATTERN}) AS o LEFT ANTI JOIN ")


def find_misplaced_property(plan: Plan, properties: Mapping[str, object], *, new: bool) -> str | None:
    """Find a property of links that no plan of this phase sets; `new`: the step makes its table."""
    phase = plan.phase.name if plan.phase is not None else None
    for name, phases in _PHASES.items():
        is_due = name == PREDECESSOR_PROPERTY and phase == "expand" if new else phase in phases
        if name in properties and not is_due:
            return name
    return None


def list_unfounded_links(plan: Plan, record: TableRecord, inspect: Inspect) -> Iterator[str]:
    """List what a plan records of other tables and columns without grounds; each as a sentence.

    `record` is that of its table as it is. Rollbacks have a check of their own (`list_unrecorded_values`).

    Raises:
        StatementFailed: the lake cannot be read.
    """
    if plan.phase is not None and plan.phase.name == "rollback":
        return
    for step in plan.steps:
        written = step.postcondition.get("properties")
        if not isinstance(written, Mapping):
            continue
        found = read_record({str(name): str(text) for name, text in written.items() if text is not None})
        yield from _list_strange_tables(plan, found, inspect)
        for column, until in found.united.items():
            if record.united.get(column) != until and not _is_uniting(plan, column, until):
                yield f"no step of the plan unites {quote_name(column)}, which it records as united"
        filled = found.filled.table if found.filled is not None and found.is_filled else ""
        if filled and not _is_filling(plan, record, filled):
            yield f"no step of the plan fills in the rows of {filled}, as it records"
        for address in found.taken:
            if address not in record.taken and address not in map(_read_taken, plan.steps):
                yield f"no step of the plan takes the rows of {address}, which it records as taken"


def _list_strange_tables(plan: Plan, found: TableRecord, inspect: Inspect) -> Iterator[str]:
    source = plan.source.table
    if found.successor:
        lake = _inspect(inspect, found.successor)
        after = read_record(lake.properties) if lake is not None else TableRecord()
        named = after.predecessor.table if after.predecessor is not None else ""
        if (after.source, named) != (source, plan.table):
            yield f"{found.successor} was not begun for the newer rows of {plan.table}"
    if found.predecessor is not None:
        lake = _inspect(inspect, found.predecessor.table)
        if lake is None or read_record(lake.properties).source != source:
            yield f"{found.predecessor.table} does not follow {source}, so it has none of its older rows"


def _inspect(inspect: Inspect, address: str) -> LakeTable | None:
    try:
        return inspect(address)
    except BadReference:
        return None


def _is_filling(plan: Plan, record: TableRecord, address: str) -> bool:
    """Whether a step fills a table from the one before it."""
    before = record.predecessor.table if record.predecessor is not None else ""
    return address == before and any(read_filling_table(step.statement) == address for step in plan.steps)


def _is_uniting(plan: Plan, column: str, until: str) -> bool:
    """Whether a step writes the values of a column into another one, in rows from before an order."""
    parts = f" WHERE {quote_name(column)} IS NOT NULL AND ", f" < {sql.literal(until)})"
    statements = (step.statement for step in plan.steps if step.kind == "backfill")
    return any(all(part in statement for part in parts) for statement in statements)


def _read_taken(step: Step) -> str:
    """The address of the table whose rows a step takes; empty for none."""
    found = _TAKEN_FROM.search(step.statement) if step.kind == "backfill" else None
    try:
        return "" if found is None else sql.format_table_name(sql.split_table_name(found[1]))
    except BadReference:
        return ""
