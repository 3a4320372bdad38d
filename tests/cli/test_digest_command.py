"""`digest` after rounds of `sync`: what waits is settled by the command that it names."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemaman.errors import StatementFailed
from schemaman.history.open_questions import OpenQuestion
from schemaman.migration.targets import iceberg
from schemaman.report.document import Grid
from schemaman.report.views.questions import build_questions_grid
from tests.io.test_notifications import Hook, hook
from tests.support.checkout import CAPTURES
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run

__all__ = ["hook", "run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))


def digest(run: Commands, since: str = "1h") -> Any:
    done = run("digest", "--since", since, "--format", "json")
    assert done.code == 0, done
    return done.json


def settle(run: Commands, waiting: dict[str, str], *more: str) -> None:
    """Run the command that settles something."""
    program, *words = shlex.split(waiting["command"])
    assert program == "schemaman"
    assert run(*words, *more).code == 0


def test_a_plan_that_waits_is_settled_by_its_command(run: Commands) -> None:
    run.settings(more='[[policy]]\nadd-column = "approve"\n')
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    assert digest(run)["waiting"] == []
    run.says(run.table(MORE))
    assert run("sync", "r.jsonl", "--once").code == 1
    (waiting,) = digest(run)["waiting"]
    assert (waiting["state"], waiting["table"]) == ("approval", "srv.app.orders")
    before = digest(run)
    assert run("sync", "r.jsonl", "--once").code == 1
    assert digest(run)["waiting"] == before["waiting"]  # nothing new is written, nothing is told anew
    settle(run, waiting, "--yes")
    assert run("sync", "r.jsonl", "--once").code == 0
    told = digest(run)
    assert (told["waiting"], told["runs"][-1]["approved"] != []) == ([], True)


def test_a_refusal_names_the_command_that_shows_it(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"))))
    assert run("sync", "r.jsonl", "--once").code == 1
    (waiting,) = digest(run)["waiting"]
    assert waiting["state"] == "refused"
    assert run(*shlex.split(waiting["command"])[1:]).code == 1


def test_a_run_that_stopped_is_continued_by_its_command(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table(MORE))

    def fail(statement: str) -> None:
        if "SET TBLPROPERTIES ('schemaman.began'" in statement:
            raise StatementFailed("no room")

    run.lake.before = fail
    assert run("sync", "r.jsonl", "--once").code == 5
    stopped = [w for w in digest(run)["waiting"] if w["state"] == "stopped"]
    run.lake.before = lambda _: None
    settle(run, stopped[0])
    assert [w for w in digest(run)["waiting"] if w["state"] == "stopped"] == []


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        ('max_rewrite = "1KB"', "2 KB would be rewritten, and max_rewrite is 1 KB"),
        ('max_rewrite = "1GB"\nwindow = "{closed}"', "2 KB would be rewritten, and the window is"),
        ('max_rewrite = "1GB"\nmax_scan = "1KB"', "2 KB would be read, and max_scan is 1 KB"),
    ],
)
def test_what_a_bound_keeps_back_waits_until_the_bound_lets_it(
    run: Commands, monkeypatch: pytest.MonkeyPatch, bound: str, reason: str
) -> None:
    def set_bounds(lines: str) -> None:
        run.settings(more=f'profile = "autopilot"\n{lines}\n')

    monkeypatch.setattr(iceberg.IcebergTarget, "measure_table", lambda *_: 2000)
    hour = (datetime.now(UTC).hour + 2) % 23
    set_bounds(bound.format(closed=f"{hour:02}:00-{hour:02}:01"))
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"))))
    for _ in range(2):  # told once
        assert run("sync", "r.jsonl", "--once").code == 0
        (waiting,) = digest(run)["waiting"]
        assert (waiting["state"], waiting["table"], waiting["command"]) == ("bound", "srv.app.orders", None)
        assert reason in waiting["reason"]
    assert digest(run)["waiting"] == [waiting]
    set_bounds('max_rewrite = "1GB"')
    assert run("sync", "r.jsonl", "--once").code == 0
    assert digest(run)["waiting"] == []


def test_a_suspected_rename_is_answered_by_its_command(run: Commands) -> None:
    assert run("ingest", CAPTURES / "postgres" / "shop-crash").code == 0
    told = digest(run)
    questions = told["questions"]
    assert questions
    assert told["waiting"] == []
    (command,) = questions[0]["commands"]
    assert run(*shlex.split(command)[1:]).code == 0
    assert digest(run)["questions"] == questions[1:]


def test_files_are_written_beside_the_output(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    done = run("digest", "-o", "html=d.html", "--output", "markdown=d.md")
    assert done.code == 0
    assert "srv.app.orders" in Path("d.html").read_text(encoding="utf-8")
    assert "srv.app.orders" in Path("d.md").read_text(encoding="utf-8")
    assert run("digest", "--since", "someday").code == 2
    assert run("digest", "-o", "html").code == 2
    assert run("digest", "-o", "pdf=d.pdf").code == 2


@pytest.mark.parametrize(("events", "sent"), [('["digest"]', 1), ('["block"]', 0)])
def test_a_round_that_changed_the_lake_is_told_to_the_webhook(
    run: Commands, hook: Hook, events: str, sent: int
) -> None:
    run.settings()
    text = Path("schemaman.toml").read_text(encoding="utf-8")
    notify = f'[notify]\nwebhook = "{hook.address}"\nevents = {events}\n'
    Path("schemaman.toml").write_text(text + notify, encoding="utf-8")
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    assert run("sync", "r.jsonl", "--once").code == 0  # nothing was done
    bodies = [body for _, body in hook.received]
    assert [body["event"] for body in bodies] == ["digest"] * sent
    for body in bodies:
        (entry,) = body["entries"]
        assert (entry["table"], entry["lake_table"]) == ("srv.app.orders", "ice.raw.orders")
        assert "CREATE TABLE" in entry["message"]


def test_both_answers_to_a_question_are_written_as_commands() -> None:
    asked = OpenQuestion(
        "srv.t", "whether a became b", ("schemaman decide rename t a b",), "schemaman decide x"
    )
    told = replace(asked, otherwise="nothing is to be done")
    (grid,) = build_questions_grid((asked, told))
    assert isinstance(grid, Grid)
    assert [row[-1][0].code for row in grid.rows] == [True, False]
