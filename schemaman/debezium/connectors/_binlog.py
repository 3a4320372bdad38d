"""Positions in the binary log and declared types, which MySQL, MariaDB and Vitess share."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schemaman.debezium.connector import DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Decimal,
    Enum,
    EnumSet,
    Field,
    Floating,
    Integer,
    Json,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Unknown,
)

_MARIADB_GTID = re.compile(r"\d+-\d+-\d+")
_SHAPE = (Field("wkb", Binary()), Field("srid", Integer(32)))
"""The nested fields of a geometry in a lake: well-known binary and reference system, as Debezium writes it.
Source: Debezium io.debezium.data.geometry.Point and Geometry."""

_PLAIN: dict[str, Type] = {
    "BOOL": Boolean(),
    "BOOLEAN": Boolean(),
    "TINYINT": Integer(8),
    "INT1": Integer(8),
    "SMALLINT": Integer(16),
    "INT2": Integer(16),
    "MEDIUMINT": Integer(32),
    "MIDDLEINT": Integer(32),
    "INT3": Integer(32),
    "INT": Integer(32),
    "INTEGER": Integer(32),
    "INT4": Integer(32),
    "BIGINT": Integer(64),
    "INT8": Integer(64),
    "SERIAL": Integer(64, signed=False),
    "FLOAT4": Floating(32),
    "FLOAT8": Floating(64),
    "DOUBLE": Floating(64),
    "DOUBLE PRECISION": Floating(64),
    "REAL": Floating(64),
    "DATE": Date(),
    "YEAR": Integer(32),
    "JSON": Json(),
    "TINYTEXT": String(),
    "TEXT": String(),
    "MEDIUMTEXT": String(),
    "LONGTEXT": String(),
    "LONG": String(),
    "LONG VARCHAR": String(),
    "TINYBLOB": Binary(),
    "BLOB": Binary(),
    "MEDIUMBLOB": Binary(),
    "LONGBLOB": Binary(),
    "LONG VARBINARY": Binary(),
    "VECTOR": Array(Floating(32), nullable=False),
    "POINT": Struct((Field("x", Floating(64), False), Field("y", Floating(64), False), *_SHAPE)),
}
_PLAIN |= {
    name: Struct((Field("wkb", Binary(), False), _SHAPE[1]))
    for name in (
        "GEOMETRY",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "GEOMCOLLECTION",
    )
}
_FIXED = ("CHAR", "CHARACTER", "NCHAR", "NATIONAL CHAR", "NATIONAL CHARACTER")
_VARYING = (
    "VARCHAR",
    "VARCHARACTER",
    "CHAR VARYING",
    "CHARACTER VARYING",
    "NVARCHAR",
    "NCHAR VARYING",
    "NCHAR VARCHAR",
    "NATIONAL VARCHAR",
    "NATIONAL CHAR VARYING",
    "NATIONAL CHARACTER VARYING",
)


def map_declared_type(column: DeclaredColumn) -> Type:
    """Return the logical type of a column as a statement declares it.

    `TINYINT(1)` stays a number: such a column may hold 5. `length` has the digits of times.
    Source: MySQL and MariaDB manuals, data types; Debezium's DDL parsers fill the sizes.
    """
    words = column.type_name.upper().split()
    unsigned = "UNSIGNED" in words or "ZEROFILL" in words
    name = " ".join(w for w in words if w not in ("UNSIGNED", "SIGNED", "ZEROFILL"))
    sized = _map_sized_type(name, column.length, column.scale)
    if sized is not None:
        return sized
    match _PLAIN.get(name):
        case Integer(bits) if unsigned:
            return Integer(bits, signed=False)
        case None:
            return _map_labelled_type(name, column)
        case plain:
            return plain


def _map_sized_type(name: str, length: int | None, scale: int | None) -> Type | None:
    match name:
        case "DECIMAL" | "NUMERIC" | "DEC" | "FIXED":
            return Decimal(10 if length is None else length, scale or 0)
        case "FLOAT":
            # FLOAT(p) picks a size by p, FLOAT(m,d) only sets the printed digits
            return Floating(64 if length is not None and length > 24 and scale is None else 32)
        case "BIT":
            return Boolean() if length in (None, 1) else Bits(length)
        case "BINARY" | "CHAR BYTE":
            return Binary(1 if length is None else length)
        case "VARBINARY":
            return Binary(length)
        case "TIME":
            return Time(length or 0)
        case "DATETIME" | "TIMESTAMP":
            return Timestamp(length or 0, zoned=name == "TIMESTAMP")
        case _ if name in _FIXED:
            return String(1 if length is None else length, fixed=True)
        case _ if name in _VARYING:
            return String(length)
        case _:
            return None


def _map_labelled_type(name: str, column: DeclaredColumn) -> Type:
    match name:
        case "ENUM":
            return Enum(column.enum_values or ())
        case "SET":
            return EnumSet(column.enum_values or ())
        case _:
            return Unknown(column.type_name)


def read_position(source: Mapping[str, object]) -> Position:
    """Read file, position and row of the binary log as `file:pos:row`; none for incremental snapshots.

    Source: Debezium SourceInfo of MySQL and MariaDB.
    """
    file, at, row = source.get("file"), source.get("pos"), source.get("row")
    if not isinstance(file, str) or not file or not isinstance(at, int):
        return NO_POSITION
    return Position("binlog", f"{file}:{at}:{row if isinstance(row, int) else 0}")


def name_spelled_type(spelled: SpelledType) -> NamedType:
    """Name a type of a statement as Debezium's parser would name it, with its sizes."""
    length = 1 if spelled.name == "BIT" and spelled.first is None else spelled.first
    return spelled.name, length, spelled.second


def is_mariadb_offset(offset: Mapping[str, object]) -> bool:
    """Return whether an offset of a binary log has transaction ids of MariaDB, `domain-server-sequence`."""
    gtids = offset.get("gtids")
    return isinstance(gtids, str) and _MARIADB_GTID.match(gtids) is not None
