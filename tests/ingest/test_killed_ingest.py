"""`schemaman ingest` killed at random moments and run again: the history of an undisturbed run."""

from __future__ import annotations

import gzip
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemaman.errors import StoreUnavailable
from schemaman.history.versions import TableHistory
from schemaman.store.log import Entry, NoteEntry, ObservationEntry, RejectEntry
from schemaman.store.offsets import list_spans
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import CAPTURES, PROOF
from tests.support.forked_commands import finished, killed, start

SOURCES = (
    "postgres/shop-crash",
    "postgres/shop-downtime",
    "db2/incremental-3.4.1-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
)
KILLS = 200 if PROOF else 12
KILLS_OF_TWO = 50 if PROOF else 4
PART = 2
"""Records a file: a hundred files enter in one transaction, and a kill falls between two of them, too."""
CONFLICT = 4
"""The exit code of who met another one in the middle of a part, and is told to run again."""
STEP = 0.4
"""How far an ingest gets at most before it is killed, as a part of its whole time."""
PATIENCE = 1.03
"""How much longer each further run may take: beside other work a process starts later than measured."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a store holds: its log, its histories, what is covered, and what its own check finds."""

    log: tuple[Entry, ...]
    histories: tuple[TableHistory, ...]
    covered: dict[tuple[str, int], list[int]]
    faults: tuple[str, ...]

    @property
    def counts(self) -> Counter[str]:
        """How many records spoke of each table, and how many were set aside or noted."""
        counts: Counter[str] = Counter()
        for entry in self.log:
            match entry:
                case ObservationEntry(said):
                    counts[f"{said.evidence} {said.table}"] += said.count
                case RejectEntry(told) | NoteEntry(told):
                    counts[type(told).__name__] += told.count
        return counts


def split(folder: Path) -> list[Path]:
    """The recordings in small files."""
    parts: list[Path] = []
    for source in SOURCES:
        with gzip.open(CAPTURES / source / "records.ndjson.gz", "rb") as file:
            lines = file.readlines()
        for first in range(0, len(lines), PART):
            parts.append(folder / f"{len(parts):03}.jsonl")
            parts[-1].write_bytes(b"".join(lines[first : first + PART]))
    return parts


def ingest(parts: Sequence[Path], store: Path) -> list[str]:
    """The command line that reads all parts into a store."""
    return ["ingest", *map(str, parts), "--quiet", "--store", f"sqlite:///{store}"]


def remembered(store: Path | str) -> Remembered:
    """What a store holds; each covered offset as often as it was entered."""
    with SqlStore.open(str(store)) as found:
        covered: dict[tuple[str, int], list[int]] = {}
        for one in found.read_ranges("main"):
            offsets = covered.setdefault((one.topic, one.partition), [])
            offsets += (o for first, last in list_spans(one) for o in range(first, last + 1))
        return Remembered(
            tuple(stamped.entry for stamped in found.read()),
            tuple(h for t in found.tables() if (h := found.history(t)) is not None),
            {place: sorted(offsets) for place, offsets in covered.items()},
            tuple(map(str, found.check())),
        )


def survived(store: Path | str, expected: Remembered) -> bool:
    """Whether something had been remembered when the kill came: whole transactions, in order."""
    try:
        found = remembered(store)
    except StoreUnavailable:
        return False  # the file had not yet become a store
    assert found.faults == ()
    assert all(set(offsets) <= set(expected.covered[place]) for place, offsets in found.covered.items())
    return bool(found.log)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return split(tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def undisturbed(parts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Remembered, float]:
    """What an undisturbed run remembers, and how many seconds it takes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    store = folder / "store.db"
    assert finished(start(ingest(parts[:1], folder / "first.db"))) == 0
    began = time.monotonic()
    assert finished(start(ingest(parts, store))) == 0
    found = remembered(store)
    assert found.faults == ()
    return found, time.monotonic() - began


def chance_of_this_run() -> tuple[random.Random, int]:
    """Where kills fall, and the seed that tells them again."""
    seed = random.SystemRandom().randrange(2**32) if PROOF else 7
    return random.Random(seed), seed


def test_a_killed_ingest_run_again_gives_the_same_log_and_history(
    parts: list[Path],
    undisturbed: tuple[Remembered, float],
    tmp_path: Path,
    figure: Callable[[str, object], None],
) -> None:
    expected, seconds = undisturbed
    chance, seed = chance_of_this_run()
    kills = within = runs = 0
    while kills < KILLS or (within == 0 and kills < 10 * KILLS):
        store = tmp_path / f"{runs}.db"
        runs += 1
        patience = STEP
        while killed(start(ingest(parts, store)), chance.uniform(0, patience) * seconds):
            kills += 1
            patience *= PATIENCE
            within += survived(store, expected)
        found = remembered(store)
        assert found == expected, f"run {runs} of seed {seed}"
    assert within > 0, "no kill fell between two transactions"
    told = f"{kills} in {runs} runs, {within} of them with records in the log; same log after each run"
    figure("kills of ingest", told)


def test_two_at_once_that_are_killed_and_run_again_give_the_same_history(
    parts: list[Path],
    undisturbed: tuple[Remembered, float],
    tmp_path: Path,
    figure: Callable[[str, object], None],
) -> None:
    expected, seconds = undisturbed
    chance, seed = chance_of_this_run()
    kills = runs = 0
    while kills < KILLS_OF_TWO:
        store = tmp_path / f"{runs}.db"
        runs += 1
        alive, patience = False, STEP
        while not alive:
            rival, mine = start(ingest(parts[::-1], store)), start(ingest(parts, store))
            for process in (mine, rival):
                dead = killed(process, chance.uniform(0, patience) * seconds, (0, CONFLICT))
                alive |= not dead
                kills += dead
                patience *= PATIENCE
            survived(store, expected)
        assert finished(start(ingest(parts, store))) == 0
        found = remembered(store)
        assert found.faults == ()
        same = (found.histories, found.covered, found.counts)
        assert same == (expected.histories, expected.covered, expected.counts), f"run {runs} of seed {seed}"
    figure("kills of two ingests at once", f"{kills} in {runs} runs; same history after each run")
