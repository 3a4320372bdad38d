"""Autopilot that is killed at any moment, or raced by another job, leaves what an undisturbed run leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemaman.migration.apply.apply import LEASE_MS
from schemaman.migration.properties.table_record import read_record
from schemaman.spark.streaming.row_staging import ENDED_INCARNATION
from schemaman.store.sql.store import SqlStore
from tests.streaming.automatic_ways import WAYS
from tests.streaming.test_autopilot import told
from tests.support.checkout import PROOF
from tests.support.killed_sink import (
    Moments,
    Way,
    attach,
    describe_end,
    list_differences,
    play,
    play_until_killed,
    race,
)
from tests.support.memory_sink import MemorySink

CASES = [(name, format) for name, way in WAYS.items() for format in way.formats]
TAKEN = ("table renamed at a path, whose columns differ", "delta")
KILLED = CASES if PROOF else [TAKEN, *Random(30).sample(CASES, 2)]
RACED = CASES if PROOF else Random(31).sample(CASES, 1)
KILLS, RACES = (100, 20) if PROOF else (4, 2)
SPLIT = [case for case in CASES if not WAYS[case[0]].decides]
SPLIT = SPLIT if PROOF else [("late row of a table with a successor", "delta"), *Random(32).sample(SPLIT, 1)]
SPLITS, KILLS_OF_A_SPLIT = (10, 10) if PROOF else (2, 3)
RACED_AT = [(name, format, later_ms) for name, format in RACED for later_ms in (0, 2 * LEASE_MS)]
"""While a lease holds, and once it has ended."""


class Runs:
    """Runs of one way, each over a store of its own."""

    def __init__(self, folder: Path, way: str | Way, format: str) -> None:
        way = WAYS[way] if isinstance(way, str) else way
        self.folder, self.way, self.format, self.number = folder, way, format, 0
        self.moments = Moments()
        self.expected = self.describe(lambda store: play(self.way, store, format, self.moments))

    def kill(self, last: int) -> dict[str, Any]:
        return self.describe(lambda store: play(self.way, store, self.format, Moments(last)))

    def race(self, at: int, later_ms: int, *, is_killed: bool = False) -> dict[str, Any]:
        how = (self.format, at, later_ms)
        return self.describe(lambda store: race(self.way, store, *how, is_killed=is_killed))

    def describe(self, run: Callable[[SqlStore], MemorySink]) -> dict[str, Any]:
        self.number += 1
        with SqlStore.open(f"sqlite:///{self.folder / f'{self.number}.db'}", create=True) as store:
            return describe_end(run(store))

    def choose(self, most: int) -> list[int]:
        every = range(len(self.moments.passed))
        return sorted(Random(len(every)).sample(every, min(most, len(every))))


@pytest.mark.parametrize(("name", "format"), KILLED)
def test_a_killed_job_that_takes_its_batch_again_leaves_what_an_undisturbed_one_leaves(
    tmp_path: Path, name: str, format: str, figure: Callable[[str, object], None]
) -> None:
    runs = Runs(tmp_path, name, format)
    assert (runs.expected["waits"], runs.expected["stopped"], runs.expected["blocked"]) == ({}, set(), {})
    kills = runs.choose(KILLS)
    for last in kills:
        assert list_differences(runs.expected, runs.kill(last)) == [], last
    figure(f"kills of autopilot, {name}, {format}", f"{len(kills)} of {len(runs.moments.passed)} moments")


@pytest.mark.parametrize(("name", "format"), SPLIT)
def test_a_killed_job_leaves_the_same_lake_and_quarantine_wherever_its_batches_end(
    tmp_path: Path, name: str, format: str
) -> None:
    chance, records = Random(33), WAYS[name].list_records()
    for number in range(SPLITS):
        ends = sorted(chance.sample(range(1, len(records)), chance.randint(0, min(2, len(records) - 1))))
        way = WAYS[name].split(records, ends)
        (folder := tmp_path / str(number)).mkdir()
        runs = Runs(folder, way, format)
        moments = range(len(runs.moments.passed))
        for last in chance.sample(moments, min(KILLS_OF_A_SPLIT, len(moments))):
            assert list_differences(runs.expected, runs.kill(last)) == [], (ends, last)


def test_a_change_under_the_former_key_is_known_when_its_batch_comes_again(tmp_path: Path) -> None:
    way = WAYS["late row of a table with a successor"]
    records = way.list_records()
    for ends in ((3,), (1,), (2, 5)):
        (folder := tmp_path / str(ends)).mkdir()
        runs = Runs(folder, way.split(records, ends), "iceberg")
        rekeyed = [n for n, what in enumerate(runs.moments.passed) if "DROP IDENTIFIER FIELDS" in what]
        for last in rekeyed:
            assert list_differences(runs.expected, runs.kill(last + 3)) == [], (ends, last)


def test_a_change_that_another_table_has_taken_over_is_known_when_its_batch_comes_again(
    tmp_path: Path,
) -> None:
    way = WAYS[TAKEN[0]]
    runs = Runs(tmp_path, way.split(way.list_records(), (3,)), "delta")
    taken = next(n for n, what in enumerate(runs.moments.passed) if "'schemaman.taken'" in what)
    assert runs.expected["withheld"] == {}
    for last in range(taken + 1, len(runs.moments.passed)):
        assert list_differences(runs.expected, runs.kill(last)) == [], last


def test_a_row_from_before_a_rename_is_written_when_its_batch_comes_again_amid_the_move(
    tmp_path: Path,
) -> None:
    way = WAYS["table renamed"]
    runs = Runs(tmp_path, way.split(way.list_records(), (1, 2, 5)), "iceberg")
    moves = find_moves(runs)
    for last in range(moves[0], moves[-1] + 2) if PROOF else (moves[0] + 2, moves[-1], moves[-1] + 2):
        assert list_differences(runs.expected, runs.kill(last)) == [], last


def test_a_row_from_before_a_rename_is_known_when_its_batch_comes_again_amid_the_change_of_its_columns(
    tmp_path: Path,
) -> None:
    way = WAYS["table renamed and changed in one statement"]
    runs = Runs(tmp_path, way.split(way.list_records(), (2, 5)), "iceberg")
    changed = next(n for n, what in enumerate(runs.moments.passed) if "RENAME COLUMN" in what)
    moments = range(changed, len(runs.moments.passed))
    for last in moments if PROOF else moments[1::4]:
        assert list_differences(runs.expected, runs.kill(last)) == [], last


@pytest.mark.parametrize(("name", "format", "later_ms"), RACED_AT)
def test_a_second_job_that_takes_the_same_batch_meanwhile_changes_nothing(
    tmp_path: Path, name: str, format: str, later_ms: int
) -> None:
    runs = Runs(tmp_path, name, format)
    for at in runs.choose(RACES):
        assert list_differences(keep_values(runs.expected), keep_values(runs.race(at, later_ms))) == [], at


@pytest.mark.parametrize(
    ("name", "words", "later_ms"),
    [
        ("log that gets a key, filled", "append MigrationEntry", 0),
        ("name of a part that the source uses", "'schemaman.split'", 2 * LEASE_MS),
    ],
)
def test_two_jobs_that_fill_a_table_or_rename_its_part_leave_what_one_leaves(
    tmp_path: Path, name: str, words: str, later_ms: int
) -> None:
    """A job that waits for the lease writes no row, and one that slept may record former names again."""
    runs = Runs(tmp_path, name, "delta")
    moments = [n for n, what in enumerate(runs.moments.passed) if words in what]
    assert len(moments) > 2
    for at in moments:
        assert list_differences(keep_values(runs.expected), keep_values(runs.race(at, later_ms))) == [], at


@pytest.mark.parametrize(("later_ms", "is_killed"), [(0, False), (2 * LEASE_MS, False), (2 * LEASE_MS, True)])
def test_of_two_jobs_amid_an_exchange_of_tables_neither_moves_what_the_other_moved(
    tmp_path: Path, later_ms: int, is_killed: bool
) -> None:
    """Once its turn has ended, a job may write a stamp into another table, or move it: it takes that back.

    If it is killed just then, the next job does.
    """
    runs = Runs(tmp_path, "table names exchanged", "iceberg")
    moves = find_moves(runs)
    assert len(moves) > 3
    for at in moves if PROOF else moves[later_ms // LEASE_MS : 4 + later_ms // LEASE_MS]:
        found = runs.race(at, later_ms, is_killed=is_killed)
        assert list_differences(keep_values(runs.expected), keep_values(found)) == [], at


def test_a_killed_exchange_is_finished_though_no_record_of_its_tables_comes(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "table names exchanged", "iceberg")
    (first, *_, last) = [n for n, what in enumerate(runs.moments.passed) if "RENAME" in what]
    both = {address for address in runs.expected["tables"] if not address.endswith("x`")}
    moments = range(first + 1, last + 1)
    for at in moments if PROOF else moments[:: len(moments) // 3]:
        with SqlStore.open(f"sqlite:///{tmp_path / f'other{at}.db'}", create=True) as store:
            sink = play_until_killed(runs.way, store, "iceberg", Moments(at))
            sink = attach(sink, store, Moments(), 2 * LEASE_MS)
            sink.take([told(0, {"id": 1})])
            named = {address: table.live for address, table in sink.tables.items() if table.live is not None}
            assert both <= named.keys(), at
            sources = {address: read_record(named[address].properties).source or "" for address in both}
            assert all(address.endswith(f"{name.rpartition('.')[2]}`") for address, name in sources.items())


def find_moves(runs: Runs) -> list[int]:
    """The moments at which a job moves tables, or marks them for it."""
    words = ("(names of tables)", "RENAME", "SET TBLPROPERTIES ('schemaman.began'")
    return [n for n, what in enumerate(runs.moments.passed) if any(word in what for word in words)]


def keep_values(end: dict[str, Any]) -> dict[str, Any]:
    """What readers of the lake get: records of an ended table may wait for the lease in vain."""
    tables = {name: (columns, key, rows) for name, (columns, key, _, rows) in end["tables"].items()}
    withheld = {at for at, reason in end["withheld"].items() if reason != ENDED_INCARNATION}
    return {**end, "tables": tables, "withheld": withheld}


def test_the_steps_after_a_table_was_made_are_taken_by_the_next_job(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "key that rows do not prove", "iceberg")
    fields = [n for n, what in enumerate(runs.moments.passed) if "SET IDENTIFIER FIELDS" in what]
    assert len(fields) == 2
    for last in fields:
        assert list_differences(runs.expected, runs.kill(last)) == []
