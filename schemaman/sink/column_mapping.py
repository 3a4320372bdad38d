"""Find the incarnation and the columns of its source that a lake table holds, by its own version stamp.

A name alone does not decide: a dropped column may have had the name that another column has now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.projection.column_names import FormerSpellings, read_names
from schemaman.migration.properties.displaced_columns import DisplacedColumn, read_displaced
from schemaman.migration.properties.names import BEGAN_PROPERTY, VERSION_PROPERTY
from schemaman.migration.properties.stamped_version import find_version, format_began
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable


def find_incarnation(live: LakeTable, history: TableHistory) -> int | None:
    """The incarnation of the source whose rows a lake table holds, by its version stamp; None if unknown."""
    stamp, began = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    if stamp is None:
        return None
    source, last = migration_source(history), history.latest.incarnation
    mine = zip([v.incarnation for v in history.versions if v.incarnation == last], source.past, strict=True)
    ended = zip([v.incarnation for v in history.versions if v.incarnation != last], source.ended, strict=True)
    pasts = [*mine, *ended]
    there = [
        (incarnation, format_began(previous.began) == began)
        for incarnation, previous in pasts
        if previous.has_id(stamp)
    ]
    exact = {incarnation for incarnation, same in there if same} or {incarnation for incarnation, _ in there}
    return exact.pop() if len(exact) == 1 else None


@dataclass(frozen=True, slots=True)
class ColumnPlacement:
    """Which column of a lake table holds each column of the newest incarnation, by ids; no two share one.

    `unclear` are names of the source, in lower case, whose column in the table is unknown, or is not the one
    that it should be.
    """

    names: Mapping[int, str]
    unclear: frozenset[str] = frozenset()


def place_columns(live: LakeTable, history: TableHistory) -> ColumnPlacement:
    """Which column of the table holds each column of the source: by the version stamp, never by name alone.

    `live` is the table without the columns that are not the source's.
    """
    newest = {c.id: c.name.lower() for c in history.latest.schema.columns}
    names, displaced = read_names(live), read_displaced(live)
    versions = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = list_versions_up_to_stamp(live, history)
    up_to_stamp = _ColumnHolder(names, stamped or versions)
    since = [_ColumnHolder(names, [version]) for version in versions[len(stamped) :]] if stamped else []
    found: dict[int, str] = {}
    unclear: set[str] = set()
    for lake_name in live.schema.names:
        source_name = names.get(lake_name, lake_name).lower()
        entry = displaced.get(lake_name)
        id = (
            _find_displaced_column(entry, history)
            if entry
            else _find_held_column(lake_name, up_to_stamp, since)
        )
        if id is None:
            unclear.add(source_name)
        elif id not in found or newest.get(id) == source_name:
            found[id] = lake_name
    source_names = {names.get(lake_name, lake_name) for lake_name in live.schema.names}
    lost = {
        c.name.lower() for c in history.latest.schema.columns if c.id not in found and c.name in source_names
    }
    return ColumnPlacement(found, frozenset(unclear | lost))


class _ColumnHolder:
    """The columns that a table holds, by names in some versions, oldest first."""

    def __init__(self, names: Mapping[str, str], versions: Sequence[SchemaVersion]) -> None:
        self.spellings = FormerSpellings(names, (v.schema.names for v in versions))
        self.ids = {c.name: c.id for v in versions for c in v.schema.columns}

    def find_id(self, lake: str) -> int | None:
        """The last column of these versions that has the source name which the table records."""
        name = self.spellings.find_name(lake)
        return None if name is None else self.ids[name]


def _find_held_column(lake: str, before: _ColumnHolder, since: Sequence[_ColumnHolder]) -> int | None:
    """The id of the source column that a column of a lake table holds; None if unknown.

    `before` has the versions up to the stamped one: the last column of that name is it. A younger column
    counts only if no other one has had its name since.
    """
    found = before.find_id(lake)
    if found is not None:
        return found
    ids = {each.find_id(lake) for each in since} - {None}
    return ids.pop() if len(ids) == 1 else None


def _find_displaced_column(entry: DisplacedColumn, history: TableHistory) -> int | None:
    """The id of a column whose name in the table is not its own."""
    if not entry.column:
        return None
    return _ColumnHolder({}, _list_versions_up_to(history, entry.version, entry.began)).find_id(entry.column)


def list_versions_up_to_stamp(live: LakeTable, history: TableHistory) -> Sequence[SchemaVersion]:
    """The versions of the newest incarnation up to that of the table's version stamp, oldest first.

    Empty where the table has no stamp, or no version matches it.
    """
    return _list_versions_up_to(
        history, live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    )


def _list_versions_up_to(history: TableHistory, id: str | None, began: str | None) -> Sequence[SchemaVersion]:
    """The versions of the newest incarnation up to the one of this id that began there, oldest first."""
    versions = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    last = find_version(migration_source(history).past, id, began)
    return () if last is None else versions[: last + 1]
