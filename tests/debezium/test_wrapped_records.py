"""Records in other clothes: CloudEvents around change events, what an outbox published, partitions."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Reject, Skipped
from schemaman.debezium.records import Position, Record
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.model.schema import TableId
from tests.support import chain
from tests.support.records import alone, event, node, struct

ROW = struct("srv.public.t.Value", id=node("int32"), note=node("string", optional=True))
KEY = json.dumps({"schema": struct("srv.public.t.Key", id=node("int32")), "payload": {"id": 1}}).encode()
DATA = {
    "schema": struct("srv.public.t.Data", before={**ROW, "optional": True}, after={**ROW, "optional": True}),
    "payload": {"before": None, "after": {"id": 1, "note": None}},
}
AVRO = json.dumps({
    "type": "record", "name": "Data", "namespace": "srv.public.t", "fields": [
        {"name": "before", "default": None, "type": ["null", {"type": "record", "name": "Value", "fields": [
            {"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"], "default": None},
        ]}]},
        {"name": "after", "default": None, "type": ["null", "Value"]},
    ],
})  # fmt: skip


REGISTRY: dict[int | str, str] = {7: AVRO}


def cloud(data: object, **attributes: object) -> dict[str, Any]:
    """A CloudEvent as Debezium's converter writes it."""
    told: dict[str, Any] = {
        "id": "name:srv;lsn:29274832;txId:565", "source": "/debezium/postgresql/srv", "specversion": "1.0",
        "type": "io.debezium.connector.postgresql.DataChangeEvent", "time": "2026-01-13T13:55:39.738Z",
        "datacontenttype": "application/json", "iodebeziumop": "c", "iodebeziumversion": "3.4.1.Final",
        "iodebeziumconnector": "postgresql", "iodebeziumname": "srv", "iodebeziumtsms": "1578923739738",
        "iodebeziumsnapshot": "false", "iodebeziumdb": "shop", "iodebeziumschema": "public",
        "iodebeziumtable": "t", "iodebeziumtxId": "565", "iodebeziumlsn": "29274832", "iodebeziumxmin": None,
    }  # fmt: skip
    return {**told, **attributes, "data": data}


def record(value: object, offset: int = 0) -> Record:
    return Record("srv.public.t", 0, offset, 1, KEY, json.dumps(value).encode())


def read(value: object, schemas: Any = lambda id: None) -> Any:
    (outcome,) = decode(alone(record(value)), "main", schemas)
    return outcome


def bare() -> Observation:
    """What the same event says without a wrapping."""
    seen = read(event(ROW))
    assert isinstance(seen, Observation)
    return seen


def test_a_cloud_event_says_what_its_event_says():
    seen = read(cloud(DATA))
    assert isinstance(seen, Observation)
    assert seen.table == TableId("srv", "shop", "public", "t") == bare().table
    assert (seen.schema, seen.schema_name) == (bare().schema, bare().schema_name)
    assert (seen.connector, seen.connector_version, seen.snapshot) == ("postgresql", "3.4.1.Final", False)


def framed(row: object, id: int = 7) -> str:
    """Avro data of a CloudEvent: framed, in base64."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(AVRO)), row)
    return base64.b64encode(b"\0" + id.to_bytes(4, "big") + body.getvalue()).decode()


def test_avro_inside_a_cloud_event():
    data = framed({"before": None, "after": {"id": 1, "note": None}})
    seen = read(cloud(data, datacontenttype="application/avro"), REGISTRY.get)
    assert isinstance(seen, Observation)
    assert seen.schema is not None
    assert [(c.name, c.nullable) for c in seen.schema.columns] == [("id", False), ("note", True)]
    assert seen.schema_name == "srv.public.t.Value"
    unknown = read(cloud(data))
    assert isinstance(unknown, Reject)
    assert unknown.reason == "registry does not know schema id 7"


def both(value: object) -> list[Any]:
    """What a record says that a scanner saw, and what it says read alone."""
    (run,) = scan([record(value)], build_reading(lambda id: None))
    return [*decode(run, "main", lambda id: None), read(value)]


def test_data_without_a_schema_tells_what_was_seen():
    row = {"id": 1, "note": None}
    plain = event(ROW)["payload"] | {"after": row}
    for seen, unwrapped in zip(both(cloud(DATA["payload"])), both(plain), strict=True):
        assert (seen.evidence, seen.table) == ("inferred", bare().table)
        assert (seen.schema, _told(seen)) == (unwrapped.schema, _told(unwrapped))


def test_documents_inside_cloud_events():
    text = node("string", "io.debezium.data.Json", optional=True)
    schema = struct("srv.shop.t.Data", before=text, after=text)
    data = {"schema": schema, "payload": {"before": None, "after": '{"_id": 1, "a": {"b": "x"}}'}}
    told = cloud(data, iodebeziumconnector="mongodb", iodebeziumcollection="t", iodebeziumtable=None,
                 iodebeziumschema=None)  # fmt: skip
    for seen in both(told):
        assert (seen.evidence, str(seen.table)) == ("inferred", "srv.shop.t")
        assert {path for path, _ in _told(seen)} == {("_id",), ("a",), ("a", "b")}


def _told(seen: Observation) -> list[tuple[tuple[str, ...], str]]:
    assert seen.inferred is not None
    return [(tally.path, tally.kind) for tally in seen.inferred.counts]


@pytest.mark.parametrize("op", ["r", "c", "u", "d"])
def test_what_a_cloud_event_tells_of_its_event(op):
    snapshot = "true" if op == "r" else "false"
    (run,) = scan(
        [record(cloud(DATA, iodebeziumop=op, iodebeziumsnapshot=snapshot))], build_reading(lambda id: None)
    )
    assert run.table == ("srv", "shop", "public", "t")
    assert (run.first.position, run.first.ts_ms) == (Position("lsn", "29274832"), 1578923739738)
    assert read(cloud(DATA, iodebeziumop=op)).snapshot == (op == "r")


@pytest.mark.parametrize("quick", [True, False])
def test_attributes_part_no_runs(quick):
    rows = [cloud(DATA, id=str(n), iodebeziumlsn=str(n), iodebeziumtxId=str(n)) for n in range(1, 9)]
    other = struct(
        "srv.public.t.Data", after={**struct("srv.public.t.Value", id=node("int64")), "optional": True}
    )
    rows.append(cloud({"schema": other, "payload": {"after": {"id": 2}}}, iodebeziumlsn="9"))
    rows.append(cloud(framed({"before": None, "after": {"id": 1, "note": "x"}}), iodebeziumlsn="10"))
    rows.append(cloud(framed({"before": None, "after": {"id": 2, "note": None}}), iodebeziumlsn="11"))
    found = scan([record(v, n) for n, v in enumerate(rows)], build_reading(REGISTRY.get), quick=quick)
    assert [run.count for run in found] == [8, 1, 2]


@pytest.mark.parametrize(("value", "reason"), [
    (cloud(DATA, iodebeziumconnector=None), "without Debezium's attributes"),
    (cloud(DATA, iodebeziumop=None), "without Debezium's attributes"),
    (cloud("*"), "no base64"),
    (cloud([1]), "neither an object nor a text"),
    (cloud(DATA, type="com.example.Order"), "a CloudEvent of another producer"),
])  # fmt: skip
def test_cloud_events_that_are_refused_say_why(value, reason):
    (run,) = scan([record(value)], build_reading(lambda id: None))
    (outcome,) = decode(run, "main", lambda id: None)
    assert isinstance(outcome, Reject)
    assert reason in outcome.reason


def block(**types: tuple[str, int | None, int | None]) -> dict[str, Any]:
    columns = [
        {"name": n.replace("_", "-"), "typeName": t, "length": length, "scale": scale, "comment": None}
        for n, (t, length, scale) in types.items()
    ]
    return {"sourceSchema": {"id": "t", "table": {"columns": columns}}}


def test_a_block_of_source_types_beside_a_schema_is_no_column():
    wrapped = event(ROW)
    fields = [
        *wrapped["schema"]["fields"],
        {**struct("SourceSchema", id=node("string")), "field": "sourceSchema"},
    ]
    wrapped = {"schema": wrapped["schema"] | {"fields": fields}, "payload": wrapped["payload"] | block()}
    assert both(wrapped)[0].schema == bare().schema


def test_a_block_of_source_types_tells_what_json_does_not():
    payload = event(ROW)["payload"] | {"after": {"id": 1, "unit_price": None}}
    types = block(id=("INT4", None, None), unit_price=("NUMERIC", 8, 2))
    for seen in both(payload | types):
        assert seen.evidence == "inferred"
        assert [(c.name, c.emitted_name, c.source_type) for c in seen.schema.columns] == [
            ("id", "id", "INT4"), ("unit-price", "unit_price", "NUMERIC(8,2)"),
        ]  # fmt: skip
    longer = block(id=("INT4", None, None), unit_price=("NUMERIC", 12, 4))
    rows = [payload | types, payload | types, payload | longer, payload | {"sourceSchema": [1]}]
    for quick in (True, False):
        found = scan([record(v, n) for n, v in enumerate(rows)], build_reading(lambda id: None), quick=quick)
        assert [run.count for run in found] == [2, 1, 1]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JUNK, st.sampled_from(sorted(cloud(None))), JUNK)
def test_damaged_cloud_events_are_outcomes(data, name, other):
    value = cloud(data) | {name: other}
    runs = scan([record(value)], build_reading(lambda id: None))
    assert runs == scan([record(value)], build_reading(lambda id: None), quick=False)
    (outcome,) = decode(runs[0], "main", lambda id: None)
    assert isinstance(outcome, Observation | Reject | Skipped)


@pytest.mark.parametrize(
    "value", [b'{"orderId": 1}', b'"text"', b"no JSON", b"\0\1\2", b'{"id": 1, "__op": "c"}']
)
def test_what_an_outbox_published_is_set_aside(value):
    headers = (("id", b"4d47e190-0402-4048-bc2c-89dd54343cdc"), ("eventType", b"OrderCreated"))
    published = Record("outbox.event.order", 0, 0, 1, b"1", value, headers)
    (run,) = scan([published], build_reading(lambda id: None))
    assert run.fault is None
    (outcome,) = decode(run, "main", lambda id: None)
    assert isinstance(outcome, Skipped)
    assert (outcome.kind, outcome.count) == ("outbox", 1)


@pytest.mark.parametrize(("topic", "headers"), [("outbox.event.order", ()), ("orders", (("id", b"1"),))])
def test_what_cannot_be_told_from_another_message_is_no_outbox(topic, headers):
    (outcome,) = decode(
        alone(Record(topic, 0, 0, 1, None, b'{"orderId": 1}', headers)), "main", lambda id: None
    )
    assert isinstance(outcome, Reject)


# Partitioned tables: each partition speaks for itself, or the root for all, as the publication says.


def test_partitions_are_tables_of_their_own():
    found = {h.table.table: h for h in chain.histories("postgres/shop-json")}
    leaves = [found["page_views_2024"], found["page_views_2025"]]
    assert "page_views" not in found
    assert all(len(h.versions) >= 1 for h in leaves)
    assert len({h.versions[0].schema.names for h in leaves}) == 1


def test_a_partitioned_table_that_is_published_by_its_root():
    """With `publish_via_partition_root` rows of all partitions name the root, and come in one topic."""
    rows = [event(ROW, table="views", lsn=n) for n in (1, 2, 3)]
    runs = scan([record(v, n) for n, v in enumerate(rows)], build_reading(lambda id: None))
    assert [(run.table, run.count) for run in runs] == [(("srv", "shop", "public", "views"), 3)]
