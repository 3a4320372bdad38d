"""Columns that the source has dropped already, while rows that have values of them are still to be written.

Law: a table comes to the same columns wherever batches end: those of a version that came and went inside a
batch are kept as those are that the lake had before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from schemaman.lake_rows import undecided
from schemaman.schema import Column, TableSchema
from schemaman.versions import TableHistory


def left_columns(history: TableHistory, versions: Collection[int]) -> tuple[Column, ...]:
    """The columns of these versions, by their numbers, that the newest one has no more; each as it was last.

    Only those of its own incarnation, and none of which nobody knows whether it left or has another name now.
    """
    newest = history.latest
    life = [v for v in history.versions if v.incarnation == newest.incarnation]
    borne = {c.id for v in life if v.number in versions for c in v.schema.columns if c.id is not None}
    gone = borne - {c.id for c in newest.schema.columns} - undecided(history).keys()
    last = {c.id: c for v in life for c in v.schema.columns if c.id in gone} if gone else {}
    # Of two that had one name the later one gets it.
    named = {c.name.lower(): c for c in sorted(last.values(), key=lambda c: c.id or 0)}
    return tuple(replace(c, nullable=True) for c in named.values())


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


def _before(history: TableHistory, column: Column) -> frozenset[int]:
    """The columns before one where it stood last, by their ids."""
    for version in reversed(history.versions):
        ids = [c.id for c in version.schema.columns]
        if column.id in ids:
            return frozenset(id for id in ids[: ids.index(column.id)] if id is not None)
    return frozenset()
