"""A run of every test at full counts, in pieces side by side; `docs/proof.md` shows their figures.

Tests that wait for a JVM or a server run beside those that compute: `python -m tests.proof`. With
names of pieces only those run. The page says of each piece at which commit it ran, or that it did not.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.checkout import ROOT

PARTS = (
    "pyspark",
    "delta-spark",
    "pyarrow",
    "fastavro",
    "sqlalchemy",
    "pyiceberg",
    "deltalake",
    "hypothesis",
)

SERVERS = ("tests/browser", "tests/jvm", "tests/live")
LAKE = "tests/spark"
HOLDING_TESTS = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
COMPUTING = sorted({f"tests/{name}" for name in HOLDING_TESTS} - {*SERVERS, LAKE})
"""All others, so that no folder of tests is forgotten."""
BOUNDS = ("", "tests/m", "tests/str", "~")
"""Part those that compute into three that take about as long."""
LAKES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / LAKE).glob("test_*.py"))
MIDDLE = f"{LAKE}/test_n"
"""Parts those on Spark in two."""
PIECES: dict[str, Sequence[str]] = {
    "servers": SERVERS,
    "lake-1": [path for path in LAKES if path < MIDDLE],
    "lake-2": [path for path in LAKES if path >= MIDDLE],
    **{
        f"computing-{number}": [path for path in COMPUTING if first <= path < end]
        for number, (first, end) in enumerate(pairwise(BOUNDS), 1)
    },
}
FIGURES = "SCHEMAMAN_PROOF_FIGURES"
"""Names the file for the figures of a piece."""


@dataclass(slots=True)
class Figures:
    """What tests counted or measured, in the order in which they told it."""

    began: float = field(default_factory=time.monotonic)
    lines: list[tuple[str, str]] = field(default_factory=list)

    def add(self, what: str, value: object) -> None:
        """One line of the table."""
        self.lines.append((what, str(value)))

    def save(self, path: Path, tests: int) -> None:
        """Write down what a piece told."""
        minutes = (time.monotonic() - self.began) / 60
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"tests": tests, "minutes": minutes, "commit": _commit(), "lines": self.lines}
        path.write_text(json.dumps(told))


def prove(names: Sequence[str] = ()) -> int:
    """Run the pieces of these names, or all; if none failed, write the page anew; the exit code.

    A piece that did not run now is told as it ran last.
    """
    chosen = {name: PIECES[name] for name in names or PIECES}
    for name in chosen:
        _place(name, "json").unlink(missing_ok=True)
    runs = {name: _started(name, arguments) for name, arguments in chosen.items()}
    codes = {name: run.wait() for name, run in runs.items()}
    for name, code in codes.items():
        lines = _place(name, "txt").read_text(encoding="utf-8", errors="replace").splitlines()
        told = lines[-1:] if code == 0 else lines[-60:]
        sys.stdout.write("\n".join((f"{name}: exit {code}", *told, "")))
    if any(codes.values()):
        return 1
    saved = {name: place for name in PIECES if (place := _place(name, "json")).exists()}
    write({name: json.loads(place.read_text()) for name, place in saved.items()})
    return 0


def write(pieces: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the page out of what the pieces told."""
    rows = [(f"tests, piece {name}", _told(pieces.get(name))) for name in PIECES]
    rows += [line for piece in pieces.values() for line in piece["lines"]] + _machine()
    table = "\n".join(f"| {what} | {value} |" for what, value in rows)
    (ROOT / "docs" / "proof.md").write_text(
        "# Proof\n\n`make proof` runs every test at full counts and writes this page. The test that adds\n"
        "a line defines what it counts. Times are of one machine, and prove nothing.\n\n"
        f"| what | figure |\n|---|---|\n{table}\n",
        encoding="utf-8",
    )


def _told(piece: Mapping[str, Any] | None) -> str:
    if piece is None:
        return "not run"
    return f"{piece['tests']}, none failed, {piece['minutes']:.1f} minutes, commit {piece['commit']}"


def _started(name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    place = _place(name, "txt")
    place.parent.mkdir(parents=True, exist_ok=True)
    told = {"SCHEMAMAN_PROOF": "1", FIGURES: str(_place(name, "json"))}
    sys.stderr.write(f"{name}: see {place.relative_to(ROOT)}\n")
    with place.open("wb") as output:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **told}, stdout=output, stderr=output)


def _place(name: str, kind: str) -> Path:
    return ROOT / "build" / "proof" / f"{name}.{kind}"


def _commit() -> str:
    described = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "without a checkout"


def _machine() -> list[tuple[str, str]]:
    java = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=False
    ).stderr.splitlines()
    return [
        ("day", datetime.now(UTC).date().isoformat()),
        ("Python", platform.python_version()),
        ("Java", java[0] if java else "none"),
        *((part, found) for part in PARTS if (found := _version(part))),
    ]


def _version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(prove(sys.argv[1:]))
