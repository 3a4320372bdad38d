"""The tutorial `docs/python.md`: what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import python_page
from tests.support.checkout import ROOT


def test_the_tutorial_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    python_page.prepare(tmp_path)
    plain, spark = python_page.split_page()
    played = python_page.play(plain, {"__name__": "__main__"})
    if bless:
        python_page.PAGE.write_text(played + spark, encoding="utf-8")
    assert played == python_page.split_page()[0], "docs/python.md is stale: look at it, then `make bless`"
    assert played.count(">>>") > 15


def test_the_readme_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    python_page.prepare(tmp_path)
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    played = python_page.play(text, {"__name__": "__main__"})
    if bless:
        page.write_text(played, encoding="utf-8")
    assert played == page.read_text(encoding="utf-8"), "the README is stale: look at it, then `make bless`"
    assert ">>> import schemaman" in played
