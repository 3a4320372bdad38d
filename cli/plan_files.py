"""Where plan files lie, and what they are called.

Law: whoever writes plans into a folder calls that of a lake table the same, and no two tables share a file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schemaman.migration.plan import Phase, Plan
from schemaman.migration.plan_file import to_sql, to_text
from schemaman_cli.wiring import write_file


def plan_file(folder: Path, target: str, table: str, phase: Phase | None = None) -> Path:
    """The file of the plan for a lake table in a folder, or of one phase of it."""
    place = f"{target}.{table}"
    name = "".join(ch if ch.isalnum() or ch in "-_." else "_" for ch in place)
    # A target with a dot in its name ends where another one's table may.
    unique = f"{target}\0{table}" if "." in target else place
    told_apart = "" if name == unique else f"-{hashlib.sha256(unique.encode()).hexdigest()[:8]}"
    part = "" if phase is None else f".{phase.number}-{phase.name}"
    return folder / f"{name}{told_apart}{part}.plan.json"


def write_plan(file: Path, plan: Plan) -> None:
    """The plan file, and beside it what people read. Raises `CouldNotDo`."""
    write_file(file, to_text(plan))
    write_file(file.with_suffix(".sql"), to_sql(plan))
