"""The columns that a table written by the sink has besides those of its source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.target import LakeTable
from schemaman.model.diff import ChangeKey
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Boolean, Integer, String, Type

ORDER = "_row_order"
"""Column: where in the source's log the row stands; of two, the greater text is the later one."""

DELETED = "_row_deleted"
"""Column: the source deleted the row at that place. It stays, so that nothing older brings it back."""

OP = "_row_op"
"""Column of a table without a key: what happened to the row, in Debezium's letters."""

STREAM, TOPIC, PARTITION, OFFSET = "_row_stream", "_row_topic", "_row_partition", "_row_offset"
"""Columns of a table without a key: the record of the row, by which it is known again."""

KEYED: tuple[tuple[str, Type], ...] = ((ORDER, String()), (DELETED, Boolean()))

KEYLESS: tuple[tuple[str, Type], ...] = (
    (ORDER, String()),
    (OP, String()),
    (STREAM, String()),
    (TOPIC, String()),
    (PARTITION, Integer(32)),
    (OFFSET, Integer(64)),
)

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
    """The columns that a mirrored table has besides those of its source; another kind of table has others."""
    return tuple(Column(name, type) for name, type in (KEYED if key else KEYLESS))


def add_row_columns(source: MigrationSource) -> MigrationSource:
    """The source with the columns that a mirrored table has besides its own."""
    schema = source.schema
    columns = (*schema.columns, *list_row_columns(schema.key))
    return replace(source, schema=TableSchema(columns, schema.key, schema.comment))


def refuse_key(key: tuple[str, ...], lake: LakeTable) -> Refusal | None:
    """Why the rows of a mirrored table cannot be told by `key` instead; None if they can, or it is no mirror.

    Rows that are merged by a key and records that are appended one by one are not each other's.
    """
    names, change = set(lake.schema.names), describe_change(ChangeKey(lake.schema.key, key))
    if key and not lake.schema.key and names.issuperset(name for name, _ in KEYLESS):
        return Refusal(change, _LOG, f"keep {lake.name} as a log of changes: {_REPLACE}")
    if lake.schema.key and not key and DELETED in names:
        return Refusal(change, _ROWS, f"keep {lake.name} as it is: {_REPLACE}")
    return None
