"""Converts types of lake tables to Arrow types, rows to Arrow batches, and keys to bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as arrow

from schemaman.model.schema import Column
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
)
from schemaman.sink.values.decimals import rescale_number

_INTEGERS = {8: arrow.int8(), 16: arrow.int16(), 32: arrow.int32(), 64: arrow.int64()}


def to_arrow_type(type: Type) -> Any:
    """Return the Arrow type that PySpark uses for a lake type.

    Source: PySpark `pyspark.sql.pandas.types.to_arrow_type`.

    Raises:
        ValueError: no lake table has this type.
    """
    match type:
        case Boolean():
            return arrow.bool_()
        case Integer(bits, True):
            return _INTEGERS[bits]
        case Floating(bits):
            return arrow.float32() if bits == 32 else arrow.float64()
        case Decimal(precision, scale):
            return arrow.decimal128(precision, scale)
        case String() | Unknown("variant"):
            return arrow.string()  # a VARIANT is sent as the text of its document
        case Binary():
            return arrow.binary()
        case Date():
            return arrow.date32()
        case Timestamp(_, zoned):
            return arrow.timestamp("us", tz="UTC") if zoned else arrow.timestamp("us")
        case Array(element):
            return arrow.list_(to_arrow_type(element))
        case Map(key, value):
            return arrow.map_(to_arrow_type(key), to_arrow_type(value))
        case Struct(fields):
            return arrow.struct([(f.name, to_arrow_type(f.type)) for f in fields])
        case _:
            raise ValueError(f"no lake table has the type {type!r}")


def explain_misfit(column: Column, value: object) -> str | None:
    """Explain why a column cannot store a value exactly; None if it can."""
    try:
        arrow.array([value], to_arrow_type(column.type))
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        return f"{column.name}: the value does not fit: {line}"
    return None


def fits_all(column: Column, values: Sequence[object]) -> bool:
    """Whether a column can store all of some values exactly: one call for many values."""
    return make_array(column, values) is not None


def make_array(column: Column, values: Sequence[object]) -> arrow.Array | None:
    """Make the array of a column; None if the column cannot store one of the values exactly."""
    try:
        return arrow.array(values, to_arrow_type(column.type))
    except (arrow.ArrowException, OverflowError, TypeError, ValueError):
        return None


def make_batch(values: Sequence[Mapping[str, object]], schema: arrow.Schema) -> arrow.RecordBatch:
    """Convert rows to an Arrow batch; missing columns of a row are null."""
    columns = [arrow.array([row.get(f.name) for row in values], f.type) for f in schema]
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def encode_key(key: Sequence[Column], values: Mapping[str, object]) -> bytes:
    """Encode the key of a row as bytes; equal values give equal bytes."""
    return repr(tuple(_normalize_value(column.type, values.get(column.name)) for column in key)).encode()


def _normalize_value(type: Type, value: object) -> object:
    match type, value:
        case Decimal(_, scale), Number():
            return str(rescale_number(value, scale))
        case Timestamp(_, True), datetime():
            return value.astimezone(UTC).isoformat()
        case Floating(), float():
            return repr(value + 0.0)
        case _:
            return value
