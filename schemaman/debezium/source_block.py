"""The `source` block of a record: its connector, server, database and table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.debezium.connector import CONNECTORS, Connector, find_connector
from schemaman.debezium.raw_record import is_snapshot_read, read_writer
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableId


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a record: connector and its version, logical server name, database, schema, table.

    `schema` and `table` are empty if the block has none. `snapshot`: read from the table, not from the log.
    `stated_connector` is the connector's name in the block, also of a connector that is not known; empty if
    the block has none. `writer` is the shard that wrote the record.
    """

    connector_plugin: Connector
    version: str
    server: str
    database: str
    schema: str
    table: str
    snapshot: bool
    stated_connector: str = ""
    writer: str = ""

    @property
    def connector(self) -> str:
        """The name in `source.connector`; `unknown` for a connector that is not known."""
        return self.connector_plugin.name

    def table_id(self, stream: str) -> TableId:
        """Return the identity of the block's table.

        Raises:
            UnreadableInput: the block names no table.
        """
        if not self.table:
            raise UnreadableInput("the source block names no table")
        schema, table = self.read_name(self.schema), self.read_name(self.table)
        return TableId(self.server, self.database, schema, table, stream)

    def read_name(self, name: str) -> str:
        """Return the database's own form of a name in the record."""
        return self.connector_plugin.read_name(name)


def read_origin(payload: Mapping[str, Any]) -> Origin:
    """Read the origin from the `source` block of a record.

    A block of a connector that is not known has an origin, too: events state their structure themselves.
    Source: Debezium AbstractSourceInfo; `snapshot` is a text since 1.x, a boolean before.

    Raises:
        UnreadableInput: the record has no source block, or the block names no server.
    """
    source = payload.get("source")
    if not isinstance(source, dict):
        raise UnreadableInput("the record has no source block")
    server, stated = source.get("name"), _read_text(source, "connector")
    if not isinstance(server, str):
        raise UnreadableInput("the source block names no server")
    return Origin(
        connector_plugin=find_connector(stated),
        version=_read_text(source, "version"),
        server=server,
        # Vitess leaves `db` empty and has the keyspace beside it
        database=_read_text(source, "db") or _read_text(source, "keyspace"),
        schema=_read_text(source, "schema"),
        # MongoDB has collections for tables
        table=_read_text(source, "table") or _read_text(source, "collection"),
        snapshot=is_snapshot_read(source) or payload.get("op") == "r",
        stated_connector=stated,
        writer="".join(read_writer(source)),
    )


def require_known_connector(origin: Origin) -> None:
    """Require a connector whose words for types are known.

    Raises:
        UnreadableInput: the connector is not known.
    """
    if not origin.connector_plugin.is_known:
        known = ", ".join(connector.name for connector in CONNECTORS.load_all() if connector.is_known)
        raise UnreadableInput(
            f"a schema change of the connector {origin.stated_connector!r}, whose words for types are not "
            f"known; known are {known}. Its events of rows are read"
        )


def _read_text(source: Mapping[str, Any], name: str) -> str:
    text = source.get(name)
    return text if isinstance(text, str) else ""
