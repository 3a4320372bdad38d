"""`check` in every format, on a real repository: exit code, files, and hostile names."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemaman.compat.snapshots import Snapshot, to_text
from schemaman.model.column_list import parse_columns
from schemaman.model.printable import escape_invisible
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer
from schemaman.report.document import FORMATS, Report
from schemaman_cli.commands.check import FORMATS as CHOICES
from tests.cli.test_check_branch import CHANGES, make_repository
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask
from tests.support.hostile_names import HOSTILE

__all__ = ["ask", "place"]


@dataclass(frozen=True)
class Shout:
    """A format of another distribution."""

    name: str = "shout"

    def render(self, report: Report) -> str:
        return report.title.upper() + "!\n"


SHOUT = Shout()


@pytest.fixture
def dropped(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_repository(place, "", CHANGES["drop"][0])
    monkeypatch.chdir(folder)
    return folder


def test_every_format_can_be_chosen_and_fails_alike(dropped: Path, ask: Run) -> None:
    assert set(CHOICES) == set(FORMATS.names())
    for format in CHOICES:
        done = ask("check", "--format", format)
        assert done.code == 1, format
        assert "column-dropped" in done.out, format
        assert done.err in ("", "fail · 1 break · 1 schema change in 2 tables · --fail-on break\n"), format


def test_one_run_writes_several_files(dropped: Path, ask: Run) -> None:
    done = ask("check", "--quiet", "-o", "sarif=out/a.sarif", "--output", "text=b.txt", "--color", "always")
    assert done.code == 1
    assert json.loads((dropped / "out" / "a.sarif").read_text())["version"] == "2.1.0"
    assert "\x1b" in done.out
    assert "\x1b" not in (dropped / "b.txt").read_text()
    for wrong in ("sarif", "sarif=", "saif=x"):
        assert ask("check", "-o", wrong).code == 2


def test_a_format_of_another_distribution_can_be_chosen(
    dropped: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS.__dict__, "_entry_points", {"shout": f"{__name__}:SHOUT"})
    assert ask("check", "--format", "shout").out == "CHECK!\n"
    assert ask("check", "--format", "whisper").code == 2


def test_findings_of_files_have_their_line(place: Path, ask: Run) -> None:
    for file, columns in (("old.ddl", "id INT,\nn BIGINT"), ("new.ddl", "id INT,\nn INT")):
        (place / file).write_text(columns)
    done = ask("check", "file:new.ddl", "--against", "file:old.ddl", "--format", "json")
    assert [(f["file"], f["line"]) for f in done.json["findings"]] == [("new.ddl", 2)]


@pytest.mark.parametrize("format", CHOICES)
def test_hostile_columns_of_a_file_are_only_text(
    place: Path, ask: Run, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """Also what goes to stderr: a runner reads both."""
    names = [name for name in HOSTILE if name != "\ud800"]  # a file in UTF-8 cannot hold it
    schema = TableSchema(tuple(Column(name, Integer(64)) for name in names))
    table = TableId("", "", "", "x\n::warning::y##[error]z")
    for file, structure in (("old.json", schema), ("new.json", parse_columns("id INT"))):
        (place / file).write_text(to_text(Snapshot(table, structure)))
    done = ask(
        "check", "file:new.json", "--against", "file:old.json", "--format", format, "--fail-on", "note"
    )
    assert done.code == 1
    shown = done.out + done.err
    assert all(ch == "\n" or escape_invisible(ch) == ch for ch in shown)
    lines = [x for x in shown.splitlines() if x.strip().startswith("::") or re.search(r"##\w*\[", x)]
    ours = {"github": r"::(error|warning|notice) ", "azure": r"##vso\[task\.(logissue|complete) "}
    assert all(re.match(ours.get(format, "never"), line) for line in lines)


def test_a_hostile_name_in_an_error_is_only_text(place: Path, ask: Run) -> None:
    name = "x/\n::error::y##vso[task.complete]\u202e"
    done = ask("show", f"file:{name}")
    assert done.code == 3
    assert "task.complete" in done.err
    assert not [x for x in done.err.splitlines() if x.strip().startswith("::") or "##vso[" in x]
    done = ask("show", f"file:{name}", "--format", "json")
    assert name in json.loads(done.err)["error"]["message"]
