"""Finds the changes of version numbers that late evidence causes.

Law: a version that stays keeps its id; the log maps an earlier number to the current one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from schemaman.history.versions import SchemaVersion
from schemaman.model.schema import TableId
from schemaman.store.log import RenumberingEntry, VersionMove


def renumber_versions(table: TableId, before: Sequence[str], after: Sequence[str]) -> RenumberingEntry | None:
    """Find the changes of version numbers in a new history, given all ids in order; None without changes."""
    moves = find_moves(before, after)
    return RenumberingEntry(table, moves) if moves else None


def list_current_ids(before: Sequence[str], versions: Iterable[SchemaVersion]) -> tuple[str, ...]:
    """The ids of versions in order, with their ids `before`: a late declaration only refines a version."""
    known = set(before)
    return tuple(
        next((id for id in (version.id, *version.previous_ids) if id in known), version.id)
        for version in versions
    )


def find_moves(before: Sequence[str], after: Sequence[str]) -> tuple[VersionMove, ...]:
    """The versions that had another number before, or are none any more, by the ids of all versions in order.

    A history that only grew moved nothing.
    """
    if list(after[: len(before)]) == list(before):
        return ()
    found: list[VersionMove] = []
    match = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for word, i, i_end, j, _ in match.get_opcodes():
        if word == "equal":
            found += (VersionMove(before[n], n + 1, n + 1 + j - i) for n in range(i, i_end) if i != j)
        else:
            found += (VersionMove(before[n], n + 1, None) for n in range(i, i_end))
    return tuple(found)
