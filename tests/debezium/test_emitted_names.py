"""Topics and schema names: the strategies that Debezium ships, release by release."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.emitted_names import (
    TopicNamingStrategy,
    choose_field_mode,
    choose_schema_mode,
    make_schema_name,
    route_topic,
)
from schemaman.model.name_adjustment import Mode
from tests.support import chain

SHIPPED = TopicNamingStrategy("srv")


@pytest.mark.parametrize(("connector", "release", "expected"), [
    ("postgresql", (3, 4), "srv.s.t"), ("db2", (1, 9), "srv.s.t"), ("oracle", (3, 4), "srv.s.t"),
    ("informix", (3, 4), "srv.s.t"), ("mysql", (3, 4), "srv.d.t"), ("mariadb", (3, 4), "srv.d.t"),
    ("mongodb", (2, 5), "srv.d.t"), ("vitess", (3, 4), "srv.d.t"), ("spanner", (3, 4), "srv.d.t"),
    ("sqlserver", (2, 0), "srv.d.s.t"), ("sqlserver", (1, 9), "srv.s.t"),
])  # fmt: skip
def test_topics_of_tables(connector, release, expected):
    assert SHIPPED.name_table_topic(connector, "d", "s", "t", release=release) == expected


def test_sql_server_of_several_databases_before_it_was_the_rule():
    assert SHIPPED.name_table_topic("sqlserver", "d", "s", "t", release=(1, 9), databases=True) == "srv.d.s.t"


def test_topics_of_the_connector_itself():
    assert SHIPPED.schema_changes == "srv"
    assert SHIPPED.transactions == "srv.transaction"
    assert SHIPPED.heartbeats == "__debezium-heartbeat.srv"
    assert SHIPPED.messages == "srv.message"
    other = TopicNamingStrategy("my srv", delimiter="_", transaction="tx", heartbeat="beat")
    assert (other.transactions, other.heartbeats) == ("my_srv_tx", "beat_my_srv")
    assert other.name_table_topic("mysql", "d", None, "größe") == "my_srv_d_gr__e"
    assert (
        TopicNamingStrategy("srv", unicode=True).name_table_topic("mysql", "d", None, "a_b")
        == "srv.d.a_u005fb"
    )


@pytest.mark.parametrize(("regex", "replacement", "expected"), [
    (r"(.*)sales_(eu|us)", "$1sales", "srv.shop.sales"),
    (r"(.*)sales_(eu|us)", "$1$2.sales", "srv.shop.eu.sales"),
    (r"sales_.*", "all", "srv.shop.sales_eu"),
    (r".*", "", "srv.shop.sales_eu"),
])  # fmt: skip
def test_routing(regex, replacement, expected):
    assert route_topic("srv.shop.sales_eu", regex, replacement) == expected


def test_schemas_of_the_parts_of_a_record():
    assert [make_schema_name("a-b.t", part, "avro") for part in ("key", "row", "envelope")] == [
        "a_b.t.Key", "a_b.t.Value", "a_b.t.Envelope",
    ]  # fmt: skip
    assert make_schema_name("1srv", "row", "avro", (2, 2)) == "_srv.Value"


@pytest.mark.parametrize(("release", "mode"), [
    ((1, 4), "avro"), ((1, 9), "avro"), ((2, 0), "none"), ((2, 2), "none"), ((3, 7), "none"),
])  # fmt: skip
def test_what_releases_do_if_nothing_is_said(release, mode):
    assert choose_schema_mode(release) == mode
    assert (choose_field_mode(), choose_field_mode(avro=True)) == ("none", "avro")


ROUTED = {"postgres/shop-flat-routed", "postgres/shop-flat-plain"}
RECORDED = [
    f"{source}/{run}"
    for source, runs in {
        "postgres": ("shop-json", "shop-oldest", "shop-upgrade", "shop-names-none", "shop-names-avro",
                     "shop-names-unicode", "shop-flat-routed", "shop-flat-plain"),
        "db2": ("shop-1.9.8-json", "shop-3.4.1-avro-unicode"),
        "mariadb": ("bookshop-mariadb-3.5.0-json", "bookshop-mysql-1.4.2-json", "bookshop-mysql-2.5.4-avro"),
        "mongodb": ("inventory-1.4.2-oplog", "inventory-2.5.4-pre-image"),
    }.items()
    for run in runs
]  # fmt: skip


@pytest.mark.parametrize("run", RECORDED)
def test_every_recorded_topic_is_the_one_of_its_table(run):
    elsewhere = set()
    for history in chain.histories(run):
        table = history.table
        made = TopicNamingStrategy(table.server).name_table_topic(
            history.connector, table.database, table.schema, table.table
        )
        topics = {a.name for a in history.aliases if a.kind == "topic"}
        elsewhere |= topics if topics and made not in topics else set()
    assert bool(elsewhere) == (run in ROUTED)


@pytest.mark.parametrize("run", RECORDED)
def test_every_recorded_schema_is_named_after_its_topic_in_some_mode(run):
    modes: tuple[Mode, ...] = ("none", "avro", "avro_unicode")
    for history in chain.histories(run):
        topics = [a.name for a in history.aliases if a.kind == "topic"]
        made = {make_schema_name(topic, "row", mode) for topic in topics for mode in modes}
        assert {a.name for a in history.aliases if a.kind == "schema_name"} <= made


@pytest.mark.parametrize(("run", "mode"), [
    ("postgres/shop-oldest", choose_schema_mode((1, 4))), ("postgres/shop-avro-old", choose_schema_mode((1,
    9))),
    ("postgres/shop-json", choose_schema_mode((3, 4))), ("postgres/shop-names-unicode", "avro_unicode"),
])  # fmt: skip
def test_releases_name_schemas_as_they_do_if_nothing_is_said(run, mode):
    for history in chain.histories(run):
        topics = [a.name for a in history.aliases if a.kind == "topic"]
        made = {make_schema_name(topic, "row", mode) for topic in topics}
        assert {a.name for a in history.aliases if a.kind == "schema_name"} == made


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=300), st.booleans())
def test_topics_are_legal(database, schema, table, unicode):
    made = TopicNamingStrategy("srv", unicode=unicode).name_table_topic("sqlserver", database, schema, table)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", made)
