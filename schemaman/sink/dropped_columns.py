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
from schemaman.migration.projection.column_names import spelled
from schemaman.migration.properties.column_swaps import free_name
from schemaman.migration.properties.displaced_columns import Retired, retired
from schemaman.migration.properties.names import BEGAN_PROPERTY, VERSION_PROPERTY
from schemaman.migration.properties.stamped_version import began_text
from schemaman.migration.source import source_of
from schemaman.migration.target import Live
from schemaman.migration.type_mapping import Names
from schemaman.model.schema import Column, Path, TableSchema, walk
from schemaman.model.types import Array, Field, Map, Struct, Type
from schemaman.sink.row_mapping import undecided


@dataclass(frozen=True, slots=True)
class LeftColumns:
    """Columns that left, each as it was last: `named` keep their names, which are others' of `displaced`."""

    named: tuple[Column, ...] = ()
    displaced: tuple[Column, ...] = ()


def left_columns(history: TableHistory, versions: Collection[int], *, reused: bool = False) -> LeftColumns:
    """The columns of these versions, by their numbers, that the newest one has no more.

    Only those of its own incarnation, and none of which nobody knows whether it left or has another name now;
    `reused`: names that came back mean other columns.
    """
    newest = history.latest
    life = [v for v in history.versions if v.incarnation == newest.incarnation]
    borne = {c.id for v in life if v.number in versions for c in v.schema.columns if c.id is not None}
    now = {c.id for c in newest.schema.columns}
    if borne <= now:
        return LeftColumns()
    last = {c.id: c for v in life for c in v.schema.columns if c.id is not None}
    asked = undecided(history, reused=reused)
    # A name is the last column's that had it, whatever that is called by now.
    owners = {c.name.lower(): c.id for v in life for c in v.schema.columns}
    gone = [replace(last[id], nullable=True) for id in sorted(borne - now - asked.keys())]
    named = tuple(c for c in gone if owners[c.name.lower()] == c.id)
    return LeftColumns(named, tuple(c for c in gone if c not in named))


def out_of_the_way(
    history: TableHistory, live: Live, columns: Collection[Column], style: Names
) -> tuple[TableHistory, dict[str, Retired]]:
    """The history with these columns of which others have the names, and what the table tells of them.

    They get the names that they would have got had the table had them when the others came. It has to bear
    the stamp of the newest version: else they would be taken for columns that were renamed.
    """
    taken = [*live.schema.names, *history.latest.schema.names]
    named: list[Column] = []
    told = retired(live)
    for column in columns:
        name = free_name(spelled(column.name, style), "old", taken)
        taken.append(name)
        named.append(replace(column, name=name))
        told[name] = _as_it_was(history, column)
    return with_columns(history, named), told


def _as_it_was(history: TableHistory, column: Column) -> Retired:
    """A column by the last version that had it."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    versions = zip(source_of(history).past, life, strict=True)
    past = [past for past, v in versions if any(c.id == column.id for c in v.schema.columns)][-1]
    return Retired(column.name, column.name, past.id, began_text(past.began))


def bears_the_newest(live: Live, history: TableHistory) -> bool:
    """Whether a table bears the stamp of the newest version."""
    newest = source_of(history).past[-1]
    stamp = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    return stamp == (newest.id, began_text(newest.began))


def with_columns(history: TableHistory, columns: Collection[Column]) -> TableHistory:
    """The history with these columns in its newest version still, each behind what it stood behind."""
    newest = history.latest
    there = list(newest.schema.columns)
    for column in columns:
        before = _before(history, column)
        at = next((i for i in reversed(range(len(there))) if there[i].id in before), -1)
        there.insert(at + 1, column)
    schema = TableSchema(tuple(there), newest.schema.key, newest.schema.comment)
    revision = replace(newest.revisions[-1], schema=schema)
    kept = replace(newest, revisions=(*newest.revisions[:-1], revision))
    return replace(history, versions=(*history.versions[:-1], kept))


def with_members(history: TableHistory, versions: Collection[int]) -> TableHistory:
    """The history with members in its newest version still that left since these versions, by their numbers.

    Each as it was last, behind those that are there; none whose name another one has by now, and none of a
    column of which a question is open: among members that come back nobody would be asked it any more.
    """
    newest = history.latest
    columns = {c.name: c for c in newest.schema.columns}
    if not any(isinstance(c.type, Array | Map | Struct) for c in columns.values()):
        return history
    for path, type in _left_members(history, versions):
        column = columns[path[0]]
        columns[path[0]] = replace(column, type=_with_member(column.type, path[1:], type))
    schema = replace(newest.schema, columns=tuple(columns.values()))
    if schema == newest.schema:
        return history
    kept = replace(newest, revisions=(*newest.revisions[:-1], replace(newest.revisions[-1], schema=schema)))
    return replace(history, versions=(*history.versions[:-1], kept))


def _left_members(history: TableHistory, versions: Collection[int]) -> list[tuple[Path, Type]]:
    """Members that left since, by the names of the newest version, outer ones first, as they were last."""
    life = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    newest = {c.id: c.name for c in history.latest.schema.columns}
    here = {lowered(path) for path, _, _ in walk(history.latest.schema)}
    found: dict[Path, tuple[Path, Type]] = {}
    borne: set[Path] = set()
    opens = unsettled(life)
    asked = {path[0] for open in opens for path in open.asked}
    for version, parts, open in zip(life, became(life, {}), opens, strict=True):
        columns = (replace(c, name=newest[c.id]) for c in version.schema.columns if c.id in newest)
        for path, type, _ in walk(TableSchema(tuple(columns))):
            place = (*named_now(path, parts)[:-1], open.renamed.get(path, path[-1]))
            gone = parts.get(path) == Became(None) and path[0] not in asked and path not in open.lost
            if gone and lowered(place) not in here:
                found[lowered(place)] = place, type
                borne |= {lowered(place)} if version.number in versions else set()
    return sorted((found[place] for place in borne), key=lambda each: len(each[0]))


def _with_member(type: Type, path: Path, member: Type) -> Type:
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
                    replace(f, type=_with_member(f.type, inner, member)) if f.name == name else f
                    for f in fields
                )
            )
        case Array(element) if rest:
            return replace(type, element=_with_member(element, tuple(rest), member))
        case Map(_, value) if rest and name == "value":
            return replace(type, value=_with_member(value, tuple(rest), member))
        case _:
            return type


def _before(history: TableHistory, column: Column) -> frozenset[int]:
    """The columns before one where it stood last, by their ids."""
    for version in reversed(history.versions):
        ids = [c.id for c in version.schema.columns]
        if column.id in ids:
            return frozenset(id for id in ids[: ids.index(column.id)] if id is not None)
    return frozenset()
