"""The Spark part of the tutorial `docs/python.md`, in a session of the user's own."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support import python_page

pytestmark = pytest.mark.spark


def test_the_tutorial_shows_what_comes_out_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    python_page.prepare(tmp_path)
    plain, section = python_page.split_page()
    names: dict[str, object] = {"__name__": "__main__", "spark": spark}
    with contextlib.redirect_stdout(io.StringIO()):
        python_page.play(plain, names)
    played = python_page.play(section, names)
    if bless:
        python_page.PAGE.write_text(plain + played, encoding="utf-8")
    assert plain + played == python_page.PAGE.read_text(encoding="utf-8")
    assert played.count(">>>") > 8
