"""An event like the one before it, which changed nothing, is passed: the history stays the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.decoded_runs import RunDecoder
from schemaman.debezium.observation import Observation
from schemaman.history.fold import fold as folding
from schemaman.history.fold.repeated_events import EventRepetition
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from tests.ingest.test_line_forms import RUNS
from tests.support.checkout import PROOF
from tests.support.recordings import recorded, registry

SOME = ("postgres/shop-json", "postgres/shop-crash", "db2/shop-3.4.1-json",
        "mariadb/bookshop-mariadb-3.5.0-json", "postgres/shop-downtime")  # fmt: skip


@cache
def observe_pieces(recording: str, size: int) -> tuple[Observation, ...]:
    """Observes a recording in pieces, and its second half once more in another partition."""
    schemas, records = registry(recording), recorded(recording)
    decoder, reading = RunDecoder("main", schemas), build_reading(schemas)
    moved = [replace(record, partition=record.partition + 9) for record in records[len(records) // 2 :]]
    found: list[Observation] = []
    for source in (records, moved):
        for at in range(0, len(source), size):
            for run in scan(source[at : at + size], reading):
                found += (o for o in decoder.decode(run) if isinstance(o, Observation))
    return tuple(found)


@pytest.mark.parametrize("recording", RUNS if PROOF else SOME)
def test_passing_repeated_events_gives_the_same_history(
    recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = observe_pieces(recording, 40)
    tables = sorted({o.table for o in found if o.table.table})
    passed = [folding.trace_fold(found, table, CONNECTORS.get) for table in tables]
    monkeypatch.setattr(EventRepetition, "is_repeated", lambda self, observation: False)
    assert passed == [folding.trace_fold(found, table, CONNECTORS.get) for table in tables]
    assert any(passed)
