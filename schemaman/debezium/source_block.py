"""The `source` block of a record: which connector speaks, of which database, from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.debezium.connector import DIALECTS, Dialect
from schemaman.debezium.raw_record import from_table
from schemaman.errors import UnknownName, UnreadableInput
from schemaman.model.name_adjustment import restore_misread
from schemaman.model.schema import TableId

UNKNOWN = "unknown"
"""What stands for the connector of rows that do not tell it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who speaks: connector and its version, logical server name, database; `snapshot` if from a table.

    `schema` and `table` are those of the block, empty where it names none.
    """

    dialect: Dialect
    version: str
    server: str
    database: str
    schema: str
    table: str
    snapshot: bool

    @property
    def connector(self) -> str:
        """The name in `source.connector`."""
        return self.dialect.name

    def table_id(self, stream: str) -> TableId:
        """The table that the block names.

        Raises:
            UnreadableInput: it names none.
        """
        if not self.table:
            raise UnreadableInput("the source block names no table")
        schema, table = self.read_name(self.schema), self.read_name(self.table)
        return TableId(self.server, self.database, schema, table, stream)

    def read_name(self, name: str) -> str:
        """A name of the database, restored where PostgreSQL's stream was misread byte by byte."""
        return restore_misread(name) if self.connector == "postgresql" else name


def origin_of(payload: Mapping[str, Any]) -> Origin:
    """The origin that a record's `source` block tells.

    Source: Debezium AbstractSourceInfo; `snapshot` is a text since 1.x, a boolean before.

    Raises:
        UnreadableInput: there is no such block, or its connector is not known.
    """
    source = payload.get("source")
    if not isinstance(source, dict):
        raise UnreadableInput("the record has no source block")
    connector, server = source.get("connector"), source.get("name")
    if not isinstance(connector, str) or not isinstance(server, str):
        raise UnreadableInput("the source block names no connector or no server")
    return Origin(
        dialect=_dialect(connector),
        version=_text(source, "version"),
        server=server,
        # Vitess leaves `db` empty and tells the keyspace beside it
        database=_text(source, "db") or _text(source, "keyspace"),
        schema=_text(source, "schema"),
        # MongoDB has collections for tables
        table=_text(source, "table") or _text(source, "collection"),
        snapshot=from_table(source) or payload.get("op") == "r",
    )


def _dialect(connector: str) -> Dialect:
    try:
        if connector != UNKNOWN:
            return DIALECTS.get(connector)
        raise UnreadableInput("the source block names the connector 'unknown'")
    except UnknownName:
        known = ", ".join(name for name in DIALECTS.names() if name != UNKNOWN)
        raise UnreadableInput(f"connector {connector!r} is not known; known are {known}") from None


def _text(source: Mapping[str, Any], name: str) -> str:
    text = source.get(name)
    return text if isinstance(text, str) else ""
