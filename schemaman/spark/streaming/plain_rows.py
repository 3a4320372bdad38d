"""Decodes the records of a batch in this process, and stages its plain changes column by column.

Law: the decoded columns and the staged rows are those of `RecordDecoder`, `ChangeMapper` and `ChangeFolder`.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as arrow
import pyarrow.compute as compute

from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.sink.plain_events import PlainRows, PlainRun
from schemaman.sink.plain_mapping import (
    Key,
    PlainMapping,
    fold_plain_rows,
    make_key,
    map_plain_rows,
    split_key,
)
from schemaman.sink.plain_reader import READ_IN_FULL, PlainReader
from schemaman.sink.row_change import RowOutcome
from schemaman.sink.row_mapping import RowMap
from schemaman.sink.upsert import LakeChange
from schemaman.spark.arrow_types import encode_key, make_array
from schemaman.spark.record_columns import COLUMNS, read_columns
from schemaman.spark.streaming.row_staging import (
    CHANGE_ARROW,
    DECODED_COLUMNS,
    ReadingContext,
    RecordDecoder,
    describe_outcome,
    read_record,
)
from schemaman.spark.streaming.staged_columns import make_staged_helpers, make_staged_schema


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """The plain changes of a batch by source table, as `format_table` names it."""

    raw: arrow.Table
    reading: ReadingContext
    tables: Mapping[str, tuple[PlainRows, ...]]

    def decode_in_full(self, topics: arrow.Array) -> arrow.Table:
        """Decode the records of some topics one by one, for a table that cannot take plain changes."""
        taken = self.raw.filter(compute.is_in(self.raw["topic"], topics))
        return arrow.Table.from_batches(RecordDecoder(self.reading)(taken.to_batches()))


def decode_records(
    raw: arrow.Table, reading: ReadingContext, in_full: int = READ_IN_FULL
) -> tuple[arrow.Table, PlainBatch]:
    """Decode records, those of a partition in the order of their offsets; a plain change has no `change`.

    The decoded records have the columns of `RecordDecoder`. `in_full`: see `PlainReader`.
    """
    reader = reading.make_reader()
    plain = PlainReader(reader, lambda record: read_record(reader.read, record), in_full=in_full)
    columns: tuple[list[object], ...] = tuple([] for _ in DECODED_COLUMNS)
    texts: dict[int, str] = {}
    with _paused_collector():
        for outcome in plain.read_all(read_columns(raw)):
            for column, values in zip(columns, _describe(outcome, texts), strict=True):
                column.extend(values)
    decoded = raw.select(list(COLUMNS))
    for (name, type), values in zip(DECODED_COLUMNS, columns, strict=True):
        decoded = decoded.append_column(name, arrow.array(values, type))
    tables: dict[str, tuple[PlainRows, ...]] = {}
    for rows in plain.tables:
        text = texts[id(rows)]
        tables[text] = (*tables.get(text, ()), rows)
    return decoded, PlainBatch(raw, reading, tables)


@contextmanager
def _paused_collector() -> Iterator[None]:
    """Pause the search for cycles, which takes a third of the time that many small objects take."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _describe(outcome: RowOutcome | PlainRun, texts: dict[int, str]) -> Iterable[Iterable[object]]:
    """Describe an outcome, or those of a run, as parts of the `DECODED_COLUMNS`.

    `texts` names the tables of plain rows.
    """
    if not isinstance(outcome, PlainRun):
        found = describe_outcome(outcome)
        return [(found.get(name),) for name, _ in DECODED_COLUMNS]
    rows, part = outcome.rows, slice(outcome.changes.start, outcome.changes.stop)
    text = texts.get(id(rows))
    if text is None:
        text = texts[id(rows)] = str(describe_outcome(rows.sample)["source_table"])
    count = len(outcome.changes)
    nothing: list[object] = [None] * count
    return [text] * count, rows.orders[part], rows.ops[part], nothing, nothing, [rows.sample.version] * count


_StagedRows = tuple[arrow.Table, list[dict[str, object]]]
"""Staged rows of plain changes, and the changes, as rows of `CHANGE_ARROW`, that need the whole fold."""


def stage_plain_rows(
    tables: Sequence[PlainRows], to: RowMap, mapped: Sequence[Mapping[str, object]]
) -> _StagedRows | None:
    """Stage the newest plain change of each key; None if the lake table cannot take them.

    `mapped` are the rows of `CHANGE_ARROW` of the changes that were read in full. A plain change of one of
    their keys needs the whole fold.
    """
    empty = make_staged_schema(to).empty_table()
    if not tables:
        return empty, []
    with _paused_collector():
        tried = [_map_plain_rows(rows, to) for rows in tables]
        plain = [mapped_rows for mapped_rows in tried if mapped_rows is not None]
        if len(plain) < len(tried):
            return None
        mappings = [mapping for mapping, _ in plain]
        found = fold_plain_rows(mappings, _list_keys(mapped, mappings, to))
        staged = [
            _stage_changes(mapping, arrays, indices, to)
            for (mapping, arrays), indices in zip(plain, found.newest, strict=True)
            if indices
        ]
        more = [
            _make_row(mapping.make_change(index), to)
            for mapping, indices in zip(mappings, found.folded, strict=True)
            for index in indices
        ]
    return arrow.concat_tables(staged) if staged else empty, more


def _map_plain_rows(rows: PlainRows, to: RowMap) -> tuple[PlainMapping, Mapping[str, arrow.Array]] | None:
    """Map plain changes to the columns of a lake table; None if one of them has to be read in full."""
    mapping = map_plain_rows(rows, to)
    if mapping is None:
        return None
    arrays: dict[str, arrow.Array] = {}
    for column in to.columns:
        if column.name in mapping.columns:
            array = make_array(column, mapping.columns[column.name])
            if array is None:
                return None
            arrays[column.name] = array
    return mapping, arrays


def _list_keys(
    mapped: Sequence[Mapping[str, object]], mappings: Sequence[PlainMapping], to: RowMap
) -> set[Key]:
    """The keys of changes that were read in full, as far as they matter to plain changes."""
    keys: set[Key] = set()
    encoded: set[object] = set()  # of those that cannot be written
    for row in mapped:
        change = row["change"]
        if isinstance(change, bytes) and row["reason"] is None:
            values = pickle.loads(change).values
            keys.add(make_key(values, to))
        elif row["row_key"] is not None:
            encoded.add(row["row_key"])
    if encoded:
        every = (key for mapping in mappings for key in mapping.keys)
        keys.update(k for k in every if encode_key(to.key_columns, split_key(k, to)) in encoded)
    return keys


def _make_row(change: LakeChange, to: RowMap) -> dict[str, object]:
    """A change as `ChangeMapper` gives it."""
    key = encode_key(to.key_columns, change.values)
    values = (key, change.order, *change.record, pickle.dumps(change), None, None)
    return dict(zip(CHANGE_ARROW.names, values, strict=True))


def _stage_changes(
    mapping: PlainMapping, columns: Mapping[str, arrow.Array], indices: Sequence[int], to: RowMap
) -> arrow.Table:
    """Stage the changes at some indices, each as the only one of its row."""
    schema, helpers = make_staged_schema(to), make_staged_helpers(to)
    size, ops = len(indices), arrow.array(mapping.rows.ops, arrow.string())
    arrays = {**columns, ORDER: arrow.array(mapping.rows.orders, arrow.string())}
    if size < len(ops):
        at = arrow.array(indices, arrow.int64())
        ops, arrays = ops.take(at), {name: array.take(at) for name, array in arrays.items()}
    numbers = {column.name: number for number, column in enumerate(to.columns)}
    distinct = compute.unique(ops)
    kept = [sorted(numbers[name] for name in mapping.list_kept(op)) for op in distinct.to_pylist()]
    false = arrow.repeat(arrow.scalar(False), size)
    arrays |= {
        DELETED: compute.equal(ops, "d"),
        helpers.kept: arrow.array(kept, schema.field(helpers.kept).type).take(
            compute.index_in(ops, distinct)
        ),
        helpers.needs_row: false,
        helpers.alone: false,
    }
    found = [arrays[f.name] if f.name in arrays else arrow.nulls(size, f.type) for f in schema]
    return arrow.Table.from_arrays(found, schema=schema)
