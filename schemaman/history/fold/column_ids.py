"""Assigns column ids: matches the columns of a schema with those of the previous schema.

A rename keeps the id, and a dropped id never comes back. If a database can only append columns, a column at a
place that appending cannot give it is a new column.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from schemaman.history.column_places import match_places
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema


class ColumnIdentifier:
    """`identify` for one record after the other: both edges of a run ask the same, which is answered once."""

    def __init__(self) -> None:
        self._last_schema: TableSchema | None = None
        self._last_result: TableSchema | None = None

    def __call__(
        self,
        known: TableSchema | None,
        schema: TableSchema,
        renames: Iterable[tuple[str, str]],
        append_only: bool,
        next_id: int,
        anew: Collection[str] = (),
    ) -> TableSchema:
        """As `identify`: what has just been given ids has them still."""
        if (
            schema is self._last_schema
            and known is self._last_result
            and known is not None
            and not (renames or anew)
        ):
            return known
        self._last_schema, self._last_result = (
            schema,
            _identify(known, schema, renames, append_only, next_id, anew),
        )
        return self._last_result

    def has_identified(self, schema: TableSchema, result: TableSchema) -> bool:
        """Whether a schema was the last one to get ids, and that was the result."""
        return schema is self._last_schema and result is self._last_result


def _identify(
    known: TableSchema | None,
    schema: TableSchema,
    renames: Iterable[tuple[str, str]],
    append_only: bool,
    next_id: int,
    anew: Collection[str],
) -> TableSchema:
    """As `identify_columns`; one object for equal schemas of many tables that change alike."""
    if renames or anew or not (_has_texts(schema) and (known is None or _has_texts(known))):
        return identify_columns(known, schema, renames, append_only, next_id, anew)
    result = _identify_alike(known, schema, append_only, next_id)
    return known if known is not None and result == known else result


_TEXTS = frozenset({str, type(None)})


def _has_texts(schema: TableSchema) -> bool:
    """Whether all defaults are texts: the numbers 1, 1.0 and True are equal and not the same."""
    return {type(c.default) for c in schema.columns} <= _TEXTS


@lru_cache(KEPT_SCHEMAS)
def _identify_alike(
    known: TableSchema | None, schema: TableSchema, append_only: bool, next_id: int
) -> TableSchema:
    return identify_columns(known, schema, (), append_only, next_id)


def identify_columns(
    known: TableSchema | None,
    schema: TableSchema,
    renames: Iterable[tuple[str, str]],
    append_only: bool,
    next_id: int,
    anew: Collection[str] = (),
) -> TableSchema:
    """Return the schema with ids: those of `known` for the same columns, new ones from `next_id`.

    `renames` are stated (old, new) names; `anew` are the names, in lower case, of columns that a statement
    dropped and added again.
    """
    stated = dict(renames)
    if known is not None and not stated and not anew and known.names == schema.names:
        return _reuse_columns(known, schema)
    ids = _keep_ids(known, schema, stated, append_only) if known is not None else {}
    ids = {name: id for name, id in ids.items() if name.lower() not in anew}
    # one object for one column makes comparing it quick; 1, 1.0 and True are equal and not the same
    same = {} if known is None else {(c, type(c.default)): c for c in known.columns}
    columns = []
    for column in schema.columns:
        if column.name in ids:
            kept = column.with_identity(ids[column.name], column.emitted_name)
            columns.append(same.get((kept, type(kept.default)), kept))
        else:
            columns.append(column.with_identity(next_id, column.emitted_name))
            next_id += 1
    return TableSchema(tuple(columns), schema.key, schema.comment)


def _reuse_columns(known: TableSchema, schema: TableSchema) -> TableSchema:
    """Return the schema with the ids of the same names in the same order; `known` itself if it is equal."""
    pairs = zip(known.columns, schema.columns, strict=True)
    named = TableSchema(
        tuple([new.with_identity(old.id, new.emitted_name) for old, new in pairs]), schema.key, schema.comment
    )
    return known if named == known else named


def _keep_ids(
    known: TableSchema, schema: TableSchema, renames: dict[str, str], append_only: bool
) -> dict[str, int]:
    """New name → id of each column that is still there."""
    names = set(schema.names)
    # A statement may spell the old name in another case than the catalogue does.
    spelled = {c.name.lower(): c.name for c in known.columns}
    renamed = {old.lower(): new for old, new in renames.items() if new in names}
    stated = {name: renamed[lower] for lower, name in spelled.items() if lower in renamed}
    new_names = set(stated.values())
    now = {c.name: c.name for c in known.columns if c.name in names and c.name not in new_names} | stated
    if append_only:
        now = _keep_ordered(known, schema, now, new_names)
    return {now[c.name]: c.id for c in known.columns if c.name in now and c.id is not None}


def _keep_ordered(
    known: TableSchema, schema: TableSchema, now: dict[str, str], stated: Collection[str]
) -> dict[str, str]:
    """Only the columns that appending leaves: one at a place that it cannot have was added again.

    If more columns had to be added again than moved, the table was rebuilt: then all are the same columns.
    `stated` are the new names of columns whose renames are known: they exchanged their names indeed.
    """
    before = {now[c.name]: i for i, c in enumerate(known.columns) if c.name in now}
    kept: set[str] = set()
    last = -1
    for name in schema.names:
        # Another name may belong to any column from here on, also to one whose old name a new column has.
        place = before.get(name, last + 1)
        if place <= last or place >= len(known.columns):
            break
        kept |= {name} & before.keys()
        last = place
    again = len(before) - len(kept)
    moved = len(find_moved_columns(known, schema, now))
    if again > moved and not _has_insertion(schema, before, len(known.columns) - len(before)):
        kept = {*before}
    places = match_places(known, schema)
    if places.moved.difference(stated):
        kept = {name for name in before if name in places.unchanged or name in stated}
    return {old: new for old, new in now.items() if new in kept}


def _has_insertion(schema: TableSchema, before: Mapping[str, int], vanished: int) -> bool:
    """Whether more new names stand in front of a known column than names have vanished."""
    last = max((i for i, name in enumerate(schema.names) if name in before), default=0)
    return sum(name not in before for name in schema.names[:last]) > vanished


def find_moved_columns(
    known: TableSchema, schema: TableSchema, now: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Find the fewest columns that moved among the others, by their new names.

    `now` has the new name of each column by its old one.
    """
    now = {name: name for name in known.names} if now is None else now
    before = {now[c.name]: i for i, c in enumerate(known.columns) if c.name in now}
    names = [name for name in schema.names if name in before]
    places = [before[name] for name in names]
    if places == sorted(places):
        return ()
    lengths = _measure_lengths(places)
    kept: set[int] = set()
    wanted = max(lengths, default=0)
    for index in range(len(places) - 1, -1, -1):
        if lengths[index] == wanted and all(places[index] < places[k] for k in kept):
            kept.add(index)
            wanted -= 1
    return tuple(name for index, name in enumerate(names) if index not in kept)


def _measure_lengths(values: Sequence[int]) -> list[int]:
    """For each value the length of the longest increasing subsequence that ends there."""
    tops: list[int] = []
    lengths: list[int] = []
    for value in values:
        pile = bisect_left(tops, value)
        tops[pile : pile + 1] = [value]
        lengths.append(pile + 1)
    return lengths
