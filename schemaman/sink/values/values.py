"""What a cell of a row holds, exactly as its logical type says, and how an unfit value is reported.

Law: a value is never rounded, cut or replaced by null: it is exact, or it is `UnfitColumn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import Any


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A date or a timestamp that Python's types cannot hold; `text` in ISO 8601, or `infinity`, `-infinity`.

    It is infinite, outside of the years 1 to 9999, or finer than microseconds.
    """

    text: str


Value = (
    None | bool | int | float | Decimal | str | bytes | date | datetime | OutOfRange
    | tuple["Value", ...] | list["Value"] | Mapping[Any, "Value"]
)  # fmt: skip
"""A cell, by its logical type.

Boolean: bool. Integer: int, unsigned ones not negative. Floating: float, of 32 bits rounded to those, with
NaN and the infinities. Decimal: Decimal with just its scale; Numeric: Decimal with the scale that the value
brings. String, Uuid, Json, Xml, Enum, EnumSet: str as it was emitted. Binary: bytes; Bits: bytes,
little-endian. Date: date. Timestamp: datetime, aware (UTC) if zoned, else naive. Time: text `HH:MM:SS` with
only the digits behind the point that are not trailing zeros, and its offset if zoned; Interval: text of ISO
8601. Array: tuple, in the lake a list; Map and Struct: Mapping. Dates and timestamps that are out of
the range of Python: `OutOfRange`."""

Convert = Callable[[object], Value]
"""From a value to the next form of it; never called with None. Raises UnfitValue."""


class UnfitValue(ValueError):
    """A value that its type, or that of the lake, cannot hold as it is; the message is the reason."""


@dataclass(frozen=True, slots=True)
class UnfitColumn:
    """That a row cannot be written as it is, and why: its column, and the reason in words."""

    column: str
    reason: str


EXACT = Context(
    prec=400_000,
    Emax=MAX_EMAX,
    Emin=MIN_EMIN,
    traps=[Inexact, InvalidOperation, Overflow, DivisionByZero],
)
"""Arithmetic that raises instead of rounding; PostgreSQL's numeric has up to 147,455 digits."""


def abbreviate_value(value: object) -> str:
    """A value in a message: its beginning, as it would stand in a program."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
