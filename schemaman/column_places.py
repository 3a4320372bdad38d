"""Which life and which columns of its source a live table holds, and where, as its own stamps tell.

A name alone does not: a column that left may have had the name that another one has now.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.plan import BEGAN_PROPERTY, VERSION_PROPERTY, Live
from schemaman.retired_columns import retired
from schemaman.sources import source_of
from schemaman.stamp_meaning import began_text, standing_at
from schemaman.versions import SchemaVersion, TableHistory


def life_of(live: Live, history: TableHistory) -> int | None:
    """The incarnation of the source whose rows a lake table holds, as its stamp says; None if it does not."""
    stamp, began = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    if stamp is None:
        return None
    source, last = source_of(history), history.latest.incarnation
    mine = zip([v.incarnation for v in history.versions if v.incarnation == last], source.past, strict=True)
    ended = zip([v.incarnation for v in history.versions if v.incarnation != last], source.ended, strict=True)
    pasts = [*mine, *ended]
    there = [(life, began_text(past.began) == began) for life, past in pasts if past.answers_to(stamp)]
    exact = {life for life, same in there if same} or {life for life, _ in there}
    return exact.pop() if len(exact) == 1 else None


def meant(live: Live, history: TableHistory) -> dict[str, int | None]:
    """What each name meant when the table got its stamp, in small letters: the id of the column.

    That is the last column of this name up to then; empty without a stamp that the history knows.
    """
    stamp = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    found: dict[str, int | None] = {}
    for version in _up_to(history, *stamp):
        for column in version.schema.columns:
            found.setdefault(column.name.lower(), column.id)
    return found


def moved(live: Live, history: TableHistory) -> dict[int, str]:
    """Where the columns are that got out of the way of others of their names: by their ids."""
    found: dict[int, str] = {}
    for name, entry in retired(live).items():
        versions = _up_to(history, entry.version, entry.began) if entry.column else ()
        columns = (v.schema.column(entry.column) for v in versions)
        column = next((c for c in columns if c is not None), None)
        if column is not None and column.id is not None:
            found[column.id] = name
    return found


def _up_to(history: TableHistory, id: str | None, began: str | None) -> Sequence[SchemaVersion]:
    """The versions of the newest incarnation up to the one of this id that began there, newest first."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    standing = standing_at(source_of(history).past, id, began)
    return () if standing is None else life[standing::-1]
