"""Drafts that the targets share, and the refusals of changes that no format makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal, StepKind, describe_change
from schemaman.migration.target import Draft, LakeTable
from schemaman.migration.type_mapping import is_number, list_common_types
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeAttribute,
    ChangeComment,
    ChangeDefault,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    DropColumn,
    MoveColumn,
    RenameColumn,
)
from schemaman.model.schema import Path, TableSchema, walk_fields
from schemaman.model.types import Array, Map, Struct

EXPECTS_VALUE = "readers that expect a value in every row"
_REKEY = (
    "run `schemaman plan TABLE --recipe` if no two rows have the same new key; else "
    "build a new table with the new key and fill it from a snapshot"
)
_REWRITES = "the format cannot make this change without rewriting the data"
_NO_COMMON_TYPE = "no type holds all numbers of {} and of {} exactly, so a person has to choose"
_REBUILD = "check the data in a separate job, or build a new table"


def create_table(name: str, schema: TableSchema, provider: str, properties: Mapping[str, str]) -> Draft:
    """Draft a `CREATE TABLE`."""
    statement = sql.create_table(name, schema, provider, properties)
    after = {"properties": dict(properties)}
    return Draft((), "create-table", statement, "additive", "reversible", f"DROP TABLE {name}", after=after)


def unset_properties(name: str, properties: Sequence[str]) -> Draft:
    """Draft an `UNSET TBLPROPERTIES`."""
    after = {"properties": dict.fromkeys(properties)}
    return Draft(
        (), "set-properties", sql.unset_properties(name, properties), "none", "reversible", after=after
    )


def create_namespace(parts: Sequence[str]) -> Draft:
    """Draft a `CREATE NAMESPACE`."""
    return Draft((), "create-namespace", sql.create_namespace(parts), "additive", "reversible")


def set_properties(name: str, properties: Mapping[str, str]) -> Draft:
    """Draft a `SET TBLPROPERTIES`."""
    statement, after = sql.set_properties(name, properties), {"properties": dict(properties)}
    return Draft((), "set-properties", statement, "none", "reversible", after=after)


def refuse_change(change: Change, reason: str, instead: str) -> Refusal:
    """Refuse a change, with its description."""
    return Refusal(describe_change(change), reason, instead)


def draft_change(name: str, schema: TableSchema, change: Change) -> Draft | Refusal:
    """Draft the statement for a change that the format accepts, or refuse a change that no format makes.

    `schema` is the schema of the table before the change.

    Source: Spark SQL reference, ALTER TABLE; Delta "Update table schema"; Iceberg "Spark DDL".
    """
    match change:
        case AddColumn(path, column):
            statement = sql.add_columns(name, [(path, column)])
            return Draft(
                (change,), "add-columns", statement, "additive", "reversible", sql.drop_columns(name, [path])
            )
        case DropColumn(path, _):
            statement = sql.drop_columns(name, [path])
            return Draft((change,), "drop-columns", statement, "metadata", "no", None, (_name_readers(path),))
        case RenameColumn(path, new):
            undo = sql.rename_column(name, (*path[:-1], new), path[-1])
            statement = sql.rename_column(name, path, new)
            return Draft(
                (change,), "rename-column", statement, "metadata", "reversible", undo, (_name_readers(path),)
            )
        case ChangeType(path, old, new):
            statement = sql.alter_columns(name, [(path, f"TYPE {sql.type_name(new)}")])
            pinned = f"readers that expect {format_type(old)} in {sql.path_name(path)}"
            return Draft((change,), "change-type", statement, "widening", "no", None, (pinned,))
        case ChangeNullable(path, False, True) if not _is_part(schema, path):
            statement = sql.alter_columns(name, [(path, "DROP NOT NULL")])
            return Draft((change,), "drop-not-null", statement, "widening", "no", None, (EXPECTS_VALUE,))
        case ChangeNullable():
            return refuse_change(change, "no format forbids NULL in a table that has rows", _REBUILD)
        case ChangeComment(path, old, new):
            statement, undo = _comment_statement(name, path, new), _comment_statement(name, path, old)
            return Draft((change,), "change-comment", statement, "none", "reversible", undo)
        case ChangeKey():
            return refuse_change(change, "the rows were merged by the old key", _REKEY)
        case MoveColumn() | ChangeDefault() | ChangeAttribute():
            return refuse_change(
                change, "writers name every column and write every value", "leave it as it is"
            )
        case _:
            assert_never(change)


def _name_readers(path: Path) -> str:
    return f"queries, views and jobs that name {sql.path_name(path)}: they fail"


def combine_drafts(name: str, drafts: Sequence[Draft]) -> Draft:
    """Combine several drafts of one kind in one statement; a single draft is returned as it is.

    Raises:
        ValueError: no statement makes several changes of this kind.
    """
    if len(drafts) == 1:
        return drafts[0]
    first = drafts[0]
    changes = tuple(change for each in drafts for change in each.changes)
    undo = _join_undos(name, first.kind, changes) if all(each.undo for each in drafts) else None
    hurts = tuple(dict.fromkeys(who for each in drafts for who in each.hurts))
    return replace(
        first, changes=changes, statement=_join_statements(name, first.kind, changes), undo=undo, hurts=hurts
    )


def _join_statements(name: str, kind: StepKind, changes: Sequence[Change]) -> str:
    match kind:
        case "add-columns":
            return sql.add_columns(name, [(c.path, c.column) for c in changes if isinstance(c, AddColumn)])
        case "drop-columns":
            return sql.drop_columns(name, [c.path for c in changes if isinstance(c, DropColumn)])
        case "change-type":
            typed = [c for c in changes if isinstance(c, ChangeType)]
            return sql.alter_columns(name, [(c.path, f"TYPE {sql.type_name(c.new)}") for c in typed])
        case "drop-not-null":
            relaxed = [c for c in changes if isinstance(c, ChangeNullable)]
            return sql.alter_columns(name, [(c.path, "DROP NOT NULL") for c in relaxed])
        case "change-comment":
            commented = [c for c in changes if isinstance(c, ChangeComment) and c.path]
            return sql.alter_columns(
                name, [(c.path, f"COMMENT {sql.literal(c.new or '')}") for c in commented]
            )
        case _:
            raise ValueError(f"no statement does several changes of kind {kind}")


def _join_undos(name: str, kind: StepKind, changes: Sequence[Change]) -> str | None:
    match kind:
        case "add-columns":
            return sql.drop_columns(name, [c.path for c in changes if isinstance(c, AddColumn)])
        case "change-comment":
            commented = [c for c in changes if isinstance(c, ChangeComment) and c.path]
            return sql.alter_columns(
                name, [(c.path, f"COMMENT {sql.literal(c.old or '')}") for c in commented]
            )
        case _:
            return None


def refuse_type_change(change: ChangeType) -> Refusal:
    """Refuse a type change that the format cannot make in place, and suggest a recipe."""
    column, new = sql.path_name(change.path[:1]), sql.path_name((f"{change.path[0]}__new",))
    numbers = is_number(change.old) and is_number(change.new)
    exact = not numbers or list_common_types(change.old, change.new)
    return refuse_change(
        change,
        _REWRITES if exact else _NO_COMMON_TYPE.format(format_type(change.old), format_type(change.new)),
        f"plan it in phases with `schemaman plan TABLE --recipe`: add a column {new} of the new type, "
        f"backfill it, compare, then swap {column} and {new}",
    )


def refuse_drop(lake: LakeTable, change: DropColumn) -> Refusal | None:
    """Refuse a drop that damages the table, or that the format refuses because the column is in use."""
    top, path = change.path[0], change.path
    if len(change.path) == 1 and len(lake.schema.columns) == 1:
        return refuse_change(change, "it is the last column of the table", "drop the table instead")
    if _is_part(lake.schema, change.path) or _is_only_field(lake.schema, change.path):
        return refuse_change(change, "it is the last field of its struct", "drop the whole column instead")
    if in_map_key(lake.schema, change.path):
        return refuse_change(
            change, "keys of a map that differ only in it would become equal", "write a new column"
        )
    if (path == (top,) and top in lake.layout) or is_used(path, _list_layout_paths(lake)):
        reason = "the files are partitioned, clustered or sorted by it"
        return refuse_change(change, reason, "change the layout of the table first")
    if top in lake.schema.key:
        return refuse_change(change, "it is a key column", _REKEY)
    return None


def is_used(path: Path, used: Iterable[Path]) -> bool:
    """Whether one of the used paths is a path or inside of it."""
    return any(each[: len(path)] == path for each in used)


def _list_layout_paths(lake: LakeTable) -> tuple[Path, ...]:
    """List the columns and nested fields by which new files are laid out."""
    return (*(field.path for field in (*lake.partitions, *lake.sort)), *lake.clustering)


def in_map_key(schema: TableSchema, path: Path) -> bool:
    """Whether a path leads through the key of a map, not through a nested field with the name `key`."""
    maps = {at for at, type, _ in walk_fields(schema) if isinstance(type, Map)}
    return any(path[:i] in maps and path[i] == "key" for i in range(1, len(path)))


def _is_part(schema: TableSchema, path: Path) -> bool:
    """Whether a path is that of an array's element, or of a map's key or value."""
    return any(at == path[:-1] and isinstance(type, Array | Map) for at, type, _ in walk_fields(schema))


def _is_only_field(schema: TableSchema, path: Path) -> bool:
    parent = path[:-1]
    return any(
        at == parent and isinstance(type, Struct) and len(type.fields) == 1
        for at, type, _ in walk_fields(schema)
    )


def _comment_statement(name: str, path: Path, text: str | None) -> str:
    if not path:
        return sql.comment_on_table(name, text)
    return sql.alter_columns(name, [(path, f"COMMENT {sql.literal(text or '')}")])
