"""How a target shall hold what table formats have no type of their own for, and how it calls its columns.

Law: two choices that give one type of the lake give its values one meaning, so that another choice for a
table that has rows shows as another type, and is refused or kept, never read anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from schemaman.model.types import Boolean, Decimal, Integer, String, Timestamp, Type, Unknown

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
"""What may be kept beside a row: default name and type. `_deleted` and `_partition` would be names that
Iceberg keeps for itself. Source: Iceberg `MetadataColumns`."""


@dataclass(frozen=True, slots=True)
class Representation:
    """What a target holds values as, where there is a choice; by default no value loses anything.

    `numeric` speaks of numbers that no DECIMAL is told for: `string`, `double` or `decimal(p,s)`. `names` and
    `collisions` speak of columns at the top, `metadata` maps roles to the names of columns beside them.
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
        """The DECIMAL that numbers without one become, if they do."""
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
"""Option → the words that it may have, its default first; `numeric` and `metadata` have their own rules."""


def parse_decimal(text: str) -> Decimal | None:
    """The type that `decimal(p,s)` names; None for anything else, or for one that no table holds."""
    found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", text.lower())
    if found is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    return Decimal(precision, scale) if 0 < precision <= MAX_DIGITS and scale <= precision else None
