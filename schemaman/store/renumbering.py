"""The numbers of versions over time: what late evidence does to those that were told before.

Law: a version that stays keeps its id; who noted a number finds in the log which one it is now.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from schemaman.history.versions import SchemaVersion
from schemaman.model.schema import TableId
from schemaman.store.log import Moved, Renumbered


def renumbered(table: TableId, before: Sequence[str], after: Sequence[str]) -> Renumbered | None:
    """What a new history does to the numbers of versions, given all ids in order; None if nothing."""
    told = moved(before, after)
    return Renumbered(table, told) if told else None


def ids_now(before: Sequence[str], versions: Iterable[SchemaVersion]) -> tuple[str, ...]:
    """The ids of versions in order, as they were `before`: a late witness only refines a version."""
    known = set(before)
    return tuple(
        next((id for id in (version.id, *version.known_as) if id in known), version.id)
        for version in versions
    )


def moved(before: Sequence[str], after: Sequence[str]) -> tuple[Moved, ...]:
    """The versions that had another number before, or are none any more, by the ids of all versions in order.

    A history that only grew moved nothing.
    """
    if list(after[: len(before)]) == list(before):
        return ()
    found: list[Moved] = []
    match = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for word, i, i_end, j, _ in match.get_opcodes():
        if word == "equal":
            found += (Moved(before[n], n + 1, n + 1 + j - i) for n in range(i, i_end) if i != j)
        else:
            found += (Moved(before[n], n + 1, None) for n in range(i, i_end))
    return tuple(found)
