"""Tables that exchange names through one that no record shows: `RENAME TABLE a TO x, b TO a, x TO b`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from schemaman.migration.policy import Policy
from schemaman.migration.properties.table_record import read_record
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT, Connector, entry
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, column, image

COLUMNS = {"v": TEXT, "w": TEXT}


@dataclass
class Source:
    """A server with the tables `a` and `b`; `held` has the column of each beside `id`."""

    lake: MemorySink
    connector: Connector = field(default_factory=lambda: Connector("mysql"))
    held: dict[str, str] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    """The columns beside `id` of tables whose `id` is a text."""

    def create(self, table: str, other: str) -> None:
        self.held[table] = other
        self.connector.change(self._tell("CREATE", table), table=table, ddl=f"CREATE TABLE {table} (id INT)")

    def _tell(self, kind: str, table: str) -> Node:
        own = column(self.held[table], "VARCHAR", 2, length=9)
        return entry(kind, f'"shop"."{table}"', image(self._id(table), own, key=("id",)))

    def _id(self, table: str) -> Node:
        if self.held[table] not in self.texts:
            return column("id", optional=False)
        return column("id", "VARCHAR", 12, optional=False, length=9)

    def retype_key(self, table: str) -> None:
        self.texts.add(self.held[table])
        self.connector.change(
            self._tell("ALTER", table), table=table, ddl=f"ALTER TABLE {table} MODIFY id VARCHAR(9)"
        )

    def exchange(self, one: str, other: str, between: str) -> None:
        """Debezium writes a record for each rename, all with one place; the first has no structure."""
        self.held[one], self.held[other] = self.held[other], self.held[one]
        self.connector.change(table=between, ddl=f"RENAME TABLE {one} TO {between}")
        at = self.connector.at
        for old, new in ((other, one), (between, other)):
            told = self._tell("ALTER", new)
            self.connector.change(told, table=new, ddl=f"RENAME TABLE {old} TO {new}", pos=at)

    def write(self, table: str, id: int | str, value: str, op: str = "c") -> None:
        values = {"id": id, self.held[table]: value}
        columns = {"id": TEXT if self.held[table] in self.texts else INT, self.held[table]: TEXT}
        record = self.connector.row(columns, table=table, values=values, op=op)
        key = {**json.loads(record.key or b""), "payload": {"id": id}}
        self.connector.records[-1] = replace(record, key=json.dumps(key).encode())

    def take(self, size: int) -> dict[str, dict[int | str, str]]:
        records = self.connector.records
        for start in range(0, len(records), size):
            self.lake.take(records[start : start + size])
        assert (self.lake.withheld(), self.lake.stopped, self.lake.quiet) == ({}, set(), {})
        return {
            address.rpartition(".")[2].strip("`"): {
                row["id"]: str(row.get("v") or row.get("w"))
                for row in table.read()
                if not row["_row_deleted"]
            }
            for address, table in self.lake.tables.items()
            if table.live is not None
        }


@pytest.mark.parametrize("size", [1, 5, 99])
def test_tables_that_exchange_names_twice_keep_their_rows(store: SqlStore, size: int) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    source = Source(lake)
    source.create("a", "v")
    source.create("b", "w")
    for id, table in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        source.write(table, id, table)
    source.exchange("a", "b", "x")
    source.write("b", 1, "a1", "u")
    source.write("a", 3, "b1", "u")
    source.exchange("a", "b", "y")
    source.write("a", 1, "a2", "u")
    source.write("b", 5, "b")
    assert source.take(size) == {"a": {1: "a2", 2: "a"}, "b": {3: "b1", 4: "b", 5: "b"}}


@pytest.mark.parametrize("size", [4])
def test_tables_that_exchange_names_once_keep_their_rows(store: SqlStore, size: int) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    source = Source(lake)
    source.create("a", "v")
    source.create("b", "w")
    for id, table in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        source.write(table, id, table)
    source.exchange("a", "b", "x")
    source.write("b", 1, "a1", "u")
    source.write("a", 3, "b1", "u")
    assert source.take(size) == {"b": {1: "a1", 2: "a"}, "a": {3: "b1", 4: "b"}}


def _exchange_with_a_successor(lake: MemorySink) -> Source:
    """Two tables that exchange their names, once one of them has a key of another type."""
    source = Source(lake)
    source.create("a", "v")
    source.create("b", "w")
    for id, table in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        source.write(table, id, table)
    source.retype_key("b")
    source.write("b", "five", "b")
    source.exchange("a", "b", "x")
    source.write("b", 1, "a1", "u")
    source.write("a", "five", "b1", "u")
    return source


@pytest.mark.parametrize("size", [3, 99])
def test_a_table_with_a_successor_exchanges_names(store: SqlStore, size: int) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    source = _exchange_with_a_successor(lake)
    source.exchange("a", "b", "y")
    source.write("a", 1, "a2", "u")
    source.write("b", "six", "b")
    found = source.take(size)
    assert (found["a"], found["b"]) == ({1: "a2", 2: "a"}, {"five": "b1", "six": "b"})


@pytest.mark.parametrize("size", [3, 99])
def test_a_table_with_an_earlier_key_is_found_by_its_successor(store: SqlStore, size: int) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    source = _exchange_with_a_successor(lake)
    source.take(size)
    records = {n: read_record(t.live.properties) for n, t in lake.tables.items() if t.live is not None}
    links = [(n, r.predecessor.table) for n, r in records.items() if r.predecessor is not None]
    assert [(records[before].successor, n) for n, before in links] == [(n, n) for n, _ in links]
    ((newer, older),) = links
    assert {row["id"] for row in lake.tables[older].read()} == {3, 4}
    assert newer in {each.live.name for each in lake.lake()}
