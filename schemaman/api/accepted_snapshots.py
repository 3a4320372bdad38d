"""The snapshots in git at the merge base, which are the accepted structures of tables.

Most tables do not change between two checks. Their snapshots are compared by digest, and neither snapshot
nor history is read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from schemaman.api.merge_base import find_base
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import Workspace
from schemaman.compat.snapshots import SUFFIX, Snapshot, build_file_name, from_text
from schemaman.errors import UsageError
from schemaman.io import git
from schemaman.model.schema import TableId
from schemaman.store.snapshot_text import digest_text
from schemaman.store.summary_json import StoredSummary

_FEW = 20
"""Each file that is read alone costs one process of git."""

Baseline = Mapping[TableId, Snapshot]


def read_snapshot_texts(workspace: Workspace) -> Mapping[str, str]:
    """Read the texts of all snapshots at the merge base, by path in their folder.

    Raises:
        UsageError: there are none.
    """
    folder, commit = resolve_path(workspace.settings.snapshots), find_base(None)
    texts = git.read_folder(commit, os.path.relpath(folder))
    if not texts:
        raise UsageError(
            f"there is no baseline: git has no snapshots in {folder} at {commit[:12]}",
            hint="`schemaman snapshot` writes them; commit them, or name the baseline of one table: orders@1",
        )
    return {name: text for name, text in texts.items() if name.endswith(SUFFIX)}


def read_named_snapshots(workspace: Workspace, tables: Sequence[TableId]) -> Baseline:
    """Read the snapshots of some tables at the merge base; a table may have none. Raises `UsageError`."""
    found = _read_files(workspace, tables) if len(tables) <= _FEW else {}
    if found.keys() == {*tables}:
        return found
    accepted = parse_snapshots(workspace, read_snapshot_texts(workspace))
    return {table: snapshot for table, snapshot in accepted.items() if table in tables}


def parse_snapshots(
    workspace: Workspace, texts: Mapping[str, str], without: Collection[TableId] = ()
) -> Baseline:
    """Parse the texts of snapshots, without the files of some tables. Raises `BadConfiguration`."""
    folder = resolve_path(workspace.settings.snapshots)
    omitted = set(map(build_file_name, without))
    kept = (from_text(text, f"{folder}/{name}") for name, text in texts.items() if name not in omitted)
    return {snapshot.table: snapshot for snapshot in kept}


def find_unchanged(summaries: Iterable[StoredSummary], texts: Mapping[str, str]) -> frozenset[TableId]:
    """Find the tables whose newest version has the accepted snapshot, with nothing open about it."""
    return frozenset(
        stored.summary.table
        for stored in summaries
        if stored.summary.is_settled
        and (text := texts.get(build_file_name(stored.summary.table))) is not None
        and digest_text(text) == stored.snapshot_digest
    )


def _read_files(workspace: Workspace, tables: Iterable[TableId]) -> Baseline:
    """Read the files that have the names of tables; without those that are missing or of other tables."""
    folder, commit = resolve_path(workspace.settings.snapshots), find_base(None)
    found: dict[TableId, Snapshot] = {}
    for table in tables:
        name = build_file_name(table)
        text = git.find_file(commit, f"{os.path.relpath(folder)}/{name}")
        snapshot = None if text is None else from_text(text, f"{folder}/{name}")
        if snapshot is not None and snapshot.table == table:
            found[table] = snapshot
    return found
