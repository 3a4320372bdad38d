"""A lake table that gets another name, as its source did, or to make room for another table.

Law: a table is moved with all rows and properties by one statement of its catalogue, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable

from schemaman.errors import BadReference
from schemaman.migration.conditions import make_step
from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.spark_sql import format_table_name, split_table_name
from schemaman.migration.target import Draft, LakeTable, Target

_READERS = "readers and writers that use the old name"


def plan_move(
    source: MigrationSource, lake: LakeTable, address: str, to: str, target: Target, target_name: str
) -> Plan | None:
    """Plan to rename a lake table to `to`, where no table is; None if the format cannot rename it."""
    statement = target.rename_table(address, to)
    if statement is None:
        return None
    back = target.rename_table(to, address)
    draft = Draft((), "rename-table", statement, "metadata", "no", back, (_READERS,))
    step = make_step(draft, None, lake)
    return Plan(
        target_name, target.name, to, source, None, None, None, lake.schema, (step,), approvals_needed=()
    )


def name_displaced(address: str, is_free: Callable[[str], bool]) -> str | None:
    """Name the table that makes room for another one: `orders__dropped_1`; None for a path."""
    if "/" in address and not address.endswith("`"):
        return None
    try:
        *parts, last = split_table_name(address)
    except BadReference:
        return None
    number = 1
    while not is_free(name := format_table_name((*parts, f"{last}__dropped_{number}"))):
        number += 1
    return name
