"""The tutorial `docs/gate.md`: what it shows is what comes out, and its table is what the tests expect."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli import test_check_branch, test_check_migrations
from tests.support import console_page
from tests.support.checkout import ROOT

PAGE = ROOT / "docs" / "gate.md"
HEAD = (
    "| pull request | exit code with changed snapshots | exit code with an added migration "
    "| in the output | meaning |\n|---|---|---|---|---|\n"
)
MEANINGS = {
    "nothing": "no table changes",
    "nullable add": "a column that allows NULL is added",
    "drop": "a column is dropped",
    "rename": "a column gets another name: the migration states it, snapshots only suggest it",
    "narrow": "a type becomes smaller",
    "key": "a column joins the key",
    "comment": "a comment changes, which no reader needs",
    "table gone": "a table is dropped",
    "not read": "a statement is not read: a danger, which fails only with `--fail-on danger`",
    "conflict": "a statement does not fit the accepted state: a danger, too",
    "earlier migration": "a table without a snapshot, which an earlier migration created, loses a column",
}


def write_table() -> str:
    """The expected exit codes by the kind of pull request: of snapshots, and of a migration."""
    snapshots, migrations = test_check_branch.CHANGES, test_check_migrations.CHANGES
    lines = []
    for name in (*snapshots, *(n for n in migrations if n not in snapshots)):
        of_snapshots = str(snapshots[name][1]) if name in snapshots else "—"
        of_migration = str(migrations[name][1]) if name in migrations else "—"
        words = dict.fromkeys(
            w for w in (snapshots.get(name, (0, 0, ""))[2], migrations.get(name, ("", 0, "", 0))[2]) if w
        )
        codes, shown = f"{of_snapshots} | {of_migration}", ", ".join(f"`{w}`" for w in words)
        lines.append(f"| {name} | {codes} | {shown} | {MEANINGS[name]} |\n")
    return "".join(lines)


def test_the_page_shows_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool) -> None:
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "110"), ("GITHUB_BASE_REF", "")):
        monkeypatch.setenv(name, value)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@example.com")
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(HEAD) + len(HEAD)
    rest = text[start:]
    after = rest[rest.index("\n\n") :] if "\n\n" in rest else ""
    played = console_page.play(text[:start], tmp_path) + write_table() + after.removeprefix("\n")
    if bless:
        PAGE.write_text(played, encoding="utf-8")
    assert played == PAGE.read_text(encoding="utf-8"), "docs/gate.md is stale: look at it, then `make bless`"
    assert played.count("$ schemaman check") >= 5
