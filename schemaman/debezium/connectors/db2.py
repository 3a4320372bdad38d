"""Db2: the schema-change topic declares structures, read from the database's table at that moment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
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

_DRIVER_NAMES = {
    "INT": "INTEGER", "DEC": "DECIMAL", "NUM": "NUMERIC", "DOUBLE PRECISION": "DOUBLE", "CHARACTER": "CHAR",
    "CHARACTER VARYING": "VARCHAR", "CHAR VARYING": "VARCHAR", "NCHAR VARYING": "NVARCHAR",
    "CHARACTER LARGE OBJECT": "CLOB", "CHAR LARGE OBJECT": "CLOB", "BINARY LARGE OBJECT": "BLOB",
    "BINARY VARYING": "VARBINARY",
}  # fmt: skip
"""The driver's names of types with other names."""

_LSN = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{16}")


class Db2(Connector):
    """The Db2 connector."""

    name = "db2"
    title = "Db2"
    append_only = True
    has_read_times = True
    """Source: Debezium Db2Connection, `LSN_TO_TIMESTAMP` selects CURRENT TIMESTAMP for any position."""

    streams_only_primary_keys = True
    """Source: Debezium JdbcConnection.readTableColumns, Db2Connection.getTableSchemaFromTable."""

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

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as the connector's driver or parser would name it, with its sizes."""
        is_bits = spelled.words[-3:] == ("FOR", "BIT", "DATA")
        plain = " ".join(spelled.words[:-3] if is_bits else spelled.words)
        name = _DRIVER_NAMES.get(plain, plain)
        if is_bits:
            return f"{name} () FOR BIT DATA", 1 if spelled.first is None else spelled.first, None
        match name:
            case "CHAR" | "NCHAR" | "GRAPHIC" | "BINARY":
                return name, 1 if spelled.first is None else spelled.first, None
            case "DECIMAL" | "NUMERIC":
                return name, 5 if spelled.first is None else spelled.first, spelled.second or 0
            case "FLOAT":
                return "REAL" if spelled.first is not None and spelled.first <= 24 else "DOUBLE", None, None
            case "DECFLOAT":
                return name, 34 if spelled.first is None else spelled.first, None
            case _ if name.startswith("TIMESTAMP"):
                return name, None, 6 if spelled.first is None else spelled.first
            case _:
                return name, spelled.first, spelled.second

    def is_own_lsn(self, lsn: str) -> bool:
        """Return whether a log sequence number has the widths of Db2."""
        return _LSN.fullmatch(lsn) is not None

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a commit lsn with colons beside ids of two parts."""
        lsn = offset.get("commit_lsn")
        return isinstance(lsn, str) and ":" in lsn and depth < 3


CONNECTOR: Connector = Db2()
