"""The order of changes: one after the other, those of one kind together, none inside the path of another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from schemaman.migration.alterations import alters_at_once
from schemaman.migration.layout import apply_changes
from schemaman.migration.target import LakeTable
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeComment,
    ChangeKey,
    ChangeNullable,
    ChangeType,
    ColumnOrField,
    DropColumn,
    RenameColumn,
    patch,
)
from schemaman.model.name_adjustment import TEMPORARY_PREFIX
from schemaman.model.schema import Path, TableSchema, walk_fields
from schemaman.model.types import Struct


def order_renames(
    renames: Sequence[RenameColumn], fields: Sequence[RenameColumn]
) -> tuple[list[RenameColumn], list[RenameColumn]]:
    """Order renames, so that each new name is free by then; then those that close a chain or ring.

    In a chain or ring of names, also in a rename that changes case alone, one column or nested field gets a
    temporary name. While a table has such a name, nothing else is planned for it. The version stamp is set
    between the two lists, so a crash at any point leaves a table that shows its state. The paths of `fields`
    have the new names (see `diff.RenameColumn`). Fields come before columns, the innermost first, and are
    closed in reverse order.
    """
    former_names = {(*c.path[:-1], c.name): c.path[-1] for c in (*renames, *fields)}
    turns: list[RenameColumn] = []
    closing: list[RenameColumn] = []
    for path in _sort_inside_first(dict.fromkeys(c.path[:-1] for c in fields)):
        before = find_former_path(former_names, path)
        first, last = _order_chains([c for c in fields if c.path[:-1] == path])
        turns += (replace(c, path=(*before, c.path[-1])) for c in first)
        closing = last + closing
    first, last = _order_chains(renames)
    return turns + first, last + closing


def find_former_path(former_names: Mapping[Path, str], path: Path) -> Path:
    """Find the former path of a nested field; `former_names` maps new paths to former names."""
    return tuple(former_names.get(path[:n], path[n - 1]) for n in range(1, len(path) + 1))


def _sort_inside_first(paths: Iterable[Path]) -> list[Path]:
    """Keep the order of paths, but put each before the paths that it is inside of."""
    found: list[Path] = []
    for path in paths:
        at = next((n for n, other in enumerate(found) if path[: len(other)] == other), len(found))
        found.insert(at, path)
    return found


def _order_chains(renames: Sequence[RenameColumn]) -> tuple[list[RenameColumn], list[RenameColumn]]:
    """Order the renames in one table or struct; returns them, and those that close a chain or ring."""
    waiting = {c.path[-1].lower(): c for c in renames}
    heads = [old for old in waiting if old not in {c.name.lower() for c in renames}]
    turns: list[RenameColumn] = []
    closing: list[RenameColumn] = []
    # Chains begin at their heads; the remaining renames are rings, which have no head. A name that changes
    # case alone is a ring of its own: Spark takes the new name for the old one's and refuses it.
    while waiting:
        first = heads.pop(0) if heads else next(iter(waiting))
        line = [waiting.pop(first)]
        while line[-1].name.lower() in waiting:
            line.append(waiting.pop(line[-1].name.lower()))
        if len(line) > 1 or line[0].name.lower() == first:
            temporary = f"{TEMPORARY_PREFIX}{len(closing) + 1}"
            turns.append(RenameColumn(line[0].path, temporary))
            closing.append(RenameColumn((*line[0].path[:-1], temporary), line.pop(0).name))
        turns += reversed(line)
    return turns, closing


def group_changes(lake: LakeTable, changes: Sequence[Change]) -> list[list[Change]]:
    """Group changes by statement: no path twice, none inside another, the table's own comment alone.

    Each alteration of a column is alone if the engine of the table alters one column in a statement.
    """
    waves: list[list[Change]] = []
    for change in changes:
        is_alteration = isinstance(change, ChangeNullable | ChangeType | ChangeComment)
        wave = next((w for w in waves if all(_is_apart(change, other) for other in w)), None)
        if wave is None or (is_alteration and not alters_at_once(lake)):
            waves.append([change])
        else:
            wave.append(change)
    return waves


def _is_apart(one: Change, other: Change) -> bool:
    if isinstance(one, ChangeKey) or isinstance(other, ChangeKey):
        return False
    a, b = one.path, other.path
    if isinstance(one, AddColumn) and len(a) == len(b):
        return a != b
    return bool(a) and bool(b) and a[: len(b)] != b[: len(a)]


def rename_columns(lake: LakeTable, renames: Sequence[RenameColumn]) -> LakeTable:
    """Rename the columns of a table with its layout: later changes use the new names."""
    return apply_changes(lake, patch(lake.schema, renames), renames)


def is_inside(path: Path, paths: Collection[Path]) -> bool:
    """Whether a path is one of these paths or inside of one."""
    return any(path[:n] in paths for n in range(1, len(path) + 1))


def has_path(schema: TableSchema, path: Path) -> bool:
    """Whether a table has a path, without regard to case."""
    lowered = [part.lower() for part in path]
    return any([part.lower() for part in at] == lowered for at, _, _ in walk_fields(schema))


def list_dropped_columns(changes: Iterable[Change]) -> frozenset[str]:
    """List the columns of a table that the changes drop as a whole."""
    return frozenset(c.path[0] for c in changes if isinstance(c, DropColumn) and len(c.path) == 1)


def place_at_end(schema: TableSchema, change: Change) -> Change:
    """Move an addition behind its siblings: readers use names, so they need no other position."""
    if not isinstance(change, AddColumn):
        return change
    parent = change.path[:-1]
    siblings: Sequence[ColumnOrField] = schema.columns
    if parent:
        found = next((type for path, type, _ in walk_fields(schema) if path == parent), None)
        siblings = found.fields if isinstance(found, Struct) else ()
    return replace(change, after=siblings[-1].name if siblings else None)
