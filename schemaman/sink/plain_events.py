"""Reads plain events of rows column by column: those whose bytes resemble an event that was read in full.

Law: an event that this module takes has the outcome of `RowReader.read`; it leaves every other record to it.

An event is plain if its key and value begin with the bytes of the earlier event that prove the schemas, its
payload has exactly the members of that one, it is a change of the same table in the log, and all its cells
can be read. msgspec parses its payload: what both parse is equal, and what msgspec refuses is left as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from schemaman.debezium.raw_record import is_outbox, is_snapshot_read
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import FRAMING_HEADERS
from schemaman.sink.decoders import TableDecoder
from schemaman.sink.payloads import BodySchema
from schemaman.sink.row_change import Op, Row, RowChange
from schemaman.sink.upsert import TopicOffset
from schemaman.sink.values.row_decoder import FAULTS, Cell, Decoder, UnreadableCell
from schemaman.sink.values.values import Value

_OPS = ("c", "u", "d")
_IMAGES = ("before", "after")
_NEEDED = {*_IMAGES, "source", "op"}


class PlainChange(NamedTuple):
    """A plain change: the index of its record in the batch, operation, order, time, and the record's key.

    `cells` are those of the row after the change, None instead of a deleted row. `ts_ms` is the time of the
    change at the source in epoch milliseconds; None if unknown.
    """

    place: int
    record: TopicOffset
    op: Op
    order: str
    ts_ms: int | None
    key: Row
    cells: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class PlainRows:
    """The plain changes of one table and one structure, in the order of their records.

    `sample` is a change that was read in full; table, structure and version of all of them are its own.
    `names` are the source's columns of the cells.
    """

    sample: RowChange
    names: tuple[str, ...]
    changes: list[PlainChange] = field(default_factory=list)


class PlainRun(NamedTuple):
    """Plain changes of one table that follow each other in a partition."""

    rows: PlainRows
    changes: Sequence[PlainChange]


PlainEvent = tuple[Op, Mapping[str, Any], Row, Any]
"""The operation of an event, its source block, its key, and its parsed row; None instead of a deleted row."""

ReadNames = Callable[[Mapping[str, Any]], tuple[object, ...]]
"""Reads from a source block what identifies the table."""


@dataclass(slots=True, eq=False)
class PlainForm:
    """The form of plain events of one table.

    `names` identify the table in the source block, `field_names` are those of the payload and of the row.
    `fields` are the indices of the `cells` in parsed rows.
    """

    value_prefix: bytes
    key_prefix: bytes
    names: tuple[object, ...]
    field_names: tuple[frozenset[str], frozenset[str]]
    parse: Callable[[bytes], Any]
    parse_key: Callable[[bytes], Mapping[str, object]]
    decode_key: Decoder
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

    def parse_event(self, record: Record, read_names: ReadNames) -> PlainEvent | None:
        """Parse an event and its key; None if it is not plain."""
        value, key = record.value or b"", record.key or b""
        if value[-1:] != b"}" or key[-1:] != b"}":
            return None
        try:
            event = self.parse(value[len(self.value_prefix) : -1])
            op, source, row = event.op, event.source, event.after
            if op not in _OPS or is_snapshot_read(source) or read_names(source) != self.names:
                return None
            decoded = self.decode_key(self.parse_key(key[len(self.key_prefix) : -1]))
        except (msgspec.MsgspecError, UnreadableCell, ValueError, ArithmeticError, RecursionError):
            return None
        if op == "d":
            return op, source, decoded.row, None
        return None if row is None else (op, source, decoded.row, row)

    def read_cells(self, rows: Sequence[Any]) -> tuple[list[Sequence[Value]], set[int]]:
        """Read the cells of rows, column by column, and the indices of rows that are not plain."""
        bad: set[int] = set()
        values = list(zip(*map(msgspec.structs.astuple, rows), strict=True))
        columns = [
            _read_column(cell, values[index], bad)
            for cell, index in zip(self.cells, self.fields, strict=True)
        ]
        return columns, bad


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
    payload: Mapping[str, Any],
    bodies: tuple[BodySchema, BodySchema],
    names: tuple[object, ...],
    decoder: TableDecoder,
    decode_key: Decoder,
    change: RowChange,
) -> PlainForm | None:
    """Make the form of events like one that was read: its payload, the schemas of its value and its key.

    None if events of this form are read in full.
    """
    value, key = bodies
    row = payload.get("after")
    if not (value.prefix and key.prefix and decoder.schema.key and payload.keys() >= _NEEDED):
        return None
    if not isinstance(row, dict) or not decoder.cells or {cell[0] for cell in decoder.cells} - row.keys():
        return None
    attributes = {name: f"f{i}" for i, name in enumerate(row)}
    try:
        made = msgspec.defstruct(
            "PlainRow",
            [(attribute, Any) for attribute in attributes.values()],
            rename={attribute: name for name, attribute in attributes.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
        typed = {"before": made | None, "after": made | None, "source": dict[str, Any], "op": str}
        envelope = {name: name if name in _NEEDED else f"m{i}" for i, name in enumerate(payload)}
        event = msgspec.defstruct(
            "PlainEvent",
            [(attribute, typed.get(name, Any)) for name, attribute in envelope.items()],
            rename={attribute: name for name, attribute in envelope.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
        parse, parse_key = _make_parser(event, value), _make_parser(dict[str, Any], key)
    except (TypeError, ValueError):  # such as half a surrogate pair in a name
        return None
    indices = {name: index for index, name in enumerate(row)}
    fields = tuple(indices[cell[0]] for cell in decoder.cells)
    rows = PlainRows(change, tuple(cell[1] for cell in decoder.cells))
    return PlainForm(
        value.prefix, key.prefix, names, (frozenset(payload), frozenset(row)), parse, parse_key, decode_key,
        decoder.cells, fields, rows,
    )  # fmt: skip


def _make_parser(type: Any, body: BodySchema) -> Callable[[bytes], Any]:
    hook = Decimal if body.has_decimals else None
    return msgspec.json.Decoder(type, float_hook=hook).decode


def _is_special(record: Record) -> bool:
    """Whether the headers of a record say that it is of another kind, or name the schemas of its bodies."""
    return is_outbox(record) or any(name in FRAMING_HEADERS for name, _ in record.headers)
