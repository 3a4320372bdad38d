"""A reader of the lake while autopilot works sees each row as it was before a batch, or as it is after."""

from __future__ import annotations

import re

import pytest

from schemaman.store.sql.store import SqlStore
from tests.streaming.automatic_ways import WAYS
from tests.support.checkout import PROOF
from tests.support.killed_sink import begin
from tests.support.lake_reader import Reading, list_faults, list_gaps, read_lake
from tests.support.memory_sink import MemorySink

SOME = ("key that rows do not prove", "names exchanged after an answer", "type beside, with a view",
        "table names exchanged", "table made anew", "tables united after an answer")  # fmt: skip
CASES = [(n, f) for n in (WAYS if PROOF else SOME) for f in (WAYS[n].formats if PROOF else ["iceberg"])]
MOVED = ("table names exchanged", "table rebuilt", "table made anew")
"""No catalogue exchanges two names at once: between two renames a name has no table for a moment."""


@pytest.mark.parametrize(("name", "format"), CASES)
def test_each_row_reads_as_before_or_as_after_at_every_moment(
    store: SqlStore, name: str, format: str
) -> None:
    way, during = WAYS[name], list[Reading]()
    sink = begin(way, store, format)
    gaps = []

    def look(what: str) -> None:
        during.append(read_lake(sink, what))
        require_readable_views(sink)

    sink.after = look
    for batch in way.batches:
        sink.decisions, before = batch.decide(store), read_lake(sink, "the last batch")
        during.clear()
        sink.take(batch.records)
        after = read_lake(sink, "this batch")
        assert list_faults(before, during, after) == []
        gaps += list_gaps(before, during, after)
    assert bool(gaps) == (name in MOVED), gaps


def require_readable_views(sink: MemorySink) -> None:
    """Each view shows columns that its table has, and every value of it, once rows are written."""
    for text in sink.views.values():
        shown = set(re.findall(r"`((?:[^`]|``)+)`", text))
        (table,) = sink.tables.values()
        assert table.live is not None
        rows = [{n for n, value in row.items() if value is not None} for row in table.read()]
        assert {n for row in rows for n in row if not n.startswith("_row_")} <= shown
