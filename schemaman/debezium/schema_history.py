"""A record of a connector's own schema history: the third witness, in a format of its own.

It is told apart from the schema-change topic by its members alone: no connector is named, and the place in
the log stands in `position`, as the connector keeps its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schemaman.debezium import schema_change
from schemaman.debezium.connector import CONNECTORS
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
_MARIADB_GTID = re.compile(r"\d+-\d+-\d+")


def observe_history(run: SchemaRun, stream: str, value: Body) -> tuple[Outcome, ...]:
    """What the record says of tables, as witness `internal`; what says nothing is set aside.

    Db2 leaves the database's name empty while streaming and nothing else here tells it: such a record is set
    aside, since it cannot be said which table it is of. Source: Debezium HistoryRecord,
    JsonTableChangeSerializer, EmbeddedEngine offsets of each connector.

    Raises:
        UnreadableInput: the record is not of the known form, or its position is that of no connector.
    """
    payload = value.payload
    position = payload.get("position")
    place: Mapping[str, Any] = position if isinstance(position, dict) else {}
    entries = read_structs(payload, "tableChanges")
    ids = [read_text(entry, "id") or "" for entry in entries]
    connector = _find_connector(place, ids)
    if connector is None:
        if not entries:
            return (skip_run(run, INTERNAL_RECORD),)
        raise UnreadableInput("the internal schema history names no connector, and its position is of none")
    origin = _read_origin(payload, place, connector)
    if not origin.database and any(len(split_table_id(id)) < 3 for id in ids):
        return (skip_run(run, f"{INTERNAL_RECORD}-without-database"),)
    at = origin.connector_plugin.position(dict(place))
    try:
        _ = at.rank
    except ValueError:
        raise UnreadableInput(f"a position that cannot be read: {at.kind} {at.value!r}") from None
    placed = replace(run, first=replace(run.first, position=at), last=replace(run.last, position=at))
    change = read_change(placed, stream, origin, origin.database, read_text(payload, "ddl"), "internal")
    if not entries:
        said = [o for o in schema_change.observe_statements(change, never=True) if isinstance(o, Observation)]
        return tuple(said) or (skip_run(run, INTERNAL_RECORD),)
    return tuple(o for entry in entries for o in observe_entry(change, entry) if isinstance(o, _KEPT))


_KEPT = (Observation, Skipped)
"""What is to know of a statement is known from the public topic."""


def _read_origin(payload: Mapping[str, Any], position: Mapping[str, Any], connector: str) -> Origin:
    source = payload.get("source")
    server = source.get("server") if isinstance(source, dict) else None
    if not isinstance(server, str):
        raise UnreadableInput("the internal schema history names no server")
    return Origin(
        connector_plugin=CONNECTORS.get(connector),
        version="",
        server=server,
        database=read_text(payload, "databaseName") or "",
        schema=read_text(payload, "schemaName") or "",
        table="",
        snapshot=position.get("snapshot") not in (None, False, "false"),
    )


def _find_connector(position: Mapping[str, Any], ids: list[str]) -> str | None:
    """The connector whose offset this is. Source: each connector's OffsetContext."""
    if "file" in position:
        gtids = position.get("gtids")
        return "mariadb" if isinstance(gtids, str) and _MARIADB_GTID.match(gtids) else "mysql"
    if position.keys() & {"scn", "snapshot_scn", "commit_scn"}:
        return "oracle"
    lsn = position.get("commit_lsn")
    if not isinstance(lsn, str):
        return None
    if ":" not in lsn:
        return "informix"
    return "sqlserver" if any(len(split_table_id(id)) == 3 for id in ids) else "db2"
