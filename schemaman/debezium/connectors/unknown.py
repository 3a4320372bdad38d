"""Nobody told the connector: rows that were flattened without any trace of it."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import Type, Unknown


class UnknownConnector:
    """A connector that was not told. It may be PostgreSQL's: what would be late there is not sure here."""

    name = "unknown"
    append_only = False
    late_facts = True
    order: tuple[str, ...] = ()

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Nothing: types are declared in the words of a connector."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """Nowhere."""
        return NO_POSITION


CONNECTOR: Connector = UnknownConnector()
