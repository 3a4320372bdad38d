"""What `plan`, `sync` and `drift` follow, and what they tell: streams, targets that are gone, answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.errors import StatementFailed
from schemaman.migration.apply import journal
from schemaman.migration.target import LakeTable
from schemaman.migration.target_id import canonicalize_target
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run
from tests.support.memory_lake import Crash

__all__ = ["run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))


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


@pytest.mark.parametrize("verb", [("sync",), ("ingest", "--follow")])
@pytest.mark.parametrize("seconds", ["nan", "inf", "1e12", "0", "-1"])
def test_a_pause_that_no_clock_knows_is_an_error_of_usage(
    run: Commands, verb: tuple[str, ...], seconds: str
) -> None:
    done = run(*verb, "kafka://127.0.0.1:9/shop", "--interval", seconds)
    assert (done.code, "--interval" in done.err) == (2, True)


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
    assert "raw includes no table of stream main, only tables of stream dev" in told.err
    assert "--stream dev" in told.err
    assert "includes no table" not in run(*words, "--stream", "dev").err


def test_tables_of_one_name_are_not_led_into_one_lake_table(run: Commands) -> None:
    run.settings()
    settings = Path("schemaman.toml").read_text().replace("app.*", "*")
    Path("schemaman.toml").write_text(settings)
    run.says(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", database="shop"))
    assert run("ingest", "r.jsonl").code == 0
    planned = run("plan", "-o", "plans/", "--format", "json")
    assert planned.code == 1
    files = sorted(Path("plans").glob("*.plan.json"))
    assert [f.name for f in files] == ["raw.ice.raw.orders-2.plan.json", "raw.ice.raw.orders.plan.json"]
    for file in files:
        (refusal,) = json.loads(file.read_text())["refusals"]
        assert "into this lake table, too: rows would overwrite each other" in refusal["reason"]
    # one that the table follows already goes on
    Path("schemaman.toml").write_text(settings.replace('"*"', '"app.*"'))
    assert run("sync", "r.jsonl", "--once").code == 0
    Path("schemaman.toml").write_text(settings)
    assert (run("plan", "app.orders").code, run("plan", "shop.orders").code) == (0, 1)
    refused = run("plan", "-o", "one.sql")
    assert refused.code == 2
    assert "one.plan.json" in refused.err


def test_drift_looks_at_the_lines_of_each_target_once(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"t{n}" for n in range(30)]
    run.says(*(run.table(WAS, type="CREATE", name=name) for name in names))
    assert run("sync", "r.jsonl", "--once").code == 0
    asked: list[str] = []

    def noted(target: str) -> str:
        asked.append(target)
        return canonicalize_target(target)

    monkeypatch.setattr(journal, "canonicalize_target", noted)
    assert run("drift").code == 0
    with SqlStore.open("sqlite:///schemaman.db") as store:
        lines = list(store.read(kinds=[MigrationEntry]))
    assert len(asked) == len(lines) > 2 * len(names)


def gone(run: Commands, *names: str) -> None:
    """Tables that were made by a migration, and the first of them that a person has dropped since."""
    run.says(*(run.table(WAS, type="CREATE", name=name) for name in names))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.lake.table(f"ice.raw.{names[0]}").live = None


def test_drift_of_one_table_says_nothing_of_another(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of one that is gone, nor of one that cannot be read."""
    gone(run, "a", "b", "c")
    real = run.lake.inspect

    def inspect(table: str, format: str) -> LakeTable | None:
        if table == "ice.raw.c":
            raise StatementFailed("no such catalogue")
        return real(table, format)

    monkeypatch.setattr(run.lake, "inspect", inspect)
    told = run("drift", "b")
    assert (told.code, "ice.raw.a" in told.out, "ice.raw.c" in told.err) == (0, False, False)
    assert run("drift", "a").code == 1
    assert run("drift", "c").code == 3
    assert run("drift").code == 3


def drifted(run: Commands) -> dict[str, bool]:
    return {each["table"]: each["drift"] for each in run("drift", "--format", "json").json["tables"]}


def test_a_target_that_is_rightly_gone_is_let_go_by_a_person(run: Commands) -> None:
    gone(run, "a", "b")
    told = run("drift")
    assert told.code == 1
    assert "schemaman drift --forget ice.raw.a" in told.out
    assert run("drift", "--forget", "ice.raw.a").code == 2  # nobody can be asked here
    assert drifted(run) == {"ice.raw.a": True, "ice.raw.b": False}
    done = run("drift", "--forget", "`ice`.raw.a", "--yes")
    assert (done.code, "ice.raw.a is not checked" in done.err) == (0, True)
    assert (run("drift").code, drifted(run)) == (0, {"ice.raw.b": False})
    assert [each["target"] for each in run("status", "--format", "json").json["targets"]] == [
        "iceberg:ice.raw.b"
    ]
    assert run("plan", "a", "-o", "a.plan.json").code == 0
    assert run("apply", "a.plan.json").code == 1  # it begins empty: that still waits for approval
    assert run.applied("a.plan.json").code == 0
    assert drifted(run) == {"ice.raw.a": False, "ice.raw.b": False}
    run.lake.table("ice.raw.a").live = None
    assert run("drift").code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ice.raw.b",), "ice.raw.b exists"),
        (("ice.raw.c",), "no migration of ice.raw.c is known"),
        (("ice.raw.a", "--forget", "ice.raw.b"), "ice.raw.b exists"),
        (("ice.raw.a", "orders"), "--forget takes no other TABLE"),
    ],
)
def test_only_what_is_gone_is_forgotten(run: Commands, words: tuple[str, ...], told: str) -> None:
    gone(run, "a", "b")
    done = run("drift", "--yes", "--forget", *words)
    assert (done.code, done.err.startswith(f"error: {told}")) == (2, True)
    assert drifted(run) == {"ice.raw.a": True, "ice.raw.b": False}


def test_a_target_whose_catalogue_is_gone_too_is_forgotten(run: Commands) -> None:
    gone(run, "a", "b")
    real = run.lake.inspect

    def inspect(table: str, format: str) -> LakeTable | None:
        if table == "ice.raw.a":
            raise StatementFailed("no such catalogue")
        return real(table, format)

    run.lake.inspect = inspect  # type: ignore[method-assign]
    assert run("drift").code == 3
    done = run("drift", "--forget", "ice.raw.a", "--yes")
    assert (done.code, "no such catalogue" in done.err) == (0, True)
    assert (run("drift").code, drifted(run)) == (0, {"ice.raw.b": False})


def test_a_run_that_died_before_it_had_taken_a_table_over_is_resumed(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    Path("schemaman.db").rename("gone.db")
    run.told = 0
    run.learns(run.table(WAS, type="CREATE"), run.table(MORE))
    assert run("plan", "orders", "-o", "p.plan.json").code == 0
    assert run("apply", "p.plan.json").code == 4

    def die(_: str) -> None:
        raise Crash

    run.lake.before = die
    with pytest.raises(Crash):
        run("apply", "p.plan.json", "--take-over")
    run.lake.before = lambda _: None
    (stopped,) = [each["run"] for each in run("status", "--format", "json").json["runs"]]
    asked = run("resume", stopped)
    assert (asked.code, "--take-over" in asked.err) == (4, True)
    assert run("resume", stopped, "--take-over").code == 0
    assert run.live().schema.names == ("id", "price", "q")
    assert run("drift").code == 0


def test_drift_of_a_table_that_somebody_replaced_is_told_to_who_asks_for_its_source(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="other"))
    assert run.moved().code == 0
    lake = run.lake.table("ice.raw.orders")
    was = run.live()
    other = replace(was.schema, columns=was.schema.columns[:1], key=())
    lake.live = replace(was, properties={}, schema=other)
    told = run("drift", "orders", "--format", "json")
    assert (told.code, [each["table"] for each in told.json["tables"]]) == (1, ["ice.raw.orders"])


def test_drift_of_a_source_that_has_no_lake_table_is_no_answer(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="other"))
    assert run.moved().code == 0
    assert run("drift", "orders").code == 0
    for words in (["other"], ["orders", "other"]):
        told = run("drift", *words)
        assert told.code == 3
        assert "no lake table of srv.app.other is known" in " ".join(told.err.split())
    run.lake.table("ice.raw.orders").live = None
    assert run("drift", "orders").code == 1
    assert "no lake table" not in run("drift", "orders").err
