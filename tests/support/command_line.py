"""Command lines as users type them, in an empty folder, and what they came to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemaman_cli.main import main


@dataclass(frozen=True, slots=True)
class Done:
    """The exit code of a command, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output, read as JSON."""
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("SCHEMAMAN_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def run(place: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command line in that folder, in this process."""
    return lambda *words: finished(capfdbinary, words)


def finished(capture: pytest.CaptureFixture[bytes], words: Iterable[object]) -> Done:
    """What a command line came to in this process."""
    capture.readouterr()
    code = main([str(word) for word in words])
    out, err = capture.readouterr()
    return Done(code, out.decode(), err.decode())
