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
from schemaman.sink.row_change import Op, RowChange
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.values.row_decoder import FAULTS, Cell
from schemaman.sink.values.values import Value

_OPS = ("c", "u", "d")
_IMAGES = ("before", "after")
_NEEDED = {*_IMAGES, "source", "op"}


@dataclass(frozen=True, slots=True)
class PlainRows:
    """The plain changes of one table and one structure, column by column, in the order of their records.

    `sample` is a change that was read in full; table, structure and version of all of them are its own.
    `names` are the source's columns of the `cells`, which are those of the row after the change, None in a
    deleted row; `key_names` are those of the `keys` of the records. `times` are those of the changes at the
    source in epoch milliseconds; None if unknown.
    """

    sample: RowChange
    names: tuple[str, ...]
    key_names: tuple[str, ...]
    records: list[TopicOffset]
    ops: list[Op]
    orders: list[str]
    times: list[int | None]
    keys: tuple[list[Value], ...]
    cells: tuple[list[Value], ...]

    def add_events(
        self, events: PlainEvents, first: int, records: Iterable[TopicOffset], orders: Sequence[str]
    ) -> None:
        """Add the events from index `first` on, one for each order; `records` are their records."""
        part = slice(first, first + len(orders))
        self.records.extend(records)
        self.orders.extend(orders)
        self.ops.extend(events.ops[part])
        self.times.extend(read_epoch_ms(source.get("ts_ms")) for source in events.sources[part])
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
    sources: Sequence[Mapping[str, Any]]
    keys: Sequence[Sequence[Value]]
    cells: Sequence[Sequence[Value]]


ReadNames = Callable[[Mapping[str, Any]], tuple[object, ...]]
"""Reads from a source block what identifies the table."""


@dataclass(slots=True, eq=False)
class PlainForm:
    """The form of plain events of one table.

    `names` identify the table in the source block, `field_names` are those of the payload and of the row.
    `fields` are the indices of the `cells` in parsed rows, `key_fields` those of the `key_cells` in keys.
    """

    value_prefix: bytes
    key_prefix: bytes
    names: tuple[object, ...]
    field_names: tuple[frozenset[str], frozenset[str]]
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
        return self.names[0]

    def is_like(self, other: PlainForm) -> bool:
        """Whether the events of another form have the same schemas, members and table."""
        return (self.value_prefix, self.key_prefix, self.field_names, self.names) == (
            other.value_prefix, other.key_prefix, other.field_names, other.names,
        )  # fmt: skip

    def begins(self, record: Record) -> bool:
        """Whether a record begins as the events of this form do, and no header names other schemas."""
        value, key = record.value, record.key
        return (
            value is not None
            and key is not None
            and value.startswith(self.value_prefix)
            and key.startswith(self.key_prefix)
            and not (record.headers and _is_special(record))
        )

    def read_events(
        self, records: Sequence[Record], indices: Sequence[int], read_names: ReadNames
    ) -> PlainEvents:
        """Read the plain events among the records at some indices, which begin as those of this form do."""
        values, keys = ([getattr(records[i], side) for i in indices] for side in ("value", "key"))
        events = self.values.parse_all([_cut_payload(self.value_prefix, value) for value in values])
        parsed = self.keys.parse_all([_cut_payload(self.key_prefix, key) for key in keys])
        taken = [
            at
            for at, (event, key) in enumerate(zip(events, parsed, strict=True))
            if event is not None and key is not None and self._is_plain(event, read_names)
        ]
        found = [events[at] for at in taken]
        bad: set[int] = set()
        key_rows = [msgspec.structs.astuple(parsed[at]) for at in taken]
        key_columns = _read_columns(self.key_cells, self.key_fields, key_rows, bad)
        living = [at for at, event in enumerate(found) if event.op != "d"]
        bad_rows: set[int] = set()
        rows = [msgspec.structs.astuple(found[at].after) for at in living]
        columns = _read_columns(self.cells, self.fields, rows, bad_rows)
        if len(living) < len(found):
            columns = [_spread_values(column, living, len(found)) for column in columns]
        bad.update(living[at] for at in bad_rows)
        made = PlainEvents(
            self, [indices[at] for at in taken], [event.op for event in found],
            [event.source for event in found], key_columns, columns,
        )  # fmt: skip
        return _leave_out(made, bad) if bad else made

    def _is_plain(self, event: Any, read_names: ReadNames) -> bool:
        op, source = event.op, event.source
        return (
            op in _OPS
            and (op == "d" or event.after is not None)
            and (source.get("snapshot") == "false" or not is_snapshot_read(source))
            and read_names(source) == self.names
        )


def _cut_payload(prefix: bytes, body: bytes) -> bytes:
    """Cut the payload out of a body that begins with a prefix; empty if the body ends otherwise."""
    return body[len(prefix) : -1] if body.endswith(b"}") else b""


def _read_columns(
    cells: Sequence[Cell], fields: Sequence[int], rows: Sequence[tuple[Any, ...]], bad: set[int]
) -> list[Sequence[Value]]:
    """Read the cells of rows, column by column; the indices of rows that are not plain go to `bad`."""
    if not rows:
        return [()] * len(cells)
    values = list(zip(*rows, strict=True))
    return [_read_column(cell, values[index], bad) for cell, index in zip(cells, fields, strict=True)]


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
        events.form, list(compress(events.indices, good)), ops, list(compress(events.sources, good)),
        [list(compress(column, good)) for column in events.keys],
        [list(compress(column, good)) for column in events.cells],
    )  # fmt: skip


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
    names: tuple[object, ...],
    decoder: TableDecoder,
    key_decoder: KeyDecoder,
    change: RowChange,
) -> PlainForm | None:
    """Make the form of events like one that was read: its payloads, the schemas of its value and its key.

    None if events of this form are read in full.
    """
    (payload, key_row), (value, key), cells = payloads, bodies, key_decoder.cells
    row = payload.get("after")
    if not (value.prefix and key.prefix and decoder.schema.key and payload.keys() >= _NEEDED):
        return None
    if not isinstance(row, dict) or not decoder.cells or {cell[0] for cell in decoder.cells} - row.keys():
        return None
    if not isinstance(key_row, dict) or not cells or len({cell[1] for cell in cells}) < len(cells):
        return None
    try:
        made = _define_struct("PlainRow", dict.fromkeys(row, Any))
        image = made | None
        typed = {"before": image, "after": image, "source": dict[str, Any], "op": str}
        event = _define_struct("PlainEvent", {name: typed.get(name, Any) for name in payload}, _NEEDED)
        values = BodyParser(event, value)
        keys = BodyParser(_define_struct("PlainKey", dict.fromkeys(key_row, Any)), key)
    except (TypeError, ValueError):  # such as half a surrogate pair in a name
        return None
    rows = PlainRows(
        change, tuple(cell[1] for cell in decoder.cells), tuple(cell[1] for cell in cells), [], [], [], [],
        tuple([] for _ in cells), tuple([] for _ in decoder.cells),
    )  # fmt: skip
    return PlainForm(
        value.prefix, key.prefix, names, (frozenset(payload), frozenset(row)), values, keys,
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
