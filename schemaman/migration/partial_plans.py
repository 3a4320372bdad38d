"""What must not be done to a table that is only partly migrated: it bears no stamp that could tell of it.

Law: a name that has meant several columns means one at a time, and the stamp of the table tells which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.step_order import has_path
from schemaman.migration.target import LakeTable
from schemaman.model.ddl import quote_name
from schemaman.model.diff import AddColumn, Change, RenameColumn
from schemaman.model.schema import Column, TableSchema

_UNSTAMPED = (
    "nested fields are renamed only by a plan that settles all names: a partly migrated table has no version "
    "stamp that records the rename"
)
_HALF_STAMPED = "names pass between columns, and a partly migrated table has no version stamp that records it"
_NAME_REUSED = (
    "another column had this name, and a partly migrated table does not record which of the two it has"
)
_OCCUPIED = (
    "a lake column still has this name, which the source renamed or dropped, and the plan does not rename "
    "that column"
)
_RENAME_FIRST = 'allow renames (rename-stated = "auto" in a [[policy]]), and settle the other refusals'
_OTHERS_FIRST = "settle the other refusals first"


def is_name_reused(
    source: MigrationSource,
    lake: LakeTable,
    wanted: TableSchema,
    source_names: Mapping[str, str],
    renames: Sequence[RenameColumn],
) -> bool:
    """Whether columns give names away to others, or get some that others have or had.

    `source_names` maps the lake's names to the source's.
    """
    before = {name.lower() for name in lake.schema.names}
    after = {name.lower() for name in wanted.names}
    given = any(c.name.lower() in before or c.path[0].lower() in after for c in renames)
    return given or any(_is_other_column(source, source_names.get(c.name, c.name)) for c in renames)


def refuse_renames(renames: Sequence[RenameColumn]) -> list[Refusal]:
    """Why no column is renamed."""
    return [Refusal(describe_change(c), _HALF_STAMPED, _OTHERS_FIRST) for c in renames]


def refuse_field_renames(renames: Sequence[RenameColumn]) -> list[Refusal]:
    """Why no member is renamed."""
    return [Refusal(describe_change(c), _UNSTAMPED, _OTHERS_FIRST) for c in renames]


def refuse_addition(
    change: Change,
    source: MigrationSource,
    planned: LakeTable,
    source_names: Mapping[str, str],
    *,
    settled: bool,
) -> Refusal | None:
    """Why a column or member must not be added to a table that `planned` so; None if it may, or is none."""
    if not isinstance(change, AddColumn):
        return None
    if has_path(planned.schema, change.path):
        return Refusal(describe_change(change), _OCCUPIED, _RENAME_FIRST)
    name, *inside = change.path
    if not settled and not inside and _is_other_column(source, source_names.get(name, name)):
        return Refusal(describe_change(change), _NAME_REUSED, _OTHERS_FIRST)
    return None


def _is_other_column(source: MigrationSource, name: str) -> bool:
    """Whether another column of the source had this name, without regard to case."""
    pairs = (pair for past in source.past for pair in past.names.items())
    return any(then.lower() == name.lower() and now != name for then, now in pairs)


def note_unfilled_columns(
    source: MigrationSource, changes: Iterable[Change], source_names: Mapping[str, str]
) -> tuple[str, ...]:
    """A note for each column that comes to a table and has a default at the source, or forbids NULL there.

    `source_names` maps the lake's names to the source's. The source fills the column in its own rows without
    an event, so that rows of the lake hold NULL.
    """
    notes = []
    for change in changes:
        if isinstance(change, AddColumn) and len(change.path) == 1:
            (name,) = change.path
            column = source.schema.column(source_names.get(name, name))
            why = None if column is None else _explain_unfilled(column)
            if why is not None:
                notes.append(f"{quote_name(name)}: {why}; {_UNTIL_SNAPSHOT}")
    return tuple(notes)


def _explain_unfilled(column: Column) -> str | None:
    if column.default is not None:
        default = column.default
        default_text = str(default).lower() if isinstance(default, bool) else repr(default)
        return f"its default at the source is {default_text}"
    return None if column.nullable else "it is NOT NULL at the source"


_UNTIL_SNAPSHOT = (
    "existing rows keep NULL in it until the source sends them again, for instance by an incremental "
    "snapshot (signal execute-snapshot)"
)
