"""MySQL: the schema-change topic declares structures, with the statement that made them."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.connectors import _binlog
from schemaman.debezium.ddl.event_grammar import MYSQL_STATEMENTS
from schemaman.debezium.records import Position
from schemaman.model.name_adjustment import Release
from schemaman.model.types import Type


class Mysql(Connector):
    """The MySQL connector."""

    name = "mysql"
    title = "MySQL"
    has_schemas = False
    has_online_copies = True
    has_unsigned_integers = True
    statement_grammar = MYSQL_STATEMENTS
    append_only = False
    repeats_null_keys = True
    late_facts = False
    sends_bare_renames = True
    """Releases up to 1.4 send them. Source: recordings of 1.4.2."""

    required_key_release: Release = (2, 5)
    position_fields = frozenset({"file", "pos"})
    """MariaDB's position has the same form."""

    order: tuple[str, ...] = ("file", "pos", "row")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column as a statement declares it."""
        return _binlog.map_declared_type(column)

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the position in the binary log."""
        return _binlog.read_position(source)

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as Debezium's parser would name it, with its sizes."""
        return _binlog.name_spelled_type(spelled)

    def is_own_offset(self, offset: Mapping[str, object], depth: int) -> bool:
        """Return whether an offset has a file of the binary log, and no transaction ids of MariaDB."""
        return "file" in offset and not _binlog.is_mariadb_offset(offset)


CONNECTOR: Connector = Mysql()
