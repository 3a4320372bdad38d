"""What a target table says of itself once a plan has gone over it.

Law: it speaks of the names that it has, so a plan that leaves some as they are leaves what is said of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from schemaman.migration.column_map import FormerSpellings, read_names
from schemaman.migration.foreign_columns import read_added
from schemaman.migration.plan import MigrationSource
from schemaman.migration.projection.project import Projection
from schemaman.migration.properties.displaced_columns import (
    format_displaced,
    read_displaced,
)
from schemaman.migration.properties.names import (
    ADDED_PROPERTY,
    BEGAN_PROPERTY,
    DISPLACED_PROPERTY,
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    KEY_PROPERTY,
    NAMES_PROPERTY,
    SOURCE_PROPERTY,
    VERSION_PROPERTY,
    format_paths,
    format_property,
)
from schemaman.migration.properties.stamped_version import find_stamped_version, find_version, format_began
from schemaman.migration.properties.table_record import DisplacedColumn, read_record
from schemaman.migration.step_order import find_former_path
from schemaman.migration.target import LakeTable

VERSION_STAMP = frozenset({VERSION_PROPERTY, BEGAN_PROPERTY})
"""Table properties: which version of its source a table follows, and which of several of one shape."""
_NO_COLUMN = DisplacedColumn("")


def make_stamp(
    source: MigrationSource,
    projection: Projection,
    lake: LakeTable | None,
    key: Sequence[str],
    *,
    settled: bool,
    renamed: bool,
    had: Collection[str] = (),
) -> dict[str, str]:
    """The properties of a table that is `lake` so; a version only when it has the names of that version.

    `settled`: it has them all, `renamed`: its columns have those that the projection wants; `had` are the
    names that it had before the plan.
    """
    facts = {SOURCE_PROPERTY: source.table, KEY_PROPERTY: json.dumps(key, ensure_ascii=False)}
    version = {VERSION_PROPERTY: source.id, BEGAN_PROPERTY: format_began(source.began)}
    recorded = read_record(lake.properties).displaced if lake else {}
    # What is said of a column that was dropped would be said of the next one of its name.
    stay = {
        name
        for name in projection.wanted.names
        if name in had or (entry := recorded.get(name, _NO_COLUMN)).was != name or _is_later(entry, source)
    }
    displaced = {name: each for name, each in recorded.items() if name in stay}
    displaced |= find_outlived_columns(source, projection, lake) if lake and settled else {}
    stale = {DISPLACED_PROPERTY: format_displaced(displaced)} if displaced != recorded else {}
    properties = {**projection.properties}
    if lake is not None:
        properties |= _record_foreign(projection, lake, renamed)
        properties |= _record_added(projection, lake, had, settled)
    if lake is not None and not settled:
        properties |= _rename_kept(projection, renamed)
        properties |= _merge_names(projection, lake, had, renamed)
    return facts | stale | properties | (version if settled else {})


def _is_later(entry: DisplacedColumn, source: MigrationSource) -> bool:
    """Whether a column is of a later version than those that the table follows: it comes with this plan."""
    is_known = find_version(source.past, entry.version, entry.began) is not None
    return bool(entry.column) and not is_known


def find_outlived_columns(
    source: MigrationSource, projection: Projection, lake: LakeTable
) -> dict[str, DisplacedColumn]:
    """Columns that left and stay, and whose names may have meant others since the version of the stamp."""
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        return {}
    past = source.past[stamped]
    before = FormerSpellings(read_names(lake), (each.names for each in source.past[: stamped + 1]))
    since = {name.lower() for each in source.past[stamped + 1 :] for name in each.names}
    kept = (path[0] for path in read_record(projection.properties).kept if len(path) == 1)
    found = {name: before.find_name(name) for name in kept}
    return {
        name: DisplacedColumn(name, column, past.id, format_began(past.began))
        for name, column in found.items()
        if column is not None and column.lower() in since and name not in read_displaced(lake)
    }


def _record_foreign(projection: Projection, lake: LakeTable, renamed: bool) -> dict[str, str]:
    """The columns that others fill, as the table calls them now."""
    former = {} if renamed else {new: old for old, new in projection.renames.items()}
    names = sorted(former.get(name, name) for name in projection.foreign)
    return {FOREIGN_PROPERTY: format_property(names)} if names or FOREIGN_PROPERTY in lake.properties else {}


def _record_added(
    projection: Projection, lake: LakeTable, had: Collection[str], settled: bool
) -> dict[str, str]:
    """The columns that plans added while the stamp stays that of an older version."""
    wanted = set(projection.wanted.names) - set(had)
    names = [] if settled else sorted(read_added(lake) | (wanted & set(lake.schema.names)))
    return {ADDED_PROPERTY: format_property(names)} if names or ADDED_PROPERTY in lake.properties else {}


def _merge_names(
    projection: Projection, lake: LakeTable, had: Collection[str], renamed: bool
) -> dict[str, str]:
    """What columns were called stays told while the version does; new is what is said of new names."""
    if NAMES_PROPERTY not in projection.properties:
        return {}
    new = read_record(projection.properties).names
    stayed = set(had) - (set(projection.renames.values()) if renamed else set())
    kept = {
        lake_name: source_name for lake_name, source_name in read_names(lake).items() if lake_name in stayed
    }
    fresh = {lake_name: source_name for lake_name, source_name in new.items() if lake_name not in stayed}
    return {NAMES_PROPERTY: format_property(kept | fresh)}


def _rename_kept(projection: Projection, renamed: bool) -> dict[str, str]:
    """What the table keeps lies in members, and maybe in columns, that still have their old names."""
    if KEPT_PROPERTY not in projection.properties:
        return {}
    was = {(*path[:-1], new): path[-1] for path, new in projection.field_renames.items()}
    was |= {} if renamed else {(new,): old for old, new in projection.renames.items()}
    here = (find_former_path(was, path) for path in read_record(projection.properties).kept)
    return {KEPT_PROPERTY: format_paths(here)}
