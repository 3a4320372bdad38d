"""Columns and members that the source has dropped already, and that rows have which are to be written still.

Law: a table comes to the same columns wherever batches end: those of a version that came and went inside a
batch are kept as those are that the lake had before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from schemaman.history.past_versions import Became
from schemaman.history.struct_fields import became, lowered, named_now, unsettled
from schemaman.history.versions import TableHistory
from schemaman.migration.projection.column_names import spell_name
from schemaman.migration.properties.column_swaps import find_free_name
from schemaman.migration.properties.displaced_columns import DisplacedColumn, read_displaced
from schemaman.migration.properties.names import BEGAN_PROPERTY, VERSION_PROPERTY
from schemaman.migration.properties.stamped_version import format_began
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.migration.type_mapping import Names
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Field, Map, Struct, Type
from schemaman.sink.row_mapping import find_undecided_columns


@dataclass(frozen=True, slots=True)
class DroppedColumns:
    """Columns that left, each as it was last: `named` keep their names, which are others' of `displaced`."""

    named: tuple[Column, ...] = ()
    displaced: tuple[Column, ...] = ()


def find_dropped_columns(
    history: TableHistory, versions: Collection[int], *, reused: bool = False
) -> DroppedColumns:
    """The columns of these versions, by their numbers, that the newest one has no more.

    Only those of its own incarnation, and none of which nobody knows whether it left or has another name now;
    `reused`: names that came back mean other columns.
    """
    newest = history.latest
    life = [v for v in history.versions if v.incarnation == newest.incarnation]
    borne = {c.id for v in life if v.number in versions for c in v.schema.columns if c.id is not None}
    now = {c.id for c in newest.schema.columns}
    if borne <= now:
        return DroppedColumns()
    last = {c.id: c for v in life for c in v.schema.columns if c.id is not None}
    asked = find_undecided_columns(history, reused=reused)
    # A name is the last column's that had it, whatever that is called by now.
    owners = {c.name.lower(): c.id for v in life for c in v.schema.columns}
    gone = [replace(last[id], nullable=True) for id in sorted(borne - now - asked.keys())]
    named = tuple(c for c in gone if owners[c.name.lower()] == c.id)
    return DroppedColumns(named, tuple(c for c in gone if c not in named))


def rename_displaced(
    history: TableHistory, live: LakeTable, columns: Collection[Column], style: Names
) -> tuple[TableHistory, dict[str, DisplacedColumn]]:
    """The history with these columns of which others have the names, and what the table tells of them.

    They get the names that they would have got had the table had them when the others came. It has to bear
    the stamp of the newest version: else they would be taken for columns that were renamed.
    """
    taken = [*live.schema.names, *history.latest.schema.names]
    named: list[Column] = []
    told = read_displaced(live)
    for column in columns:
        name = find_free_name(spell_name(column.name, style), "old", taken)
        taken.append(name)
        named.append(replace(column, name=name))
        told[name] = _describe_displaced(history, column)
    return add_columns(history, named), told


def _describe_displaced(history: TableHistory, column: Column) -> DisplacedColumn:
    """A column by the last version that had it."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    versions = zip(migration_source(history).past, life, strict=True)
    past = [past for past, v in versions if any(c.id == column.id for c in v.schema.columns)][-1]
    return DisplacedColumn(column.name, column.name, past.id, format_began(past.began))


def has_newest_version_stamp(live: LakeTable, history: TableHistory) -> bool:
    """Whether a table bears the stamp of the newest version."""
    newest = migration_source(history).past[-1]
    stamp = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    return stamp == (newest.id, format_began(newest.began))


def add_columns(history: TableHistory, columns: Collection[Column]) -> TableHistory:
    """The history with these columns in its newest version still, each behind what it stood behind."""
    newest = history.latest
    there = list(newest.schema.columns)
    for column in columns:
        before = _find_preceding_ids(history, column)
        at = next((i for i in reversed(range(len(there))) if there[i].id in before), -1)
        there.insert(at + 1, column)
    schema = TableSchema(tuple(there), newest.schema.key, newest.schema.comment)
    revision = replace(newest.revisions[-1], schema=schema)
    kept = replace(newest, revisions=(*newest.revisions[:-1], revision))
    return replace(history, versions=(*history.versions[:-1], kept))


def add_nested_fields(history: TableHistory, versions: Collection[int]) -> TableHistory:
    """The history with members in its newest version still that left since these versions, by their numbers.

    Each as it was last, behind those that are there; none whose name another one has by now, and none of a
    column of which a question is open: among members that come back nobody would be asked it any more.
    """
    newest = history.latest
    columns = {c.name: c for c in newest.schema.columns}
    if not any(isinstance(c.type, Array | Map | Struct) for c in columns.values()):
        return history
    for path, type in _find_dropped_fields(history, versions):
        column = columns[path[0]]
        columns[path[0]] = replace(column, type=_add_nested_field(column.type, path[1:], type))
    schema = replace(newest.schema, columns=tuple(columns.values()))
    if schema == newest.schema:
        return history
    kept = replace(newest, revisions=(*newest.revisions[:-1], replace(newest.revisions[-1], schema=schema)))
    return replace(history, versions=(*history.versions[:-1], kept))


def _find_dropped_fields(history: TableHistory, versions: Collection[int]) -> list[tuple[Path, Type]]:
    """Members that left since, by the names of the newest version, outer ones first, as they were last."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    newest = {c.id: c.name for c in history.latest.schema.columns}
    here = {lowered(path) for path, _, _ in walk_fields(history.latest.schema)}
    found: dict[Path, tuple[Path, Type]] = {}
    borne: set[Path] = set()
    opens = unsettled(life)
    asked = {path[0] for open in opens for path in open.asked}
    for version, parts, open in zip(life, became(life, {}), opens, strict=True):
        columns = (replace(c, name=newest[c.id]) for c in version.schema.columns if c.id in newest)
        for path, type, _ in walk_fields(TableSchema(tuple(columns))):
            place = (*named_now(path, parts)[:-1], open.renamed.get(path, path[-1]))
            gone = parts.get(path) == Became(None) and path[0] not in asked and path not in open.lost
            if gone and lowered(place) not in here:
                found[lowered(place)] = place, type
                borne |= {lowered(place)} if version.number in versions else set()
    return sorted((found[place] for place in borne), key=lambda each: len(each[0]))


def _add_nested_field(type: Type, path: Path, member: Type) -> Type:
    """The type with one more member, where it has a struct for it and no member of that name."""
    name, *rest = path
    match type:
        case Struct(fields) if not rest:
            there = {f.name.lower() for f in fields}
            return type if name.lower() in there else Struct((*fields, Field(name, member)))
        case Struct(fields):
            inner = tuple(rest)
            return Struct(
                tuple(
                    replace(f, type=_add_nested_field(f.type, inner, member)) if f.name == name else f
                    for f in fields
                )
            )
        case Array(element) if rest:
            return replace(type, element=_add_nested_field(element, tuple(rest), member))
        case Map(_, value) if rest and name == "value":
            return replace(type, value=_add_nested_field(value, tuple(rest), member))
        case _:
            return type


def _find_preceding_ids(history: TableHistory, column: Column) -> frozenset[int]:
    """The columns before one where it stood last, by their ids."""
    for version in reversed(history.versions):
        ids = [c.id for c in version.schema.columns]
        if column.id in ids:
            return frozenset(id for id in ids[: ids.index(column.id)] if id is not None)
    return frozenset()
