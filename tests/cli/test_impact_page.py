"""The page about consumers and impact: its files and commands, played in order in a folder of their own."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import split

import pytest

from tests.support.checkout import ROOT
from tests.support.command_line import Run

PAGE = ROOT / "docs" / "impact.md"
_BLOCK = re.compile(r"^```(console|toml|sql|python) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_shows_what_comes_out(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "110")
    (place / "fixtures").symlink_to(ROOT / "fixtures")

    def play(block: re.Match[str]) -> str:
        language, file, text = block.groups()
        if language != "console":
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text)
            return block[0]
        lines: list[str] = []
        for command in (line for line in text.splitlines() if line.startswith("$ ")):
            done = run(*split(command)[2:])
            assert done.code in (0, 1), done.err
            lines += [command, *done.out.rstrip().splitlines()]
        return "".join(["```console\n", *(f"{line}\n" for line in lines), "```"])

    text = PAGE.read_text(encoding="utf-8")
    played = _BLOCK.sub(play, text)
    if bless:
        PAGE.write_text(played, encoding="utf-8")
    assert played == PAGE.read_text(encoding="utf-8"), (
        "docs/impact.md is stale: look at it, then `make bless`"
    )
