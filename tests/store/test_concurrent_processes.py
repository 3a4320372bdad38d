"""Eight processes that read parts of one stream into one PostgreSQL store: the history of one process."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.ingest.test_killed_ingest import CONFLICT, Remembered, remembered
from tests.live.database import schema_of_its_own
from tests.support.checkout import CAPTURES, PROOF
from tests.support.forked_commands import finished, start

STREAMS = (
    "postgres/shop-json",
    "mariadb/bookshop-mariadb-3.5.0-json",
    "mongodb/inventory-2.5.4-update-full",
    "postgres/shop-incremental",
    "postgres/shop-upgrade",
    "db2/shop-3.4.1-transactions",
)
ROUNDS = 3 if PROOF else 1
PROCESSES = 8
PARTS = 32 if PROOF else 16
REACH = 6
"""How many records a part may share with each of its neighbours."""
AGAIN = 100
"""How often a process may be told to run again before that counts as a fault."""


def ingest(parts: Sequence[Path], url: str) -> list[str]:
    """The command line that reads parts into a store."""
    return ["ingest", *map(str, parts), "--quiet", "--store", url]


def overlapping_parts(source: str, folder: Path, chance: random.Random) -> list[Path]:
    """A recording in files of contiguous records, some of which are in two files; in any order."""
    with gzip.open(CAPTURES / source / "records.ndjson.gz", "rb") as file:
        lines = file.readlines()
    cuts = sorted(chance.sample(range(1, len(lines)), min(PARTS, len(lines) // 2) - 1))
    parts = []
    for first, last in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        parts.append(folder / f"{first:04}.jsonl")
        begin, end = max(0, first - chance.randint(0, REACH)), last + chance.randint(0, REACH)
        parts[-1].write_bytes(b"".join(lines[begin:end]))
    chance.shuffle(parts)
    return parts


def read_by_a_crowd(parts: Sequence[Path], url: str) -> int:
    """Let all processes read at once, again and again who was told to; how often somebody was."""
    commands = [ingest(parts[number::PROCESSES], url) for number in range(PROCESSES)]
    told_again = 0
    while commands:
        running = [(command, start(command)) for command in commands]
        codes = [(command, finished(process)) for command, process in running]
        assert {code for _, code in codes} <= {0, CONFLICT}
        commands = [command for command, code in codes if code == CONFLICT]
        told_again += len(commands)
        assert told_again < AGAIN
    return told_again


@pytest.mark.parametrize("stream", STREAMS if PROOF else STREAMS[:1])
def test_eight_processes_remember_what_one_does(
    stream: str, database: str, tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    alone = f"sqlite:///{tmp_path / 'alone.db'}"
    assert finished(start(ingest([CAPTURES / stream], alone))) == 0
    expected = remembered(alone)
    told_again = 0
    seed = random.SystemRandom().randrange(2**32) if PROOF else 7
    chance = random.Random(seed)
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        url = schema_of_its_own(database)
        told_again += read_by_a_crowd(overlapping_parts(stream, folder, chance), url)
        assert same_history(remembered(url), expected), f"round {number} of seed {seed}"
    told = f"{ROUNDS} rounds, {told_again} processes asked to run again; same history as one process"
    figure(f"eight processes over {stream}", told)


def same_history(found: Remembered, expected: Remembered) -> bool:
    """Whether the same is known, whatever the order in which it entered."""
    assert found.faults == ()
    assert found.histories == expected.histories
    assert found.covered == expected.covered
    assert found.counts == expected.counts
    return True
