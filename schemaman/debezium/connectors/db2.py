"""Db2: the schema-change topic declares structures, read from the database's table at that moment."""

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
    Numeric,
    String,
    Time,
    Timestamp,
    Type,
    Unknown,
    Xml,
)

_PLAIN: dict[str, Type] = {
    "BOOLEAN": Boolean(),
    "SMALLINT": Integer(16),
    "INT": Integer(32),
    "INTEGER": Integer(32),
    "BIGINT": Integer(64),
    "REAL": Floating(32),
    "FLOAT": Floating(64),
    "DOUBLE": Floating(64),
    "DECFLOAT": Numeric(),
    "DATE": Date(),
    "TIME": Time(0),
    "XML": Xml(),
    "LONG VARCHAR": String(),
    "LONG VARGRAPHIC": String(),
    "CLOB": String(),
    "DBCLOB": String(),
    "NCLOB": String(),
    "BLOB": Binary(),
    "ROWID": Binary(),
    "LONG VARCHAR FOR BIT DATA": Binary(),
}
_FIXED = ("CHAR", "CHARACTER", "NCHAR", "GRAPHIC")
_VARYING = ("VARCHAR", "CHARACTER VARYING", "NVARCHAR", "VARGRAPHIC")


class Db2:
    """The Db2 connector."""

    name = "db2"
    append_only = True
    late_facts = False
    order: tuple[str, ...] = ("commit_lsn", "change_lsn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as the driver names it.

        Source: IBM Db2 SQL reference, data types; IBM JDBC driver, `DatabaseMetaData.getColumns`:
        `CHAR () FOR BIT DATA`, TIMESTAMP with its digits as scale.
        """
        name = " ".join(column.type_name.upper().replace("()", " ").split()).removesuffix(" IDENTITY")
        match name:
            case _ if name in _FIXED:
                return String(column.length, fixed=True)
            case _ if name in _VARYING:
                return String(column.length)
            case "BINARY" | "VARBINARY" | "CHAR FOR BIT DATA" | "VARCHAR FOR BIT DATA":
                return Binary(column.length)
            case "DECIMAL" | "NUMERIC" | "DEC":
                return Decimal(5 if column.length is None else column.length, column.scale or 0)
            case "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" | "TIMESTAMP WITH TIME ZONE":
                digits = 6 if column.scale is None else column.scale
                return Timestamp(digits, zoned=name.endswith("WITH TIME ZONE"))
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the change lsn, with the commit lsn, which orders first; snapshots have no change lsn.

        Source: Debezium SourceInfo and TxLogPosition of Db2.
        """
        commit, change = source.get("commit_lsn"), source.get("change_lsn")
        if not isinstance(commit, str):
            return NO_POSITION
        return Position("commit_lsn", change if isinstance(change, str) else "", commit)


CONNECTOR: Connector = Db2()
