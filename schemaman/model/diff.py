"""The changes between two table schemas, as values of a closed union.

Laws: `patch(old, diff(old, new)) == new`; `diff(a, a) == ()`.

`diff` matches columns by id when every column of both sides has one, else by name; the
caller passes known renames. Changes come in the order in which `patch` applies them:
drops, renames (all at once, by old names), moves, additions, then attributes by new names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from schemaman.model.increasing import find_longest_increasing
from schemaman.model.schema import Column, Path, Scalar, TableSchema
from schemaman.model.types import Array, Field, Map, Struct, Type

ColumnOrField = Column | Field
Siblings = tuple[ColumnOrField, ...]
M = TypeVar("M", Column, Field)


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column or nested field is added behind `after`, or in front of all when None."""

    path: Path
    column: ColumnOrField
    after: str | None


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column or nested field is dropped."""

    path: Path
    column: ColumnOrField


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """A column or nested field gets another name; `path` ends in the old one."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """A column or nested field moves behind `after` among its siblings, or in front of all when None."""

    path: Path
    after: str | None


@dataclass(frozen=True, slots=True)
class ChangeType:
    """A column or nested field gets another type.

    Structs, arrays and maps that stay structs, arrays and maps give changes of their nested fields instead.
    """

    path: Path
    old: Type
    new: Type


@dataclass(frozen=True, slots=True)
class ChangeNullable:
    """NULL becomes allowed (`new` true) or forbidden."""

    path: Path
    old: bool
    new: bool


@dataclass(frozen=True, slots=True)
class ChangeDefault:
    """A column gets another default; None means no default."""

    path: Path
    old: Scalar
    new: Scalar


@dataclass(frozen=True, slots=True)
class ChangeComment:
    """A column or nested field gets another comment; an empty path means the table."""

    path: Path
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ChangeAttribute:
    """A column gets another spelling of its source type, another field name in events, or another id."""

    path: Path
    attribute: Literal["source_type", "emitted_name", "id"]
    old: str | int | None
    new: str | int | None


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """The table gets other key columns, or another order of them; renames alone are no key change."""

    old: tuple[str, ...]
    new: tuple[str, ...]


Change = (
    AddColumn
    | DropColumn
    | RenameColumn
    | MoveColumn
    | ChangeType
    | ChangeNullable
    | ChangeDefault
    | ChangeComment
    | ChangeAttribute
    | ChangeKey
)

Diff = tuple[Change, ...]


FieldRenames = Mapping[Path, str]
"""Renames of nested fields: path → new name. A path has new names, but ends in the field's old name."""


def diff(
    old: TableSchema,
    new: TableSchema,
    renames: Mapping[str, str] | None = None,
    field_renames: FieldRenames | None = None,
) -> Diff:
    """Find the changes that turn `old` into `new`; `renames` maps old to new column names.

    `field_renames` are renames of nested fields; no new name may belong to another field of the old struct.
    """
    pairs = _pair_columns(old, new, renames or {})
    changes = _compare_fields((), old.columns, new.columns, pairs, field_renames or {})
    renamed = {a: b for a, b in pairs.items() if a != b}
    key = tuple(renamed.get(name, name) for name in old.key)
    if key != new.key:
        changes.append(ChangeKey(key, new.key))
    if old.comment != new.comment:
        changes.append(ChangeComment((), old.comment, new.comment))
    return tuple(changes)


def patch(schema: TableSchema, changes: Sequence[Change]) -> TableSchema:
    """Apply the changes to a schema.

    Raises:
        KeyError: a change names a path that the schema does not have, or a new name that is taken.
    """
    renames = [c for c in changes if isinstance(c, RenameColumn)]
    done: set[Path] = set()
    for change in changes:
        match change:
            case RenameColumn(path, _):
                if path[:-1] not in done:
                    schema = _rename_fields(schema, [c for c in renames if c.path[:-1] == path[:-1]])
                    done.add(path[:-1])
            case ChangeKey(_, key):
                schema = replace(schema, key=key)
            case ChangeComment((), _, comment):
                schema = replace(schema, comment=comment)
            case _:
                schema = replace(
                    schema, columns=_require_kind(Column, _change_at(schema.columns, change.path, change))
                )
    return schema


def _pair_columns(old: TableSchema, new: TableSchema, renames: Mapping[str, str]) -> dict[str, str]:
    """Match the columns of both sides: old name → new name."""
    if all(c.id is not None for c in (*old.columns, *new.columns)):
        names = {c.id: c.name for c in new.columns}
        return {c.name: names[c.id] for c in old.columns if c.id in names}
    present = set(new.names)
    pairs = {a: b for a, b in renames.items() if old.column(a) is not None and b in present}
    taken = set(pairs.values())
    return pairs | {n: n for n in old.names if n in present and n not in pairs and n not in taken}


def _compare_fields(
    parent: Path,
    old: Sequence[ColumnOrField],
    new: Sequence[ColumnOrField],
    pairs: Mapping[str, str],
    field_renames: FieldRenames,
) -> list[Change]:
    changes: list[Change] = []
    changes += (DropColumn((*parent, m.name), m) for m in old if m.name not in pairs)
    changes += (RenameColumn((*parent, a), b) for a, b in pairs.items() if a != b)
    partners = {pairs[m.name]: m for m in old if m.name in pairs}
    changes += _find_moves(parent, list(partners), [m.name for m in new if m.name in partners])
    before: str | None = None
    for field in new:
        if field.name not in partners:
            changes.append(AddColumn((*parent, field.name), field, before))
        before = field.name
    for field in new:
        if field.name in partners:
            changes += _compare_attributes((*parent, field.name), partners[field.name], field, field_renames)
    return changes


def _find_moves(parent: Path, old: list[str], new: list[str]) -> list[Change]:
    """Find the fewest moves: those of all columns outside the longest subsequence that keeps its order."""
    ranks = {name: i for i, name in enumerate(old)}
    stay = find_longest_increasing([ranks[name] for name in new])
    moves: list[Change] = []
    before: str | None = None
    for name in new:
        if ranks[name] not in stay:
            moves.append(MoveColumn((*parent, name), before))
        before = name
    return moves


def _compare_attributes(
    path: Path, old: ColumnOrField, new: ColumnOrField, field_renames: FieldRenames
) -> list[Change]:
    changes = _compare_types(path, old.type, new.type, field_renames)
    if old.nullable != new.nullable:
        changes.append(ChangeNullable(path, old.nullable, new.nullable))
    if isinstance(old, Column) and isinstance(new, Column):
        if (old.default, type(old.default)) != (new.default, type(new.default)):
            changes.append(ChangeDefault(path, old.default, new.default))
        if old.source_type != new.source_type:
            changes.append(ChangeAttribute(path, "source_type", old.source_type, new.source_type))
        if old.emitted_name != new.emitted_name:
            changes.append(ChangeAttribute(path, "emitted_name", old.emitted_name, new.emitted_name))
        if old.id != new.id:
            changes.append(ChangeAttribute(path, "id", old.id, new.id))
    if old.comment != new.comment:
        changes.append(ChangeComment(path, old.comment, new.comment))
    return changes


def _compare_types(path: Path, old: Type, new: Type, field_renames: FieldRenames) -> list[Change]:
    if old == new:
        return []
    match old, new:
        case Struct(a), Struct(b):
            renamed = {m.name: name for m in a if (name := field_renames.get((*path, m.name))) is not None}
            own = {m.name for m in b} - set(renamed.values())
            pairs = {m.name: renamed.get(m.name, m.name) for m in a if m.name in renamed or m.name in own}
            return _compare_fields(path, a, b, pairs, field_renames)
        case Array(a, an), Array(b, bn):
            inner = (*path, "element")
            return [*_compare_types(inner, a, b, field_renames), *_compare_nullability(inner, an, bn)]
        case Map(ak, a, an), Map(bk, b, bn):
            inner = (*path, "value")
            keys = _compare_types((*path, "key"), ak, bk, field_renames)
            return [*keys, *_compare_types(inner, a, b, field_renames), *_compare_nullability(inner, an, bn)]
        case _:
            return [ChangeType(path, old, new)]


def _compare_nullability(path: Path, old: bool, new: bool) -> list[Change]:
    return [] if old == new else [ChangeNullable(path, old, new)]


def _rename_fields(schema: TableSchema, renames: Sequence[RenameColumn]) -> TableSchema:
    """Apply the renames of one struct or table all at once, since two columns may swap their names."""
    names = {c.path[0]: c.name for c in renames if len(c.path) == 1}
    temporary = [replace(c, name=f"\0{number}") for number, c in enumerate(renames)]
    columns: Siblings = schema.columns
    for change in temporary:
        columns = _change_at(columns, change.path, change)
    for change, final in zip(temporary, renames, strict=True):
        columns = _change_at(columns, (*change.path[:-1], change.name), final)
    return replace(
        schema, columns=_require_kind(Column, columns), key=tuple(names.get(k, k) for k in schema.key)
    )


def _change_at(siblings: Siblings, path: Path, change: Change) -> Siblings:
    """Apply a change at `path` below these columns or fields."""
    head, rest = path[0], path[1:]
    if not rest:
        return _apply_change(siblings, head, change)
    return _edit_one(siblings, head, lambda m: replace(m, type=_change_inside(m.type, rest, change)))


def _change_inside(type: Type, path: Path, change: Change) -> Type:
    head, rest = path[0], path[1:]
    match type:
        case Struct(fields):
            return Struct(_require_kind(Field, _change_at(fields, path, change)))
        case Array(element, nullable):
            if rest:
                return Array(_change_inside(element, rest, change), nullable)
            return Array(*_change_part(element, nullable, change))
        case Map(key, value, nullable) if head == "key":
            return Map(
                _change_inside(key, rest, change) if rest else _change_part(key, False, change)[0],
                value,
                nullable,
            )
        case Map(key, value, nullable):
            if rest:
                return Map(key, _change_inside(value, rest, change), nullable)
            return Map(key, *_change_part(value, nullable, change))
        case _:
            raise KeyError(path)


def _change_part(type: Type, nullable: bool, change: Change) -> tuple[Type, bool]:
    match change:
        case ChangeType(_, _, new):
            return new, nullable
        case ChangeNullable(_, _, new_nullable):
            return type, new_nullable
        case _:
            raise KeyError(change)


def _apply_change(siblings: Siblings, name: str, change: Change) -> Siblings:
    match change:
        case DropColumn():
            return tuple(m for m in _edit_one(siblings, name, lambda m: m) if m.name != name)
        case AddColumn(_, column, after):
            if any(m.name == column.name for m in siblings):
                raise KeyError(column.name)
            return _insert_field(siblings, column, after)
        case MoveColumn(_, after):
            moved = next(m for m in _edit_one(siblings, name, lambda m: m) if m.name == name)
            return _insert_field(tuple(m for m in siblings if m.name != name), moved, after)
        case RenameColumn(_, new):
            if any(m.name == new for m in siblings):
                raise KeyError(new)
            return _edit_one(siblings, name, lambda m: replace(m, name=new))
        case ChangeKey():
            raise KeyError(change)
        case _:
            return _edit_one(siblings, name, lambda m: _edit_field(m, change))


def _edit_field(
    field: ColumnOrField,
    change: ChangeType | ChangeNullable | ChangeDefault | ChangeComment | ChangeAttribute,
) -> ColumnOrField:
    match change, field:
        case ChangeType(_, _, type), _:
            return replace(field, type=type)
        case ChangeNullable(_, _, nullable), _:
            return replace(field, nullable=nullable)
        case ChangeComment(_, _, comment), _:
            return replace(field, comment=comment)
        case ChangeDefault(_, _, default), Column():
            return replace(field, default=default)
        case ChangeAttribute(_, "id", _, int() | None as value), Column():
            return replace(field, id=value)
        case ChangeAttribute(_, "source_type", _, str() | None as value), Column():
            return replace(field, source_type=value)
        case ChangeAttribute(_, "emitted_name", _, str() | None as value), Column():
            return replace(field, emitted_name=value)
        case _:
            raise KeyError(change)


def _edit_one(siblings: Siblings, name: str, edit: Callable[[ColumnOrField], ColumnOrField]) -> Siblings:
    if all(m.name != name for m in siblings):
        raise KeyError(name)
    return tuple(edit(m) if m.name == name else m for m in siblings)


def _insert_field(siblings: Siblings, field: ColumnOrField, after: str | None) -> Siblings:
    if after is None:
        return (field, *siblings)
    at = next((i for i, m in enumerate(siblings) if m.name == after), None)
    if at is None:
        raise KeyError(after)
    return (*siblings[: at + 1], field, *siblings[at + 1 :])


def _require_kind(kind: type[M], siblings: Siblings) -> tuple[M, ...]:
    """Return the siblings if all are of one kind; a column among struct fields is an error of the caller."""
    found = tuple(m for m in siblings if isinstance(m, kind))
    if len(found) != len(siblings):
        raise KeyError(tuple(m.name for m in siblings))
    return found
