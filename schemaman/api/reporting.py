"""Builds the report of histories, or of what changed since the accepted state and what the lake does."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.api.checking import check_tables, select_baseline
from schemaman.api.judging import build_judge
from schemaman.api.readership import RegistryRelations, build_readership
from schemaman.api.target_tables import cut_history
from schemaman.api.unread_records import find_unread, group_rejects
from schemaman.api.workspace import Workspace
from schemaman.compat.gate import list_steps
from schemaman.compat.snapshots import Snapshot
from schemaman.errors import SchemamanError
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.expected_plan import make_expected_plan
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import to_document
from schemaman.migration.source import migration_source
from schemaman.migration.target import TARGETS
from schemaman.registry import Registry
from schemaman.report.document import Report
from schemaman.report.views.overview import build_report
from schemaman.report.views.since_accepted import ACCEPTED, ChangedTable, ChangesSinceAccepted
from schemaman.report.views.table_changes import build_chapter, keep_shared_once


def build_whole_report(
    workspace: Workspace, registry: Registry, tables: Sequence[str], plans: Sequence[Plan], full: bool = False
) -> Report:
    """Build the report of the named tables, or of all: their histories, and records that could not be read.

    Raises:
        NoHistory: a table has no history.
    """
    judge = build_judge(workspace, build_readership(workspace, RegistryRelations(workspace, registry)))
    histories = registry.select(*tables)
    unread = find_unread(registry, histories, group_rejects(registry))
    chapters = keep_shared_once(
        build_chapter(
            h, judge, (p for p in plans if p.source.table == str(h.table)), unread=unread.get(h.table, ())
        )
        for h in histories
    )
    documents = {plan.table: to_document(plan) for plan in plans}
    return build_report(chapters, documents, full=full or bool(tables))


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
    judge = build_judge(workspace)
    found = []
    for history in histories:
        accepted = baseline.get(history.table)
        refs = [t.new_ref for t in list_steps(history, accepted) if t.new is not None]
        plans, faults = _plan_targets(workspace, history, accepted) if refs else ((), ())
        found.append(ChangedTable(build_chapter(history, judge), tuple(refs), plans, faults))
    return ChangesSinceAccepted(result, against, tuple(found))


def _plan_targets(
    workspace: Workspace, history: TableHistory, accepted: Snapshot | None
) -> tuple[tuple[Plan, ...], tuple[str, ...]]:
    """Plan each target from the accepted version on; a target without a plan is a sentence."""
    chosen = [one for one in workspace.settings.targets.value if one.has_table(history.table)]
    if not chosen or history.has_ended:
        return (), ()
    version = None if accepted is None else _find_version(history, accepted)
    if version is None:
        return (), ("the accepted schema is not a version of the history",)
    before = cut_history(history, version)
    newer = tuple(v for v in history.versions if v.number > version.number)
    policy, table = workspace.settings.policy, str(history.table)
    plans: list[Plan] = []
    faults: list[str] = []
    for one in chosen:
        proven = policy.takes_proof(table, one.name, one.format)
        try:
            plan = make_expected_plan(
                migration_source(before, proven=proven, newer=newer),
                migration_source(history, proven=proven, newer=()),
                TARGETS.get(one.format),
                one.address(history.table),
                policy,
                one.name,
            )
        except SchemamanError as error:
            faults.append(f"target {one.name}: {error.message}")
        else:
            plans.append(plan)
    return tuple(plans), tuple(faults)


def _find_version(history: TableHistory, accepted: Snapshot) -> SchemaVersion | None:
    """Find the version of a snapshot: the one that begins there, else the last with that schema."""
    known = [v for v in history.versions if accepted.version and v.has_id(accepted.version)]
    return next((v for v in known if v.at == accepted.at), known[-1] if known else None)
