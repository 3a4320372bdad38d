"""Parts of split columns whose name the source gives to another column: they give it up.

Law: a table records both names of such a part before it gets the new one, and forgets the old one afterwards.
So a run that was killed in between shows what is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schemaman.history.versions import TableHistory
from schemaman.migration.column_map import read_names
from schemaman.migration.projection.column_names import spell_name
from schemaman.migration.properties.displaced_columns import format_displaced
from schemaman.migration.properties.names import (
    ADDED_PROPERTY,
    DISPLACED_PROPERTY,
    KEPT_PROPERTY,
    SPLIT_PROPERTY,
    UNITED_PROPERTY,
    format_paths,
    format_property,
)
from schemaman.migration.properties.table_record import SplitColumn, format_split, read_record
from schemaman.migration.split_columns import find_free_name, find_part_ids
from schemaman.migration.target import LakeTable
from schemaman.migration.type_mapping import Names


@dataclass(frozen=True, slots=True)
class PartRenames:
    """The parts to rename, old name → new one; `left` are those whose old name is only recorded any more."""

    renames: Mapping[str, str]
    left: Mapping[str, str]


def find_part_renames(history: TableHistory, lake: LakeTable, style: Names) -> PartRenames:
    """Find the parts of a table whose name the source gives to another column.

    Every version of the newest incarnation counts, since rows of each may come. `history` is not split,
    `style` is how the lake spells names.
    """
    parts, there = read_record(lake.properties).split, {*lake.schema.names}
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    recorded = {source_name.lower() for source_name in read_names(lake).values()}
    others: dict[str, set[int | None]] = {}
    for column in (c for version in incarnation for c in version.schema.columns if parts):
        if column.name.lower() not in recorded:
            others.setdefault(spell_name(column.name, style).lower(), set()).add(column.id)
    ids = find_part_ids(history, parts)
    twins = {name: _find_twin(parts, name, there) for name in parts}
    taken = [*lake.schema.names, *parts, *others]
    renames: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in parts:
        if name in there and others.get(name.lower(), set()) - {ids.get(name)}:
            held = _find_held_twin(parts, name, there)
            if held:  # a job that slept recorded both names again, once another one had renamed the part
                left[name] = held
                continue
            plain = spell_name(parts[name].column, style)
            renames[name] = twins[name] or find_free_name(plain, (*taken, *renames.values()))
    for name in sorted(parts.keys() - there - set(renames.values())):
        if held := _find_held_twin(parts, name, there):
            left[name] = held
    return PartRenames(renames, left)


def record_both_names(lake: LakeTable, renames: Mapping[str, str]) -> dict[str, str]:
    """The property of a table by which each of these parts has its old name and its new one."""
    parts = read_record(lake.properties).split
    return {SPLIT_PROPERTY: format_split({**parts, **{new: parts[old] for old, new in renames.items()}})}


def record_new_names(lake: LakeTable, renames: Mapping[str, str]) -> dict[str, str]:
    """The properties of a table that name renamed parts by their new names alone."""
    record = read_record(lake.properties)
    parts = {
        name: replace(part, beside=renames.get(part.beside, part.beside))
        for name, part in record.split.items()
        if name not in renames
    }
    found = {SPLIT_PROPERTY: format_split(parts)}
    kept = tuple((renames.get(path[0], path[0]), *path[1:]) for path in record.kept)
    added = tuple(sorted({renames.get(name, name) for name in record.added}))
    united = {renames.get(name, name): order for name, order in record.united.items()}
    # The properties of a part would be taken for those of the column that gets its name.
    displaced = {
        renames.get(name, name): replace(each, was=renames.get(each.was, each.was))
        for name, each in record.displaced.items()
    }
    if kept != record.kept:
        found[KEPT_PROPERTY] = format_paths(kept)
    if set(added) != set(record.added):
        found[ADDED_PROPERTY] = format_property(added)
    if united != record.united:
        found[UNITED_PROPERTY] = format_property(united)
    if displaced != record.displaced:
        found[DISPLACED_PROPERTY] = format_displaced(displaced)
    return found


def _find_twin(parts: Mapping[str, SplitColumn], name: str, there: set[str]) -> str:
    """Find the new name that an interrupted run recorded for a part; empty for none."""
    return next((n for n, part in parts.items() if n != name and n not in there and part == parts[name]), "")


def _find_held_twin(parts: Mapping[str, SplitColumn], name: str, there: set[str]) -> str:
    """Find the column that has the new name of a part already; empty for none."""
    return next((n for n, part in parts.items() if n != name and n in there and part == parts[name]), "")
