"""What a judgement of a table leaves open: two truths that fit the same records, and values that events lose.

Law: what is left open is told beside every judgement of these versions, and changes none of them.
"""

from __future__ import annotations

from schemaman.versions import Disagreement, TableHistory

KINDS = frozenset({"perhaps-altered", "perhaps-another-mode", "values-not-carried"})
"""Remarks of a history that a reader of its structures alone would never hear of."""


def left_open(history: TableHistory, first: int, last: int) -> tuple[Disagreement, ...]:
    """What is open about the versions from `first` to `last`, each thing once, at the newest of them."""
    found: dict[tuple[str, str], Disagreement] = {}
    for one in history.disagreements:
        if one.kind in KINDS and any(first <= number <= last for number in one.versions):
            found[one.kind, one.message] = one
    return tuple(found.values())
