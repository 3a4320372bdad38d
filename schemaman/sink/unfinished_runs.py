"""Finds the plan of a run that was killed between two steps.

Law: a kill loses no step of a plan, such as Iceberg's identifier fields of a new table, and what the plan did
before and after the kill is one plan, which a rollback takes back as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from schemaman.errors import PartlyApplied, StalePlan, StatementFailed
from schemaman.migration.plan import PhaseName, Plan
from schemaman.migration.plan_file import from_text
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target_id import target_id
from schemaman.store.log import MigrationEntry

ReadLines = Callable[[str], Sequence[MigrationEntry]]
"""Reads the journal of one target, oldest line first."""

_RESUMED_PHASES: frozenset[PhaseName] = frozenset({
    "split", "gather", "unite", "take-rows", "link", "rekey", "fill-successor",
})  # fmt: skip
"""The phases that the sink and `sync` apply without a person, however large the table is."""


def finish_killed_runs(
    tables: Iterable[LakeTableAt],
    format: str,
    store: str,
    read_lines: ReadLines,
    apply: Callable[[Plan], tuple[str, ...]],
) -> tuple[str, ...]:
    """Take the remaining steps of killed runs of these tables; return the statements that were run.

    A plan that its table no longer fits, or that fails, is left: the table is planned anew. So is a table
    that belongs to another store than `store`. `apply` gives the statements of a plan that it ran.
    """
    steps: tuple[str, ...] = ()
    for each in tables:
        plan = find_unfinished_plan(read_lines(target_id(format, each.address)))
        if plan is not None and read_record(each.lake.properties).store in ("", store):
            with suppress(StalePlan, StatementFailed, PartlyApplied):
                steps += apply(plan)
    return steps


def find_unfinished_plan(lines: Sequence[MigrationEntry]) -> Plan | None:
    """Find the plan of the newest run of a lake table, if it sent a statement and neither ended nor failed.

    `lines` are those of the table in the journal. Left out are rollbacks, moves, which are of another table,
    and rewrites of columns: each phase of a rewrite is planned anew by what the table shows, within the
    bounds of then.
    """
    sent = False
    for line in (line for line in reversed(lines) if line.plan):
        if line.state in ("finished", "failed"):
            return None
        sent = sent or line.state == "intent"
        if line.state == "started":
            plan = from_text(line.statement) if sent else None
            return plan if plan is not None and _is_resumed(plan) else None
    return None


def _is_resumed(plan: Plan) -> bool:
    kinds = {step.kind for step in plan.steps}
    is_brief = plan.phase is None or plan.phase.name in _RESUMED_PHASES
    return "create-table" in kinds or (is_brief and "rename-table" not in kinds)
