"""Finds the plan of a run that made a lake table and stopped before its last step.

Law: a kill loses no step that follows the making of a table, such as Iceberg's identifier fields.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text
from schemaman.store.log import MigrationEntry


def find_unfinished_creation(lines: Sequence[MigrationEntry]) -> Plan | None:
    """Find the plan of the newest run of a lake table, if it made the table and has not finished.

    `lines` are those of the table in the journal.
    """
    ends = (line for line in reversed(lines) if line.plan and line.state in ("started", "finished"))
    newest = next(ends, None)
    if newest is None or newest.state == "finished":
        return None
    plan = from_text(newest.statement)
    return plan if any(step.kind == "create-table" for step in plan.steps) else None
