"""The checkpoints of folds in a SQL store: at most one row for a table.

Law: without its rows a store gives the same histories; only their next append costs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from schemaman.model.schema import TableId
from schemaman.store.checkpoint_json import StoredCheckpoint, from_text, to_text
from schemaman.store.sql.tables import CHECKPOINT, format_table_key, split_batches


def read_checkpoints(connection: Connection, tables: Iterable[TableId]) -> Mapping[TableId, object]:
    """Read the checkpoints of these tables, not decoded yet."""
    names = {format_table_key(table): table for table in tables}
    c = CHECKPOINT.c
    return {
        names[key]: body
        for keys in split_batches(names)
        for key, body in connection.execute(select(c.table_key, c.body).where(c.table_key.in_(keys)))
    }


def decode_checkpoint(body: object, table: TableId) -> StoredCheckpoint:
    """Decode a checkpoint. Raises `StoreUnavailable` if it was altered."""
    return from_text(body, f"the checkpoint of {table}")


def write_checkpoints(connection: Connection, checkpoints: Mapping[TableId, StoredCheckpoint | None]) -> None:
    """Replace the checkpoints of these tables; None removes one."""
    if not checkpoints:
        return
    keys = [format_table_key(table) for table in checkpoints]
    connection.execute(delete(CHECKPOINT).where(CHECKPOINT.c.table_key.in_(keys)))
    rows = [
        {"table_key": format_table_key(table), "body": to_text(stored)}
        for table, stored in checkpoints.items()
        if stored is not None
    ]
    if rows:
        connection.execute(insert(CHECKPOINT), rows)


def clear_checkpoints(connection: Connection) -> None:
    """Forget all of them."""
    connection.execute(delete(CHECKPOINT))
