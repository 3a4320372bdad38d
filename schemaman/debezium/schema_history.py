"""Records of a connector's own schema history, which have a format of their own.

Their members alone distinguish them from those of the schema-change topic: they name no connector, and
`position` has the position in the log in the form of the connector's offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schemaman.debezium import schema_change
from schemaman.debezium.connector import CONNECTORS, Connector
from schemaman.debezium.json_fields import read_structs, read_text
from schemaman.debezium.observation import (
    Observation,
    Outcome,
    SchemaRun,
    Skipped,
    skip_run,
)
from schemaman.debezium.payload import Body
from schemaman.debezium.schema_change import observe_entry, read_change
from schemaman.debezium.source_block import Origin
from schemaman.debezium.table_changes import split_table_id
from schemaman.errors import UnreadableInput

INTERNAL_RECORD = "internal-record"


def observe_history(run: SchemaRun, stream: str, value: Body) -> tuple[Outcome, ...]:
    """Observe the tables of the record as evidence of kind `internal`; a record without a table is skipped.

    Db2 leaves the database's name empty while streaming, and the record has it nowhere else. Such a record is
    skipped, since its table is unknown. Source: Debezium HistoryRecord, JsonTableChangeSerializer,
    EmbeddedEngine offsets of each connector.

    Raises:
        UnreadableInput: the record does not have the known form, or its position fits no connector.
    """
    payload = value.payload
    position = payload.get("position")
    offsets: Mapping[str, Any] = position if isinstance(position, dict) else {}
    entries = read_structs(payload, "tableChanges")
    ids = [read_text(entry, "id") or "" for entry in entries]
    connector = _find_connector(offsets, ids)
    if connector is None:
        if not entries:
            return (skip_run(run, INTERNAL_RECORD),)
        raise UnreadableInput("the internal schema history names no connector, and its position is of none")
    origin = _read_origin(payload, offsets, connector)
    if not origin.database and any(len(split_table_id(id)) < 3 for id in ids):
        return (skip_run(run, f"{INTERNAL_RECORD}-without-database"),)
    at = origin.connector_plugin.position(dict(offsets))
    try:
        _ = at.rank
    except ValueError:
        raise UnreadableInput(f"a position that cannot be read: {at.kind} {at.value!r}") from None
    positioned = replace(run, first=replace(run.first, position=at), last=replace(run.last, position=at))
    change = read_change(positioned, stream, origin, origin.database, read_text(payload, "ddl"), "internal")
    if not entries:
        observed = [
            o for o in schema_change.observe_statements(change, never=True) if isinstance(o, Observation)
        ]
        return tuple(observed) or (skip_run(run, INTERNAL_RECORD),)
    return tuple(o for entry in entries for o in observe_entry(change, entry) if isinstance(o, _KEPT))


_KEPT = (Observation, Skipped)
"""The outcomes that are kept; notes about statements come from the schema-change topic."""


def _read_origin(payload: Mapping[str, Any], position: Mapping[str, Any], connector: Connector) -> Origin:
    source = payload.get("source")
    server = source.get("server") if isinstance(source, dict) else None
    if not isinstance(server, str):
        raise UnreadableInput("the internal schema history names no server")
    return Origin(
        connector_plugin=connector,
        version="",
        server=server,
        database=read_text(payload, "databaseName") or "",
        schema=read_text(payload, "schemaName") or "",
        table="",
        snapshot=position.get("snapshot") not in (None, False, "false"),
    )


def _find_connector(offset: Mapping[str, Any], ids: list[str]) -> Connector | None:
    """Find the connector by the form of its offset; None if no connector or several ones have such a form."""
    depth = max((len(split_table_id(id)) for id in ids), default=0)
    found = [connector for connector in CONNECTORS.load_all() if connector.is_own_offset(offset, depth)]
    return found[0] if len(found) == 1 else None
