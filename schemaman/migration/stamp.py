"""What a target table says of itself once a plan has gone over it.

Law: it speaks of the names that it has, so a plan that leaves some as they are leaves what is said of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from schemaman.migration.plan import Source
from schemaman.migration.projection.column_names import Spellings, as_json, names_told
from schemaman.migration.projection.project import Projection
from schemaman.migration.properties.displaced_columns import Retired, retired, retired_before, retired_text
from schemaman.migration.properties.names import (
    BEGAN_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    NAMES_PROPERTY,
    RETIRED_PROPERTY,
    SOURCE_PROPERTY,
    VERSION_PROPERTY,
)
from schemaman.migration.properties.stamped_version import began_text, stamped
from schemaman.migration.step_order import formerly
from schemaman.migration.target import Live
from schemaman.model.schema import Path

STAMP = frozenset({VERSION_PROPERTY, BEGAN_PROPERTY})
"""Table properties: which version of its source a table follows, and which of several of one shape."""
_NOBODY = Retired("")


def stamp(
    source: Source,
    told: Projection,
    now: Live | None,
    key: Sequence[str],
    *,
    settled: bool,
    renamed: bool,
    had: Collection[str] = (),
) -> dict[str, str]:
    """The properties of a table that is `now` so; a version only when it has the names of that version.

    `settled`: it has them all, `renamed`: its columns have those that the projection wants; `had` are the
    names that it had before the plan.
    """
    said = {SOURCE_PROPERTY: source.table, KEY_PROPERTY: json.dumps(key, ensure_ascii=False)}
    version = {VERSION_PROPERTY: source.id, BEGAN_PROPERTY: began_text(source.began)}
    moved = retired_before(now) if now else {}
    # What is said of a column that was dropped would be said of the next one of its name.
    stay = {name for name in told.wanted.names if name in had or moved.get(name, _NOBODY).was != name}
    left = {name: each for name, each in moved.items() if name in stay}
    left |= outlived(source, told, now) if now and settled else {}
    stale = {RETIRED_PROPERTY: retired_text(left)} if left != moved else {}
    properties = {**told.properties}
    if now is not None and not settled:
        properties |= _kept(told, renamed)
        properties |= _names(told, now, had, renamed)
    return said | stale | properties | (version if settled else {})


def outlived(source: Source, told: Projection, now: Live) -> dict[str, Retired]:
    """Columns that left and stay, and whose names may have meant others since the version of the stamp."""
    standing = stamped(source, now)
    if standing is None:
        return {}
    past = source.past[standing]
    before = Spellings(names_told(now), (each.names for each in source.past[: standing + 1]))
    since = {name.lower() for each in source.past[standing + 1 :] for name in each.names}
    kept: list[str | list[str]] = json.loads(told.properties.get(KEPT_PROPERTY, "[]"))
    found = {name: before.of(name) for name in kept if isinstance(name, str)}
    return {
        name: Retired(name, column, past.id, began_text(past.began))
        for name, column in found.items()
        if column is not None and column.lower() in since and name not in retired(now)
    }


def _names(told: Projection, now: Live, had: Collection[str], renamed: bool) -> dict[str, str]:
    """What columns were called stays told while the version does; new is what is said of new names."""
    if NAMES_PROPERTY not in told.properties:
        return {}
    new: Mapping[str, str] = json.loads(told.properties[NAMES_PROPERTY])
    stayed = set(had) - (set(told.renames.values()) if renamed else set())
    kept = {lake: there for lake, there in names_told(now).items() if lake in stayed}
    fresh = {lake: there for lake, there in new.items() if lake not in stayed}
    return {NAMES_PROPERTY: as_json(kept | fresh)}


def _kept(told: Projection, renamed: bool) -> dict[str, str]:
    """What the table keeps lies in members, and maybe in columns, that still have their old names."""
    if KEPT_PROPERTY not in told.properties:
        return {}
    was = {(*path[:-1], new): path[-1] for path, new in told.members.items()}
    was |= {} if renamed else {(new,): old for old, new in told.renames.items()}
    kept: list[str | list[str]] = json.loads(told.properties[KEPT_PROPERTY])
    paths: list[Path] = [(each,) if isinstance(each, str) else tuple(each) for each in kept]
    here = (formerly(was, path) for path in paths)
    return {KEPT_PROPERTY: as_json([path[0] if len(path) == 1 else list(path) for path in here])}
