"""What speaks against a version at a place: its incarnation ended, or a second witness says otherwise."""

from __future__ import annotations

from collections.abc import Callable

from schemaman.certainty import RankOf
from schemaman.evidence import Mark, Rank
from schemaman.notices import marks_of
from schemaman.versions import OTHER_NULLS, SchemaVersion, TableEvent, TableHistory


def ending(history: TableHistory, version: SchemaVersion, reached: Callable[[Mark], bool]) -> str | None:
    """What is told last, up to a place, of the end of a version's incarnation; None if it had not ended.

    `reached` tells whether a mark stands before that place. Where a table stands again of which no record has
    shown a structure yet, nothing is told to be gone.
    """
    told = [e for e in history.events if _behind(version, e) and reached(e.at)]
    if not told:
        return None
    if told[-1].kind != "created":
        return f"the table was {told[-1].kind} by then"
    ended = next((e.kind for e in reversed(told) if e.kind != "created"), "dropped")
    return f"the table was {ended} and another one stood under its name by then, which no record shows there"


def _behind(version: SchemaVersion, event: TableEvent) -> bool:
    """Whether an event is the end of the version's incarnation, or of a later one."""
    if event.kind == "truncated":
        return False
    lives = event.incarnation - version.incarnation
    return lives > 0 or (lives == 0 and event.kind != "created")


def contradicted(history: TableHistory, version: SchemaVersion, rank: RankOf, wanted: Rank) -> str | None:
    """What the connector's own schema history said otherwise of a version, if no record showed it since."""
    seen = [found for mark in marks_of(version) if (found := rank(mark)) is not None and found <= wanted]
    for told in history.disagreements:
        if told.kind == OTHER_NULLS and version.number in told.versions:
            ranks = [found for mark in told.marks if (found := rank(mark)) is not None and found <= wanted]
            if ranks and max(ranks) > max(seen, default=()):
                return told.message
    return None
