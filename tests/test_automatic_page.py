"""The page `docs/automatic.md`: what needs no Spark comes out so; the rest plays on a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.io import kafka
from tests.support import automatic_page, console_page


def test_the_page_shows_what_init_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "110")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    first, _ = automatic_page.list_records()
    monkeypatch.setattr(kafka, "read_sample", lambda *_: iter(first))
    plain, *rest = automatic_page.split_page()
    played = console_page.play(plain, tmp_path)
    if bless:
        automatic_page.PAGE.write_text("".join((played, *rest)), encoding="utf-8")
    assert played == automatic_page.split_page()[0], (
        "docs/automatic.md is stale: look at it, then `make bless`"
    )


def test_five_commands_lead_to_rows() -> None:
    plain, first, _ = automatic_page.split_page()
    commands = automatic_page.list_commands(plain + first)
    assert plain.count("pip install") == 1
    assert [c.split()[1] for c in commands] == ["init", "stream", "sync", "tables"]
