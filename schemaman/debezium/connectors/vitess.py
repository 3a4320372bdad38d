"""Vitess: statements on the schema-change topic, but no structures; these come with the events."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import Type


class Vitess:
    """The Vitess connector; a keyspace stands for the database."""

    name = "vitess"
    append_only = False
    late_facts = False
    order: tuple[str, ...] = ()

    def declared_type(self, column: DeclaredColumn) -> Type:
        """The logical type of a column in MySQL's words, which Vitess speaks."""
        return _binlog.map_declared_type(column)

    def position(self, source: Mapping[str, object]) -> Position:
        """Nowhere: a `vgtid` is a vector over shards, of which two need not be ordered; offsets order.

        Source: Debezium Vgtid.
        """
        return NO_POSITION


CONNECTOR: Connector = Vitess()
