"""Topics and rows in other forms: merged, flattened, renamed on their way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.connector import INT, NOTE, TEXT, Connector, entry, shapes
from tests.support import chain
from tests.support.records import column, image, node, struct

FIELDS = {"id": INT, "note": NOTE}


def flat(connector: Connector, payload: dict[str, object] | None, **added: Any) -> None:
    """A flattened row, or a delete that keeps the schema beside a null."""
    schema = struct("srv.public.t.Value", **FIELDS, **added)
    key = {"schema": struct("srv.public.t.Key", id=INT), "payload": {"id": 1}}
    connector.write("srv.public.t", key, {"schema": schema, "payload": payload})


@pytest.mark.case(19)
def test_a_geometry_with_one_more_nested_field_is_the_same_column():
    members = [{**node("bytes"), "field": "wkb"}, {**INT, "optional": True, "field": "srid"}]
    extensions = {"type": "map", "keys": TEXT, "values": NOTE, "optional": True, "field": "extensions"}
    name = "io.debezium.data.geometry.Geometry"
    connector = Connector(version="3.6.3.Final")
    connector.rows({"id": INT, "at": node("struct", name, optional=True, version=1, fields=members)})
    connector.version = "3.7.0.Final"
    grown = node("struct", name, optional=True, version=2, fields=[*members, extensions])
    connector.rows({"id": INT, "at": grown})
    assert len(connector.told()["t"].versions) == 1


@pytest.mark.case(49)
def test_two_tables_that_share_a_topic_have_two_histories():
    one, two = (chain.history("db2/shop-3.4.1-json", f"DB2INST1.{name}") for name in ("EMP#NO", "EMP$NO"))
    topics = [{a.name for a in h.aliases if a.kind == "topic"} for h in (one, two)]
    assert "db2.DB2INST1.EMP_NO" in topics[0] & topics[1]
    assert one.latest.id != two.latest.id


@pytest.mark.case(52)
def test_a_scrubbed_name_is_the_declared_column():
    connector = Connector("mysql")
    id, second = column("id", "INT", 1, optional=False), column("2nd", "VARCHAR", 2, length=5)
    connector.change(
        entry("CREATE", '"shop"."t"', image(id, second, key=("id",))), ddl="CREATE TABLE t (id INT)"
    )
    connector.rows({"id": INT, "x2nd": NOTE})
    history = connector.told()["t"]
    assert (len(history.versions), history.disagreements) == (1, ())
    assert history.latest.schema.columns[1].emitted_name == "x2nd"


@pytest.mark.case(56)
def test_fields_that_flattening_adds_are_no_columns():
    connector = Connector()
    flat(connector, {"id": 1, "note": "x"})
    added = {"__deleted": NOTE, "__op": NOTE, "__source_lsn": node("int64", optional=True)}
    flat(connector, {"id": 1, "note": "x", "__deleted": "false", "__op": "c", "__source_lsn": 7}, **added)
    found = connector.told()
    assert found.rejects == ()
    assert shapes(found["t"]) == ["id INT!, note STRING KEY (id)"]


@pytest.mark.case(57)
def test_the_delete_of_a_flattened_row_is_no_structure():
    connector = Connector()
    flat(connector, {"id": 1, "note": "x"})
    flat(connector, None)
    found = connector.told()
    assert found.rejects == ()
    assert (len(found["t"].versions), found["t"].latest.records) == (1, 1)


@pytest.mark.case(62)
def test_tables_merged_by_a_router_have_a_history_each():
    connector = Connector()
    for table in ("sales_eu", "sales_us"):
        routed = {"id": INT, "__dbz__physicalTableIdentifier": TEXT}
        connector.rows(FIELDS, table=table, topic="srv.public.sales", key=routed)
    found = connector.told()
    assert set(found.histories) == {"sales_eu", "sales_us"}
    assert {s for h in found.histories.values() for s in shapes(h)} == {"id INT!, note STRING KEY (id)"}
