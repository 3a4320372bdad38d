"""Decoders of rows, made once for a schema and a version of a table.

Law: a decoder gives all cells of a row, or a reason; it never leaves out a cell silently.
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
"""A field, its column, its placeholders for an unavailable value, and how a value is read: either it must
have a Python type and is taken as it is, or it is converted."""


@dataclass(frozen=True, slots=True)
class DecodedRow:
    """The cells of a row by column name, without those that are unavailable.

    `unread_reasons` has the reasons for cells that could not be read, if a decoder continues without them.
    """

    row: Mapping[str, Value]
    unavailable: frozenset[str]
    unread_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing_reasons(self) -> Mapping[str, str]:
        """The reason for each missing cell of the row; empty for a complete row."""
        return {**dict.fromkeys(self.unavailable, "the value was not sent"), **self.unread_reasons}


class UnreadableCell(ValueError):
    """A cell that cannot be read exactly; the message has its column and the reason."""


Decoder = Callable[[Mapping[str, object]], DecodedRow]
_ALL: frozenset[str] = frozenset()
FAULTS = (UnfitValue, AttributeError, AssertionError, ArithmeticError, TypeError)
"""The exceptions of converters for a cell that contradicts its schema."""


def make_decoder(cells: Sequence[Cell]) -> Decoder:
    """Make the decoder of rows with these cells.

    It raises UnreadableCell for a cell that is missing or cannot be read exactly. If the type of a field does
    not fit its column, it refuses every row, also with null: the history does not have this structure yet.
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
        except FAULTS as fault:
            raise UnreadableCell(f"{name}: {fault}") from None
        return DecodedRow(found, frozenset(missing) if missing else _ALL)

    return decode


def _make_refusing_decoder(reason: str) -> Decoder:
    """Make the decoder that refuses every row, since the type of a field does not fit its column."""

    def decode(row: Mapping[str, Any]) -> DecodedRow:
        raise UnreadableCell(reason)

    return decode


def make_lenient_decoder(cells: Sequence[Cell]) -> Decoder:
    """Make the decoder of rows that may be incomplete: it gives reasons for cells that it cannot read."""
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
    """Make the cell of a field with a schema, for any `modes` of its connector.

    `whole`: the field cannot hold a placeholder, as in keys.

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
    """Make the cell of a field without a schema; if its mode is unknown, each value is refused.

    Raises:
        UnreadableInput: the type of the column has no encoding.
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
    """Accept whole numbers in a cell of a decimal without digits behind the point, in any mode.

    Source: Debezium OracleValueConverters.getNumericSchema: by width, for every `decimal.handling.mode`.
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
    """Whether a 64-bit column of MySQL is known only from events, and so may be unsigned at the source.

    Source: Debezium `bigint.unsigned.handling.mode`, by default `long`: BIGINT UNSIGNED travels as int64.
    """
    return column.type == Integer(64) and column.source_type is None


def refuse_unknown_sign(made: Cell) -> Cell:
    """Refuse negative numbers in such a cell: each may be a number of the upper half."""
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
