"""Column ids: which column of a structure is which column of the one before.

A rename keeps the id, a dropped id never comes back, and where a database can only append
columns, a column that stands behind one it used to precede is another column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemaman.diff import longest_increasing
from schemaman.schema import TableSchema


def identify(
    known: TableSchema | None,
    schema: TableSchema,
    renames: Iterable[tuple[str, str]],
    append_only: bool,
    next_id: int,
) -> TableSchema:
    """The schema with ids: those of `known` where a column is the same, new ones from `next_id`.

    `renames` are (old, new) names that a witness stated.
    """
    ids = _kept(known, schema, dict(renames), append_only) if known is not None else {}
    columns = []
    for column in schema.columns:
        if column.name in ids:
            columns.append(replace(column, id=ids[column.name]))
        else:
            columns.append(replace(column, id=next_id))
            next_id += 1
    return replace(schema, columns=tuple(columns))


def _kept(
    known: TableSchema, schema: TableSchema, renames: dict[str, str], append_only: bool
) -> dict[str, int]:
    """New name → id of each column that is still there."""
    names = set(schema.names)
    now = {c.name: c.name for c in known.columns if c.name in names}
    now |= {old: new for old, new in renames.items() if new in names and known.column(old) is not None}
    for old, new in renames.items():
        if new in names and now.get(new) == new and known.column(old) is not None:
            # the old bearer of the new name is gone, or was renamed itself
            now.pop(new) if renames.get(new) is None else None
    if append_only:
        now = _in_order(known, schema, now)
    return {now[c.name]: c.id for c in known.columns if c.name in now and c.id is not None}


def _in_order(known: TableSchema, schema: TableSchema, now: dict[str, str]) -> dict[str, str]:
    """Only the columns that kept their order; one that moved was dropped and added again.

    A column with new ones before it, where none has vanished, was added after them.
    """
    before = {now[c.name]: i for i, c in enumerate(known.columns) if c.name in now}
    kept = [n for n in schema.names if n in before]
    stay = longest_increasing([before[n] for n in kept])
    anchored = {n for n in kept if before[n] in stay}
    if len(now) == len(known.columns):
        first_new = next((i for i, n in enumerate(schema.names) if n not in before), len(schema.names))
        anchored &= set(schema.names[:first_new])
    return {old: new for old, new in now.items() if new in anchored}
