"""Rows decoded cell by cell, by decoders that were made once for a schema and a version of a table.

Law: a decoder gives all cells of a row, or a reason; none is left out in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import Any

from schemaman.debezium.converters.connect import Node, read_type
from schemaman.model.schema import Column
from schemaman.model.types import Decimal, Integer
from schemaman.sink.values import to_source as source
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes, UnknownMode, build_node
from schemaman.sink.values.from_connect import PLAIN, CellEncoding, is_plain, make_reader
from schemaman.sink.values.unavailable import PLACEHOLDER, Placeholders, list_placeholders
from schemaman.sink.values.values import Convert, UnfitValue, Value, abbreviate_value

Cell = tuple[str, str, Placeholders, type | None, Convert | None]
"""Field, column, what stands for an unavailable value, and how a value is read: it must be of a type of
Python and is taken as it is, or it is converted."""


@dataclass(frozen=True, slots=True)
class DecodedRow:
    """The cells of a row under the names of their columns, without those that are unavailable.

    `unread_reasons` says of those that could not be had why that is, where a decoder goes on without them.
    """

    row: Mapping[str, Value]
    unavailable: frozenset[str]
    unread_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing_reasons(self) -> Mapping[str, str]:
        """Why each cell that the row lacks is not there; empty of one that is whole."""
        return {**dict.fromkeys(self.unavailable, "the value was not sent"), **self.unread_reasons}


class UnreadableCell(ValueError):
    """A cell that cannot be had exactly; the message names its column and says why."""


Decoder = Callable[[Mapping[str, object]], DecodedRow]
_ALL: frozenset[str] = frozenset()
_FAULTS = (UnfitValue, AttributeError, AssertionError, ArithmeticError, TypeError)
"""What a cell that is not as its schema says makes converters raise."""


def make_decoder(cells: Sequence[Cell]) -> Decoder:
    """The decoder of rows with those cells.

    It raises UnreadableCell for a cell that is missing or cannot be had exactly; also where it is null, if
    its field is no such column: the record is of a structure that nobody has told of yet.
    """
    for _, column, *_, read in cells:
        if isinstance(read, source.IncompatibleType):
            return _make_refusing_decoder(f"{column}: {read.reason}")

    def decode(row: Mapping[str, Any]) -> DecodedRow:
        found: dict[str, Value] = {}
        missing: list[str] = []
        name = ""
        try:
            for field, name, unavailable, expected, convert in cells:
                value: Value = row[field]
                if value is None:
                    found[name] = None
                elif unavailable and value in unavailable:
                    missing.append(name)
                elif convert is not None:
                    found[name] = convert(value)
                elif type(value) is expected:
                    found[name] = value
                else:
                    raise UnfitValue(
                        f"{abbreviate_value(value)} is no {expected.__name__ if expected else 'value'}"
                    )
        except KeyError:
            raise UnreadableCell(f"{name}: the record has no such field") from None
        except _FAULTS as fault:
            raise UnreadableCell(f"{name}: {fault}") from None
        return DecodedRow(found, frozenset(missing) if missing else _ALL)

    return decode


def _make_refusing_decoder(reason: str) -> Decoder:
    """The decoder of rows of which a field is no value of its column, whatever they hold."""

    def decode(row: Mapping[str, Any]) -> DecodedRow:
        raise UnreadableCell(reason)

    return decode


def make_lenient_decoder(cells: Sequence[Cell]) -> Decoder:
    """The decoder of rows of which only a part is asked: of what is missing or cannot be had it says why."""
    whole, each = make_decoder(cells), {made[1]: make_decoder([made]) for made in cells}

    def decode(row: Mapping[str, Any]) -> DecodedRow:
        try:
            return whole(row)
        except UnreadableCell:
            return _decode_partly(each, row)

    return decode


def _decode_partly(each: Mapping[str, Decoder], row: Mapping[str, Any]) -> DecodedRow:
    found: dict[str, Value] = {}
    unavailable: set[str] = set()
    unread: dict[str, str] = {}
    for name, decode in each.items():
        try:
            one = decode(row)
        except UnreadableCell as reason:
            unread[name] = str(reason).removeprefix(f"{name}: ")
        else:
            found |= one.row
            unavailable |= one.unavailable
    return DecodedRow(found, frozenset(unavailable), unread)


def make_cell(
    field: Node,
    column: Column,
    written: CellEncoding,
    modes: ConnectorModes = UNKNOWN_MODES,
    *,
    whole: bool = False,
    placeholder: bytes = PLACEHOLDER,
) -> Cell:
    """How one field is read as its column, whatever the `modes` of its connector.

    `whole`: no placeholder can stand in it, as in keys.

    Raises:
        UnreadableInput: the field is no Connect schema.
    """
    kind = str(field.get("type")).lower()
    wire, unavailable = read_type(field), () if whole else list_placeholders(field, written, placeholder)
    convert = source.make_converter(wire, column.type, modes)
    if kind in PLAIN and convert is None and is_plain(field):
        return field["field"], column.name, unavailable, PLAIN[kind], None
    if isinstance(convert, source.IncompatibleType):
        return field["field"], column.name, (), None, convert
    read = make_reader(field, written)
    return (
        field["field"],
        column.name,
        unavailable,
        None,
        read if convert is None else _chain_converters(read, convert),
    )


def make_cell_by_modes(
    field: str, column: Column, modes: ConnectorModes, written: CellEncoding, placeholder: bytes
) -> Cell:
    """How a field is read that brings no schema; one that nobody can read is refused where it has a value.

    Raises:
        UnreadableInput: the type of the column cannot travel at all.
    """
    try:
        node = {**build_node(column.type, modes), "field": field}
        made = make_cell(node, column, written, modes, placeholder=placeholder)
        return (
            _accept_whole_number(made)
            if isinstance(column.type, Decimal) and column.type.scale <= 0
            else made
        )
    except UnknownMode as reason:
        return field, column.name, (), None, _make_refusal(str(reason))


def _accept_whole_number(made: Cell) -> Cell:
    """The cell of a decimal without digits behind the point, which may come as a whole number in any mode.

    Source: Debezium OracleValueConverters.getNumericSchema: by width, whatever `decimal.handling.mode` says.
    """
    field, name, unavailable, _, convert = made

    def read(value: object) -> Value:
        if type(value) is int:
            return Number(value)
        if convert is not None:
            return convert(value)
        raise UnfitValue(f"{abbreviate_value(value)} is no decimal number")

    return field, name, unavailable, None, read


def is_sign_unknown(column: Column) -> bool:
    """Whether only events tell of a column of MySQL that it has 64 bits: it may have no sign at the source.

    Source: Debezium `bigint.unsigned.handling.mode`, by default `long`: BIGINT UNSIGNED travels as int64.
    """
    return column.type == Integer(64) and column.source_type is None


def refuse_unknown_sign(made: Cell) -> Cell:
    """The cell of such a column: a negative number may be one of the upper half, and is refused."""
    field, name, unavailable, expected, convert = made
    if isinstance(convert, source.IncompatibleType):
        return made

    def read_signed(value: object) -> Value:
        found = value if convert is None else convert(value)
        assert isinstance(found, int)
        if found < 0:
            raise UnfitValue(
                f"{found} may be {found + (1 << 64)} of a BIGINT UNSIGNED, and no statement declares the "
                "column: read the schema-change topic, or configure bigint.unsigned.handling.mode if it is "
                "precise"
            )
        return found

    return field, name, unavailable, expected, read_signed


def _make_refusal(reason: str) -> Convert:
    def refuse(value: object) -> Value:
        raise UnfitValue(reason)

    return refuse


def _chain_converters(read: Convert, convert: Convert) -> Convert:
    def both(value: object) -> Value:
        return convert(read(value))

    return both
