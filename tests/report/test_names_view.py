"""What `names` says: how names travel and why, what collides now, and what would in another mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.fold import fold
from schemaman.history.fold.naming_epochs import find_naming_rule
from schemaman.history.versions import TableHistory
from schemaman.model.name_adjustment import misread_name
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer
from schemaman.report.formats.text import TextFormat
from schemaman.report.views.names import (
    Collision,
    build_names_report,
    find_collisions,
    find_schema_collisions,
    find_topic_collisions,
)
from tests.history.test_fold import dialect_of
from tests.support import chain


def columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(n, Integer(32), emitted_name=n) for n in names)


def table(name: str, topic: str = "", schema_name: str = "") -> TableHistory:
    topic = topic or f"srv.s.{name}"
    at = Coordinates(topic, 0, 0)
    seen = Observation(
        TableId("srv", "d", "s", name), "emitted", "image", "postgresql", "3.4.1.Final", at, at, 1, False,
        TableSchema(columns("id")), schema_name=schema_name or f"{topic}.Value",
    )  # fmt: skip
    found = fold([seen], seen.table, dialect_of)
    assert found is not None
    return found


def document(history: TableHistory) -> Any:
    told: Any = build_names_report([history], whole=True).data
    return told["tables"][0]


@pytest.mark.parametrize(("name", "emitted", "rule"), [
    ("a b", "a b", "none"), ("a b", "a_b", "avro"), ("a b", "a_u0020b", "avro_unicode"),
    ("2a", "x2a", "scrubbed"),
    ("ö", misread_name("ö"), "misread"), ("ö", "__", "misread, then avro"), ("2nd", "_nd", "avro of 2.2"),
    ("a_b", "a_u0020b", "avro_unicode"), ("a", "b", "other"),
])  # fmt: skip
def test_rules(name, emitted, rule):
    assert find_naming_rule(name, emitted) == rule


@pytest.mark.case(49)
def test_tables_in_one_topic_are_reported_and_kept_apart():
    """Two names become one topic, and its subject alternates between two schemas."""
    both = [table("EMP#NO", "srv.s.EMP_NO"), table("EMP$NO", "srv.s.EMP_NO")]
    assert find_topic_collisions(both) == (
        Collision("topic", "topic", "srv.s.EMP_NO", ('srv.d.s.EMP#NO', 'srv.d.s.EMP$NO'), True),
    )  # fmt: skip
    assert find_schema_collisions(both) == ()
    run = chain.histories("postgres/shop-names-none")
    shared = [c for c in find_topic_collisions(run) if c.now]
    assert [c.emitted for c in shared] == ["shopdb.Inventory-2.Stock_1"]
    assert all(h.versions for h in run if str(h.table) in shared[0].names)


def test_tables_that_a_router_brought_together():
    shards = [table("sales_eu", "srv.s.sales"), table("sales_us", "srv.s.sales")]
    assert [(c.mode, c.now) for c in find_topic_collisions(shards)] == [("routed", True)]


def test_tables_whose_names_would_make_one_topic():
    both = [table("EMP#NO", "routed.a"), table("EMP$NO", "routed.b")]
    assert [(c.of, c.emitted, c.now) for c in find_topic_collisions(both)] == [
        ("topic", "srv.s.EMP_NO", False)
    ]


@pytest.mark.case(50)
def test_columns_that_would_become_one_field():
    """The task would fail and the topic fall silent, so it is predicted from the own names."""
    found = find_collisions(columns("a-b", "a_b", "α1", "㬑", "x"))
    assert [(c.mode, c.names, c.now) for c in found] == [
        ("avro", ("a-b", "a_b"), False),
        ("avro_unicode", ("α1", "㬑"), False),
        ("scrubbed", ("a-b", "a_b"), False),
    ]
    history = chain.history("postgres/shop-names-none", "shop.plain")
    assert ("avro", ("a-b", "a_b")) in {
        (c.mode, c.names) for c in find_collisions(history.latest.schema.columns)
    }


def test_columns_that_differ_by_case_alone():
    assert [(c.mode, c.names) for c in find_collisions(columns("note", "NOTE", "x"))] == [
        ("case", ("note", "NOTE"))
    ]


def test_fields_that_are_one_already():
    one, other = columns("a-b", "a_b")
    found = find_collisions((replace(one, emitted_name="a_b"), other))
    assert found[0] == Collision("column", "none", "a_b", ("a-b", "a_b"), True)


def test_schemas_of_one_name():
    apart = [table("order-items"), table("order_items")]
    assert find_topic_collisions(apart) == ()
    assert [(c.mode, c.emitted, c.now) for c in find_schema_collisions(apart)] == [
        ("avro", "srv.s.order_items.Value", False)
    ]
    same = [table("order-items", schema_name="srv.s.order_items.Value"), table("order_items")]
    assert [(c.mode, c.now) for c in find_schema_collisions(same)] == [("none", True)]


def test_other_streams_share_nothing():
    one = table("t")
    other = replace(one, table=replace(one.table, stream="dev"))
    assert find_topic_collisions([one, other]) == ()
    assert find_schema_collisions([one, other]) == ()


def test_the_map_of_names_of_a_recording():
    history = chain.history("postgres/shop-names-none", "shop.order-items")
    told = document(history)
    assert told["schemas"] == [
        {"topic": "shopdb.shop.order-items", "name": "shopdb.shop.order-items.Value", "rule": "none"},
        {"topic": "shopdb.shop.order-items", "name": "shopdb.shop.order_items.Value", "rule": "avro"},
        {"topic": "shopdb.shop.order-items", "name": "shopdb.shop.order_u002ditems.Value",
         "rule": "avro_unicode"},
    ]  # fmt: skip
    assert told["columns"][0] == {
        "name": "order-id", "emitted_name": "order_u002did", "rule": "avro_unicode",
        "earlier": ["order-id", "order_id"], "originals": [],
    }  # fmt: skip


def test_an_escaped_name_tells_what_it_may_be():
    history = chain.history("postgres/shop-names-unicode", "shop.Ünïcode")
    told = document(history)
    assert told["columns"][0] == {
        "name": "schl_u00fcssel", "emitted_name": "schl_u00fcssel", "rule": "avro_unicode", "earlier": [],
        "originals": ["schlüssel"],
    }  # fmt: skip


def test_names_that_differ_only_in_case_are_told():
    """Source: Spark SQL, `spark.sql.caseSensitive` is false by default; names of tables in its catalogs."""
    both = [table("People"), table("people"), table("pets")]
    report = build_names_report(both[1:], whole=True, every=both)
    found: Any = report.data
    assert [c["names"] for c in found["table_collisions"]] == [["srv.d.s.People", "srv.d.s.people"]]
    assert "catalogs of Spark" in TextFormat().render(report)
    told = build_names_report(both[2:], whole=True, every=both)
    assert told.data["table_collisions"] == []
