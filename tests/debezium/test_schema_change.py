"""Schema-change records: structures declared, tables dropped and renamed, and what says nothing."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from schemaman.debezium.ddl.event_subjects import TableStatement, find_table_statements
from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Outcome, Reject
from schemaman.debezium.records import Record
from schemaman.model.schema import Column, TableId
from schemaman.model.types import Decimal, Integer, String
from tests.support.checkout import CAPTURES
from tests.support.records import alone, change, column, image, outcomes, record

DROP = {"type": "DROP", "id": '"shop"."t"', "table": None}


def alter(table: object) -> dict[str, object]:
    return {"type": "ALTER", "id": '"a"."t"', "table": table}


def read(record: Record) -> tuple[Outcome, ...]:
    return decode(alone(record), "main", lambda id: None)


def one(record: Record) -> Any:
    (outcome,) = read(record)
    return outcome


def test_renames_of_tables_and_columns_are_stated():
    found = [
        o for _, o in outcomes(CAPTURES / "mariadb/bookshop-mariadb-3.5.0-json") if isinstance(o, Observation)
    ]
    assert [(str(o.previous), str(o.table)) for o in found if o.action == "rename"] == [
        ("books.bookshop.book_copy", "books.bookshop.book_new"),
        ("books.bookshop.author_names", "books.bookshop.author_list"),
        ("books.bookshop.book", "books.bookshop.book_old"),
        ("books.bookshop.book_new", "books.bookshop.book"),
        ("books.bookshop.author_list", "books.bookshop.writer_list"),
    ]
    assert [o.renames for o in found if o.renames] == [(("price", "list_price"),), (("pages", "page_count"),)]


def test_db2_streams_without_a_database_name_and_still_names_it():
    found = [o for _, o in outcomes(CAPTURES / "db2/shop-3.4.1-json") if isinstance(o, Observation)]
    assert {(o.table.server, o.table.database, o.table.schema) for o in found} == {
        ("db2", "TESTDB", "DB2INST1")
    }
    assert {o.ddl for o in found} == {None}


def test_a_declared_image():
    columns = (
        column("note", "VARCHAR", 2, length=80, comment="short", defaultValueExpression="x"),
        column("id", "BIGINT UNSIGNED", 1, optional=False),
        column("price", "DECIMAL", 3, length=8, scale=2),
    )
    entry = {"type": "CREATE", "id": '"shop"."t"', "table": image(*columns, key=("id",), comment="things")}
    observed = one(record(change(entry, ddl="CREATE TABLE t (…)"), topic="srv"))
    assert (observed.evidence, observed.action, observed.table) == (
        "declared",
        "create",
        TableId("srv", "shop", "", "t"),
    )
    assert observed.schema.columns == (
        Column("id", Integer(64, signed=False), nullable=False, source_type="BIGINT UNSIGNED"),
        Column("note", String(80), default="x", comment="short", source_type="VARCHAR(80)"),
        Column("price", Decimal(8, 2), source_type="DECIMAL(8,2)"),
    )
    assert (observed.schema.key, observed.schema.comment) == (("id",), "things")
    assert observed.ddl == "CREATE TABLE t (…)"


@pytest.mark.parametrize(("connector", "id", "table"), [
    ("mysql", '"shop"."t"', ("shop", "", "t")),
    ("mariadb", '"other"."t"', ("other", "", "t")),
    ("db2", '"DB2INST1"."T"', ("live", "DB2INST1", "T")),
    ("db2", '"cat"."S"."T"', ("cat", "S", "T")),
    ("db2", '"S"."a.b ""c"" "', ("live", "S", 'a.b "c" ')),
    ("mysql", "shop.t", ("shop", "", "t")),
])  # fmt: skip
def test_ids(connector, id, table):
    entry = {"type": "DROP", "id": id, "table": None}
    observed = one(record(change(entry, connector=connector, db="live", database="")))
    assert observed.table == TableId("srv", *table)


@pytest.mark.parametrize("id", ["", '"', '"a".', '"a"."b"."c"."d"', None])
def test_ids_that_cannot_be_read(id):
    assert "table id" in one(record(change({"type": "DROP", "id": id, "table": None}))).reason


@pytest.mark.parametrize("record_", [
    change(DROP, ddl="DROP TABLE t"),
    change({"type": "DROP", "id": '"shop"."t"', "table": image(column("id"))}, ddl="DROP TABLE t"),
    change(ddl="DROP TABLE `t`"),
    change(ddl="DROP TABLE IF EXISTS `shop`.`t`", database=""),
    change(DROP, snapshot="true"),
])  # fmt: skip
def test_every_shape_of_a_drop(record_):
    observed = one(record(record_))
    assert (observed.action, observed.schema, str(observed.table)) == ("drop", None, "srv.shop.t")


def test_one_statement_may_drop_several():
    found = read(record(change(ddl="DROP TABLE click;DROP TABLE other.w;", database="shop")))
    assert [str(o.table) for o in found if isinstance(o, Observation)] == ["srv.shop.click", "srv.other.w"]


@pytest.mark.parametrize("record_", [
    change(DROP, ddl="DROP TABLE IF EXISTS `t`", snapshot="true"),
    change(ddl="DROP TABLE IF EXISTS `shop`.`t`", snapshot="true"),
])  # fmt: skip
def test_a_snapshot_clearing_its_way_drops_nothing(record_):
    assert one(record(record_)).kind == "snapshot-drop"


def test_a_truncate_of_older_releases():
    assert one(record(change(ddl="TRUNCATE TABLE shop.t"))).action == "truncate"


@pytest.mark.parametrize("ddl", [
    None, "", "# Dum", "SET character_set_server=utf8mb4", "USE `shop`", "CREATE DATABASE shop",
    "DROP TEMPORARY TABLE t", "CREATE TEMPORARY TABLE t (id INT)", "CREATE VIEW v AS SELECT 1",
    "GRANT ALL ON t TO u",
    "DROP", "TRUNCATE", "DROP TABLE", "DROP VIEW v", "/* DROP TABLE t", "-- x\n# DROP TABLE t",
    "INSERT INTO t VALUES ('; DROP TABLE t')",
])  # fmt: skip
def test_statements_that_say_nothing_of_a_table(ddl):
    assert one(record(change(ddl=ddl))).kind == "ddl-without-structure"


@pytest.mark.parametrize(("ddl", "tables"), [
    ("drop table a, `b c`, d.`e``f` cascade", [("a",), ("b c",), ("d", "e`f")]),
    ("/* app */ DROP /* really */ TABLES a -- gone", [("a",)]),
    ('DROP TABLE "a"."b"', [("a", "b")]),
    ("TRUNCATE t", [("t",)]),
    ("DROP TABLE größe", [("größe",)]),
])  # fmt: skip
def test_tables_of_a_statement(ddl, tables):
    action: Literal["drop", "truncate"] = "truncate" if ddl.startswith("TR") else "drop"
    assert find_table_statements(ddl) == tuple(TableStatement(action, parts) for parts in tables)


@pytest.mark.parametrize(("ddl", "previous"), [
    ("RENAME TABLE shop.old TO shop.t", "srv.shop.old"),
    ("ALTER TABLE old RENAME TO t", "srv.shop.old"),
    ("RENAME TABLE away.t TO shop.t", "srv.away.t"),
    ("RENAME TABLE a TO b", None),
    ("ALTER TABLE t ADD COLUMN x INT", None),
    (None, None),
])  # fmt: skip
def test_renames_of_tables(ddl, previous):
    entry = {"type": "ALTER", "id": '"shop"."t"', "table": image(column("id"))}
    observed = one(record(change(entry, ddl=ddl)))
    assert observed.action == ("image" if previous is None else "rename")
    assert (None if observed.previous is None else str(observed.previous)) == previous
    assert observed.schema.names == ("id",)


def test_every_entry_of_a_record_is_told():
    a = {"type": "ALTER", "id": '"shop"."a"', "table": image(column("id"))}
    b = {"type": "DROP", "id": '"shop"."b"', "table": None}
    found = [o for o in read(record(change(a, b, ddl="x"))) if isinstance(o, Observation)]
    assert [(o.table.table, o.action) for o in found] == [("a", "image"), ("b", "drop")]


@pytest.mark.parametrize("ddl", ["N/A", "n/a", None])
def test_no_statement_has_several_spellings(ddl):
    entry = {"type": "ALTER", "id": '"S"."T"', "table": image(column("ID", "INTEGER"))}
    assert one(record(change(entry, ddl=ddl, connector="db2"))).ddl is None


@pytest.mark.parametrize(("values", "labels"), [
    (["'a'", "'it''s'", "'x,y'"], ("a", "it's", "x,y")), ([], ()), (None, ()), (["plain"], ("plain",)),
])  # fmt: skip
def test_labels(values, labels):
    entry = {"type": "ALTER", "id": '"shop"."t"', "table": image(column("e", "ENUM", enumValues=values))}
    assert one(record(change(entry))).schema.columns[0].type.values == labels


@pytest.mark.parametrize("entry", [
    None, "x", {}, alter(None), {"type": "RENAME", "id": '"a"."t"', "table": None}, alter({}),
    alter({"columns": [7]}), alter({"columns": [{"name": "a"}]}), alter(image(column("a", length="long"))),
    alter(image(column("a", position="first"))), alter(image(column("e", "ENUM", enumValues=[7]))),
    alter({"columns": [column("a")], "primaryKeyColumnNames": "a"}), alter(image(column("a"), comment=[])),
    alter(image(column("a", comment=7))), alter(image(column("a", defaultValueExpression={}))),
])  # fmt: skip
def test_changes_of_another_form_are_refused(entry):
    assert isinstance(one(record(change(entry))), Reject)


def test_the_internal_history_is_told_apart():
    payload = {"source": {"server": "books"}, "position": {"file": "binlog.000001", "pos": 4}, "ts_ms": 1,
               "databaseName": "shop", "ddl": "USE shop", "tableChanges": []}  # fmt: skip
    assert one(record(payload, topic="schema-history")).kind == "internal-record"
    made = one(record({**payload, "ddl": "CREATE TABLE t (id INT)"}, topic="schema-history"))
    assert (made.evidence, made.action, str(made.table)) == ("internal", "create", "books.shop.t")
