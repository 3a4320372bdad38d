"""A random recording: real PostgreSQL, real Debezium, and what the lake makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.autopilot import SIZES, list_recordings, measure
from bench.recorder import record
from schemaman.migration.policy import Policy
from tests.lake_state.fold import fold
from tests.live.connect import Worker
from tests.support.checkout import PROOF

SEEDS = range(900, 908 if PROOF else 901)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_recording_has_its_truth_beside_it(
    database: str, worker: Worker, broker: str, tmp_path: Path, seed: int
) -> None:
    record(tmp_path, seed, 400 if PROOF else 60, database, worker, broker)
    (name,) = list_recordings("", tmp_path)
    state = fold(tmp_path / name)
    assert state.unplaced == []
    assert sum(len(table.rows) for table in state.tables.values()) > 5
    for size in SIZES if PROOF else SIZES[:1]:
        figures = measure(name, "delta", Policy(profile="autopilot"), size, tmp_path, is_idle=True)
        assert figures.tables > 0
        # Chance decides how far the connector lags: what must hold of each lag is held by `make proof`.
        assert not PROOF or (figures.stopped, figures.misplaced) == (0, 0), figures.differences
