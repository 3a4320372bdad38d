"""The values of cells by their logical types, and the report of an unfit value.

Law: a value is never rounded, cut or replaced by null: it is exact, or it is `UnfitColumn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import Any

from schemaman.history.versions import TableHistory


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

Boolean: bool. Integer: int, never negative if unsigned. Floating: float, rounded to 32 bits if it has 32,
with NaN and the infinities. Decimal: Decimal with exactly its scale; Numeric: Decimal with the scale of the
value. String, Uuid, Json, Xml, Enum, EnumSet: str as it was emitted. Binary: bytes; Bits: bytes,
little-endian. Date: date. Timestamp: datetime, aware (UTC) if zoned, else naive. Time: text `HH:MM:SS` with a
fraction without trailing zeros, and its offset if zoned; Interval: text of ISO 8601. Array: tuple, in the
lake a list; Map and Struct: Mapping. Dates and timestamps out of Python's range: `OutOfRange`."""

Convert = Callable[[object], Value]
"""Converts a value to its next form; never called with None. Raises UnfitValue."""


class UnfitValue(ValueError):
    """A value that its type, or the lake's type, cannot hold exactly; the message is the reason."""


class MissingField(UnfitValue):
    """A struct with a field that the lake's struct lacks: it waits for the field, which a plan adds."""


BESIDE = '; split-column = "auto" in a [[policy]] keeps it as text in a column beside'
"""The end of the reason of a value that only a text holds."""


@dataclass(frozen=True, slots=True)
class UnfitColumn:
    """The column because of which a row cannot be written exactly, and the reason."""

    column: str
    reason: str


def find_unfit_columns(reasons: Iterable[str], history: TableHistory) -> frozenset[int]:
    """Find the columns whose values only a text holds, by the reasons of records; their ids in the history.

    A record names its column as the source did at its time, so that each column counts which had that name
    in the newest incarnation, also one that the source has dropped since.
    """
    starts = {reason.split(": ", 1)[0] for reason in reasons if reason.endswith(BESIDE)}
    if not starts:
        return frozenset()
    own = (v for v in history.versions if v.incarnation == history.latest.incarnation)
    columns = (c for v in own for c in v.schema.columns if c.name in starts)
    return frozenset(c.id for c in columns if c.id is not None)


EXACT = Context(
    prec=400_000,
    Emax=MAX_EMAX,
    Emin=MIN_EMIN,
    traps=[Inexact, InvalidOperation, Overflow, DivisionByZero],
)
"""Arithmetic that raises instead of rounding; PostgreSQL's numeric has up to 147,455 digits."""


def abbreviate_value(value: object) -> str:
    """Abbreviate a value for a message: the beginning of its `repr`."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
