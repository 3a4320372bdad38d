"""The keys of a table one after the other, as recordings and a few made-up records tell them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.history.versions import KeySpan, TableHistory
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, String
from tests.cases.connector import INT, LONG, NOTE, Connector
from tests.history.test_fold import A, declared, history, mark, schema, seen
from tests.support import chain

ANY = ("primary-key", "unique-index", "configured")


def keys(found: TableHistory) -> list[tuple[tuple[str, ...], str, tuple[str, ...], bool]]:
    return [(k.columns, k.evidence, k.origins, k.is_confirmed) for k in found.keys]


def test_each_key_follows_the_one_before_it() -> None:
    other = schema("id", "a", key=("id", "a"))
    found = history(seen(A, mark(0, 10)), seen(other, mark(1, 20)), seen(other, mark(2, 30)))
    first, second = found.keys
    assert (first.columns, first.until, second.columns) == (("id",), mark(1, 20), ("id", "a"))
    assert (second.after, second.at, second.until) == (mark(0, 10), mark(1, 20), None)
    # a primary key takes no NULL
    assert (first.origins, second.origins) == (ANY, ("unique-index", "configured"))


def test_columns_that_come_and_go_leave_the_key_as_it_is() -> None:
    found = history(seen(A, mark(0, 10)), seen(schema("id", "a", "b"), mark(1, 20)))
    assert len(found.versions) == 2
    assert [k.columns for k in found.keys] == [("id",)]


@pytest.mark.parametrize(
    ("ddl", "origins"),
    [
        ("CREATE TABLE t (id INT, a INT, PRIMARY KEY (id))", ("primary-key",)),
        ("CREATE TABLE t (id INT NOT NULL, a INT, UNIQUE KEY u (id))", ("unique-index",)),
        ("CREATE TABLE t (id INT NOT NULL, a INT COMMENT 'PRIMARY KEY', UNIQUE (id))", ("unique-index",)),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD UNIQUE (id)", ("unique-index",)),
        ("ALTER TABLE t ADD a INT", ("primary-key", "unique-index")),
        (None, ("primary-key", "unique-index")),
    ],
)
def test_a_statement_tells_what_makes_the_key(ddl: str | None, origins: tuple[str, ...]) -> None:
    found = history(declared(A, mark(0, 10, topic="ddl"), ddl=ddl))
    assert keys(found) == [(("id",), "declared", origins, True)]


def test_events_that_are_keyed_otherwise_were_told_to() -> None:
    image = TableSchema((Column("id", Integer(32), False), Column("my a", String())), ("id",))
    plain = TableSchema((Column("id", Integer(32), False), Column("my_a", String())), ("id",))
    other = replace(plain, key=("my_a",))
    found = history(
        declared(image, mark(0, 10, topic="ddl")),
        seen(plain, mark(0, 11), connector="mariadb"),
        seen(other, mark(1, 12), mark(3, 14), connector="mariadb"),
        seen(plain, mark(4, 15), connector="mariadb"),
    )
    _, configured = found.keys
    assert configured == KeySpan(("my a",), "events", ("configured",), mark(0, 11), mark(1, 12), mark(4, 15))
    assert [d.kind for d in found.disagreements] == ["key-differs"]


DOWNTIME = "postgres/shop-downtime"


@pytest.mark.parametrize(
    ("run", "table", "told"),
    [
        # the later key without the column that the row does not have yet: never a key of the table
        (DOWNTIME, "shop.payments", [("pay_id", True), ("currency", False), ("currency, id", True)]),
        (DOWNTIME, "inventory.counts", [("sku, counted", True), ("sku", False), ("sku, bin", True)]),
        (DOWNTIME, "shop.reviews", [("review_id", True), ("", False), ("id", True)]),
        # a null key of a table that was renamed meanwhile is no lost key
        (DOWNTIME, "inventory.carriers", [("id", True), ("", False)]),
        # one that was dropped is: rows read later, and committed later, have none
        (DOWNTIME, "shop.vouchers", [("code", True), ("", True)]),
        ("db2/shop-3.4.1-json", "DB2INST1.UNIQ_ONLY", [("CODE", False), ("", True)]),
        (
            "postgres/shop-names-none",
            "shop.plain",
            [("CamelCase", True), ("camelcase", True), ("snake_case, camelcase", False), ("camelcase", True)],
        ),
    ],
)
def test_the_keys_of_a_recording(run: str, table: str, told: list[tuple[str, bool]]) -> None:
    found = chain.history(run, table)
    assert [(", ".join(k.columns), k.is_confirmed) for k in found.keys] == told


def test_a_key_is_certain_from_the_record_that_proves_it() -> None:
    old, new = chain.history(DOWNTIME, "shop.carts").keys
    assert (old.certain_from, old.at.offset) == (old.at, 0)
    assert new.certain_from is not None
    assert (new.at.offset, new.certain_from.offset) == (11, 14)
    _, passing, last = chain.history(DOWNTIME, "shop.payments").keys
    assert passing.certain_from is None
    assert last.certain_from is not None
    assert last.certain_from.offset > last.at.offset


def test_a_key_that_streaming_does_not_name_was_an_index_or_a_primary_key() -> None:
    declared_key, without = chain.history("db2/shop-3.4.1-json", "DB2INST1.UNIQ_ONLY").keys
    assert declared_key.origins == ("primary-key", "unique-index")
    assert (without.evidence, without.origins) == ("events", ("none",))
    grown = chain.history("db2/shop-3.4.1-json", "DB2INST1.ORDERS").keys[-1]
    assert (grown.columns, grown.origins) == (("ORDER_NO", "LINE_NO", "CUSTOMER_ID"), ("primary-key",))
    indexed = chain.history("mariadb/bookshop-mysql-2.5.4-avro", "bookshop.uq").keys[-1]
    assert indexed.origins == ("unique-index",)


def test_a_key_of_another_column_of_its_name_is_another_key() -> None:
    connector = Connector()
    connector.rows({"id": INT, "a": NOTE})
    connector.lag_ms = 100_000
    connector.rows({"a": NOTE, "id": LONG})
    history = connector.told()["t"]
    assert history.latest.unconfirmed == ("key", "nullable:id")
    assert [(k.columns, k.is_confirmed) for k in history.keys] == [(("id",), True), (("id",), False)]
