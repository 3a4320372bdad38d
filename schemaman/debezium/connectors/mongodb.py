"""MongoDB: collections of documents without declared structure; it is inferred from their values."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import Type, Unknown


class MongoDb(Connector):
    """The MongoDB connector."""

    name = "mongodb"
    title = "MongoDB"
    is_document_store = True
    has_schemas = False
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ()

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return `Unknown`, since there is no schema-change topic and no declared type."""
        return Unknown(column.type_name)

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the cluster time: milliseconds, of whole seconds, and the order within the second.

        Rows of a snapshot without a time of their own have no position. The resume token is not in the
        record. Source: Debezium MongoDB SourceInfo, BsonTimestamp; from 2.x on snapshots have time 0 and
        order -1.
        """
        time, order = source.get("ts_ms"), source.get("ord")
        if type(time) is not int or type(order) is not int or order < 0 or time <= 0:
            return NO_POSITION
        return Position("mongo", f"{time}:{order}")


CONNECTOR: Connector = MongoDb()
