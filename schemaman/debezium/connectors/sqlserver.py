"""SQL Server: a schema change declares the structure of a table when a capture instance begins."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.name_adjustment import Release
from schemaman.model.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Floating,
    Integer,
    Json,
    String,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
    Xml,
)

_PLAIN: dict[str, Type] = {
    "bit": Boolean(),
    "tinyint": Integer(8, signed=False),
    "smallint": Integer(16),
    "int": Integer(32),
    "bigint": Integer(64),
    "real": Floating(32),
    "float": Floating(64),
    "money": Decimal(19, 4),
    "smallmoney": Decimal(10, 4),
    "date": Date(),
    "datetime": Timestamp(3, zoned=False),
    "smalldatetime": Timestamp(0, zoned=False),
    "text": String(),
    "ntext": String(),
    "sysname": String(128),
    "image": Binary(),
    "timestamp": Binary(8),
    "rowversion": Binary(8),
    "uniqueidentifier": Uuid(),
    "xml": Xml(),
    "json": Json(),
}
_MAX = 1073741823
"""The driver's length of `nvarchar(max)`; other types of size `max` have twice that length."""

_DRIVER_NAMES = {
    "INTEGER": "int", "DEC": "decimal", "DOUBLE PRECISION": "float", "CHARACTER": "char",
    "CHARACTER VARYING": "varchar", "CHAR VARYING": "varchar", "BINARY VARYING": "varbinary",
    "NATIONAL CHARACTER": "nchar", "NATIONAL CHAR": "nchar", "NATIONAL CHARACTER VARYING": "nvarchar",
    "NATIONAL CHAR VARYING": "nvarchar",
}  # fmt: skip
"""The driver's names of types with other names."""

_LSN = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}")
_ALL_DATABASES: Release = (2, 0)
"""The first release whose topics always have the database."""


class Sqlserver(Connector):
    """The SQL Server connector."""

    name = "sqlserver"
    title = "SQL Server"
    append_only = True
    late_facts = False
    own_source_fields = frozenset({"event_serial_no"})
    order: tuple[str, ...] = ("commit_lsn", "change_lsn", "event_serial_no")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as the driver names it: `int identity`, `numeric() identity`.

        Source: SQL Server documentation, data types and sp_columns; Microsoft JDBC driver,
        `DatabaseMetaData.getColumns`: the scale has the digits of times.
        """
        name = column.type_name.lower().removesuffix(" identity").replace("()", "").strip()
        length = None if column.length is None or not 0 < column.length < _MAX else column.length
        digits = 7 if column.scale is None else column.scale
        match name:
            case "decimal" | "numeric":
                return Decimal(18 if length is None else length, column.scale or 0)
            case "char" | "nchar":
                return String(length, fixed=True)
            case "varchar" | "nvarchar":
                return String(length)
            case "binary" | "varbinary":
                return Binary(length)
            case "time":
                return Time(digits)
            case "datetime2" | "datetimeoffset":
                return Timestamp(digits, zoned=name == "datetimeoffset")
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the change lsn and the event's number, with the commit lsn, which orders first.

        Snapshots and schema changes have no change lsn. Source: Debezium SqlServerSourceInfoStructMaker,
        SqlServerHistoryRecordComparator: commit lsn, then change lsn, then event serial number.
        """
        commit, change, serial = (source.get(k) for k in ("commit_lsn", "change_lsn", "event_serial_no"))
        if not isinstance(commit, str):
            return NO_POSITION
        if not isinstance(change, str):
            return Position("commit_lsn", "", commit)
        return Position("commit_lsn", change if serial is None else f"{change}:{serial}", commit)

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as the connector's driver or parser would name it, with its sizes."""
        name = _DRIVER_NAMES.get(spelled.name, spelled.name.lower())
        match name:
            case "decimal" | "numeric":
                return name, 18 if spelled.first is None else spelled.first, spelled.second or 0
            case "float":
                return "real" if spelled.first is not None and spelled.first <= 24 else name, None, None
            case "time" | "datetime2" | "datetimeoffset":
                return name, None, 7 if spelled.first is None else spelled.first
            case "char" | "varchar" | "nchar" | "nvarchar" | "binary" | "varbinary":
                return (
                    name,
                    2147483647 if spelled.is_max else 1 if spelled.first is None else spelled.first,
                    None,
                )
            case _:
                return name, spelled.first, spelled.second

    def topic_parts(
        self, database: str | None, schema: str | None, release: Release, *, databases: bool
    ) -> tuple[str | None, ...]:
        """List database and schema; 1.x has the database only if `database.names` is set."""
        return (database if databases or release >= _ALL_DATABASES else None, schema)

    def is_own_lsn(self, lsn: str) -> bool:
        """Return whether a log sequence number has the widths of SQL Server."""
        return _LSN.fullmatch(lsn) is not None

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a commit lsn with colons beside ids of three parts."""
        lsn = offset.get("commit_lsn")
        return isinstance(lsn, str) and ":" in lsn and depth >= 3


CONNECTOR: Connector = Sqlserver()
