"""Maps plain changes to a lake table column by column, and folds those of each key.

Law: rows that are mapped here are those of `map_change` and `fold_changes`; what may differ is not mapped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from operator import le
from typing import Any

from schemaman.model.types import Binary, Date, Integer, String
from schemaman.sink.plain_events import PlainRows
from schemaman.sink.row_change import Op, RowChange
from schemaman.sink.row_mapping import RowMap, find_lake_columns
from schemaman.sink.upsert import LakeChange
from schemaman.sink.values.to_lake import fit_column
from schemaman.sink.values.values import UnfitValue

Key = object
"""The value of a key of one column, or the tuple of those of several: a tuple for each row costs more."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAULTS = (UnfitValue, ArithmeticError, AttributeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class PlainMapping:
    """Plain changes in the columns of a lake table.

    `columns` has the values by name, one for each change; those of a deleted row are None except in its key
    and in the columns of `always`. `others` are columns of the table without a value in any change.
    """

    rows: PlainRows
    columns: Mapping[str, Sequence[object]]
    keys: Sequence[Key]
    always: frozenset[str]
    others: frozenset[str]

    def make_change(self, index: int) -> LakeChange:
        """Make the change as `map_change` does."""
        rows = self.rows
        names = self.always if rows.ops[index] == "d" else self.columns
        values = {name: self.columns[name][index] for name in names}
        return LakeChange(rows.ops[index], rows.orders[index], rows.find_record(index), values)

    def list_kept(self, op: Op) -> frozenset[str]:
        """List the columns that keep the values of the table where a change is the only one of its row."""
        match op:
            case "d":
                return self.others | (self.columns.keys() - self.always)
            case "c":
                return frozenset()
            case _:
                return self.others


def map_plain_rows(rows: PlainRows, to: RowMap) -> PlainMapping | None:
    """Map the changes; None if a change needs more than its own values, or has one that does not fit."""
    sample = rows.sample
    if not to.key or not _is_mapped_plainly(sample, to) or min(rows.orders) <= to.truncated:
        return None
    columns: dict[str, Sequence[object]] = {}
    for name, values in zip(rows.names, rows.cells, strict=True):
        if not _map_column(name, values, sample, to, columns):
            return None
    keys = _map_keys(rows, to)
    if keys is None or columns.keys() & to.dropped:
        return None
    columns |= keys
    metadata = _fill_metadata(rows, to)
    always = frozenset((*to.key, *metadata))
    others = frozenset(c.name for c in to.columns) - columns.keys() - metadata.keys()
    parts = [columns[name] for name in to.key]
    whole = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
    return PlainMapping(rows, {**columns, **metadata}, whole, always, others)


def make_key(values: Mapping[str, object], to: RowMap) -> Key:
    """Make the key of a row of values."""
    parts = tuple(values[name] for name in to.key)
    return parts[0] if len(parts) == 1 else parts


def split_key(key: Any, to: RowMap) -> Mapping[str, object]:
    """Split a key of `make_key` into the values of its columns."""
    return dict(zip(to.key, (key,) if len(to.key) == 1 else key, strict=True))


def _is_mapped_plainly(sample: RowChange, to: RowMap) -> bool:
    """Whether rows of a version go into the table, under its present key."""
    version = sample.version
    if version is None or to.key_proofs or to.settled or to.passed or to.closed:
        return False
    if to.incarnations.get(version, to.incarnation) != to.incarnation:
        return False
    found = find_lake_columns(sample, to)
    then = {found[name][1] for name in sample.schema.key if name in found}
    return then == set(to.key) and (to.versions is None or version in to.versions)


def _map_column(
    name: str, values: Sequence[object], sample: RowChange, to: RowMap, columns: dict[str, Sequence[object]]
) -> bool:
    """Map the values of a source column into `columns`; return whether none of them needs more."""
    column, lake_name, lake_type = find_lake_columns(sample, to).get(name, (None, None, None))
    if column is None or lake_name is None or lake_type is None:
        kept = column is not None and column.id is not None and column.id in to.unmapped_reasons
        return not kept or all(value is None for value in values)
    is_special = (
        (sample.version or 0, name) in to.renamings
        or lake_name in to.siblings
        or lake_name in to.texts
        or lake_name in to.rounded
        or lake_name in to.ambiguous
        or lake_name in columns
    )
    if is_special:
        return False
    try:
        columns[lake_name] = fit_column(values, column.type, lake_type)
    except _FAULTS:
        return False
    return True


def _map_keys(rows: PlainRows, to: RowMap) -> dict[str, Sequence[object]] | None:
    """Map the keys of the records; None if they are not the key of the table, or not compared as they are."""
    columns: dict[str, Sequence[object]] = {}
    for name, values in zip(rows.key_names, rows.keys, strict=True):
        if None in values or not _map_column(name, values, rows.sample, to, columns):
            return None
    types = (column.type for column in to.key_columns)
    if columns.keys() != set(to.key) or not all(
        isinstance(t, Integer | String | Binary | Date) for t in types
    ):
        return None
    return columns


def _fill_metadata(rows: PlainRows, to: RowMap) -> dict[str, Sequence[object]]:
    """The values of the table's metadata columns."""
    if not to.metadata_columns:
        return {}
    topics, partitions, offsets = rows.places
    values: dict[str, Sequence[object]] = {
        "op": rows.ops,
        "ts": [None if ms is None else _EPOCH + timedelta(milliseconds=ms) for ms in rows.times],
        "deleted": [op == "d" for op in rows.ops],
        "position": rows.orders,
        "stream": [rows.sample.record.stream] * len(rows.ops),
        "topic": topics,
        "partition": partitions,
        "offset": offsets,
    }
    return {name: values[role] for role, name in to.metadata_columns.items() if role in values}


@dataclass(frozen=True, slots=True)
class FoldedRows:
    """The indices of the changes that are the newest of their key, and of those that need the whole fold."""

    newest: Sequence[Sequence[int]]
    folded: Sequence[Sequence[int]]


def fold_plain_rows(mappings: Sequence[PlainMapping], read_in_full: Collection[Key]) -> FoldedRows:
    """Fold the changes of each key; both results are by mapping.

    A change needs the whole fold if its key has a change that was read in full or is of another mapping, or
    if its row may keep a value of the table and has several changes.
    """
    if len(mappings) == 1 and not read_in_full:
        (mapping,) = mappings
        orders, newest_at = mapping.rows.orders, dict(zip(mapping.keys, count()))
        is_whole = not mapping.others or len(newest_at) == len(orders)
        if is_whole and all(map(le, orders, orders[1:])):
            return FoldedRows([list(newest_at.values())], [[]])
    newest: dict[Key, tuple[int, int]] = {}
    shared: set[Key] = set(read_in_full)
    for at, mapping in enumerate(mappings):
        orders, is_partial = mapping.rows.orders, bool(mapping.others)
        for index, key in enumerate(mapping.keys):
            other = newest.get(key)
            if other is None:
                newest[key] = (at, index)
            elif is_partial or other[0] != at:
                shared.add(key)
            elif orders[index] >= orders[other[1]]:
                newest[key] = (at, index)
    chosen: list[list[int]] = [[] for _ in mappings]
    for key, (at, index) in newest.items():
        if key not in shared:
            chosen[at].append(index)
    folded = [
        [i for i, key in enumerate(mapping.keys) if key in shared] if shared else [] for mapping in mappings
    ]
    return FoldedRows(chosen, folded)
