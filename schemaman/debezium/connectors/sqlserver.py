"""SQL Server: a schema change declares the structure of a table when a capture instance begins."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.records import NO_POSITION, Position
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


class Sqlserver:
    """The SQL Server connector."""

    name = "sqlserver"
    append_only = True
    late_facts = False
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


CONNECTOR: Connector = Sqlserver()
