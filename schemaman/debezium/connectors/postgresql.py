"""PostgreSQL: no schema-change topic; events have the structure, and some facts in it are late."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors import _numbers
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
    Xml,
)

_PLAIN: dict[str, Type] = {
    "bool": Boolean(),
    "int2": Integer(16),
    "smallserial": Integer(16),
    "int4": Integer(32),
    "serial": Integer(32),
    "int8": Integer(64),
    "bigserial": Integer(64),
    "oid": Integer(64),
    "float4": Floating(32),
    "float8": Floating(64),
    "text": String(),
    "citext": String(),
    "name": String(),
    "bytea": Binary(),
    "date": Date(),
    "interval": Interval(),
    "json": Json(),
    "jsonb": Json(),
    "xml": Xml(),
    "uuid": Uuid(),
    "inet": String(),
    "cidr": String(),
    "macaddr": String(),
    "macaddr8": String(),
    "ltree": String(),
    "tsvector": String(),
    "isbn": String(),
    "money": Numeric(),
    "hstore": Map(String(), String()),
    "vector": Array(Floating(32), nullable=False),
    "halfvec": Array(Floating(32), nullable=False),
}
_PLAIN |= {f"{kind}range": String() for kind in ("int4", "int8", "num", "ts", "tstz", "date")}
_DIGITS = 19
"""The most digits of an lsn. Source: Debezium SourceInfo of PostgreSQL, int64."""

_UNBOUNDED = (None, 0, 131089, 2147483647)


class Postgresql:
    """The PostgreSQL connector."""

    name = "postgresql"
    append_only = True
    late_facts = True
    order: tuple[str, ...] = ("sequence", "lsn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column by its name in `pg_type`.

        No release publishes structures; one tries to when an incremental snapshot meets a table that it does
        not know. Source: Debezium PostgresValueConverter, PgIncrementalSnapshotChangeEventSource.
        """
        name = column.type_name.lower()
        length = None if column.length in _UNBOUNDED else column.length
        digits = 6 if column.scale is None else column.scale
        match name:
            case "numeric":
                scale = _numbers.restore_scale_sign(column.scale or 0)
                return Numeric() if length is None else _numbers.make_decimal(length, scale)
            case "bpchar" | "char" | "varchar":
                return String(length, fixed=name != "varchar")
            case "bit" | "varbit":
                return Boolean() if name == "bit" and column.length == 1 else Bits(length)
            case "time" | "timetz":
                return Time(digits, zoned=name == "timetz")
            case "timestamp" | "timestamptz":
                return Timestamp(digits, zoned=name == "timestamptz")
            case _ if name.startswith("_"):
                element = self.declared_type(replace(column, type_name=name[1:]))
                return Unknown(column.type_name) if isinstance(element, Unknown) else Array(element)
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the lsn, and the lsn of the last commit from `sequence[0]`; none for incremental snapshots.

        Source: Debezium SourceInfo of PostgreSQL: `sequence` is a JSON text of two texts or nulls, since 1.5.
        """
        lsn = source.get("lsn")
        if not isinstance(lsn, int):
            return NO_POSITION
        if lsn < 0:
            raise ValueError(f"a position that cannot be read: lsn {str(lsn)[:40]}")
        return Position("lsn", str(lsn), _read_commit(source.get("sequence")))


def _read_commit(sequence: object) -> str | None:
    try:
        first = json.loads(sequence)[0] if isinstance(sequence, str) else None
    except (ValueError, LookupError, TypeError):
        return None
    is_number = isinstance(first, str) and first.isascii() and first.isdigit() and len(first) <= _DIGITS
    return first if is_number else None


CONNECTOR: Connector = Postgresql()
