"""The gate: checks every change of tables since a baseline, under the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.api.checking_branch import find_base
from schemaman.api.references import resolve_reference
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat import gate
from schemaman.compat.gate import CheckResult
from schemaman.compat.judge import RULES, Severity
from schemaman.compat.snapshots import Snapshot, from_text, take_snapshot
from schemaman.errors import BadReference, UsageError
from schemaman.history.versions import TableHistory
from schemaman.io import git
from schemaman.model.schema import TableId
from schemaman.registry import Registry


def check_tables(
    workspace: Workspace,
    registry: Registry,
    tables: Sequence[str],
    *,
    against: str | None = None,
    level: str | None = None,
    fail_on: Severity | None = None,
) -> CheckResult:
    """Check every revision since the baseline, for the named tables or for all.

    The baseline is the REF `against`, or the snapshot files at git's merge base.

    Raises:
        UsageError: there is no baseline, or one baseline for several tables.
        NoHistory: a table has no history.
    """
    settings = workspace.settings
    found = registry.select(*tables)
    if against is None:
        baseline = _read_snapshots(workspace, found, bool(tables))
    else:
        baseline = _take_baseline(workspace, registry, found, against)
    waivers = workspace.read_waivers()
    policy = gate.GatePolicy(
        # A level alone decides about Avro; other readers count only if the settings declare them.
        settings.readers.value if level is None or settings.readers.origin != "default" else (),
        workspace.rule_overrides(),
        fail_on or settings.fail_on.value,
        level and level.upper(),
        named=bool(tables),
        waived=waivers.keys(),
    )
    return replace(gate.check(found, baseline, RULES.load_all(), policy), waivers=waivers)


def _take_baseline(
    workspace: Workspace, registry: Registry, found: Sequence[TableHistory], against: str
) -> Mapping[TableId, Snapshot]:
    """Build the baseline from a REF, for the one table that is checked."""
    if len(found) != 1:
        raise UsageError("--against needs exactly one table", hint="schemaman check TABLE --against REF")
    table = found[0].table
    resolved = resolve_reference(workspace, registry, against)
    if resolved.version is None:
        return {table: Snapshot(table, resolved.schema)}
    if resolved.table != table:
        raise BadReference(f"{against} is not a version of {table}", hint=f"--against {table}@1")
    return {table: take_snapshot(found[0], resolved.version, resolved.revision)}


def _read_snapshots(
    workspace: Workspace, found: Sequence[TableHistory], is_named: bool
) -> Mapping[TableId, Snapshot]:
    """Read the snapshot files at the merge base; only those of the found tables if tables were named."""
    folder = resolve_path(workspace.settings.snapshots)
    commit = find_base(None)
    texts = git.read_folder(commit, os.path.relpath(folder))
    if not texts:
        raise UsageError(
            f"there is no baseline: git has no snapshots in {folder} at {commit[:12]}",
            hint="schemaman snapshot writes them; commit them, or use --against orders@1",
        )
    kept = [from_text(text, f"{folder}/{name}") for name, text in texts.items() if name.endswith(".json")]
    wanted = {history.table for history in found}
    return {s.table: s for s in kept if not is_named or s.table in wanted}
