"""MariaDB: like MySQL, with types of its own."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS
from schemaman.debezium.records import Position
from schemaman.model.types import String, Type, Uuid


class Mariadb(Connector):
    """The MariaDB connector."""

    name = "mariadb"
    title = "MariaDB"
    has_schemas = False
    has_online_copies = True
    has_unsigned_integers = True
    statement_grammar = MYSQL_STATEMENTS
    append_only = False
    repeats_null_keys = True
    late_facts = False
    order: tuple[str, ...] = ("file", "pos", "row")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as a statement declares it.

        Source: MariaDB manual, data types; VARCHAR2 and CLOB are those of its Oracle mode.
        """
        match column.type_name.upper():
            case "UUID":
                return Uuid()
            case "VARCHAR2":
                return String(column.length)
            case "CLOB":
                return String()
            case _:
                return _binlog.map_declared_type(column)

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the position in the binary log."""
        return _binlog.read_position(source)

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as Debezium's parser would name it, with its sizes."""
        return _binlog.name_spelled_type(spelled)

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a file of the binary log, and transaction ids of MariaDB."""
        return "file" in offset and _binlog.is_mariadb_offset(offset)


CONNECTOR: Connector = Mariadb()
