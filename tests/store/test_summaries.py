"""A store keeps a summary of each history: it is that of the history, and an altered one is never shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from schemaman.compat.snapshots import take_snapshot, to_text
from schemaman.errors import StoreUnavailable
from schemaman.history.summary import summarize_history
from schemaman.registry import Registry
from schemaman.store import summary_json
from schemaman.store.memory import MemoryStore
from schemaman.store.snapshot_text import digest_text
from schemaman.store.sql.store import SqlStore
from tests.support import chain
from tests.support.log_entries import batch


@pytest.mark.parametrize("recording", ["postgres/shop-crash", "db2/documented", "postgres/shop-modes"])
def test_a_summary_is_read_as_it_was_written(recording: str) -> None:
    for history in chain.histories(recording):
        stored = summary_json.from_text(summary_json.to_text(history), "here")
        assert stored.summary == summarize_history(history)
        assert stored.snapshot_digest == digest_text(to_text(take_snapshot(history, history.latest)))


def test_every_store_has_the_same_summaries_and_finds_an_altered_one(tmp_path: Path) -> None:
    memory, path = MemoryStore(), tmp_path / "store.db"
    with SqlStore.open(str(path), create=True) as store:
        for one in (store, memory):
            one.append(batch(0), 0)
        summaries = store.read_summaries()
        assert summaries == memory.read_summaries() != ()
        for some in ([], [s.summary.table for s in summaries[:1]]):
            wanted = tuple(s for s in summaries if s.summary.table in some)
            assert store.read_summaries(some) == memory.read_summaries(some) == wanted
        assert [s.summary for s in summaries] == [summarize_history(h) for h in Registry(store, int).tables()]
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE summary SET body = replace(body, 'versions', 'Versions')")
    connection.close()
    with SqlStore.open(str(path)) as store:
        with pytest.raises(StoreUnavailable, match=r"a summary in .* was altered"):
            store.read_summaries()
        assert any("the summary of" in fault for fault in store.check())
        store.rebuild()
        assert store.read_summaries() == summaries
