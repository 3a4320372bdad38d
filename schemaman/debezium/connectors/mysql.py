"""MySQL: the schema-change topic declares structures, with the statement that made them."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.records import Position
from schemaman.model.types import Type


class Mysql:
    """The MySQL connector."""

    name = "mysql"
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ("file", "pos", "row")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as a statement declares it."""
        return _binlog.map_declared_type(column)

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the position in the binary log."""
        return _binlog.read_position(source)


CONNECTOR: Connector = Mysql()
