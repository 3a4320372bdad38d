"""MariaDB: like MySQL, with types of its own."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.records import Position
from schemaman.model.types import String, Type, Uuid


class Mariadb:
    """The MariaDB connector."""

    name = "mariadb"
    append_only = False
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


CONNECTOR: Connector = Mariadb()
