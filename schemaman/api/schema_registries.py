"""Open a schema registry in this process, over a store or in memory."""

from __future__ import annotations

from schemaman.store.sql.memory_subjects import MemorySubjects
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.schema_registry import SchemaRegistry


def open_schema_registry(store: str | None = None, *, create: bool = False) -> SchemaRegistry:
    """Open the schema registry of a store; without a store, an empty one in memory, for tests and jobs.

    Args:
        store: `sqlite:///PATH`, a path, or `postgresql://…?schema=NAME`, as for `schemaman.open`.
        create: whether to make a missing store.

    Raises:
        StoreUnavailable: the store is missing, damaged or in use.
        UsageError: the address is that of no store.
    """
    if store is None:
        return SchemaRegistry(MemorySubjects())
    return SchemaRegistry(SqlStore.open(store, create=create))
