"""What `plan`, `sync` and `drift` follow, and what they tell: streams, targets that are gone, answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman import journal
from schemaman.addresses import canonical
from schemaman.log import Migrated
from schemaman.stores.sql import SqlStore
from tests.paper_commands import Commands, commands

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    return commands(tmp_path, monkeypatch, capfdbinary)


def two_streams(run: Commands) -> None:
    """The same table in prod, which is the default, and one column further in dev."""
    run.learns(run.table(WAS, type="CREATE"))
    run.says(run.table(MORE, type="CREATE"))
    assert run("ingest", "r.jsonl", "--stream", "dev").code == 0


@pytest.mark.parametrize("words", [("--stream", "dev"), ()])
def test_a_stream_that_was_not_asked_for_is_not_planned_for(run: Commands, words: tuple[str, ...]) -> None:
    two_streams(run)
    plans = run("plan", *words, "--format", "json").json
    assert plans["source"]["table"] == ("dev:srv.app.orders" if words else "srv.app.orders")


def test_a_round_of_sync_moves_the_tables_of_its_own_stream_alone(run: Commands) -> None:
    two_streams(run)
    run.settings(table="ice.{stream}.{table}")
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert [each["lake_table"] for each in told.json["tables"]] == ["ice.main.orders"]
    told = run("sync", "r.jsonl", "--once", "--format", "json", "--stream", "dev")
    assert [each["lake_table"] for each in told.json["tables"]] == ["ice.dev.orders"]
    assert run.live("ice.dev.orders").schema.names == ("id", "price", "q")


def test_a_table_that_is_named_is_planned_for_in_the_stream_that_is_named(run: Commands) -> None:
    two_streams(run)
    for name in ("orders", "dev:orders"):
        plan = run("plan", name, "--format", "json").json
        assert plan["source"]["table"].startswith("dev:") == name.startswith("dev:")
    assert run("plan", "orders", "--stream", "dev", "--format", "json").json["source"]["table"][:4] == "dev:"


@pytest.mark.parametrize("words", [("plan",), ("sync", "r.jsonl", "--once")])
def test_a_target_that_only_another_stream_fills_is_told_of(run: Commands, words: tuple[str, ...]) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("ingest", "r.jsonl", "--stream", "dev").code == 0
    Path("schemaman.toml").write_text(
        '[[target]]\nname="raw"\nformat="iceberg"\ntables="dev:*"\ntable="ice.raw.{table}"\n'
    )
    told = run(*words)
    assert told.code == 0
    assert "raw holds no table of stream main; it holds tables of stream dev" in told.err
    assert "--stream dev" in told.err
    assert "holds no table" not in run(*words, "--stream", "dev").err


def test_drift_looks_at_the_lines_of_each_target_once(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"t{n}" for n in range(30)]
    run.says(*(run.table(WAS, type="CREATE", name=name) for name in names))
    assert run("sync", "r.jsonl", "--once").code == 0
    asked: list[str] = []

    def noted(target: str) -> str:
        asked.append(target)
        return canonical(target)

    monkeypatch.setattr(journal, "canonical", noted)
    assert run("drift").code == 0
    with SqlStore.open("sqlite:///schemaman.db") as store:
        lines = list(store.read(kinds=[Migrated]))
    assert len(asked) == len(lines) > 2 * len(names)
