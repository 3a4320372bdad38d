"""Finds the database of a table that a rename moved out of the session's own database.

Law: a record of a rename has the database of the new name alone. An old name without a database is looked
for there first. Else it is the only live table of that name on the server with the same columns; any other
case stays as the record has it. Source: Debezium MySqlDdlParser `RenameTableParserListener`; recordings of
MariaDB 10.11 with Debezium 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.model.schema import TableId, TableSchema
from schemaman.plugins import defer
from schemaman.store.dropped_databases import KnownTables
from schemaman.store.log import Entry, ObservationEntry

if TYPE_CHECKING:  # only a rename has a statement to read
    from schemaman.debezium.ddl.event_facts import read_ddl
else:
    read_ddl = defer("schemaman.debezium.ddl.event_facts:read_ddl")


def find_moved_databases(entries: Sequence[Entry], store: KnownTables) -> tuple[Entry, ...]:
    """Return the entries, in which a rename names the database that its table surely had."""
    if not any(isinstance(e, ObservationEntry) and _may_be_moved(e.observation) for e in entries):
        return tuple(entries)
    live = _load_live_tables(store)
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, ObservationEntry) and entry.observation.evidence in STATEMENT_KINDS:
            entry = ObservationEntry(_find_database(entry.observation, live))
            _follow(entry.observation, live)
        found.append(entry)
    return tuple(found)


def _may_be_moved(observation: Observation) -> bool:
    """Whether a rename has a database for the new name alone, in which the old one need not have been."""
    previous, new = observation.previous, observation.table
    if observation.action != "rename" or previous is None or observation.ddl is None or new.schema:
        return False
    pairs = read_ddl(observation.ddl, observation.connector).tables
    return previous.database == new.database and any(
        old == (previous.table,) and len(parts) > 1 and parts[-1] == new.table for old, parts in pairs
    )


def _load_live_tables(store: KnownTables) -> dict[TableId, TableSchema | None]:
    histories = filter(None, map(store.history, store.tables()))
    return {h.table: h.latest.schema for h in histories if not h.has_ended}


def _find_database(observation: Observation, live: dict[TableId, TableSchema | None]) -> Observation:
    previous, schema = observation.previous, observation.schema
    if previous is None or schema is None or previous in live or not _may_be_moved(observation):
        return observation
    found = [
        table
        for table, last in live.items()
        if replace(table, database=previous.database) == previous
        and last is not None
        and last.names == schema.names
    ]
    return replace(observation, previous=found[0]) if len(found) == 1 else observation


def _follow(observation: Observation, live: dict[TableId, TableSchema | None]) -> None:
    """Keep the live tables as a statement leaves them."""
    if observation.action == "drop":
        live.pop(observation.table, None)
    elif observation.schema is not None:
        live[observation.table] = observation.schema
    if observation.action == "rename" and observation.previous is not None:
        live.pop(observation.previous, None)
