"""Schema files as git shows them: `textconv` and the diff driver, run by git itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check_branch import CHANGES, make_repository
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask

__all__ = ["ask", "place"]
PROGRAM = Path(sys.executable).with_name("schemaman")


def show_diff(folder: Path, setting: str, command: str) -> str:
    """What `git diff` prints between the accepted state and the branch."""
    (folder / ".gitattributes").write_text("schemas/*.json diff=schemaman\n")
    words = ["git", "-c", f"diff.schemaman.{setting}={PROGRAM} {command}", "diff", "main~1", "pr"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_git_diff_shows_changes_in_words(tmp_path: Path) -> None:
    shown = show_diff(make_repository(tmp_path, "", CHANGES["narrow"][0]), "command", "git-diff")
    assert "~ n  BIGINT → INT" in shown
    assert "✗ break: integer-narrowed  shop.public.orders.n" in shown


def test_git_diff_shows_a_line_for_each_column(tmp_path: Path) -> None:
    shown = show_diff(make_repository(tmp_path, "", CHANGES["narrow"][0]), "textconv", "textconv")
    assert [line for line in shown.splitlines() if line.startswith(("-", "+"))][2:] == ["-n BIGINT", "+n INT"]


def test_a_file_that_is_no_schema_or_not_there_is_shown_as_it_is(place: Path, ask: Run) -> None:
    (place / "a").write_text("one\n\x1b[2Jtwo\n")
    (place / "b.json").write_text('{"a": 1}\n')
    assert ask("textconv", "a").out == "one\n\\x1b[2Jtwo\n"
    done = ask("git-diff", "x.json", "/dev/null", ".", ".", "b.json", "hex", "100644")
    assert (done.code, done.out) == (0, '--- a/x.json\n+++ b/x.json\n@@ -0,0 +1 @@\n+{"a": 1}\n')
    assert ask("git-diff", "x.json").code == ask("textconv", "gone").code == 0


@pytest.mark.parametrize("name", ["::error::x", "##vso[task.complete]", "a\nb", "\u202e"])
def test_a_hostile_column_moves_nothing(place: Path, ask: Run, name: str) -> None:
    for file, columns in (("old.ddl", "id INT"), ("new.ddl", f"id INT, `{name}` INT NOT NULL")):
        (place / file).write_text(columns)
    shown = ask("git-diff", "x.ddl", "old.ddl", "a", "1", "new.ddl", "b", "1").out
    assert "column-added-required" in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith("::") or "##vso[" in line]
    assert all(ch == "\n" or ch.isprintable() for ch in shown)
