"""One statement renames a table and changes its columns: `ALTER TABLE a ADD x INT, RENAME TO b`."""

from __future__ import annotations

import pytest

from schemaman.debezium.connector import CONNECTORS
from schemaman.history.fold.fold import fold
from schemaman.ingest.ingest import ingest
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import later, shapes, told_in_parts
from tests.streaming.test_taken_columns import BIG, ID, NOTE, NUMBER, Server, Shop
from tests.support.records import column

SIZES = (1, 20, 100)
FORMATS = ("delta", "iceberg")
WIDE = column("price", "BIGINT", 2)
WORD = {**NOTE, "name": "word"}


def _shop(store: SqlStore, format: str) -> Shop:
    shop = Shop(store)
    shop.lake.format = format
    return shop


def _fill(shop: Server) -> None:
    shop.change("a", ID, NUMBER, NOTE)
    shop.write("a", id=1, price=10, note="n1")
    shop.write("a", id=2, price=20, note="n2")
    shop.write("a", id=3, price=30, note="n3")
    shop.write("a", "d", id=3, price=30, note="n3")


def rename_and_change(server: Server) -> None:
    """Rename a table `a` to `b`, with another name for a column, and a new column."""
    server.change("a", ID, {**NOTE, "position": 2}, WORD)
    server.write("a", id=1, note="note 1", word="word 1")
    server.write("a", id=2, note="note 2", word="word 2")
    text, added = {**NOTE, "name": "text", "position": 2}, {**NUMBER, "position": 4}
    ddl = "ALTER TABLE a RENAME COLUMN note TO text, ADD price INT, RENAME TO b"
    server.change("b", ID, text, WORD, added, former="a", ddl=ddl)
    server.write("b", "u", id=2, text="note 3", word="word 2", price=3)
    server.write("b", id=4, text="note 4", word="word 4", price=4)


def _take(shop: Shop, size: int, name: str = "b") -> dict[int, dict[str, object]]:
    """The rows of a table, none of which waits; no note says that rows of `a` stay where they are."""
    shop.take(size)
    lake = shop.lake
    assert (lake.withheld(), lake.stopped, lake.quiet) == ({}, set(), {})
    assert [note for note in lake.notes if note.startswith("take the rows") or "stay there" in note] == []
    return shop.read(name)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_a_table_that_gets_a_column_with_its_name_keeps_its_rows(
    store: SqlStore, size: int, format: str
) -> None:
    shop = _shop(store, format)
    _fill(shop)
    added = {**NUMBER, "name": "x", "position": 4}
    shop.change("b", ID, NUMBER, NOTE, added, former="a", ddl="ALTER TABLE a ADD COLUMN x INT, RENAME TO b")
    shop.write("b", id=4, price=40, note="n4", x=7)
    shop.write("b", "u", id=2, price=21, note="n2", x=8)
    assert _take(shop, size) == {
        1: {"price": 10, "note": "n1"},
        2: {"price": 21, "note": "n2", "x": 8},
        4: {"price": 40, "note": "n4", "x": 7},
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_a_value_follows_its_column_whose_name_the_statement_gives_to_another_one(
    store: SqlStore, size: int, format: str
) -> None:
    shop = _shop(store, format)
    shop.change("a", ID, {**NOTE, "position": 2}, WORD)
    shop.write("a", id=1, note="note 1", word="word 1")
    shop.write("a", id=2, note="note 2", word="word 2")
    ddl = "ALTER TABLE a DROP COLUMN note, RENAME COLUMN word TO note, RENAME TO b"
    shop.change("b", ID, {**NOTE, "position": 2}, former="a", ddl=ddl)
    shop.write("b", "u", id=2, note="word 3")
    shop.write("b", id=4, note="word 4")
    rows = _take(shop, size)
    assert {id: row["note"] for id, row in rows.items()} == {1: "word 1", 2: "word 3", 4: "word 4"}
    assert rows[1]["note__old"] == "note 1"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ["", " AFTER id"])
def test_values_follow_two_columns_that_exchange_names_in_the_statement(
    store: SqlStore, order: str, size: int, format: str
) -> None:
    """With AFTER, the table has the very structure that it had before."""
    shop = _shop(store, format)
    note, word = {**NOTE, "position": 2}, WORD
    shop.change("a", ID, note, word)
    shop.write("a", id=1, note="note 1", word="word 1")
    shop.write("a", id=2, note="note 2", word="word 2")
    after = (note, word) if order else ({**word, "position": 2}, {**note, "position": 3})
    ddl = f"ALTER TABLE a CHANGE note word varchar(9), CHANGE word note varchar(9){order}, RENAME TO b"
    shop.change("b", ID, *after, former="a", ddl=ddl)
    shop.write("b", "u", id=2, note="word 2", word="note 3")
    shop.write("b", id=4, note="word 4", word="note 4")
    assert _take(shop, size) == {
        1: {"note": "word 1", "word": "note 1"},
        2: {"note": "word 2", "word": "note 3"},
        4: {"note": "word 4", "word": "note 4"},
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("statements", [1, 2])
def test_a_late_row_waits_whose_columns_have_exchanged_their_names_since(
    store: SqlStore, statements: int, format: str
) -> None:
    """The later version has the same id: its columns have the same names and types."""
    shop = _shop(store, format)
    note, word = {**NOTE, "position": 2}, WORD
    after = {**word, "position": 2}, {**note, "position": 3}
    ddl = "CHANGE note word varchar(9), CHANGE word note varchar(9)"
    shop.change("a", ID, note, word)
    shop.write("a", id=1, note="note 1", word="word 1")
    shop.write("a", id=2, note="note 2", word="word 2")
    late = shop.connector.records.pop()
    if statements == 2:
        shop.change("b", ID, note, word, former="a")
        shop.change("b", ID, *after, ddl=f"ALTER TABLE b {ddl}")
    else:
        shop.change("b", ID, *after, former="a", ddl=f"ALTER TABLE a {ddl}, RENAME TO b")
    shop.write("b", id=4, note="word 4", word="note 4")
    shop.take(100)
    shop.lake.take([late])
    assert shop.read("b") == {
        1: {"note": "word 1", "word": "note 1"},
        4: {"note": "word 4", "word": "note 4"},
    }
    (reason,) = shop.lake.withheld().values()
    assert "its columns are not those of the rows" in reason


def test_a_table_waits_whose_columns_exchange_names_after_a_rename_of_a_structure_that_no_record_declares(
    store: SqlStore,
) -> None:
    """The rows of the later version have the names and types that those of the former name had."""
    shop = _shop(store, "iceberg")
    note, word = {**NOTE, "position": 2}, WORD
    shop.write("a", id=1, note="note 1", word="word 1")
    shop.write("a", id=2, note="note 2", word="word 2")
    shop.change("b", ID, note, word, former="a")
    ddl = "ALTER TABLE b CHANGE note word varchar(9), CHANGE word note varchar(9)"
    shop.change("b", ID, {**word, "position": 2}, {**note, "position": 3}, ddl=ddl)
    shop.write("b", id=4, note="word 4", word="note 4")
    records = shop.connector.records
    shop.lake.take(records[:2])
    shop.lake.take(records[2:])
    assert shop.read("a") == {
        1: {"note": "note 1", "word": "word 1"},
        2: {"note": "note 2", "word": "word 2"},
    }
    assert shop.lake.withheld().keys() == {(each.topic, 0, each.offset) for each in records[4:]}


@pytest.mark.parametrize("format", FORMATS)
def test_a_late_row_is_not_taken_for_one_that_has_its_key_in_a_column_of_that_name(
    store: SqlStore, format: str
) -> None:
    shop = _shop(store, format)
    shop.change("a", ID, NUMBER)
    shop.write("a", id=1, price=10)
    shop.write("a", id=2, price=20)
    late = shop.connector.records.pop()
    ddl = "ALTER TABLE a CHANGE id price int, CHANGE price id int, RENAME TO b"
    after = {**ID, "name": "price"}, {**NUMBER, "name": "id"}
    shop.change("b", *after, former="a", ddl=ddl, key="price")
    shop.write("b", price=4, id=3, key="price")
    shop.write("b", price=5, id=2, key="price")
    shop.take(100)
    shop.lake.take([late])
    assert shop.read("b") == {10: {"price": 1}, 3: {"price": 4}, 2: {"price": 5}}
    assert shop.lake.withheld().keys() == {(late.topic, late.partition, late.offset)}


@pytest.mark.parametrize("before", ["", "ALTER TABLE a DROP COLUMN note"])
def test_a_late_row_waits_that_has_a_value_of_a_column_which_a_newer_one_lacks(
    store: SqlStore, before: str
) -> None:
    """Where nothing was dropped, the newer row supersedes it."""
    shop = _shop(store, "iceberg")
    _fill(shop)
    late = shop.connector.records.pop(2)
    if before:
        shop.change("a", ID, NUMBER, ddl=before)
        ddl = "ALTER TABLE a RENAME COLUMN price TO cost, RENAME TO b"
    else:
        ddl = "ALTER TABLE a DROP COLUMN note, RENAME COLUMN price TO cost, RENAME TO b"
    shop.change("b", ID, {**NUMBER, "name": "cost"}, former="a", ddl=ddl)
    shop.write("b", id=4, cost=40)
    shop.write("b", id=5, cost=50)
    shop.write("b", "u", id=2, cost=21)
    shop.take(100)
    shop.lake.take([late])
    assert shop.lake.withheld().keys() == {(late.topic, late.partition, late.offset)}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_a_table_is_renamed_and_changed_twice(store: SqlStore, size: int, format: str) -> None:
    """Each time the statement renames one column and widens another; an index says nothing of columns."""
    shop = _shop(store, format)
    _fill(shop)
    shop.connector.change(table="a", ddl="CREATE INDEX i ON a (note)")
    ddl = "ALTER TABLE a RENAME COLUMN note TO word, MODIFY price BIGINT, RENAME TO b"
    shop.change("b", ID, WIDE, WORD, former="a", ddl=ddl)
    shop.write("b", "u", id=2, price=BIG, word="n2")
    shop.write("b", id=4, price=BIG + 1, word="n4")
    text = {**NOTE, "name": "text"}
    ddl = "ALTER TABLE b RENAME TO c, CHANGE word text varchar(9), DROP COLUMN price"
    shop.change("c", ID, {**text, "position": 2}, former="b", ddl=ddl)
    shop.write("c", id=5, text="n5")
    shop.write("c", "d", id=1, text="n1")
    rows = _take(shop, size, "c")
    assert {id: (row.pop("text"), *row.values()) for id, row in rows.items()} == {
        2: ("n2", BIG),
        4: ("n4", BIG + 1),
        5: ("n5",),
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_a_row_is_found_by_its_key_that_the_statement_renames(
    store: SqlStore, size: int, format: str
) -> None:
    shop = _shop(store, format)
    shop.change("a", {**ID, "name": "no"}, NOTE, key="no")
    for number in (1, 2, 3):
        shop.write("a", no=number, note=f"n{number}", key="no")
    ddl = "ALTER TABLE a RENAME COLUMN no TO id, ADD COLUMN price INT, RENAME TO b"
    shop.change("b", ID, NOTE, NUMBER, former="a", ddl=ddl)
    shop.write("b", "u", id=2, note="new", price=5)
    shop.write("b", "d", id=3, note="n3", price=5)
    assert _take(shop, size) == {1: {"note": "n1"}, 2: {"note": "new", "price": 5}}


def test_the_table_is_renamed_first_and_changed_then(store: SqlStore) -> None:
    """The history is the same in whatever order the observations of its one record are given."""
    server = Server()
    _fill(server)
    ddl = "ALTER TABLE a RENAME COLUMN note TO word, MODIFY price BIGINT, RENAME TO b"
    server.change("b", ID, WIDE, WORD, former="a", ddl=ddl)
    server.write("b", id=4, price=BIG, word="n4")
    records = sorted(server.connector.records, key=lambda r: (r.topic, r.offset))
    ingest(records, Registry(store, lambda: 0), "main", lambda _: None)
    (table,) = (each for each in store.tables() if each.table == "b")
    history, observations = store.history(table), tuple(store.load(table))
    assert history is not None
    assert shapes(history) == [
        "id INT!, price INT, note VARCHAR(9) KEY (id)",
        "id INT!, price BIGINT, word VARCHAR(9) KEY (id)",
    ]
    assert [[c.id for c in v.schema.columns] for v in history.versions] == [[1, 2, 3]] * 2
    assert [(v.incarnation, v.at.offset) for v in history.versions] == [(1, 1)] * 2
    for given in (observations, observations[::-1]):
        assert fold(given, table, CONNECTORS.get) == history


@pytest.mark.parametrize("split", [1, 2])
def test_the_structure_of_the_former_name_is_known_from_earlier_reading(split: int) -> None:
    server = Server()
    server.change("a", ID, NOTE)
    server.change("a", ID, NUMBER, NOTE, ddl="ALTER TABLE a ADD price INT AFTER id")
    server.change("b", ID, WIDE, NOTE, former="a", ddl="ALTER TABLE a MODIFY price BIGINT, RENAME TO b")
    records = server.connector.records
    found = told_in_parts([records[:split], records[split:]])["b"]
    assert shapes(found)[0] == "id INT!, price INT, note VARCHAR(9) KEY (id)"
    assert [[c.id for c in v.schema.columns] for v in found.versions] == [[1, 2, 3]] * 2


def test_a_table_whose_former_name_no_record_shows_begins_with_the_structure_of_the_statement() -> None:
    server = Server()
    server.change("b", ID, WIDE, former="a", ddl="ALTER TABLE a MODIFY price BIGINT, RENAME TO b")
    found = server.connector.told()["b"]
    assert shapes(found) == ["id INT!, price BIGINT KEY (id)"]
    assert [alias.name for alias in found.aliases if alias.kind == "table"] == ["srv.shop.a"]


def test_the_statement_that_is_delivered_again_begins_no_other_table() -> None:
    server = Server()
    server.change("a", ID, NUMBER)
    server.change("b", ID, WIDE, former="a", ddl="ALTER TABLE a MODIFY price BIGINT, RENAME TO b")
    once = [(v.id, v.at) for v in server.connector.told()["b"].versions]
    server.connector.records.append(later(server.connector.records[-1], 2))
    server.write("b", id=4, price=BIG)
    server.connector.records.append(later(server.connector.records[1], 3))
    found = server.connector.told()["b"]
    assert [(v.id, v.at) for v in found.versions] == once
    assert ([v.incarnation for v in found.versions], found.events) == ([1, 1], ())
