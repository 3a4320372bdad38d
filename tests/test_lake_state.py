"""The independent judge of last states: its fold against the database, and recordings of one scenario."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.house import CAPTURES
from tests.lake_state.fold import State, Table, fold

RECORDINGS = sorted(
    f"{kind}/{folder.name}" for kind in ("postgres", "mariadb") for folder in (CAPTURES / kind).iterdir()
)


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_event_of_a_recording_has_its_place(name: str) -> None:
    state = fold(CAPTURES / name)
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
    left, right = fold(CAPTURES / one), fold(CAPTURES / other)
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
