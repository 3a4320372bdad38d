"""Gives each table the drops of its database, since DROP DATABASE has no drop of each table.

Law: the drops of a table are a function of the set of records. A table that becomes known later than the
drop of its database gets it then; its position decides what it ends. A statement may spell the database
otherwise than the tables do: only a server that ignores case drops them, so that drop is a doubt.
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
    spelled: list[Entry] = []
    for entry in entries:
        if isinstance(entry, ObservationEntry) and entry.observation.is_of_database:
            drop = entry.observation
            database = _ignore_case(drop.table)
            new.setdefault(database, []).append(drop)
            if database != drop.table:
                spelled.append(ObservationEntry(replace(drop, table=database, previous=drop.table)))
    # a database with a schema level has no such statement in its stream
    databases = sorted({_name_database(t) for t in tables if t.table and t.database and not t.schema})
    known = {d: found for d in databases if (found := _load_drops(store, d))}
    added: list[Entry] = []
    for table in tables:
        drops = [*known.get(_name_database(table), ()), *new.get(_name_database(table), ())]
        if table.table and drops and store.history(table) is None:
            added += _make_entries(table, drops, store.load(table))
    for table in store.tables() if new else ():
        if not table.schema:
            added += _make_entries(table, new.get(_name_database(table), ()), ())
    return (*entries, *spelled, *added)


def _load_drops(store: Store, database: TableId) -> list[Observation]:
    return [observation for observation in store.load(database) if observation.is_of_database]


def _name_database(table: TableId) -> TableId:
    """Return the table without a name, and in lower case, under which all drops of the database are found."""
    return _ignore_case(replace(table, schema="", table=""))


def _ignore_case(database: TableId) -> TableId:
    return replace(database, database=database.database.lower())


def _make_entries(
    table: TableId, drops: Iterable[Observation], known: Iterable[Observation]
) -> Iterator[Entry]:
    own = {_make_drop(table, drop) for drop in drops}
    return (ObservationEntry(drop) for drop in sorted(own - set(known), key=lambda o: o.first.offset))


def _make_drop(table: TableId, drop: Observation) -> Observation:
    """Make the drop of a table; `previous` is its database as the statement spells it, if it does otherwise.

    MySQL compares names of databases without regard to case where its file system does. Source: MySQL
    reference manual, "Identifier Case Sensitivity", lower_case_table_names.
    """
    database = drop.table if drop.previous is None else drop.previous
    same = database.database == table.database
    return replace(drop, table=table, previous=None if same else database)
