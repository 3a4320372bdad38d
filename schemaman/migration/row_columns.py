"""The row columns: those that the sink adds to a table besides the columns of its source."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import quote_name
from schemaman.model.diff import ChangeKey
from schemaman.model.name_adjustment import DISPLACED_SUFFIX
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Boolean, Integer, String, Type

ORDER = "_row_order"
"""Column: the position of the row in the source's log; of two texts, the greater one is later."""

DELETED = "_row_deleted"
"""Column: the source deleted the row at that position. The row stays, so that no older change restores it."""

OP = "_row_op"
"""Column of a table without a key: what happened to the row, in Debezium's letters."""

STREAM, TOPIC, PARTITION, OFFSET = "_row_stream", "_row_topic", "_row_partition", "_row_offset"
"""Columns of a table without a key: the coordinates of the row's record, which identify it."""

KEYED: tuple[tuple[str, Type], ...] = ((ORDER, String()), (DELETED, Boolean()))

KEYLESS: tuple[tuple[str, Type], ...] = (
    (ORDER, String()),
    (OP, String()),
    (STREAM, String()),
    (TOPIC, String()),
    (PARTITION, Integer(32)),
    (OFFSET, Integer(64)),
)

_NOT_NULL = re.compile(r"\s*\(*\s*(?:`((?:[^`]|``)+)`|(\w+))\s+IS\s+NOT\s+NULL\s*\)*\s*", re.IGNORECASE)
"""A CHECK that only forbids NULL in one column."""

_LOG = (
    "the table is a log of changes: an updated or deleted row has several records in it, and no record holds "
    "the old key of an update"
)

_ROWS = "the table has one row for each key and keeps deleted rows, but it does not keep each record"

_REPLACE = (
    "rename it, so that the next plan creates a new table, and fill that one from a snapshot of the source "
    "(Debezium sends an incremental snapshot as events)"
)


def list_row_columns(key: Collection[str]) -> tuple[Column, ...]:
    """List the row columns of a table; they depend on whether it has a key."""
    return tuple(Column(name, type) for name, type in (KEYED if key else KEYLESS))


def add_row_columns(source: MigrationSource) -> MigrationSource:
    """Add the row columns to the source."""
    schema = source.schema
    columns = (*schema.columns, *list_row_columns(schema.key))
    return replace(source, schema=TableSchema(columns, schema.key, schema.comment))


def is_unfilled(lake: LakeTable, column: Column) -> bool:
    """Whether a table rejects rows without a value of a column: NULL is forbidden, and nothing fills it."""
    if column.name in lake.generated or column.name in lake.defaults:
        return False
    checked = (_NOT_NULL.fullmatch(expression) for expression in lake.checks.values())
    names = {(found[1] or found[2]).replace("``", "`").lower() for found in checked if found}
    return not column.nullable or column.name.lower() in names


def refuse_unfilled(column: Column) -> Refusal:
    """Refuse to write rows into a table with a column that nothing fills."""
    name = quote_name(column.name)
    return Refusal(
        f"write rows without {name}",
        f"the table forbids NULL in {name}, and neither the source nor the table has a value for it",
        f"allow NULL in it (ALTER TABLE … ALTER COLUMN {name} DROP NOT NULL, or drop its CHECK), or give it "
        "a DEFAULT; then plan again",
    )


def refuse_numbered(name: str) -> Refusal:
    """Refuse to write the source's values into an identity column: Delta accepts no update of one."""
    return Refusal(
        f"fill {quote_name(name)}",
        "the table numbers it by itself (IDENTITY), and accepts no values of the source",
        f"RENAME COLUMN {quote_name(name)} TO {quote_name(name + DISPLACED_SUFFIX)}, and plan again",
    )


def refuse_key(key: tuple[str, ...], lake: LakeTable) -> Refusal | None:
    """Refuse another key for a table of the sink; None if the key is possible, or it is another table.

    A table has either rows that are merged by a key, or records that are appended; neither becomes the other.
    """
    names, change = set(lake.schema.names), describe_change(ChangeKey(lake.schema.key, key))
    if key and not lake.schema.key and names.issuperset(name for name, _ in KEYLESS):
        return Refusal(change, _LOG, f"keep {lake.name} as a log of changes: {_REPLACE}")
    if lake.schema.key and not key and DELETED in names:
        return Refusal(change, _ROWS, f"keep {lake.name} as it is: {_REPLACE}")
    return None
