"""`schemaman ingest` killed at random moments and run again: the history of an undisturbed run."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from schemaman.errors import StoreUnavailable
from schemaman.stores.sql import SqlStore
from schemaman.versions import TableHistory
from tests.house import CAPTURES, PROOF

SOURCES = (
    "postgres/shop-json",
    "postgres/shop-crash",
    "db2/shop-3.4.1-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
)
ROUNDS = 20 if PROOF else 3
PART = 24
"""Records a file: each file enters in a transaction of its own, so that a kill falls between them, too."""


def start(parts: list[Path], store: Path) -> subprocess.Popen[bytes]:
    """An ingest of all parts into a store, on its way."""
    command = [str(Path(sys.executable).with_name("schemaman")), "ingest", *map(str, parts), "--quiet"]
    return subprocess.Popen(
        [*command, "--store", f"sqlite:///{store}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(parts: list[Path], store: Path) -> None:
    """An ingest that nobody disturbs."""
    process = start(parts, store)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told.decode()


def killed(parts: list[Path], store: Path, after: float) -> bool:
    """Whether the ingest was still on its way when it was killed."""
    process = start(parts, store)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    return process.returncode != 0


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


Remembered = tuple[tuple[TableHistory, ...], list[tuple[tuple[str, int], list[int]]], tuple[str, ...]]


def remembered(store: Path) -> Remembered:
    """Every history, what is covered, and what the store's own check finds."""
    with SqlStore.open(f"sqlite:///{store}") as found:
        histories = tuple(h for t in found.tables() if (h := found.history(t)) is not None)
        covered: dict[tuple[str, int], set[int]] = {}
        for c in found.covered("main"):
            covered.setdefault((c.topic, c.partition), set()).update(range(c.first, c.last + 1))
        return (
            histories,
            sorted((place, sorted(offsets)) for place, offsets in covered.items()),
            found.check(),
        )


def begun(store: Path) -> bool:
    """Whether something had been remembered when the kill came; the file may not even have become a store."""
    try:
        return bool(remembered(store)[1])
    except StoreUnavailable:
        return False


def test_a_killed_ingest_run_again_gives_the_same_history(
    tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    parts = split(tmp_path)
    undisturbed = tmp_path / "undisturbed.db"
    began = time.monotonic()
    finish(parts, undisturbed)
    seconds = time.monotonic() - began
    expected = remembered(undisturbed)
    assert expected[2] == ()
    seed = random.SystemRandom().randrange(2**32) if PROOF else 7
    chance = random.Random(seed)
    kills = within = 0
    # Some kills must fall between transactions; on a busy machine the first ones may all come too early.
    while kills < ROUNDS or (within == 0 and kills < 10 * ROUNDS):
        number = kills
        store = tmp_path / f"{number}.db"
        while not killed(parts, store, chance.uniform(0.1, 0.9) * seconds):
            store = tmp_path / f"{number}-{kills}-again.db"
            seconds *= 0.9
        kills += 1
        within += begun(store)
        finish(parts, store)
        assert remembered(store) == expected, f"round {number} of seed {seed}"
    assert within > 0, "no kill fell between two transactions"
    figure("kills of ingest", f"{kills}, {within} of them with something remembered; same history after each")
