"""Names and writes the plan files of a folder.

Law: the plan of a lake table always has the same file name, and two tables never share one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from schemaman.api.files import write_text
from schemaman.migration.plan import Phase, Plan
from schemaman.migration.plan_file import to_sql, to_text


def plan_file(folder: Path, target: str, table: str, phase: Phase | None = None) -> Path:
    """Return the path of the plan file for a lake table, or for one phase of its recipe."""
    title = f"{target}.{table}"
    name = "".join(ch if ch.isalnum() or ch in "-_." else "_" for ch in title)
    # A dot in the target's name would be ambiguous: `a.b` and `c` join like `a` and `b.c`.
    unique = f"{target}\0{table}" if "." in target else title
    suffix = "" if name == unique else f"-{hashlib.sha256(unique.encode()).hexdigest()[:8]}"
    part = "" if phase is None else f".{phase.number}-{phase.name}"
    return folder / f"{name}{suffix}{part}.plan.json"


def write_plan(file: Path, plan: Plan) -> None:
    """Write the plan file, and its statements to an SQL file beside it. Raises `CouldNotDo`."""
    write_text(file, to_text(plan))
    write_text(file.with_suffix(".sql"), to_sql(plan))
