"""Finds what changed since the accepted state, and what that means for the lake tables of the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.api.checking import check_tables, select_baseline
from schemaman.api.target_tables import cut_history
from schemaman.api.workspace import Workspace
from schemaman.compat.gate import list_steps
from schemaman.compat.snapshots import Snapshot
from schemaman.history.versions import TableHistory
from schemaman.migration.expected_plan import make_expected_plan
from schemaman.migration.plan import Plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import TARGETS
from schemaman.registry import Registry
from schemaman.report.views.since_accepted import ACCEPTED, ChangedTable, ChangesSinceAccepted
from schemaman.report.views.table_changes import build_chapter


def find_changes_since(
    workspace: Workspace, registry: Registry, tables: Sequence[str], against: str
) -> ChangesSinceAccepted:
    """Find the changes of the named tables, or of all, since a baseline: `accepted`, or a REF of one table.

    Raises:
        UsageError: there is no baseline, or one baseline for several tables.
        NoHistory: a table has no history.
    """
    named = None if against == ACCEPTED else against
    result = check_tables(workspace, registry, tables, against=named)
    histories, baseline = select_baseline(workspace, registry, tables, named)
    judge = workspace.build_judge()
    found = []
    for history in histories:
        accepted = baseline.get(history.table)
        refs = [t.new_ref for t in list_steps(history, accepted) if t.new is not None]
        plans = tuple(_plan_targets(workspace, history, accepted))
        found.append(ChangedTable(build_chapter(history, judge), tuple(refs), plans))
    return ChangesSinceAccepted(result, against, tuple(found))


def _plan_targets(workspace: Workspace, history: TableHistory, accepted: Snapshot | None) -> Iterator[Plan]:
    """Plan each target from the accepted version on; none if the history does not hold that version."""
    version = next((v for v in history.versions if accepted and v.has_id(accepted.version)), None)
    if version is None or history.has_ended:
        return
    before = cut_history(history, version)
    newer = tuple(v for v in history.versions if v.number > version.number)
    policy, table = workspace.settings.policy, str(history.table)
    for one in workspace.settings.targets.value:
        if one.has_table(history.table):
            proven = policy.is_made("rename-proven", table, one.name, one.format)
            yield make_expected_plan(
                migration_source(before, proven=proven, newer=newer),
                migration_source(history, proven=proven, newer=()),
                TARGETS.get(one.format),
                one.address(history.table),
                policy,
                one.name,
            )
