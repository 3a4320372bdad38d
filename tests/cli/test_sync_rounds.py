"""`sync` round after round over a lake in memory: what a round tells, and what stops it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemaman.api import sources
from schemaman.io import files, kafka
from tests.support.command_line import Done
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run
from tests.support.records import node, row_event

__all__ = ["run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))
MOST = (*MORE, ("r", "INT"))
DECISIONS = Path("schemaman.decisions.toml")


@pytest.fixture
def rounds(run: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`sync` on a topic that a file stands for: something happens between rounds, then somebody ends it."""

    def followed(*happens: Callable[[], object], words: tuple[str, ...] = ()) -> Done:
        left = list(happens)

        def sleep(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(kafka, "read_records", lambda *_: files.read_records(files.find_file("r.jsonl")))
        monkeypatch.setattr(sources, "time", SimpleNamespace(sleep=sleep))
        return run("sync", "kafka://broker:9092/srv", *words)

    return followed


def test_answers_in_mid_edit_stop_no_sync(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def spoil() -> None:
        DECISIONS.write_text('[[rename]]\ntable = "srv.app.ord')
        run.says(run.table(MORE))

    seen: list[tuple[str, ...]] = []

    def look() -> None:
        seen.append(run.live().schema.names)

    done = rounds(spoil, look, look, lambda: DECISIONS.write_text(""), look)
    assert done.code == 130
    assert seen == [("id", "price"), ("id", "price"), ("id", "price", "q")]
    told = " ".join(done.err.split())
    assert told.count("schemaman.decisions.toml is not valid TOML") == 1
    assert "no lake table is migrated until the file is valid" in told
    assert "hint: correct that line" in told


def test_another_fault_in_the_answers_is_told_again(run: Commands, rounds: Callable[..., Done]) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def write(text: str) -> Callable[[], object]:
        return lambda: DECISIONS.write_bytes(text.encode("latin-1"))

    texts = ("[[rename", "[[rename]]\n", "# \xe9", "", "[[rename")
    done = rounds(*map(write, texts), lambda: None)
    told = " ".join(done.err.split())
    assert done.code == 130
    assert told.count("no lake table is migrated until the file is valid") == 4
    assert told.count("not valid TOML") == 2
    assert "not UTF-8 text" in told


@pytest.mark.parametrize("words", [("sync", "r.jsonl", "--once"), ("plan",), ("sync", "kafka://b:9092/srv")])
def test_a_command_does_not_begin_with_answers_that_are_spoilt(
    run: Commands, rounds: Callable[..., Done], words: tuple[str, ...]
) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    DECISIONS.write_text("[[rename")
    done = run(*words) if "kafka" not in words[-1] else rounds()
    assert done.code == 2
    assert "schemaman.decisions.toml is not valid TOML" in done.err


FILE = "plans/raw.ice.raw.orders.plan.json"


def test_what_waits_beside_what_is_refused_names_its_plan(run: Commands) -> None:
    run.settings(more='[[policy]]\nadd-column = "approve"\n')
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"), ("q", "INT"))))
    whole = run("sync", "r.jsonl", "--once")
    assert (whole.code, f"schemaman approve {FILE}" in whole.out) == (1, False)  # refusals come first
    waiting = run("sync", "r.jsonl", "--once", "--partial")
    assert (waiting.code, f"schemaman approve {FILE}" in waiting.out) == (1, True)
    (told,) = run("sync", "r.jsonl", "--once", "--partial", "--format", "json").json["tables"]
    assert (told["state"], told["file"], len(told["reasons"])) == ("waiting", FILE, 2)
    assert any("needs approval" in reason for reason in told["reasons"])
    assert any("--recipe" in reason for reason in told["reasons"])
    assert run("approve", FILE, "--yes").code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--partial", "--format", "json").json["tables"]
    assert (told["state"], len(told["statements"]) > 0, len(told["reasons"])) == ("refused", True, 1)
    assert run.live().schema.names == ("id", "price", "q")


MINE = "the table has changed outside of schemaman since the last migration: add `mine` INT; schemaman drift"


def test_what_someone_else_changed_is_told_while_nothing_is_to_be_done(run: Commands) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)")
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert (told.code, told.json["tables"][0]["state"]) == (0, "current")
    assert told.json["tables"][0]["reasons"] == [MINE]
    assert run("drift").code == 1  # nothing was taken from it
    assert run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"] == []
    run.change("ADD COLUMNS (`yours` INT)")
    (more,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"]
    assert more == MINE.replace("`mine` INT", "`mine` INT; add `yours` INT")


def test_what_someone_else_changed_is_told_once_each_time_that_it_changes(
    run: Commands, rounds: Callable[..., Done]
) -> None:
    run.says(run.table(WAS, type="CREATE"))

    def spoken_of() -> None:
        run.says(run.table(WAS))

    def changed(action: str) -> Callable[[], None]:
        def happens() -> None:
            run.change(action)
            spoken_of()

        return happens

    mine, yours = changed("ADD COLUMNS (`mine` INT)"), changed("ADD COLUMNS (`yours` INT)")
    done = rounds(mine, spoken_of, spoken_of, yours, spoken_of)
    told = " ".join(done.out.split())
    assert done.code == 130
    assert told.count("the table has changed outside of schemaman since the last migration") == 2
    assert told.count("add `mine` INT; add `yours` INT") == 1


@pytest.mark.parametrize("policy", ['add-column = "approve"', 'add-column = "block"'])
def test_what_waits_or_is_refused_tells_what_someone_else_changed(run: Commands, policy: str) -> None:
    run.settings(more=f"[[policy]]\n{policy}\n")
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`mine` INT)")
    run.says(run.table(MORE))
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert told["state"] in ("waiting", "refused")
    assert told["reasons"][-1] == MINE


def _write_row(offset: int, table: str = "t", **row: object) -> None:
    """A row of PostgreSQL, which states no rename."""
    nodes = {name: node("int32", optional=name != "id") for name in row}
    made = row_event(nodes, "u", row, offset=offset, table=table)
    line = {"topic": made.topic, "partition": 0, "offset": offset, "ts": offset, "tstype": "create"}
    line |= {"key": (made.key or b"").decode(), "payload": (made.value or b"").decode()}
    Path("r.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")


def test_a_late_answer_unites_columns_and_status_names_the_question_until_then(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\n')
    text = Path("schemaman.toml").read_text().replace("app.*", "public.*")
    Path("schemaman.toml").write_text(text)
    _write_row(1, id=1, z=1, price=7)
    assert run("sync", "r.jsonl", "--once").code == 0
    run.change("ADD COLUMNS (`_row_order` STRING)", "ice.raw.t")
    there = run.lake.table("ice.raw.t")
    there.rows["1",] = {there.fields["id"]: 1, there.fields["price"]: 7}
    _write_row(2, id=2, z=1, cost=8)
    assert run("sync", "r.jsonl", "--once").code == 0
    (asked,) = run("status", "--format", "json").json["questions"]
    assert asked["text"] == "whether price became cost"
    assert run(*asked["commands"][0].split()[1:]).code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert told["state"] == "applied"
    assert sum(statement.startswith("UPDATE") for statement in told["statements"]) == 1
    assert [row["cost"] for row in there.read()] == [7]
    assert run("status", "--format", "json").json["questions"] == []
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert (told["state"], told["statements"]) == ("current", [])


def test_a_late_answer_brings_the_rows_of_two_tables_together(run: Commands) -> None:
    run.settings(more='profile = "autopilot"\n')
    text = Path("schemaman.toml").read_text().replace("app.*", "public.*")
    Path("schemaman.toml").write_text(text)
    _write_row(1, "early", id=1, z=5)
    assert run("sync", "r.jsonl", "--once").code == 0
    _write_row(2, "late", id=2, z=6)
    assert run("sync", "r.jsonl", "--once").code == 0
    early, late = (run.lake.table(f"ice.raw.{name}") for name in ("early", "late"))
    for table in (early, late):
        run.change("ADD COLUMNS (`_row_order` STRING)", table.table)
    early.rows["1",] = {early.fields["id"]: 1, early.fields["z"]: 5, "_row_order": "1"}
    late.rows["2",] = {late.fields["id"]: 2, late.fields["z"]: 6, "_row_order": "2"}
    (asked,) = run("status", "--format", "json").json["questions"]
    assert asked["commands"] == ["schemaman decide rename-table srv.shop.public.early srv.shop.public.late"]
    assert run(*asked["commands"][0].split()[1:]).code == 0
    (told,) = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"]
    assert (told["state"], told["lake_table"]) == ("applied", "ice.raw.late")
    assert sorted(row["id"] for row in late.read()) == [1, 2]
    assert run("status", "--format", "json").json["questions"] == []
