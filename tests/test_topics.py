"""Topics and schema names: the strategies that Debezium ships, release by release."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.topics import Strategy, field_mode, routed, schema_mode, schema_name
from tests import chain

SHIPPED = Strategy("srv")


@pytest.mark.parametrize(("connector", "release", "expected"), [
    ("postgresql", (3, 4), "srv.s.t"), ("db2", (1, 9), "srv.s.t"), ("oracle", (3, 4), "srv.s.t"),
    ("informix", (3, 4), "srv.s.t"), ("mysql", (3, 4), "srv.d.t"), ("mariadb", (3, 4), "srv.d.t"),
    ("mongodb", (2, 5), "srv.d.t"), ("vitess", (3, 4), "srv.d.t"), ("db2as400", (3, 4), "srv.d.s.t"),
    ("sqlserver", (2, 0), "srv.d.s.t"), ("sqlserver", (1, 9), "srv.s.t"),
])  # fmt: skip
def test_topics_of_tables(connector, release, expected):
    assert SHIPPED.table(connector, "d", "s", "t", release=release) == expected


def test_sql_server_of_several_databases_before_it_was_the_rule():
    assert SHIPPED.table("sqlserver", "d", "s", "t", release=(1, 9), databases=True) == "srv.d.s.t"


def test_topics_of_the_connector_itself():
    assert SHIPPED.schema_changes == "srv"
    assert SHIPPED.transactions == "srv.transaction"
    assert SHIPPED.heartbeats == "__debezium-heartbeat.srv"
    assert SHIPPED.messages == "srv.message"
    other = Strategy("my srv", delimiter="_", transaction="tx", heartbeat="beat")
    assert (other.transactions, other.heartbeats) == ("my_srv_tx", "beat_my_srv")
    assert other.table("mysql", "d", None, "größe") == "my_srv_d_gr__e"
    assert Strategy("srv", unicode=True).table("mysql", "d", None, "a_b") == "srv.d.a_u005fb"


@pytest.mark.parametrize(("regex", "replacement", "expected"), [
    (r"(.*)sales_(eu|us)", "$1sales", "srv.shop.sales"),
    (r"(.*)sales_(eu|us)", "$1$2.sales", "srv.shop.eu.sales"),
    (r"sales_.*", "all", "srv.shop.sales_eu"),
    (r".*", "", "srv.shop.sales_eu"),
])  # fmt: skip
def test_routing(regex, replacement, expected):
    assert routed("srv.shop.sales_eu", regex, replacement) == expected


def test_schemas_of_the_parts_of_a_record():
    assert [schema_name("a-b.t", part, "avro") for part in ("key", "row", "envelope")] == [
        "a_b.t.Key", "a_b.t.Value", "a_b.t.Envelope",
    ]  # fmt: skip
    assert schema_name("1srv", "row", "avro", (2, 2)) == "_srv.Value"


@pytest.mark.parametrize(("release", "mode"), [
    ((1, 4), "avro"), ((1, 9), "avro"), ((2, 0), "none"), ((2, 2), "none"), ((3, 7), "none"),
])  # fmt: skip
def test_what_releases_do_if_nothing_is_said(release, mode):
    assert schema_mode(release) == mode
    assert (field_mode(), field_mode(avro=True)) == ("none", "avro")


@pytest.mark.parametrize("run", ["shop-json", "shop-oldest", "shop-names-none", "shop-names-unicode"])
def test_every_recorded_topic_is_the_one_of_its_table(run):
    for history in chain.histories(f"postgres/{run}"):
        table = history.table
        made = Strategy(table.server).table(history.connector, table.database, table.schema, table.table)
        assert made in {a.name for a in history.aliases if a.kind == "topic"}


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=300), st.booleans())
def test_topics_are_legal(database, schema, table, unicode):
    made = Strategy("srv", unicode=unicode).table("sqlserver", database, schema, table)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", made)
