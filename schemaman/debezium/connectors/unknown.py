"""The unknown connector: of flattened rows that do not name their connector."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.name_adjustment import Release
from schemaman.model.types import Type, Unknown


class UnknownConnector(Connector):
    """A connector without a name. It may be PostgreSQL's, so that the same facts may be late."""

    name = "unknown"
    is_known = False
    append_only = False
    late_facts = True
    order: tuple[str, ...] = ()

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return `Unknown`, since each connector has its own words for types."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """Return no position."""
        return NO_POSITION

    def topic_parts(
        self, database: str | None, schema: str | None, release: Release, *, databases: bool
    ) -> tuple[str | None, ...]:
        """List the database alone, as Debezium's default strategy does."""
        return (database,)


CONNECTOR: Connector = UnknownConnector()
