"""Finds columns that moved after new ones in an append-only database: rows of that schema prove them new.

Law: a declared schema alone changes no id, because it may mix the columns of two tables; its rows do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemaman.history.fold.column_ids import identify_columns
from schemaman.history.fold.version_builder import OpenVersion
from schemaman.model.schema import TableSchema


def renumber_columns(versions: Sequence[OpenVersion], index: int, emitted: TableSchema, next_id: int) -> int:
    """Give new ids from `next_id` on to columns that a row proves to be new, in all later versions.

    Returns the next id. Columns that already have new ids keep them.
    """
    version = versions[index]
    if not version.caveats.is_phantom or not _is_in_declared_order(version, emitted):
        return next_id
    before, first = versions[index - 1].schema, version.shape.revisions[0].schema
    stayed = {c.id for c in identify_columns(before, first, (), True, next_id).columns}
    had = {c.id for c in before.columns}
    others = [c.id for c in first.columns if c.id in had and c.id not in stayed]
    ids = dict(zip(others, range(next_id, next_id + len(others)), strict=True))
    for later in versions[index:] if ids else ():
        if later.incarnation == version.incarnation:
            later.replace_schemas(lambda schema: _replace_ids(schema, ids))
    return next_id + len(others)


def _is_in_declared_order(version: OpenVersion, emitted: TableSchema) -> bool:
    """Whether an event has the columns in their declared order, all of them."""
    wire = [version.event_forms.names.get(name, name) for name in version.schema.names]
    return [c.emitted_name or c.name for c in emitted.columns] == wire


def _replace_ids(schema: TableSchema, ids: Mapping[int | None, int]) -> TableSchema:
    columns = tuple([c.with_identity(ids.get(c.id, c.id), c.emitted_name) for c in schema.columns])
    return replace(schema, columns=columns)
