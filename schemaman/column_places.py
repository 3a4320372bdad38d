"""Which life and which columns of its source a live table holds, and where, as its own stamps tell.

A name alone does not: a column that left may have had the name that another one has now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.lake_names import known_as, names_told
from schemaman.plan import BEGAN_PROPERTY, VERSION_PROPERTY, Live
from schemaman.retired_columns import Retired, retired
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


@dataclass(frozen=True, slots=True)
class Places:
    """Where the columns of the newest life are in a live table, by their ids; no two have one place.

    `unclear` are names of the source, in small letters, of which nothing tells what the table's columns are
    that have them.
    """

    names: Mapping[int, str]
    unclear: frozenset[str] = frozenset()


def places(live: Live, history: TableHistory) -> Places:
    """Where each column of a source is, as the table's stamp tells: by what it was then, never by name alone.

    `live` is the table without the columns that are not the source's.
    """
    newest = {c.id: c.name.lower() for c in history.latest.schema.columns}
    stamp = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    then = _up_to(history, *stamp)
    told, away = names_told(live), retired(live)
    found: dict[int, str] = {}
    unclear: set[str] = set()
    for lake in live.schema.names:
        there = told.get(lake, lake).lower()
        entry = away.get(lake)
        id = _retired_id(entry, history) if entry else _held(lake, told, then, life[len(then) :])
        if id is None:
            unclear.add(there)
        elif id not in found or newest.get(id) == there:
            found[id] = lake
    return Places(found, frozenset(unclear))


def _held(
    lake: str, told: Mapping[str, str], then: Sequence[SchemaVersion], later: Sequence[SchemaVersion]
) -> int | None:
    """Which column of the source a column of a live table holds, by its id; None if nothing tells.

    `then` are the versions up to that of the stamp: the last column of its name is it. One that is younger
    than the stamp is the only one that has had its name since.
    """
    found = _last_of(lake, told, then or later)
    if found is not None or not then:
        return found
    ids = {_last_of(lake, told, [v]) for v in later} - {None}
    return ids.pop() if len(ids) == 1 else None


def _last_of(lake: str, told: Mapping[str, str], versions: Sequence[SchemaVersion]) -> int | None:
    """The last column of these versions, oldest first, that the source called as the table says."""
    name = known_as(lake, told, [v.schema.names for v in versions])
    columns = (v.schema.column(name) for v in reversed(versions) if name is not None)
    return next((c.id for c in columns if c is not None), None)


def _retired_id(entry: Retired, history: TableHistory) -> int | None:
    """Which column one is whose name does not tell it."""
    versions = _up_to(history, entry.version, entry.began) if entry.column else ()
    return _last_of(entry.column, {}, versions)


def _up_to(history: TableHistory, id: str | None, began: str | None) -> Sequence[SchemaVersion]:
    """The versions of the newest incarnation up to the one of this id that began there, oldest first."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    standing = standing_at(source_of(history).past, id, began)
    return () if standing is None else life[: standing + 1]
