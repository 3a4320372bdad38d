"""Runs of `sync` that are taken back one after the other, and what the digest says of them then."""

from __future__ import annotations

from typing import Any

from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run

__all__ = ["run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))


def list_runs(run: Commands) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = run("digest", "--since", "1h", "--format", "json").json["runs"]
    return runs


def follow(run: Commands, *payloads: dict[str, object]) -> list[str]:
    """Sync these changes, and return the runs that it made, newest first."""
    before = {each["run"] for each in list_runs(run)}
    run.says(*payloads)
    assert run("sync", "r.jsonl", "--once").code == 0
    return [each["run"] for each in reversed(list_runs(run)) if each["run"] not in before]


def take_back(run: Commands, name: str, plan: str = "back.plan.json") -> None:
    """Plan the rollback of a run or a plan file, approve it as `approve` asks, and apply it."""
    done = run("plan", "--rollback", name, "-o", plan)
    assert done.code == 0, done
    applied = run.applied(plan)
    assert applied.code == 0, applied


def test_a_run_is_taken_back_after_one_whose_column_still_takes_null(run: Commands) -> None:
    """The key moves from id, which takes NULL from then on: no statement forbids it again."""
    run.settings(more='profile = "autopilot"\n')
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    (added,) = follow(run, run.table(MORE))
    later = follow(run, run.table(MORE, key=("price",)))
    assert len(later) == 2
    refused = run("plan", "--rollback", added)
    assert (refused.code, f"schemaman plan --rollback {later[0]}" in refused.err) == (4, True)
    for name in (*later, added):
        take_back(run, name)
    assert run.live().schema.names == ("id", "price")
    assert run.live().schema.key == ("id",)
    column = run.live().schema.column("id")
    assert column is not None
    assert column.nullable
    # What was taken back is said to be, and asks for nothing.
    found = {each["run"]: each for each in list_runs(run)}
    for name in (*later, added):
        way = found[name]["rollback"]
        assert (way["after"], way["obstacle"].endswith("has taken it back")) == ([], True)
    (again, *_) = follow(run, run.table(MORE, key=("price",)))
    assert run.live().schema.names == ("id", "price", "q")
    assert next(each for each in list_runs(run) if each["run"] == again)["rollback"]["obstacle"] is None


def test_a_change_by_others_is_still_a_change(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    (added,) = follow(run, run.table(MORE))
    run.change("ADD COLUMNS (`mine` INT)")
    assert run("plan", "--rollback", added).code == 4


def test_a_rollback_of_properties_alone_is_taken_back_as_it_says(run: Commands) -> None:
    """The source drops a column that the lake keeps: only properties say so."""
    run.learns(run.table(MORE, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    before = dict(run.live().properties)
    (kept,) = follow(run, run.table(WAS))
    after = dict(run.live().properties)
    assert after["schemaman.kept"] == '["q"]'
    own = ("schemaman.kept", "schemaman.began", "schemaman.version")
    take_back(run, kept)
    assert [run.live().properties.get(name) for name in own] == [before.get(name) for name in own]
    planned = run("plan", "--rollback", "back.plan.json", "-o", "forth.plan.json")
    assert (planned.code, "refusal" in planned.out) == (0, False), planned
    assert run.applied("forth.plan.json").code == 0
    assert [run.live().properties.get(name) for name in own] == [after[name] for name in own]
    way = next(each for each in list_runs(run) if each["run"] == kept)["rollback"]
    assert way["command"]


def test_a_run_of_which_no_step_began_asks_for_nothing(run: Commands) -> None:
    """The rows do not prove another key: nothing was changed, so nothing is to be resumed."""
    run.settings(more='profile = "autopilot"\n[[policy]]\n"on-key-*" = "block"\n')
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.lake.table("ice.raw.orders").counted = lambda query: int("GROUP BY" in query)
    run.says(run.table(WAS, key=("price",)))
    assert run("sync", "r.jsonl", "--once").code != 0
    told = run("digest", "--since", "1h", "--format", "json").json
    assert [each["state"] for each in told["waiting"] if each["state"] == "stopped"] == []
    assert "it changed nothing" in run("digest", "--since", "1h").out
