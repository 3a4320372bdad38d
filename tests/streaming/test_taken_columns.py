"""A renamed table at a path takes all values of the former one, also those of columns that it lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from schemaman.migration.policy import Level, Policy, PolicyRule
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT, Connector, entry
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, column, image, node

ID = column("id", optional=False)
PRICE, NUMBER = column("price", "VARCHAR", 2, length=9), column("price", position=2)
NOTE = column("note", "VARCHAR", 3, length=9)
SIZES = (1, 100)
BIG = 2**40


class Server:
    """A MySQL server with a table that changes and gets another name."""

    def __init__(self) -> None:
        self.connector = Connector("mysql")

    def change(
        self, table: str, *columns: Mapping[str, object], former: str = "", ddl: str = "", key: str = "id"
    ) -> None:
        told = entry("ALTER" if ddl or former else "CREATE", f'"shop"."{table}"', image(*columns, key=(key,)))
        if former:
            told = {**told, "previousId": f'"shop"."{former}"'}
        words = ddl or (f"RENAME TABLE `{former}` TO `{table}`" if former else f"CREATE TABLE {table}")
        self.connector.change(told, table=table, ddl=words)

    def write(self, table: str, op: str = "c", key: str = "id", **values: object) -> None:
        types = {name: _find_node(value) for name, value in values.items()}
        record = self.connector.row(types, (key,), table=table, values=values, op=op)
        own = {**json.loads(record.key or b""), "payload": {key: values[key]}}
        self.connector.records[-1] = replace(record, key=json.dumps(own).encode())


class Shop(Server):
    """The server, and a sink that writes its tables into memory."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__()
        self.lake = MemorySink(store, lambda _: None, "delta", Policy(profile="autopilot"), lambda _: False)

    def take(self, size: int) -> None:
        records = self.connector.records
        for start in range(0, len(records), size):
            self.lake.take(records[start : start + size])

    def read(self, name: str) -> dict[int, dict[str, object]]:
        table = next(t for a, t in self.lake.tables.items() if a.strip("`").endswith(f".{name}") and t.live)
        rows = [row for row in table.read() if not row[DELETED]]
        return {
            int(str(row["id"])): {n: v for n, v in row.items() if v is not None and n[0] != "_" and n != "id"}
            for row in rows
        }


def _find_node(value: object) -> Node:
    if isinstance(value, str):
        return TEXT
    return node("int64") if isinstance(value, int) and value >= BIG else INT


def change_and_rename(server: Server) -> None:
    """Change a table `a`, so that it keeps a column, and rename it to `b`, whose number is wider."""
    server.change("a", ID, NUMBER, NOTE)
    server.write("a", id=1, price=10, note="n1")
    server.write("a", id=2, price=20, note="n2")
    server.change("a", ID, NUMBER, ddl="ALTER TABLE a DROP note")
    server.write("a", id=3, price=30)
    server.change("b", ID, NUMBER, former="a")
    server.change("b", ID, column("price", "BIGINT", 2), ddl="ALTER TABLE b MODIFY price BIGINT")
    server.write("b", id=4, price=BIG)
    server.write("b", "u", id=2, price=BIG + 1)


@pytest.mark.parametrize("size", SIZES)
def test_values_of_split_kept_and_dropped_columns_go_along(store: SqlStore, size: int) -> None:
    shop = Shop(store)
    shop.change("a", ID, PRICE, NOTE)
    shop.write("a", id=1, price="dear", note="n1")
    shop.write("a", id=2, price="cheap", note="n2")
    shop.change("a", ID, NUMBER, NOTE, ddl="ALTER TABLE a MODIFY price INT")
    shop.write("a", id=3, price=30, note="n3")
    shop.change("a", ID, NUMBER, ddl="ALTER TABLE a DROP note")
    shop.write("a", id=4, price=40)
    shop.change("b c", ID, NUMBER, former="a")
    shop.write("b c", id=5, price=50)
    shop.write("b c", "u", id=2, price=20)
    shop.take(size)
    rows = shop.read("b c")
    united = {id: next(v for n, v in row.items() if n.startswith("price")) for id, row in rows.items()}
    assert united == {1: "dear", 2: 20, 3: 30, 4: 40, 5: 50}
    assert {id: [v for n, v in row.items() if n.startswith("note")] for id, row in rows.items()} == {
        1: ["n1"], 2: ["n2"], 3: ["n3"], 4: [], 5: [],
    }  # fmt: skip
    assert not [note for note in shop.lake.notes if note.startswith("take the rows")]
    assert shop.lake.withheld() == {}


@pytest.mark.parametrize("level", ["ignore", "auto"])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_late_row_of_a_renamed_table_waits_for_no_column_that_the_policy_leaves_out(
    store: SqlStore, format: str, level: Level
) -> None:
    shop = Shop(store)
    rules = (PolicyRule(level, ("add-column",)),)
    shop.lake.policy, shop.lake.format = Policy(profile="autopilot", rules=rules), format
    shop.change("a", ID, NOTE)
    shop.write("a", id=1, note="n1")
    shop.change("a", ID, NOTE, NUMBER, ddl="ALTER TABLE a ADD price INT")
    shop.write("a", id=2, note="n2", price=5)
    shop.write("a", id=4, note="n4", price=6)
    shop.change("b", ID, NOTE, NUMBER, former="a")
    shop.write("b", id=3, note="n3", price=7)
    first, late, others = (
        shop.connector.records[:2],
        [shop.connector.records.pop(3)],
        shop.connector.records[2:],
    )
    for batch in (first, others, late):
        shop.lake.take(batch)
    assert shop.lake.withheld() == {}
    (rows,) = ([row["id"] for row in t.read()] for a, t in shop.lake.tables.items() if "..b" in a and t.live)
    assert sorted(rows) == [1, 2, 3, 4]


def test_a_value_follows_its_column_and_not_the_name(store: SqlStore) -> None:
    shop = Shop(store)
    shop.change("a", ID, NOTE)
    shop.write("a", id=1, note="old")
    shop.take(1)
    shop.connector.records.clear()
    shop.change("b", ID, NOTE, former="a")
    shop.change("b", ID, {**NOTE, "name": "word"}, ddl="ALTER TABLE b RENAME COLUMN note TO word")
    shop.change("b", ID, {**NOTE, "name": "word"}, {**NUMBER, "name": "note", "position": 4},
                ddl="ALTER TABLE b ADD note INT")  # fmt: skip
    shop.write("b", id=2, word="new", note=7)
    shop.take(100)
    assert shop.read("b") == {1: {"word": "old"}, 2: {"word": "new", "note": 7}}
    (table,) = (t for a, t in shop.lake.tables.items() if a.endswith(".b"))
    assert table.live is not None
    assert len(read_record(table.live.properties).taken) == 1


def test_rows_of_an_earlier_key_are_said_to_stay_under_the_former_name(store: SqlStore) -> None:
    shop = Shop(store)
    shop.change("a", ID, NOTE)
    shop.write("a", id=1, note="n1")
    log = image(ID, NOTE, key=())
    shop.connector.change(entry("ALTER", '"shop"."a"', log), table="a", ddl="ALTER TABLE a DROP PRIMARY KEY")
    record = shop.connector.row({"id": INT, "note": TEXT}, table="a", values={"id": 2, "note": "n2"})
    shop.connector.records[-1] = replace(record, key=None)
    told = {**entry("ALTER", '"shop"."b"', log), "previousId": '"shop"."a"'}
    shop.connector.change(told, table="b", ddl="RENAME TABLE a TO b")
    record = shop.connector.row({"id": INT, "note": TEXT}, table="b", values={"id": 3, "note": "n3"})
    shop.connector.records[-1] = replace(record, key=None)
    shop.take(1)
    (note,) = {each for each in shop.lake.notes if "stay there" in each}
    assert "shop..a have an earlier key" in note.replace("`", "")
    (table,) = (t for a, t in shop.lake.tables.items() if a.endswith(".b"))
    assert {row["id"] for row in table.read()} == {2, 3}


def exchange(shop: Shop, one: str, other: str, *columns: Mapping[str, object]) -> None:
    for old, new in ((one, f"{one}_x"), (other, one), (f"{one}_x", other)):
        shop.change(new, *columns, former=old)


def list_covered(shop: Shop) -> set[str]:
    """The tables whose rows another one has taken."""
    live = [t.live for t in shop.lake.tables.values() if t.live is not None]
    return {name for each in live for name in read_record(each.properties).taken}


@pytest.mark.parametrize("size", SIZES)
def test_no_row_of_tables_exchanged_twice_stays_behind_without_a_note(store: SqlStore, size: int) -> None:
    shop = Shop(store)
    for table, start in (("a", 0), ("b", 10)):
        shop.change(table, ID, NOTE)
        shop.write(table, id=start + 1, note=table)
    for turn in (1, 2):
        exchange(shop, "a", "b", ID, NOTE)
        shop.write("a", id=20 + turn, note="now a")
        shop.write("b", id=30 + turn, note="now b")
    shop.take(size)
    newest = {
        source: {row["id"]: row["note"] for row in table.read() if not row[DELETED]}
        for table in shop.lake.tables.values()
        if table.live is not None and not (record := read_record(table.live.properties)).successor
        if (source := (record.source or "").rpartition(".")[2]) in ("a", "b")
    }
    assert newest == {
        "a": {1: "a", 31: "now b", 22: "now a"},
        "b": {11: "b", 21: "now a", 32: "now b"},
    }
    assert [note for note in shop.lake.notes if "stay there" in note or "earlier key" in note] == []


def test_rows_that_stay_under_a_name_before_the_former_one_have_a_note_still(store: SqlStore) -> None:
    shop = Shop(store)
    shop.change("a", ID, PRICE, NOTE)
    shop.write("a", id=1, price="dear", note="n1")
    for table, former in (("b", "a"), ("c", "b")):
        shop.change(table, ID, PRICE, former=former)
        shop.write(table, id=2, price=table)
    shop.take(1)
    assert shop.read("c") == {2: {"price": "c"}}
    kept = [note for note in shop.lake.notes if note.startswith("take the rows of /lake/shop..a")]
    assert [f"`/lake/shop..{table}` SET" in note for note, table in zip(kept, "bc", strict=True)] == [
        True
    ] * 2
    shop.lake.policy = replace(shop.lake.policy, rules=(PolicyRule("block", ("rename-table",)),))
    shop.write("c", id=3, price="c")
    shop.lake.take(shop.connector.records[-1:])
    assert "/lake/shop..a stay there: set `rename-table` to `auto`" in shop.lake.notes[-1]


def test_a_log_that_got_a_key_names_the_keys_that_differ(store: SqlStore) -> None:
    shop = Shop(store)
    log = image(ID, NOTE, key=())
    shop.connector.change(entry("CREATE", '"shop"."a"', log), table="a", ddl="CREATE TABLE a (id INT)")
    record = shop.connector.row({"id": INT, "note": TEXT}, table="a", values={"id": 1, "note": "n1"})
    shop.connector.records[-1] = replace(record, key=None)
    shop.change("b", ID, NOTE, former="a")
    shop.write("b", id=2, note="n2")
    shop.take(1)
    (note,) = {each for each in shop.lake.notes if each.startswith("take the rows")}
    assert "its key is () and not (id)" in note
    settled = note.rpartition("run: ")[2]
    assert settled.startswith("ALTER TABLE ")
    shop.lake.open_lake().run(settled)
    shop.lake.notes.clear()
    shop.write("b", id=3, note="n3")
    shop.lake.take(shop.connector.records[-1:])
    assert [each for each in shop.lake.notes if each.startswith("take the rows")] == []


@pytest.mark.parametrize("size", SIZES)
def test_rows_come_along_whose_key_got_another_number_type(store: SqlStore, size: int) -> None:
    """Each id that the later type holds is the same number of the same row."""
    shop = Shop(store)
    change_key_and_rename(shop, BIG // 2**12)
    shop.take(size)
    assert shop.read("b") == {
        1: {"price": 10},
        2: {"price": 21},
        3: {"price": 30},
        BIG // 2**12: {"price": 5},
    }
    assert shop.lake.withheld() == {}


def test_rows_stay_where_one_has_a_number_that_the_later_key_does_not_hold(store: SqlStore) -> None:
    """The source let it in by another id: nothing shows which row it is now."""
    shop = Shop(store)
    change_key_and_rename(shop, BIG)
    shop.take(1)
    assert shop.read("b") == {2: {"price": 21}, 3: {"price": 30}}
    assert any("holds exactly" in note for note in shop.lake.notes)


def change_key_and_rename(server: Server, id: int) -> None:
    """Give a table `a` a smaller id, and rename it to `b`."""
    server.change("a", column("id", "BIGINT", optional=False), NUMBER)
    server.write("a", id=1, price=10)
    server.write("a", id=2, price=20)
    server.write("a", id=id, price=5)
    server.change("a", ID, NUMBER, ddl="ALTER TABLE a MODIFY id INT NOT NULL")
    server.change("b", ID, NUMBER, former="a")
    server.write("b", "u", id=2, price=21)
    server.write("b", id=3, price=30)
