"""How a target holds types that table formats lack, and how it names its columns.

Law: two choices with the same lake type give its values the same meaning. So another choice for a table with
rows shows as another type, which is refused or kept, and existing values are never read differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from schemaman.model.types import (
    Boolean,
    Decimal,
    Floating,
    Integer,
    Numeric,
    String,
    Timestamp,
    Type,
    Unknown,
    count_digits,
    widens,
)

MICROSECONDS = 6
MAX_DIGITS = 38
"""Digits of the widest DECIMAL. Source: Spark `DecimalType.MAX_PRECISION`, Iceberg spec "Primitive Types"."""

VARIANT = Unknown("variant")
"""Spark's VARIANT. Source: Spark `VariantType`, whose name in a schema's JSON is `variant`."""

UnsignedBigint = Literal["decimal", "bigint", "string"]
LocalTimestamp = Literal["timestamp_ntz", "timestamp", "string"]
Nanoseconds = Literal["microseconds", "string"]
TimeOfDay = Literal["string", "bigint"]
JsonDocument = Literal["string", "variant"]
Sets = Literal["string", "array"]
Arrays = Literal["array", "string"]
Documents = Literal["struct", "string"]
Uuids = Literal["string", "binary"]
Geometry = Literal["struct", "wkb", "refuse"]
Names = Literal["source", "avro", "lower", "avro-lower"]
Collisions = Literal["refuse", "number"]
Role = Literal["op", "ts", "deleted", "position", "stream", "topic", "partition", "offset"]

ROLES: Mapping[Role, tuple[str, Type]] = {
    "op": ("_op", String()),
    "ts": ("_ts", Timestamp(MICROSECONDS)),
    "deleted": ("_is_deleted", Boolean()),
    "position": ("_position", String()),
    "stream": ("_stream", String()),
    "topic": ("_topic", String()),
    "partition": ("_topic_partition", Integer(32)),
    "offset": ("_offset", Integer(64)),
}
"""The roles of metadata columns, with default name and type. Iceberg reserves the names `_deleted` and
`_partition`. Source: Iceberg `MetadataColumns`."""


@dataclass(frozen=True, slots=True)
class Representation:
    """The lake types of values where there is a choice; by default no value loses anything.

    `numeric` is for numbers without a declared DECIMAL: `string`, `double` or `decimal(p,s)`. `names` and
    `collisions` are for top-level columns. `metadata` maps roles to the names of metadata columns.
    """

    unsigned_bigint: UnsignedBigint = "decimal"
    numeric: str = "string"
    local_timestamp: LocalTimestamp = "timestamp_ntz"
    nanoseconds: Nanoseconds = "microseconds"
    time: TimeOfDay = "string"
    json: JsonDocument = "string"
    sets: Sets = "string"
    arrays: Arrays = "array"
    documents: Documents = "struct"
    uuid: Uuids = "string"
    geometry: Geometry = "struct"
    names: Names = "source"
    collisions: Collisions = "refuse"
    metadata: tuple[tuple[Role, str], ...] = field(default=())

    @property
    def decimal(self) -> Decimal | None:
        """The DECIMAL for numbers without a declared one; None if they are held otherwise."""
        return parse_decimal(self.numeric)


DEFAULT = Representation()

CHOICES: Mapping[str, tuple[str, ...]] = {
    "unsigned_bigint": get_args(UnsignedBigint),
    "local_timestamp": get_args(LocalTimestamp),
    "nanoseconds": get_args(Nanoseconds),
    "time": get_args(TimeOfDay),
    "json": get_args(JsonDocument),
    "sets": get_args(Sets),
    "arrays": get_args(Arrays),
    "documents": get_args(Documents),
    "uuid": get_args(Uuids),
    "geometry": get_args(Geometry),
    "names": get_args(Names),
    "collisions": get_args(Collisions),
}
"""Option → its possible values, the default first; `numeric` and `metadata` have their own rules."""


_WHOLE_DIGITS = {8: 2, 16: 4, 32: 9, 64: 18}
"""The digits of which every number fits a signed integer of so many bits."""

_BINARY_DIGITS = {32: 7, 64: 15}
"""The digits of which every whole number is exactly a binary one: 10^7 < 2^24, 10^15 < 2^53."""

_ROOMY_DIGITS = {8: 10, 16: 10, 32: 10, 64: 20}
"""The digits before the point that Delta asks for where an integer of so many bits becomes a DECIMAL."""


def holds_exactly(type: Type, other: Type) -> bool:
    """Whether each number of a lake type is exactly a number of another one, be it written otherwise."""
    match type, other:
        case Decimal(precision, 0), Integer(bits, True):
            return precision <= _WHOLE_DIGITS[bits]
        case Decimal(precision, 0), Floating(bits):
            return precision <= _BINARY_DIGITS[bits]
        case _:
            return widens(type, other)


def is_number(type: Type) -> bool:
    """Whether the values of a type are numbers, with or without a declared precision."""
    return isinstance(type, Integer | Decimal | Numeric | Floating)


def list_common_types(old: Type, new: Type) -> tuple[Type, ...]:
    """List the lake types that hold the numbers of two types exactly, the preferred one first.

    It is empty if one of the two is no number, or if no type holds both.
    """
    if not is_number(old) or not is_number(new):
        return ()
    candidates = (old, new, *_join_decimals(old, new), Floating(64))
    found = (each for each in candidates if holds_exactly(old, each) and holds_exactly(new, each))
    return tuple(dict.fromkeys(found))


def _join_decimals(old: Type, new: Type) -> list[Decimal]:
    """The narrowest DECIMAL for the numbers of both, and the one that Delta makes of an integer in place."""
    after = _count_digits(new)
    found = [
        Decimal(max(before[0], after[0]) + max(before[1], after[1]), max(before[1], after[1]))
        for before in (_count_roomy_digits(old), _count_digits(old))
        if before is not None and after is not None
    ]
    return [each for each in found if each.precision <= MAX_DIGITS]


def _count_digits(type: Type) -> tuple[int, int] | None:
    """Count the digits before and behind the point; None for binary numbers."""
    match type:
        case Decimal(precision, scale):
            return precision - scale, scale
        case Integer():
            return count_digits(type), 0
        case _:
            return None


def _count_roomy_digits(type: Type) -> tuple[int, int] | None:
    return (_ROOMY_DIGITS[type.bits], 0) if isinstance(type, Integer) else _count_digits(type)


def parse_decimal(text: str) -> Decimal | None:
    """Parse `decimal(p,s)`; None for anything else, or for a type that no table holds."""
    found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", text.lower())
    if found is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    return Decimal(precision, scale) if 0 < precision <= MAX_DIGITS and scale <= precision else None
