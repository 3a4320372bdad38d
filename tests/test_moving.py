"""The moving commands over lakes on paper: what plans, runs and their ways back come to, life by life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemaman.stores.sql import SqlStore
from tests.paper_commands import Commands, commands
from tests.paper_lake import Crash

DAY_MS = 86_400_000
WAS = (("id", "INT"), ("price", "INT"))
TEXT = (("id", "INT"), ("price", "VARCHAR"))


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    return commands(tmp_path, monkeypatch, capfdbinary)


def phase(number: int, name: str, folder: str = "plans") -> str:
    return f"{folder}/raw.ice.raw.orders.{number}-{name}.plan.json"


def in_exchange(run: Commands) -> None:
    """A table whose column `price` is to become text, behind the first phase."""
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    run.learns(run.table(TEXT))
    assert run("plan", "orders", "--recipe", "-o", "plans/").code == 0
    assert run.applied(phase(1, "expand")).code == 0


def test_a_swap_that_stopped_is_resumed_though_plan_and_approval_have_expired(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_exchange(run)
    assert run.applied(phase(2, "backfill")).code == 0

    def die(statement: str) -> None:
        if "RENAME COLUMN `price__new`" in statement:
            raise Crash

    run.lakes.before = die
    with pytest.raises(Crash):
        run.applied(phase(3, "swap"))
    run.lakes.before = lambda _: None
    assert run.live().schema.names == ("id", "price__old", "price__new")
    barred = run("plan", "orders")
    assert (barred.code, "--rollback RUN" in barred.out) == (1, True)
    later = int(datetime.now(UTC).timestamp() * 1000) + 40 * DAY_MS
    monkeypatch.setattr(SqlStore, "now_ms", lambda _: later)
    decisions = Path("schemaman.decisions.toml")
    today = datetime.now(UTC).date()
    lapsed = decisions.read_text().replace(str(today + timedelta(days=14)), str(today - timedelta(days=1)))
    assert lapsed != decisions.read_text()
    decisions.write_text(lapsed)
    stopped = run("status", "--format", "json").json["targets"][0]["run"]
    assert run("resume", stopped).code == 0
    assert run.live().schema.names == ("id", "price__old", "price")
    assert run("apply", phase(2, "backfill")).code == 1  # its approval has expired, and it is through
    assert run("apply", phase(1, "expand")).code == 4
