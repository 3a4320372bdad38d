"""The page `docs/digest.md`: what it shows is what comes out, on a lake in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import console_page
from tests.support.checkout import ROOT
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run

__all__ = ["run"]

PAGE = ROOT / "docs" / "digest.md"


def fix(text: str) -> str:
    """The text with fixed names of runs, and fixed times of the lake."""
    names = dict.fromkeys(re.findall(r"\brun ([0-9a-f]{12})\b", text))
    for number, name in enumerate(names, 1):
        text = text.replace(name, f"{number:012x}")
    days = re.search(r"(\d{4}-\d\d-\d\d) [\d:.]+ UTC to (\d{4}-\d\d-\d\d) ", text)
    now = re.compile(rf"(?:{days[1]}|{days[2]}) [\d:.]+ UTC" if days else "$^")
    return re.sub(r"\b\d+\.\d s\b", "0.1 s", now.sub("2026-11-26 06:30:00 UTC", text))


def test_the_page_shows_what_comes_out(
    run: Commands, place: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "110")):
        monkeypatch.setenv(name, value)
    Path("schemaman.toml").unlink()
    (place / "fixtures").symlink_to(ROOT / "fixtures")
    played = fix(console_page.play(PAGE.read_text(encoding="utf-8"), place))
    if bless:
        PAGE.write_text(played, encoding="utf-8")
    assert played == PAGE.read_text(encoding="utf-8"), (
        "docs/digest.md is stale: look at it, then `make bless`"
    )
    assert "take it back with schemaman plan --rollback" in played
    assert "CREATE VIEW `ice`.`read`.`returns`" in played
