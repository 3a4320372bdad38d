"""Renames that nobody has decided stop no table, and a late answer brings each value where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, TypeVar

import pytest

from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink
from tests.support.undecided_renames import UndecidedRenames

T = TypeVar("T")
CHANGES, TABLES, SEEDS = (50, 10, 10) if PROOF else (8, 3, 1)


def _part(items: Sequence[T], random: Random) -> Iterator[Sequence[T]]:
    """Batches of one to nine."""
    start = 0
    while start < len(items):
        end = start + random.randrange(1, 10)
        yield items[start:end]
        start = end


def _read(lake: MemorySink) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Each table with its live rows."""
    for table in lake.lake():
        alive = [row for row in table.rows if not row[DELETED]]
        yield table.source, sorted(alive, key=lambda row: row["id"])


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("meanwhile", [0.0, 0.3], ids=["answered at the end", "answered now and then"])
def test_each_value_is_right_once_all_renames_are_answered(
    store: SqlStore, seed: int, meanwhile: float
) -> None:
    format = ("delta", "iceberg")[seed % 2]
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    source = UndecidedRenames(Random(seed), TABLES, CHANGES)
    for batch in _part(list(source.stream()), Random(seed)):
        lake.take(batch)
        lake.decisions = source.answer(store, lake.decisions, meanwhile)
        assert (lake.withheld(), lake.stopped) == ({}, set())
    assert len(source.renamed) == CHANGES
    lake.decisions = source.answer(store, lake.decisions)
    lake.take(list(source.touch()))
    assert (lake.withheld(), lake.stopped) == ({}, set())
    for table, rows in _read(lake):
        expected = source.expected(table)
        names = expected[0].keys()
        assert [{name: row[name] for name in names} for row in rows] == expected
