"""How the incarnation of a version ended, and whether another table stood under its name since."""

from __future__ import annotations

from collections.abc import Callable

from schemaman.evidence import Mark
from schemaman.versions import SchemaVersion, TableEvent, TableHistory


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
