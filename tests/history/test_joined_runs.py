"""Joined runs of a table and later records give the history that all its observations give."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from bench import tables
from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.observation import Observation
from schemaman.history.epochs import UNDECIDED
from schemaman.history.fold import joined_runs
from schemaman.history.fold.joined_runs import join_observations
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store import folding
from schemaman.store.folding import continue_history, fold_with_checkpoint
from schemaman.store.log import ObservationEntry, list_tables
from tests.support.checkout import CAPTURES, PROOF
from tests.support.records import outcomes

TABLE = tables.table_of(0)
SOME = ("mariadb/bookshop-mysql-1.9.8-json", "postgres/shop-crash", "db2/shop-3.4.1-transactions")
EVERY = tuple(sorted(str(p.parent.relative_to(CAPTURES)) for p in CAPTURES.rglob("records.ndjson.gz")))
MOST = 60
"""The number of records of a table that are tried, each as a chunk of its own."""


def fold(observations: list[Observation], table: TableId = TABLE) -> TableHistory | None:
    return folding.fold(observations, table, UNDECIDED)


def read_tables(run: str) -> dict[TableId, list[Observation]]:
    """The observations of each record, by table."""
    found: dict[TableId, list[Observation]] = {}
    for _, one in outcomes(CAPTURES / run):
        if isinstance(one, Observation):
            for table in list_tables(ObservationEntry(one)):
                found.setdefault(table, []).append(one)
    return {table: some[:MOST] for table, some in found.items()}


@pytest.mark.parametrize("run", EVERY if PROOF else SOME)
def test_joined_runs_and_later_records_are_the_fold_of_all(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_runs, "_FEWER", 1)
    chance, went_on = random.Random(run), 0
    for table, observations in read_tables(run).items():
        cut = chance.randrange(len(observations))
        before, later = observations[:cut], observations[cut:]
        history = fold(before, table)
        checkpoint = None if history is None else join_observations(history, before, CONNECTORS.get)
        found = None
        if history is not None and checkpoint is not None:
            found = continue_history(checkpoint, history, later)
        if found is not None:
            went_on += 1
            assert found[0] == fold(observations, table)
    assert went_on or run not in SOME


def make_chunks(*places: int) -> list[Observation]:
    """Chunks of a table with three versions, at some places of its topic."""
    return tables.later_chunks(0, 3, places)[0]


def make_again(place: int, offset: int) -> Observation:
    """The records of a chunk, delivered once more behind an offset."""
    (one,) = make_chunks(place)
    marks = (replace(mark, offset=mark.offset + offset) for mark in (one.first, one.last))
    first, last = marks
    return replace(one, first=first, last=last)


def go_on(later: list[Observation], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a table goes on from the joined runs of thirty chunks; then its history must be right."""
    monkeypatch.setattr(folding, "FIRST_JOINED", 20)
    before = make_chunks(*range(30))
    history, checkpoint = fold_with_checkpoint(before, TABLE, UNDECIDED)
    assert history is not None
    assert checkpoint is not None
    assert len(checkpoint.observations) == 3
    found = continue_history(checkpoint, history, later)
    assert found is None or found[0] == fold([*before, *later])
    return found is not None


@pytest.mark.parametrize(
    "later",
    [
        make_chunks(30, 31, 50),
        [make_again(20, 1000), *make_chunks(130)],
        [make_again(1, 1000)],
        [replace(make_chunks(40)[0], schema=make_chunks(0)[0].schema)],
        [replace(make_chunks(40)[0], action="truncate", schema=None)],
        [replace(make_chunks(40)[0], connector_version="3.6.0.Final")],
    ],
    ids=[
        "more",
        "delivered again",
        "delivered again from an old version",
        "a return",
        "truncated",
        "release",
    ],
)
def test_whatever_comes_later_goes_on(later: list[Observation], monkeypatch: pytest.MonkeyPatch) -> None:
    assert go_on(later, monkeypatch)


def test_records_from_before_the_end_are_folded_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    late = make_chunks(29)[0]
    assert not go_on([late], monkeypatch)
    assert not go_on([replace(make_chunks(40)[0], evidence="inferred")], monkeypatch)
    assert not go_on([replace(make_chunks(40)[0], connector="mysql")], monkeypatch)


def test_more_versions_make_another_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "FIRST_JOINED", 20)
    monkeypatch.setattr(folding, "FIRST_CHECKPOINT", 60)
    before = make_chunks(*range(30))
    history, checkpoint = fold_with_checkpoint(before, TABLE, UNDECIDED)
    assert history is not None
    assert checkpoint is not None
    later = [tables.make_observation(0, number) for number in range(30, 100)]
    found = continue_history(checkpoint, history, later)
    assert found is not None
    assert found[1].settled > 1
    assert found[0] == fold([*before, *later])
