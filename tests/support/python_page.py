"""Runs the examples of `docs/python.md` in order, as a person would type them."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

from tests.support.checkout import ROOT

PAGE = ROOT / "docs" / "python.md"
SPARK_SECTION = "## In your own Spark session"
_BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PARSER = doctest.DocTestParser()


def split_page() -> tuple[str, str]:
    """The part that needs no Spark, and the rest."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(SPARK_SECTION)
    return text[:start], text[start:]


def play(text: str, names: dict[str, Any]) -> str:
    """The text with what each example of its blocks printed just now; `names` are the globals."""
    return _BLOCK.sub(lambda block: f"```pycon\n{_play_block(block[1], names)}```", text)


def prepare(folder: Path) -> None:
    """Puts the recordings that the page reads into a folder."""
    (folder / "fixtures").symlink_to(ROOT / "fixtures")


def _play_block(block: str, names: dict[str, Any]) -> str:
    lines: list[str] = []
    for example in _PARSER.get_examples(block):
        first, *more = example.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "<docs/python.md>", "single"), names)
        lines += printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
    return "".join(f"{line}\n" for line in lines)
