"""Oracle: the schema-change topic declares structures, with the statement that made them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.connectors import _numbers
from schemaman.debezium.ddl.event_grammar import ORACLE_STATEMENTS
from schemaman.debezium.records import NO_POSITION, Order, Position
from schemaman.model.types import (
    Binary,
    Boolean,
    Floating,
    Interval,
    Json,
    Numeric,
    String,
    Timestamp,
    Type,
    Unknown,
    Xml,
)

_PLAIN: dict[str, Type] = {
    "BOOLEAN": Boolean(),
    "FLOAT": Numeric(),
    "BINARY_FLOAT": Floating(32),
    "BINARY_DOUBLE": Floating(64),
    "DATE": Timestamp(0, zoned=False),
    "INTERVAL YEAR TO MONTH": Interval("YEAR TO MONTH"),
    "INTERVAL DAY TO SECOND": Interval("DAY TO SECOND"),
    "CLOB": String(),
    "NCLOB": String(),
    "LONG": String(),
    "BLOB": Binary(),
    "LONG RAW": Binary(),
    "ROWID": String(),
    "UROWID": String(),
    "XMLTYPE": Xml(),
    "JSON": Json(),
}
_MOST_DIGITS = 9
_DIGITS = re.compile(r" ?\((\d+)\)")


class Oracle(Connector):
    """The Oracle connector."""

    name = "oracle"
    title = "Oracle"
    append_only = False
    repeats_null_keys = True
    late_facts = False
    statement_grammar = ORACLE_STATEMENTS
    own_source_fields = frozenset({"scn", "commit_scn", "lcr_position", "redo_thread"})
    order: Order = (("commit_scn", "scn"), "scn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as a statement declares it, or the driver in a snapshot.

        FLOAT counts binary digits of a decimal number; a NUMBER without scale holds any number. Source:
        Oracle SQL language reference, data types; Debezium ColumnDefinitionParserListener: the length has the
        digits of times; Oracle JDBC driver: the name has them, `TIMESTAMP(6) WITH TIME ZONE`.
        """
        upper = " ".join(column.type_name.upper().removeprefix("SYS.").split())
        name = _DIGITS.sub("", upper)
        match name:
            case "NUMBER":
                if not column.length or column.scale is None:
                    return Numeric()
                return _numbers.make_decimal(column.length, column.scale)
            case "CHAR" | "NCHAR":
                return String(column.length or 1, fixed=True)
            case "VARCHAR2" | "NVARCHAR2" | "VARCHAR":
                return String(column.length or None)
            case "RAW":
                return Binary(column.length or None)
            case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP WITH LOCAL TIME ZONE":
                return Timestamp(_read_digits(upper, column), zoned=name != "TIMESTAMP")
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the system change number, with the number of the commit, which orders first.

        They are texts since 1.5 and whole numbers before; a snapshot has no commit and may have no number.
        From 1.9.5 to 2.3, all events of a transaction but the last have the previous commit of its redo
        thread. Source: Debezium OracleSourceInfoStructMaker, Scn, CommitScn.
        """
        scn, commit = _read_number(source.get("scn")), _read_number(source.get("commit_scn"))
        return NO_POSITION if scn is None else Position("scn", scn, commit)

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as the connector's driver or parser would name it, with its sizes."""
        match spelled.name:
            case "INTEGER" | "INT" | "SMALLINT":
                return "NUMBER", 38, 0
            case "NUMBER" | "DECIMAL" | "NUMERIC" | "DEC":
                if not spelled.sizes:
                    return ("NUMBER", 38, None) if spelled.name == "NUMBER" else ("NUMBER", 38, 0)
                # Debezium's parser reads no scale behind an asterisk
                is_open = spelled.first is None
                return "NUMBER", 38 if is_open else spelled.first, 0 if is_open else spelled.second or 0
            case "FLOAT":
                return "FLOAT", spelled.first or 126, None
            case "REAL":
                return "FLOAT", 63, None
            case "DOUBLE PRECISION":
                return "FLOAT", 126, None
            case "VARCHAR" | "CHARACTER VARYING" | "CHAR VARYING":
                return "VARCHAR2", spelled.first, None
            case "CHARACTER":
                return "CHAR", spelled.first or 1, None
            case name if name.startswith("TIMESTAMP"):
                return name, 6 if spelled.first is None else spelled.first, None
            case name:
                return name, spelled.first, spelled.second

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a system change number."""
        return not offset.keys().isdisjoint(("scn", "snapshot_scn", "commit_scn"))


_SCN_DIGITS = 19
"""The most digits of a system change number, which stays below 2^63. Source: Oracle, limits of the SCN."""


def _read_digits(name: str, column: DeclaredColumn) -> int:
    found = _DIGITS.search(name)
    if found is not None:
        return int(found[1])
    digits = column.length if column.scale is None else column.scale
    return 6 if digits is None or digits > _MOST_DIGITS else digits


def _read_number(value: object) -> str | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdecimal() and len(text) <= _SCN_DIGITS else None


CONNECTOR: Connector = Oracle()
