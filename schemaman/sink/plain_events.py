"""Reads plain events of rows column by column: those whose bytes resemble an event that was read in full.

Law: an event that this module takes has the outcome of `RowReader.read`; it leaves every other record to it.

An event is plain if its key and value begin with the bytes of the earlier event that prove the schemas, its
payload has exactly the members of that one, it is a change of the same table in the log, and all its cells
can be read. msgspec parses its payload: what both parse is equal, and what msgspec refuses is left as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from schemaman.debezium.raw_record import is_outbox, is_snapshot_read, read_epoch_ms
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import FRAMING_HEADERS
from schemaman.sink.body_parser import BodyParser
from schemaman.sink.decoders import KeyDecoder, TableDecoder
from schemaman.sink.payloads import BodySchema
from schemaman.sink.record_columns import RecordColumns
from schemaman.sink.row_change import Op, RowChange
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.values.row_decoder import FAULTS, Cell
from schemaman.sink.values.values import Value

_OPS = frozenset("cud")
_IMAGES = ("before", "after")
_NEEDED = {*_IMAGES, "source", "op"}


@dataclass(frozen=True, slots=True)
class PlainRows:
    """The plain changes of one table and one structure, column by column, in the order of their records.

    `sample` is a change that was read in full; table, structure and version of all of them are its own.
    `places` are the topics, partitions and offsets of the records, column by column: an object for each
    record would cost the collector time. `names` are the source's columns of the `cells`, which are those of
    the row after the change, None in a deleted row; `key_names` are those of the `keys` of the records.
    `times` are those of the changes at the source in epoch milliseconds; None if unknown.
    """

    sample: RowChange
    names: tuple[str, ...]
    key_names: tuple[str, ...]
    places: tuple[list[str], list[int], list[int]]
    ops: list[Op]
    orders: list[str]
    times: list[int | None]
    keys: tuple[list[Value], ...]
    cells: tuple[list[Value], ...]

    def find_record(self, index: int) -> TopicOffset:
        """Find the record of a change."""
        topics, partitions, offsets = self.places
        return topics[index], partitions[index], offsets[index]

    def add_events(
        self, events: PlainEvents, first: int, records: RecordColumns, orders: Sequence[str]
    ) -> None:
        """Add the events from index `first` on, one for each order; `records` begin with their records."""
        part = slice(first, first + len(orders))
        topics, partitions, offsets = self.places
        topics.extend(records.topics[: len(orders)])
        partitions.extend(records.partitions[: len(orders)])
        offsets.extend(records.offsets[: len(orders)])
        self.orders.extend(orders)
        self.ops.extend(events.ops[part])
        times = events.sources.get("ts_ms")
        self.times.extend([None] * len(orders) if times is None else map(read_epoch_ms, times[part]))
        for column, values in zip((*self.keys, *self.cells), (*events.keys, *events.cells), strict=True):
            column.extend(values[part])


class PlainRun(NamedTuple):
    """Plain changes of one table that follow each other in a partition, by their indices."""

    rows: PlainRows
    changes: range


@dataclass(frozen=True, slots=True)
class PlainEvents:
    """Plain events of one form, column by column: operations, source blocks, keys and cells.

    `indices` are those of their records, in order. The cells of a deleted row are None.
    """

    form: PlainForm
    indices: Sequence[int]
    ops: Sequence[Op]
    sources: Mapping[str, Sequence[object]]
    keys: Sequence[Sequence[Value]]
    cells: Sequence[Sequence[Value]]

    def slice_sources(self, first: int, size: int) -> Mapping[str, Sequence[object]]:
        """Select the source blocks of some events that follow each other."""
        return {name: column[first : first + size] for name, column in self.sources.items()}


@dataclass(slots=True, eq=False)
class PlainForm:
    """The form of plain events of one table.

    `names` are the fields of the source block that identify the table. `field_names` are those of the
    payload, of the row and of the source block.
    `fields` are the indices of the `cells` in parsed rows, `key_fields` those of the `key_cells` in keys.
    """

    value_prefix: bytes
    key_prefix: bytes
    names: Mapping[str, object]
    field_names: tuple[frozenset[str], frozenset[str], tuple[str, ...]]
    values: BodyParser
    keys: BodyParser
    key_cells: tuple[Cell, ...]
    key_fields: tuple[int, ...]
    cells: tuple[Cell, ...]
    fields: tuple[int, ...]
    rows: PlainRows

    @property
    def connector(self) -> object:
        """The name of the connector in the source blocks."""
        return self.names.get("connector")

    def is_like(self, other: PlainForm) -> bool:
        """Whether the events of another form have the same schemas, members and table."""
        return (self.value_prefix, self.key_prefix, self.field_names, self.names) == (
            other.value_prefix, other.key_prefix, other.field_names, other.names,
        )  # fmt: skip

    def read_events(self, records: RecordColumns, indices: Sequence[int]) -> PlainEvents:
        """Read the plain events among the records at some indices."""
        indices = self._find_begun(records, indices)
        events = self.values.parse_all(_cut_payloads(self.value_prefix, records.values, indices))
        parsed = self.keys.parse_all(_cut_payloads(self.key_prefix, records.keys, indices))
        if None in events or None in parsed:
            both = [event is not None and key is not None for event, key in zip(events, parsed, strict=True)]
            events, parsed, indices = (list(compress(each, both)) for each in (events, parsed, indices))
        ops, images, blocks = ([getattr(e, name) for e in events] for name in ("op", "after", "source"))
        sources = dict(zip(self.field_names[2], _transpose_structs(blocks), strict=False))
        bad = self._find_odd(ops, images, sources)
        living: Sequence[int] = range(len(ops))
        if bad or "d" in ops:
            living = [at for at, op in enumerate(ops) if op != "d" and at not in bad]
            images = [images[at] for at in living]
        keys = _read_columns(self.key_cells, self.key_fields, _transpose_structs(parsed), bad)
        bad_rows: set[int] = set()
        columns = _read_columns(self.cells, self.fields, _transpose_structs(images), bad_rows)
        if len(living) < len(ops):
            columns = [_spread_values(column, living, len(ops)) for column in columns]
        bad.update(living[at] for at in bad_rows)
        made = PlainEvents(self, indices, ops, sources, keys, columns)
        return _leave_out(made, bad) if bad else made

    def _find_begun(self, records: RecordColumns, indices: Sequence[int]) -> Sequence[int]:
        """Find the records that begin as the events of this form do; no header names other schemas."""
        values, keys = records.values, records.keys
        prefix, key_prefix = self.value_prefix, self.key_prefix
        found = [
            index
            for index in indices
            if (value := values[index]) is not None
            and (key := keys[index]) is not None
            and value.startswith(prefix)
            and key.startswith(key_prefix)
        ]
        if any(records.headers):
            found = [i for i in found if not (records.headers[i] and _is_special(records.make_record(i)))]
        return found

    def _find_odd(
        self, ops: Sequence[str], images: Sequence[object], sources: Mapping[str, Sequence[object]]
    ) -> set[int]:
        """Find the events that are no streamed changes of the table."""
        size, found = len(ops), set[int]()
        if not _OPS.issuperset(ops):
            found.update(at for at, op in enumerate(ops) if op not in _OPS)
        if None in images:
            found.update(at for at, row in enumerate(images) if row is None and ops[at] != "d")
        snapshots = sources.get("snapshot", ())
        if snapshots.count("false") < len(snapshots):
            found.update(at for at, each in enumerate(snapshots) if is_snapshot_read({"snapshot": each}))
        for name, expected in self.names.items():
            column = sources.get(name, ())
            if column.count(expected) < size:
                found.update(at for at, value in enumerate(column) if value != expected)
        return found


def _cut_payloads(prefix: bytes, bodies: Sequence[bytes | None], indices: Sequence[int]) -> list[bytes]:
    """Cut the payloads out of bodies that begin with a prefix; empty if a body ends otherwise."""
    start, found = len(prefix), (bodies[index] for index in indices)
    return [body[start:-1] if body is not None and body.endswith(b"}") else b"" for body in found]


def _transpose_structs(structs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """List the fields of structures column by column; no columns if there are none."""
    return list(zip(*map(msgspec.structs.astuple, structs), strict=True))


def _spread_values(values: Sequence[Value], indices: Sequence[int], size: int) -> Sequence[Value]:
    """Put values at their indices in a column of a size; the others are None."""
    column: list[Value] = [None] * size
    for index, value in zip(indices, values, strict=True):
        column[index] = value
    return column


def _leave_out(events: PlainEvents, bad: Collection[int]) -> PlainEvents:
    """Leave out some events."""
    good = [at not in bad for at in range(len(events.indices))]
    ops: list[Op] = list(compress(events.ops, good))
    return PlainEvents(
        events.form, list(compress(events.indices, good)), ops,
        {name: list(compress(column, good)) for name, column in events.sources.items()},
        [list(compress(column, good)) for column in events.keys],
        [list(compress(column, good)) for column in events.cells],
    )  # fmt: skip


def _read_columns(
    cells: Sequence[Cell], fields: Sequence[int], columns: Sequence[Sequence[Any]], bad: set[int]
) -> list[Sequence[Value]]:
    """Read the cells of rows, column by column; the indices of rows that are not plain go to `bad`."""
    if not columns:
        return [()] * len(cells)
    return [_read_column(cell, columns[index], bad) for cell, index in zip(cells, fields, strict=True)]


def _read_column(cell: Cell, values: Sequence[Any], bad: set[int]) -> Sequence[Value]:
    """Read the cells of a column; the indices of those that are unavailable or unreadable go to `bad`."""
    _, _, placeholders, expected, convert = cell
    if any(word in values for word in placeholders):
        bad.update(i for i, value in enumerate(values) if value in placeholders)
    if convert is None:
        if not {expected, type(None)}.issuperset(map(type, values)):
            bad.update(i for i, v in enumerate(values) if v is not None and type(v) is not expected)
        return values
    try:
        return [None if value is None else convert(value) for value in values]
    except FAULTS:
        return [_read_cell(convert, value, i, bad) for i, value in enumerate(values)]


def _read_cell(convert: Callable[[object], Value], value: object, index: int, bad: set[int]) -> Value:
    try:
        return None if value is None else convert(value)
    except FAULTS:
        bad.add(index)
        return None


def make_plain_form(
    payloads: tuple[Mapping[str, Any], Any],
    bodies: tuple[BodySchema, BodySchema],
    names: Mapping[str, object],
    decoder: TableDecoder,
    key_decoder: KeyDecoder,
    change: RowChange,
) -> PlainForm | None:
    """Make the form of events like one that was read: its payloads, the schemas of its value and its key.

    None if events of this form are read in full.
    """
    (payload, key_row), (value, key), cells = payloads, bodies, key_decoder.cells
    row, source = payload.get("after"), payload.get("source")
    if not (value.prefix and key.prefix and decoder.schema.key and payload.keys() >= _NEEDED):
        return None
    if (
        not isinstance(row, dict)
        or not isinstance(source, dict)
        or not decoder.cells
        or {cell[0] for cell in decoder.cells} - row.keys()
    ):
        return None
    if not isinstance(key_row, dict) or not cells or len({cell[1] for cell in cells}) < len(cells):
        return None
    try:
        made = _define_struct("PlainRow", dict.fromkeys(row, Any))
        image = made | None
        block = _define_struct("PlainSource", dict.fromkeys(source, Any))
        typed = {"before": image, "after": image, "source": block, "op": str}
        event = _define_struct("PlainEvent", {name: typed.get(name, Any) for name in payload}, _NEEDED)
        values = BodyParser(event, value)
        keys = BodyParser(_define_struct("PlainKey", dict.fromkeys(key_row, Any)), key)
    except (TypeError, ValueError):  # such as half a surrogate pair in a name
        return None
    rows = PlainRows(
        change, tuple(cell[1] for cell in decoder.cells), tuple(cell[1] for cell in cells), ([], [], []),
        [], [], [], tuple([] for _ in cells), tuple([] for _ in decoder.cells),
    )  # fmt: skip
    return PlainForm(
        value.prefix, key.prefix, names, (frozenset(payload), frozenset(row), tuple(source)), values, keys,
        cells, _find_fields(cells, key_row), decoder.cells, _find_fields(decoder.cells, row), rows,
    )  # fmt: skip


def _find_fields(cells: Sequence[Cell], row: Iterable[str]) -> tuple[int, ...]:
    """The indices of the fields of cells in a row."""
    indices = {name: index for index, name in enumerate(row)}
    return tuple(indices[cell[0]] for cell in cells)


def _define_struct(title: str, types: Mapping[str, Any], own: Collection[str] = ()) -> Any:
    """Define the structure of JSON objects with exactly these members; `own` names are attributes."""
    attributes = {name: name if name in own else f"f{i}" for i, name in enumerate(types)}
    return msgspec.defstruct(
        title,
        [(attributes[name], type) for name, type in types.items()],
        rename={attribute: name for name, attribute in attributes.items()},
        forbid_unknown_fields=True,
        gc=False,
    )


def _is_special(record: Record) -> bool:
    """Whether the headers of a record say that it is of another kind, or name the schemas of its bodies."""
    return is_outbox(record) or any(name in FRAMING_HEADERS for name, _ in record.headers)
