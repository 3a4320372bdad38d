"""The connector changes, or its settings do, and the tables stay."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from schemaman.model.name_adjustment import find_collisions
from tests.cases.connector import INT, NOTE, TEXT, Connector, decimal, entry, shapes, time
from tests.support import chain
from tests.support.records import Node, column, image, node

MILLIS = node("int64", "org.apache.kafka.connect.data.Timestamp")
MYSQL = '"shop"."t"'
ID = column("id", "INT", 1, optional=False)


def declared(name: str, *columns: Node, version: str = "3.4.1.Final") -> Connector:
    """A connector that has declared a table."""
    connector = Connector(name, version)
    connector.change(entry("CREATE", MYSQL, image(ID, *columns, key=("id",))), ddl="CREATE TABLE t (id INT)")
    return connector


def types(before: dict[str, Node], after: dict[str, Node], versions: tuple[str, str]) -> Connector:
    """Rows of one release, then of another."""
    connector = Connector(version=versions[0])
    connector.rows(before)
    connector.version = versions[1]
    connector.rows(after)
    return connector


@pytest.mark.case(14, 15)
@pytest.mark.parametrize(("type_name", "more", "before", "after"), [
    ("DATETIME", {"length": 6}, time("MicroTimestamp"), MILLIS),
    ("DECIMAL", {"length": 8, "scale": 2}, decimal(8, 2), node("double")),
    ("DECIMAL", {"length": 8, "scale": 2}, decimal(8, 2), TEXT),
    ("VARBINARY", {"length": 16}, node("bytes"), TEXT),
])  # fmt: skip
def test_another_mode_changes_nothing_that_was_declared(
    type_name: str, more: dict[str, object], before: Node, after: Node
):
    connector = declared("mysql", column("c", type_name, 2, **more))
    connector.rows({"id": INT, "c": {**before, "optional": True}})
    connector.rows({"id": INT, "c": {**after, "optional": True}})
    history = connector.told()["t"]
    assert len(history.versions) == 1
    assert {d.kind for d in history.disagreements} <= {"values-not-carried"}
    assert history.latest.records == 7


@pytest.mark.case(16)
def test_another_topic_after_an_upgrade_is_another_name_of_the_table():
    connector = Connector("sqlserver", "1.9.8.Final")
    connector.rows({"id": INT}, topic="srv.public.t", named="srv.public.t")
    connector.version = "2.5.4.Final"
    connector.rows({"id": INT}, topic="srv.shop.public.t", named="srv.shop.public.t")
    history = connector.told()["t"]
    assert len(history.versions) == 1
    assert [a.name for a in history.aliases if a.kind == "topic"] == ["srv.public.t", "srv.shop.public.t"]


@pytest.mark.case(16, 17, 18)
@pytest.mark.parametrize("run", ["postgres/shop-upgrade", "postgres/shop-upgrade-avro"])
def test_four_releases_in_turn_make_no_version_by_themselves(run: str):
    for history in chain.histories(run):
        for before, after in pairwise(history.versions):
            assert before.id != after.id
    assert len(chain.history(run, "inventory.pick-lists").versions) == 1


@pytest.mark.case(21)
def test_another_width_of_tinyint_in_events_is_no_change_of_the_table():
    connector = declared("mysql", column("n", "TINYINT", 2), version="3.6.3.Final")
    connector.rows({"id": INT, "n": node("int16", optional=True)})
    connector.version = "3.7.0.Final"
    connector.rows({"id": INT, "n": node("int8", optional=True)})
    history = connector.told()["t"]
    assert (len(history.versions), history.disagreements) == (1, ())


@pytest.mark.case(47)
def test_a_masked_column_is_the_same_column():
    connector = declared("mysql", column("iban", "VARCHAR", 2, length=34))
    connector.rows({"id": INT, "iban": NOTE})
    masked = {"__debezium.source.column.type": "VARCHAR", "__debezium.source.column.length": "12"}
    connector.rows({"id": INT, "iban": {**NOTE, "parameters": masked}})
    history = connector.told()["t"]
    assert len(history.versions) == 1
    assert history.disagreements == ()


@pytest.mark.case(48)
def test_an_excluded_column_is_missing_from_events_and_not_from_the_table():
    connector = declared("mysql", column("secret", "VARCHAR", 2, length=20))
    connector.rows({"id": INT, "secret": NOTE})
    connector.rows({"id": INT})
    history = connector.told()["t"]
    assert len(history.versions) == 1
    assert history.latest.schema.names == ("id", "secret")
    assert [d.kind for d in history.disagreements] == ["column-not-emitted"]


@pytest.mark.case(50)
def test_a_collision_of_columns_is_reported_from_the_declared_names():
    assert find_collisions(["a-b", "a_b", "c"], "avro") == (("a-b", "a_b"),)


@pytest.mark.case(51)
def test_adjusted_names_are_other_names_of_declared_columns():
    connector = declared("mysql", column("order-id", "INT", 2), column("größe", "INT", 3))
    number = {**INT, "optional": True}
    connector.rows({"id": INT, "order-id": number, "größe": number})
    connector.rows({"id": INT, "order_id": number, "gr__e": number})
    history = connector.told()["t"]
    assert (len(history.versions), history.disagreements) == (1, ())
    assert history.latest.schema.names == ("id", "order-id", "größe")
    assert [c.emitted_name for c in history.latest.schema.columns] == ["id", "order_id", "gr__e"]


def registered(*fields: tuple[str, object], doc: str | None = None) -> str:
    """A schema of the registry for a table of these fields."""
    row = {"type": "record", "name": "Value", "fields": [{"name": n, "type": t} for n, t in fields]}
    source = [
        {"name": n, "type": "string"}
        for n in ("version", "connector", "name", "db", "schema", "table", "snapshot")
    ]
    block = {"type": "record", "name": "Source", "namespace": "io.debezium.connector.postgresql",
             "fields": [*source, {"name": "lsn", "type": "long"}]}  # fmt: skip
    told = {"type": "record", "name": "Envelope", "namespace": "srv.public.t", "fields": [
        {"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": block}, {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
    ]}  # fmt: skip
    return json.dumps(told if doc is None else {**told, "doc": doc})


def framed(connector: Connector, id: int) -> None:
    """A row without values under a schema of the registry."""
    connector.at += 8

    def text(value: str) -> bytes:
        return bytes([len(value) * 2]) + value.encode()

    lsn = connector.at * 2
    number = bytes([lsn & 127 | 128, lsn >> 7])
    block = (
        b"".join(text(t) for t in (connector.version, "postgresql", "srv", "shop", "public", "t", "false"))
        + number
    )
    connector.write("srv.public.t", None, b"\0" + id.to_bytes(4, "big") + b"\0\0" + block + text("c") + b"\0")


@pytest.mark.case(53)
def test_a_new_id_for_an_equal_structure_is_no_version():
    texts: dict[int | str, str] = {1: registered(("id", "int")), 2: registered(("id", "int"), doc="again")}
    connector = Connector(schemas=texts.get)
    for id in (1, 1, 2, 2):
        framed(connector, id)
    found = connector.told()
    assert found.rejects == ()
    assert (len(found["t"].versions), found["t"].latest.records) == (1, 4)


@pytest.mark.case(55)
def test_records_wait_for_a_schema_that_the_registry_does_not_have():
    texts: dict[int | str, str] = {1: registered(("id", "int"))}
    connector = Connector(schemas=texts.get)
    framed(connector, 1)
    framed(connector, 2)
    found = connector.told()
    assert [r.reason for r in found.rejects] == ["registry does not know schema id 2"]
    assert len(found["t"].versions) == 1
    texts[2] = registered(("id", "int"), ("more", ["null", "string"]))
    assert shapes(connector.told()["t"])[1:] == ["id INT!, more STRING KEY ()"]
