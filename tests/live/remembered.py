"""What schemaman remembers of the topics that a live test has filled."""

from __future__ import annotations

from pathlib import Path

from schemaman.ingest import ingest
from schemaman.registry import Registry
from schemaman.stores.sql import SqlStore
from schemaman.versions import TableHistory
from tests import chain
from tests.live.topics import Topics


def histories_of(topics: Topics, folder: Path) -> dict[str, TableHistory]:
    """The histories that these topics teach, by table, through a store in `folder`; nothing is rejected."""
    store = SqlStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
    registry = Registry(store, chain.now_ms)
    summary = ingest(topics.records, registry, "main", lambda id: None)
    assert summary.shown == ()
    found = registry.tables()
    store.close()
    return {history.table.table: history for history in found}
