"""Vitess: the schema-change topic has statements without structures; events have the structures."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS
from schemaman.debezium.records import NO_POSITION, Position
from schemaman.model.types import Type


class Vitess(Connector):
    """The Vitess connector; its keyspaces are the databases."""

    name = "vitess"
    has_schemas = False
    has_online_copies = True
    has_unsigned_integers = True
    statement_grammar = MYSQL_STATEMENTS
    sends_structures = False
    own_source_fields = frozenset({"vgtid"})
    append_only = False
    repeats_null_keys = True
    late_facts = False
    order: tuple[str, ...] = ()

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column in MySQL's words, which Vitess uses."""
        return _binlog.map_declared_type(column)

    def position(self, source: Mapping[str, object]) -> Position:
        """Return no position: a `vgtid` is a vector over shards without a total order, so offsets order.

        Source: Debezium Vgtid.
        """
        return NO_POSITION


CONNECTOR: Connector = Vitess()
