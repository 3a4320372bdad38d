"""Columns and nested fields that the source has dropped, and that rows still to be written have.

Law: a table gets the same columns wherever batches end. Columns of a version that lived only inside a batch
are kept like those that the lake had before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from schemaman.history.past_versions import CurrentField
from schemaman.history.struct_fields import find_unsettled_fields, lower_path, rename_parents, trace_fields
from schemaman.history.versions import TableHistory
from schemaman.migration.projection.column_names import spell_name
from schemaman.migration.properties.column_swaps import find_free_name
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.stamped_version import format_began
from schemaman.migration.properties.table_record import DisplacedColumn, read_record
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.migration.type_mapping import Names
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Field, Map, Struct, Type
from schemaman.sink.row_mapping import find_undecided_columns


@dataclass(frozen=True, slots=True)
class DroppedColumns:
    """Dropped columns, each as it was last: `named` keep their names, others have those of `displaced`."""

    named: tuple[Column, ...] = ()
    displaced: tuple[Column, ...] = ()


def find_dropped_columns(
    history: TableHistory, versions: Collection[int], *, reused: bool = False
) -> DroppedColumns:
    """The columns of these versions, by number, that the newest version lacks.

    Only those of its own incarnation, and none whose rename is undecided; `reused`: names that came back mean
    other columns.
    """
    newest = history.latest
    incarnation = [v for v in history.versions if v.incarnation == newest.incarnation]
    row_ids = {
        c.id for v in incarnation if v.number in versions for c in v.schema.columns if c.id is not None
    }
    current_ids = {c.id for c in newest.schema.columns}
    if row_ids <= current_ids:
        return DroppedColumns()
    last = {c.id: c for v in incarnation for c in v.schema.columns if c.id is not None}
    undecided = find_undecided_columns(history, reused=reused)
    # A name belongs to the last column that had it, whatever that column is called now.
    owners = {c.name.lower(): c.id for v in incarnation for c in v.schema.columns}
    dropped = [replace(last[id], nullable=True) for id in sorted(row_ids - current_ids - undecided.keys())]
    named = tuple(c for c in dropped if owners[c.name.lower()] == c.id)
    return DroppedColumns(named, tuple(c for c in dropped if c not in named))


def rename_displaced(
    history: TableHistory, known: TableHistory, live: LakeTable, columns: Collection[Column], style: Names
) -> tuple[TableHistory, dict[str, DisplacedColumn]]:
    """The history with these displaced columns, and the property that records them.

    They get the names that they would have, had they been in the table when the others came. The table needs
    the stamp of the newest version: else they would be taken for renamed columns. `known` has all versions
    with these columns, also later ones than those that the table follows: columns of these keep their names.
    """
    taken = [*live.schema.names, *history.latest.schema.names]
    followed = {c.id for v in history.versions for c in v.schema.columns}
    named: list[Column] = []
    displaced = read_displaced(live)
    for column in columns:
        name = spell_name(column.name, style)
        if column.id in followed or name.lower() in map(str.lower, taken):
            name = find_free_name(name, "old", taken)
        taken.append(name)
        named.append(replace(column, name=name))
        displaced[name] = _describe_displaced(known, column)
    return add_columns(history, named), displaced


def _describe_displaced(history: TableHistory, column: Column) -> DisplacedColumn:
    """A displaced column by the last version that had it."""
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    versions = zip(migration_source(history).past, incarnation, strict=True)
    previous = [previous for previous, v in versions if any(c.id == column.id for c in v.schema.columns)][-1]
    return DisplacedColumn(column.name, column.name, previous.id, format_began(previous.began))


def has_newest_version_stamp(live: LakeTable, history: TableHistory) -> bool:
    """Whether a table has the stamp of the newest version."""
    newest = migration_source(history).past[-1]
    record = read_record(live.properties)
    return (record.version, record.began) == (newest.id, format_began(newest.began))


def add_columns(history: TableHistory, columns: Collection[Column]) -> TableHistory:
    """The history with these columns in its newest version, each after the column that it followed last."""
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
    """The history with nested fields in its newest version that were dropped since these versions.

    Each as it was last, after the present ones. None whose name another field has now, and none of a column
    with an open question: among restored fields the question would no longer be asked.
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
    """Dropped nested fields by the names of the newest version, outer ones first, as they were last."""
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    newest = {c.id: c.name for c in history.latest.schema.columns}
    current_paths = {lower_path(path) for path, _, _ in walk_fields(history.latest.schema)}
    found: dict[Path, tuple[Path, Type]] = {}
    row_paths: set[Path] = set()
    unsettled = find_unsettled_fields(incarnation)
    questioned = {path[0] for unsettled_fields in unsettled for path in unsettled_fields.questions}
    for version, parts, unsettled_fields in zip(
        incarnation, trace_fields(incarnation, {}), unsettled, strict=True
    ):
        columns = (replace(c, name=newest[c.id]) for c in version.schema.columns if c.id in newest)
        for path, type, _ in walk_fields(TableSchema(tuple(columns))):
            position = (*rename_parents(path, parts)[:-1], unsettled_fields.new_names.get(path, path[-1]))
            is_dropped = (
                parts.get(path) == CurrentField(None)
                and path[0] not in questioned
                and path not in unsettled_fields.lost
            )
            if is_dropped and lower_path(position) not in current_paths:
                found[lower_path(position)] = position, type
                row_paths |= {lower_path(position)} if version.number in versions else set()
    return sorted((found[position] for position in row_paths), key=lambda each: len(each[0]))


def _add_nested_field(type: Type, path: Path, field_type: Type) -> Type:
    """The type with one more nested field, where it has a struct for it and no field of that name."""
    name, *rest = path
    match type:
        case Struct(fields) if not rest:
            names = {f.name.lower() for f in fields}
            return type if name.lower() in names else Struct((*fields, Field(name, field_type)))
        case Struct(fields):
            inner = tuple(rest)
            return Struct(
                tuple(
                    replace(f, type=_add_nested_field(f.type, inner, field_type)) if f.name == name else f
                    for f in fields
                )
            )
        case Array(element) if rest:
            return replace(type, element=_add_nested_field(element, tuple(rest), field_type))
        case Map(_, value) if rest and name == "value":
            return replace(type, value=_add_nested_field(value, tuple(rest), field_type))
        case _:
            return type


def _find_preceding_ids(history: TableHistory, column: Column) -> frozenset[int]:
    """The columns before one in the last version that had it, by their ids."""
    for version in reversed(history.versions):
        ids = [c.id for c in version.schema.columns]
        if column.id in ids:
            return frozenset(id for id in ids[: ids.index(column.id)] if id is not None)
    return frozenset()
