"""Every command takes `--format json`: valid JSON on stdout, and an error as the last line on stderr."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from schemaman.plugins import Plugins
from schemaman.report.json import schemas
from schemaman_cli.main import main
from tests.support.checkout import CAPTURES
from tests.support.command_line import Done, Run

COMMANDS: Plugins[click.Command] = Plugins("schemaman_cli.commands", "COMMAND")
WITH_OTHERS = {"apply", "demo", "drift", "plan", "resume", "serve", "stream", "sync"}
"""Commands whose success needs a lake, or clients; their own tests hold their JSON."""


def read_error(done: Done) -> dict[str, Any]:
    """The error of a command that was asked for JSON."""
    document = json.loads(done.err.splitlines()[-1])
    Draft202012Validator(schemas.read_schema("error")).validate(document)
    assert done.out == ""
    assert document["error"]["exit_code"] == done.code
    found: dict[str, Any] = document["error"]
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two tables, made once."""
    path = tmp_path_factory.mktemp("store") / "schemaman.db"
    source = CAPTURES / "postgres" / "shop-json"
    assert main(["ingest", str(source), "--store", f"sqlite:///{path}", "-q"]) == 0
    return path


@pytest.fixture
def filled(recorded: Path, place: Path) -> Path:
    """A working folder with a copy of that store."""
    shutil.copy(recorded, place / "schemaman.db")
    return place


def list_successes(run: Run, place: Path) -> dict[str, list[str]]:
    """A command line that succeeds for each command that needs no lake."""
    check = run("check", "orders", "--against", "orders@1", "--format", "json").json
    finding = check["findings"][0]["fingerprint"]
    history = run("history", "orders", "--format", "json").json
    pair = next(c for v in history["versions"] for c in v["candidates"])
    return {
        "accept": ["accept", "orders", "stock"],
        "approve": ["approve", "orders.plan.json", "--yes"],
        "blame": ["blame", "orders"],
        "impact": ["impact", "orders"],
        "check": ["check", "orders", "--against", "orders@1"],
        "completion": ["completion", "zsh"],
        "config": ["config", "show"],
        "decide": ["decide", "rename", "orders", pair["old"], pair["new"]],
        "diff": ["diff", "orders"],
        "explain": ["explain", finding],
        "git-diff": ["git-diff", "x.json", "/dev/null", ".", ".", "/dev/null", ".", "."],
        "digest": ["digest"],
        "history": ["history", "orders"],
        "init": ["init"],
        "ingest": ["ingest", str(CAPTURES / "postgres" / "shop-json")],
        "names": ["names"],
        "registry": ["registry", "export", "registry.json"],
        "rejects": ["rejects"],
        "report": ["report", "stock"],
        "rules": ["rules"],
        "schema": ["schema", "history"],
        "show": ["show", "orders@1"],
        "snapshot": ["snapshot"],
        "status": ["status"],
        "store": ["store", "check"],
        "tables": ["tables"],
        "textconv": ["textconv", "orders.ddl"],
        "waive": ["waive", finding, "--reason", "unread", "--owner", "ann", "--expires", "30d"],
    }


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_command_takes_json(name: str) -> None:
    (chosen,) = (o for o in COMMANDS.get(name).params if isinstance(o, click.Option) and o.name == "format")
    assert isinstance(chosen.type, click.Choice)
    assert "json" in chosen.type.choices


@pytest.mark.parametrize("name", sorted(set(COMMANDS.names()) - WITH_OTHERS - {"approve", "unlock"}))
def test_success_is_one_document_on_stdout(run: Run, filled: Path, name: str) -> None:
    done = run(*list_successes(run, filled)[name], "--format", "json")
    assert done.code == (1 if name == "check" else 0)
    output = {"schema": "", "accept": "accept", "snapshot": "snapshot"}.get(name, name)
    if output:
        Draft202012Validator(schemas.read_schema(output)).validate(done.json)


@pytest.mark.parametrize("name", COMMANDS.names())
@pytest.mark.parametrize("spelling", [["--format", "json"], ["--format=json"]])
def test_a_wrong_command_line_is_an_error_in_json(
    run: Run, place: Path, name: str, spelling: list[str]
) -> None:
    done = run(name, *spelling, "--no-such-option")
    assert done.code == 2
    error = read_error(done)
    assert "--no-such-option" in error["message"]
    assert error["hint"] == f"schemaman {name} --help"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["history", "orders"], 3),
        (["tables"], 3),
        (["ingest", "missing.jsonl"], 3),
        (["show", "orders@@"], 2),
        (["schema", "nothing"], 2),
        (["apply", "missing.plan.json"], 3),
        (["approve", "missing.plan.json"], 3),
        (["store", "check"], 3),
        (["nonsense"], 2),
    ],
)
def test_a_failure_is_an_error_in_json(run: Run, place: Path, words: list[str], code: int) -> None:
    done = run(*words, "--format", "json")
    assert done.code == code
    assert read_error(done)["message"]


def test_an_answer_that_was_given_before_says_so(run: Run, filled: Path) -> None:
    words = list_successes(run, filled)
    for name in ("decide", "waive"):
        first, second = (run(*words[name], "--format", "json").json for _ in range(2))
        assert (first["written"], second["written"]) == (True, False)
        assert first | {"written": False} == second
    assert len(run(*words["accept"], "--format", "json").json["written"]) == 2


def test_json_behind_a_double_dash_is_an_argument(run: Run, place: Path) -> None:
    done = run("history", "--", "--format", "json")
    assert done.err.startswith("error: ")


def test_the_copy_of_a_store_and_json_do_not_share_stdout(run: Run, filled: Path) -> None:
    assert run("store", "export", "copy.gz", "--format", "json").json["entries"] > 0
    assert "standard output" in read_error(run("store", "export", "-", "--format", "json"))["message"]
    done = run("store", "import", "copy.gz", "--store", "sqlite:///other.db", "--format", "json")
    assert done.json["file"] == "copy.gz"


@pytest.mark.parametrize("name", COMMANDS.names())
def test_a_short_help_is_the_help(run: Run, name: str) -> None:
    done = run(name, "-h")
    assert (done.code, done.out) == (0, run(name, "--help").out)


def test_the_program_takes_the_short_help(run: Run) -> None:
    assert run("-h").out == run("--help").out
