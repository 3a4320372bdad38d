"""The independent judge of last states: its fold against the database, and recordings of one scenario."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache

import pytest

from tests.lake_state.bookshop import bookshop_rows
from tests.lake_state.database import final_rows
from tests.lake_state.fold import State, Table, fold
from tests.lake_state.losses import expected, losses
from tests.lake_state.truth import truth_of
from tests.support.checkout import CAPTURES

RECORDINGS = sorted(
    f"{kind}/{folder.name}" for kind in ("postgres", "mariadb") for folder in (CAPTURES / kind).iterdir()
)


@cache
def state_of(name: str) -> State:
    return fold(CAPTURES / name)


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_event_of_a_recording_has_its_place(name: str) -> None:
    state = state_of(name)
    assert sum(table.events for table in state.tables.values()) > 25
    # A flattened delete without any field says neither its table nor its transaction.
    bodiless = {"d"} if name == "postgres/shop-flat-plain" else set()
    assert {event.op for event in state.unplaced} == bodiless


SAME = (
    ("postgres/shop-json", "postgres/shop-avro"),
    ("postgres/shop-downtime", "postgres/shop-downtime-newest"),
    ("postgres/shop-upgrade", "postgres/shop-upgrade-avro"),
    ("mariadb/bookshop-mariadb-3.5.0-json", "mariadb/bookshop-mariadb-3.5.0-plain"),
    ("mariadb/bookshop-mysql-1.9.8-json", "mariadb/bookshop-mysql-2.5.4-avro"),
)
"""Runs of one scenario whose events tell the same in another encoding."""


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_scenario_ends_in_one_state_however_it_was_encoded(one: str, other: str) -> None:
    left, right = state_of(one), state_of(other)
    assert _timeless(left) == _timeless(right)


def _timeless(state: State) -> dict[tuple[str, str, int], object]:
    """Tables, keys and rows without what a run makes anew: moments of that day and random identifiers."""
    return {name: (table.key, table.ended, _rows(table)) for name, table in state.tables.items()}


def _rows(table: Table) -> list[str]:
    return sorted(
        repr(sorted((name, _settled(value)) for name, value in row.cells.items())) for row in table.rows
    )


def _settled(value: object) -> str:
    if isinstance(value, datetime) and value.year == 2026:
        return "a moment of the run"
    return "random" if re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-.*", str(value)) else repr(value)


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_database_ends_with_what_the_events_told_but_for_the_losses_that_are_known(
    name: str, database: str
) -> None:
    folder = CAPTURES / name
    truth = truth_of(folder)
    rows = bookshop_rows(truth) if name.startswith("mariadb/") else final_rows(database, folder)
    found = losses(state_of(name), truth, rows)
    assert {loss.identity: loss.count for loss in found} == {
        loss.identity: loss.count for loss in expected(folder.name)
    }
