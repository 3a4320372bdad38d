"""The tour of the README, typed as printed: what it shows is what comes out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.checkout import ROOT

README = ROOT / "README.md"
_TOUR = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SETTINGS = {"NO_COLOR": "1", "COLUMNS": "110", "LANG": "C.UTF-8"}


def test_the_tour_shows_what_comes_out(tmp_path: Path, bless: bool) -> None:
    text = README.read_text(encoding="utf-8")
    played = _TOUR.sub(lambda m: f"```console\n{_play(m[1], tmp_path)}```", text)
    if bless:
        README.write_text(played, encoding="utf-8")
    assert played == README.read_text(encoding="utf-8"), (
        "the README's tour is stale: look at it, then `make bless`"
    )
    assert "Traceback" not in played


def test_the_first_screen_holds_what_a_newcomer_needs() -> None:
    head = "\n".join(README.read_text(encoding="utf-8").splitlines()[:40])
    assert "make demo" in head
    assert "make test" in head
    assert "Apache-2.0" in README.read_text(encoding="utf-8")


def _play(block: str, folder: Path) -> str:
    lines = []
    for command in (line for line in block.splitlines() if line.startswith("$ ")):
        lines += [command, *_output(command[2:], folder)]
    return "".join(f"{line}\n" for line in lines)


def _output(command: str, folder: Path) -> list[str]:
    scripts = str(Path(sys.executable).parent)
    settings = {**os.environ, **_SETTINGS, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    settings["SCHEMAMAN_STORE"] = f"sqlite:///{folder / 'tour.db'}"
    ran = subprocess.run(
        command, shell=True, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1), f"{command}: {ran.stderr}"
    return ran.stdout.rstrip().splitlines()
