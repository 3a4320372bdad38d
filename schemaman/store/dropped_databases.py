"""Gives each table the drops of its database, since DROP DATABASE has no drop of each table.

Law: the drops of a table are a function of the set of records. A table that becomes known later than the
drop of its database gets it then; its position decides what it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from schemaman.debezium.observation import Observation
from schemaman.model.schema import TableId
from schemaman.store.log import Entry, ObservationEntry, Projections, Store, list_tables


class KnownTables(Store, Projections, Protocol):
    """A store that lists its tables."""


def add_database_drops(entries: Sequence[Entry], store: KnownTables) -> tuple[Entry, ...]:
    """Return new entries, and behind them the drops of databases for each table that lacks them.

    A table with a history has all drops of its database that the store knows.
    """
    tables = sorted({table for entry in entries for table in list_tables(entry)})
    new: dict[TableId, list[Observation]] = {}
    for entry in entries:
        if isinstance(entry, ObservationEntry) and entry.observation.is_of_database:
            new.setdefault(entry.observation.table, []).append(entry.observation)
    # a database with a schema level has no such statement in its stream
    databases = sorted({_name_database(t) for t in tables if t.table and t.database and not t.schema})
    known = {d: found for d in databases if (found := store.load(d))}
    added: list[Entry] = []
    for table in tables:
        drops = [*known.get(_name_database(table), ()), *new.get(_name_database(table), ())]
        if table.table and drops and store.history(table) is None:
            added += _make_entries(table, drops, store.load(table))
    for table in store.tables() if new else ():
        if not table.schema:
            added += _make_entries(table, new.get(_name_database(table), ()), ())
    return (*entries, *added)


def _name_database(table: TableId) -> TableId:
    """Return the table without a name, of which the drops of the database are."""
    return replace(table, schema="", table="")


def _make_entries(
    table: TableId, drops: Iterable[Observation], known: Iterable[Observation]
) -> Iterator[Entry]:
    own = {replace(drop, table=table) for drop in drops}
    return (ObservationEntry(drop) for drop in sorted(own - set(known), key=lambda o: o.first.offset))
