"""A PostgreSQL server that is killed while an ingest writes: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from schemaman.ingest.recorded_sources import TOGETHER
from schemaman_cli.main import main
from tests.ingest.test_killed_ingest import PATIENCE, remembered, split, survived
from tests.live.database import Postgres, postgres, schema_of_its_own
from tests.support.checkout import PROOF
from tests.support.forked_commands import finished, start

pytestmark = pytest.mark.servers
KILLS = 20 if PROOF else 2
STEP = 0.5 if PROOF else 0.9
"""How far an ingest gets at most before the server is killed, as a part of its whole time."""
FAILED = 3
"""The exit code of who could not do it."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of its own; a proof lets it write to the disk as it would for users."""
    with postgres(fsync="on" if PROOF else "off") as running:
        yield running


def ingest(parts: Sequence[Path], url: str) -> list[str]:
    """The command line that reads all parts into a store."""
    return ["ingest", *map(str, parts), "--quiet", "--store", url]


def test_a_server_that_is_killed_loses_nothing_and_keeps_nothing_twice(
    server: Postgres, tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    parts = split(tmp_path)[: None if PROOF else TOGETHER + 20]  # two transactions
    undisturbed = schema_of_its_own(server.url)
    assert finished(start(ingest(parts[:1], schema_of_its_own(server.url)))) == 0
    began = time.monotonic()
    assert finished(start(ingest(parts, undisturbed))) == 0
    seconds, expected = time.monotonic() - began, remembered(undisturbed)
    assert expected.faults == ()
    seed = random.SystemRandom().randrange(2**32) if PROOF else 7
    chance = random.Random(seed)
    kills = within = runs = 0
    while kills < KILLS or within == 0:
        url = schema_of_its_own(server.url)
        runs += 1
        patience = STEP
        while cut_off(server, ingest(parts, url), chance.uniform(0.05, patience) * seconds):
            kills += 1
            patience *= PATIENCE
            within += survived(url, expected)
        assert remembered(url) == expected, f"run {runs} of seed {seed}"
        assert runs < 10 * KILLS
    told = f"{kills} in {runs} runs, {within} of them with records in the log; same log after each run"
    figure("kills of PostgreSQL", told)


def cut_off(server: Postgres, command: Sequence[str], after: float) -> bool:
    """Kill the server so many seconds after an ingest began, and start it again; whether that failed."""
    process = start(command)
    process.join(timeout=after)
    server.kill()
    code = finished(process)
    server.start()
    assert code in (0, FAILED), f"it ended by itself with {code}"
    return code == FAILED


def test_a_command_says_that_the_server_has_gone_and_goes_on_afterwards(
    server: Postgres, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (part, *_) = split(tmp_path)
    url = schema_of_its_own(server.url)
    assert main(["ingest", str(part), "--quiet", "--store", url]) == 0
    server.kill()
    assert main(["tables", "--store", url]) == FAILED
    said = capfd.readouterr().err
    assert "cannot be reached" in said
    assert "check that the server runs" in said
    server.start()
    assert main(["store", "check", "--store", url]) == 0
