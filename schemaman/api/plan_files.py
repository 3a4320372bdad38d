"""The files of plans in a folder, and their names.

Law: the plan of a lake table always has the same file name, and no two tables share one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schemaman.api.files import write_text
from schemaman.migration.plan import Phase, Plan
from schemaman.migration.plan_file import to_sql, to_text


def plan_file(folder: Path, target: str, table: str, phase: Phase | None = None) -> Path:
    """The file of the plan for a lake table in a folder, or of one phase of it."""
    place = f"{target}.{table}"
    name = "".join(ch if ch.isalnum() or ch in "-_." else "_" for ch in place)
    # The name of a target may hold a dot, and then end where the table of another target begins.
    unique = f"{target}\0{table}" if "." in target else place
    suffix = "" if name == unique else f"-{hashlib.sha256(unique.encode()).hexdigest()[:8]}"
    part = "" if phase is None else f".{phase.number}-{phase.name}"
    return folder / f"{name}{suffix}{part}.plan.json"


def write_plan(file: Path, plan: Plan) -> None:
    """The plan file, and beside it what people read. Raises `CouldNotDo`."""
    write_text(file, to_text(plan))
    write_text(file.with_suffix(".sql"), to_sql(plan))
