"""The figures of a run at full counts, as `docs/proof.md` shows them."""

from __future__ import annotations

import platform
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from tests.house import ROOT

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


@dataclass(slots=True)
class Figures:
    """What tests counted or measured, in the order in which they told it."""

    began: float = field(default_factory=time.monotonic)
    lines: list[tuple[str, str]] = field(default_factory=list)

    def add(self, what: str, value: object) -> None:
        """One line of the table."""
        self.lines.append((what, str(value)))

    def write(self, tests: int) -> None:
        """Write the page anew."""
        minutes = (time.monotonic() - self.began) / 60
        rows = [("tests", f"{tests}, none failed, {minutes:.1f} minutes"), *self.lines, *_machine()]
        table = "\n".join(f"| {what} | {value} |" for what, value in rows)
        (ROOT / "docs" / "proof.md").write_text(
            "# Proof\n\nWritten by `make proof`: every test at full counts. What a line counts stands in\n"
            "the test of that name; absolute times are of one machine and prove nothing.\n\n"
            f"| what | figure |\n|---|---|\n{table}\n",
            encoding="utf-8",
        )


def _machine() -> list[tuple[str, str]]:
    java = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=False
    ).stderr.splitlines()
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return [
        ("commit", commit or "no checkout"),
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
