"""Informix: the connector declares a structure again, mostly unchanged, when it opens a table's log."""

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
)

_PLAIN: dict[str, Type] = {
    "boolean": Boolean(),
    "smallint": Integer(16),
    "int": Integer(32),
    "integer": Integer(32),
    "serial": Integer(32),
    "int8": Integer(64),
    "serial8": Integer(64),
    "bigint": Integer(64),
    "bigserial": Integer(64),
    "smallfloat": Floating(32),
    "float": Floating(64),
    "date": Date(),
    "text": String(),
    "clob": String(),
    "byte": Binary(),
    "blob": Binary(),
}
_FLOATING_SCALE = 255
_JDBC_TIME = 92
_TO_SECOND = {"time": len("12:34:56."), "timestamp": len("2024-03-27 12:34:56.")}

_DIGITS = 19
"""The digits of a log sequence number, a signed 64-bit number: texts of one width compare as numbers do."""


class Informix(Connector):
    """The Informix connector."""

    name = "informix"
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ("commit_lsn", "change_lsn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as the driver names it; a `datetime` has its printed length.

        Source: IBM Informix JDBC driver 4.50, IfxTypes; Debezium InformixValueConverters: a decimal without
        scale has the scale 255; a time has as many digits as its text is longer than the text to the second.
        """
        name = column.type_name.lower()
        match name:
            case "char" | "nchar":
                return String(column.length, fixed=True)
            case "varchar" | "nvarchar" | "lvarchar":
                return String(column.length)
            case "decimal" | "numeric" | "money":
                if not column.length or column.scale in (None, _FLOATING_SCALE):
                    return Numeric()
                return Decimal(column.length, column.scale or 0)
            case "datetime" if column.jdbc_type == _JDBC_TIME:
                return Time(max((column.length or 0) - _TO_SECOND["time"], 0))
            case "datetime":
                return Timestamp(max((column.length or 0) - _TO_SECOND["timestamp"], 0), zoned=False)
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the change lsn, with the commit lsn, which orders first, each padded to all digits.

        Source: Debezium InformixSourceInfoStructMaker, TxLogPosition, Lsn: `-1` is none.
        """
        commit, change = _read_lsn(source.get("commit_lsn")), _read_lsn(source.get("change_lsn"))
        return NO_POSITION if commit is None else Position("commit_lsn", change or "", commit)

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a commit lsn that is a number."""
        lsn = offset.get("commit_lsn")
        return isinstance(lsn, str) and ":" not in lsn


def _read_lsn(value: object) -> str | None:
    text = value if isinstance(value, str) else ""
    return text.zfill(_DIGITS) if text.isascii() and text.isdecimal() else None


CONNECTOR: Connector = Informix()
