"""A sink loses nothing in whichever order the topics of a source arrive, and says what it cannot settle.

A partition keeps its order. The topic of schema changes may be ahead of the rows or behind them. What differs
from the last state of the source waits with a reason, or is what a reason or an open question names.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.autopilot import MODES, list_unexplained
from schemaman.migration.policy import Policy
from schemaman.sink.values.connector_modes import UNKNOWN_MODES
from schemaman.store.sql.store import SqlStore
from tests.lake_state.recording import read
from tests.support.checkout import CAPTURES, PROOF
from tests.support.memory_sink import MemorySink
from tests.support.recordings import recorded, registry
from tests.support.topic_order import ARRIVALS, Arrival, interleave, settle_statements, unite_stated_renames

SEEDS = 40 if PROOF else 2
CAREFUL_SEEDS = 40 if PROOF else 1
RECORDED: tuple[str, ...] = ("mariadb/bookshop-mariadb-3.5.0-json", "postgres/shop-crash")
if PROOF:
    RECORDED = (*RECORDED, "mariadb/bookshop-mysql-1.9.8-json", "mariadb/bookshop-mysql-2.5.4-avro")


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("name", RECORDED)
def test_each_order_of_the_topics_ends_in_the_state_of_the_source(
    name: str, arrival: Arrival, tmp_path: Path
) -> None:
    for seed in range(SEEDS):
        _check_order(name, arrival, seed, Policy(profile="autopilot"), tmp_path)


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("name", RECORDED)
def test_each_order_of_the_topics_loses_nothing_where_people_decide(
    name: str, arrival: Arrival, tmp_path: Path
) -> None:
    for seed in range(CAREFUL_SEEDS):
        _check_order(name, arrival, seed, Policy(profile="careful"), tmp_path)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_no_row_in_order_waits_for_a_table_that_lost_its_name(format: str, store: SqlStore) -> None:
    """A row, and both renames that replace its table by a copy of another name, come in one batch."""
    name, policy = RECORDED[0], Policy(profile="autopilot")
    sink = MemorySink(store, registry(name), format, policy, lambda _: False, modes=MODES)
    records = list(recorded(name))
    for start in range(0, len(records), 20):
        sink.take(records[start : start + 20])
    assert sink.withheld() == {}


def _check_order(name: str, arrival: Arrival, seed: int, policy: Policy, folder: Path) -> None:
    """Check that what differs from the source waits with a reason."""
    events = list(read(CAPTURES / name))
    rng = random.Random(seed)
    with SqlStore.open(f"sqlite:///{folder / f'{seed}.db'}", create=True) as store:
        modes = MODES if name.startswith("mariadb/") else UNKNOWN_MODES
        format = rng.choice(["delta", "iceberg"])
        sink = MemorySink(store, registry(name), format, policy, lambda _: False, modes=modes)
        for batch in [*interleave(list(recorded(name)), arrival, rng), []]:
            sink.take(batch)
        deleted = settle_statements(sink)
        assert all(sink.withheld().values())
        keys = {(event.place[0], repr(event.key)) for event in events if event.place in deleted}
        gone = {event.place for event in events if (event.place[0], repr(event.key)) in keys}
        assert list_unexplained(CAPTURES / name, sink, gone, unite_stated_renames) == [], (seed, format)
