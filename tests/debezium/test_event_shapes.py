"""Events of other writers and of dumps: understood with what they show, and uncertain where they are so.

What a record does not contain (its source, its position, its types) is not invented.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Note, Observation, Outcome, Reject, Skipped
from schemaman.debezium.records import NO_POSITION, Position, Record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.model.schema import TableId
from schemaman.model.types import Integer, String
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange
from tests.support.records import event, node, record, struct

Payload = dict[str, Any]
Node = Mapping[str, object]

ROW = struct("ferry.harbour.boat.Value", nr=node("int32"), name=node("string", optional=True))
KEY = {"schema": struct("ferry.harbour.boat.Key", nr=node("int32")), "payload": {"nr": 4}}
TOPIC = "ferry.harbour.boat"
BOAT = {"nr": 4, "name": "Anna"}


def read(*values: object, key: object = None, topic: str = TOPIC, forms: Forms = AUTO) -> tuple[Outcome, ...]:
    """Every outcome of the records; scanned quickly or wholly, they are the same."""
    records = [record(value, key, topic=topic) for value in values]
    records = [Record(r.topic, r.partition, n, 1, r.key, r.value) for n, r in enumerate(records)]
    reading = build_reading(lambda id: None, forms)
    quick, whole = (scan(records, reading, quick=quick) for quick in (True, False))
    assert quick == whole
    return tuple(o for run in quick for o in decode(run, "main", lambda id: None, forms))


def observed(*values: object, **how: Any) -> Observation:
    first, *others = read(*values, **how)
    assert isinstance(first, Observation), first
    assert all(isinstance(other, Note) for other in others), others
    return first


def kinds(*values: object, **how: Any) -> list[str]:
    return [outcome.kind for outcome in read(*values, **how) if isinstance(outcome, Note)]


def names(observation: Observation) -> tuple[str, ...]:
    assert observation.schema is not None
    return observation.schema.names


def json_kinds(observation: Observation) -> dict[str, str]:
    assert observation.inferred is not None
    return {".".join(count.path): count.kind for count in observation.inferred.counts}


# Envelopes without a source block


def bare(row: Mapping[str, object] = ROW, op: str = "c", **more: object) -> Payload:
    schema = struct(
        "ferry.harbour.boat.Envelope",
        before={**row, "optional": True},
        after={**row, "optional": True},
        op=node("string"),
        ts_ms=node("int64"),
    )
    return {"schema": schema, "payload": {"before": None, "after": BOAT, "op": op, "ts_ms": 5, **more}}


def test_an_envelope_without_its_source_is_known_by_its_names() -> None:
    seen = observed(bare(), key=KEY)
    assert (seen.table, seen.weak) == (TableId("ferry", "", "harbour", "boat"), True)
    assert (seen.evidence, seen.connector, seen.first.position) == ("emitted", "unknown", NO_POSITION)
    assert seen.schema is not None
    assert [(c.name, c.type, c.nullable) for c in seen.schema.columns] == [
        ("nr", Integer(32), False),
        ("name", String(), True),
    ]
    assert seen.schema.key == ("nr",)
    assert kinds(bare(), key=KEY) == ["connector-unknown"]


def test_a_routed_envelope_without_its_source_is_known_by_its_schema() -> None:
    assert observed(bare(), key=KEY, topic="all").table == TableId("ferry", "", "harbour", "boat")


def test_an_envelope_without_source_and_schema_is_inferred() -> None:
    payload = bare()["payload"]
    seen = observed(payload, key={"nr": 4})
    assert (seen.table, seen.weak, seen.evidence) == (
        TableId("ferry", "", "harbour", "boat"),
        True,
        "inferred",
    )
    every = [
        o for o in read(payload, {**payload, "after": {**BOAT, "seats": 9}}) if isinstance(o, Observation)
    ]
    assert [names(o) for o in every] == [("nr", "name"), ("nr", "name", "seats")]


@pytest.mark.parametrize(("payload", "op"), [
    ({"before": None, "after": BOAT}, "c"), ({"before": BOAT, "after": BOAT}, "u"),
    ({"before": BOAT, "after": None}, "d"), ({"before": BOAT, "after": None, "op": "d"}, "d"),
    ({"after": BOAT, "op": "r"}, "r"), ({"before": BOAT, "op": "d", "ts_ms": 3}, "d"),
])  # fmt: skip
def test_two_images_show_the_operation(payload: Payload, op: str) -> None:
    seen = observed(payload)
    assert names(seen) == ("nr", "name")
    assert seen.snapshot == (op == "r")


@pytest.mark.parametrize("payload", [
    {"before": "x", "after": "y", "op": "c"}, {"before": 1, "after": 2}, {"op": "c"},
    {"op": "add", "after": {}},
    {"before": None, "after": None}, {"after": BOAT, "op": "c", "colour": "red"}, {"before": None, "op": "c"},
])  # fmt: skip
def test_columns_called_after_are_no_images(payload: Payload) -> None:
    (outcome,) = read(payload)
    assert isinstance(outcome, Reject)


def test_a_truncate_without_a_source_is_one() -> None:
    assert observed({"before": None, "after": None, "op": "t"}).action == "truncate"


# Source blocks of other writers


@pytest.mark.parametrize(("source", "table", "weak"), [
    ({"db": "port", "table": "boat"}, TableId("", "port", "", "boat"), False),
    ({"db": "port", "schema": "s", "table": "boat", "ts_ms": 9}, TableId("", "port", "s", "boat"), False),
    ({"connector": "cassandra", "cluster": "c1", "keyspace": "port", "table": "boat"},
     TableId("c1", "port", "", "boat"), False),
    ({"connector": "scylla", "name": "x", "keyspace_name": "port", "table_name": "boat"},
     TableId("x", "port", "", "boat"), False),
    ({"origin": "cockroachdb", "database_name": "port", "schema_name": "public", "table_name": "boat"},
     TableId("", "port", "public", "boat"), False),
    ({"connector": "oracle", "name": "ferry", "scn": 5}, TableId("ferry", "", "harbour", "boat"), True),
    ({"connector": "tidal", "name": "ferry", "db": "port"},
     TableId("ferry", "port", "harbour", "boat"), True),
])  # fmt: skip
@pytest.mark.parametrize("whole", [True, False])
def test_source_blocks_of_other_writers(source: Payload, table: TableId, weak: bool, whole: bool) -> None:
    payload = {"before": None, "after": BOAT, "op": "c", "ts_ms": 5, "source": source}
    made = bare()
    seen = observed({**made, "payload": payload} if whole else payload, key=KEY)
    assert (seen.table, seen.weak) == (table, weak)
    assert names(seen) == ("nr", "name")
    assert seen.evidence == ("emitted" if whole else "inferred")


def test_tables_with_other_names_of_their_parts_are_kept_apart() -> None:
    """The quick scan recognises tables by the names that Debezium's source blocks have."""
    values = []
    for n in range(80):
        source = {"connector": "scylla", "name": "x", "keyspace_name": "port", "table_name": f"t{n % 2}"}
        made = event(ROW, connector="scylla")
        made["payload"] = {"before": None, "after": BOAT, "source": source, "op": "c", "ts_ms": n}
        values.append(made)
    tables = {o.table.table for o in read(*values) if isinstance(o, Observation)}
    assert tables == {"t0", "t1"}


@pytest.mark.parametrize("connector", ["spanner", "cockroachdb", "db2as400", "TiCDC", "yashandb"])
def test_an_envelope_of_an_unknown_connector_is_read_without_positions(connector: str) -> None:
    made = event(ROW, connector=connector, lsn=5, scn="7", file="x", pos=1)
    seen = observed(made, key=KEY)
    assert (seen.connector, seen.first.position, seen.weak) == ("unknown", NO_POSITION, False)
    assert seen.table == TableId("srv", "shop", "public", "t")
    (note,) = (outcome for outcome in read(made, key=KEY) if isinstance(outcome, Note))
    assert (note.kind, connector in note.message) == ("connector-unknown", True)


def test_rows_of_an_unknown_connector_are_written_in_the_order_of_offsets() -> None:
    made = event(ROW, connector="spanner")
    made["payload"]["after"] = BOAT
    found = RowReader().read(record(made, KEY))
    assert isinstance(found, RowChange)
    assert (found.after, found.position) == (BOAT, NO_POSITION)
    lone = RowReader().read(record(bare(), KEY, topic=TOPIC))
    assert isinstance(lone, RowChange)
    assert (lone.table, lone.after) == (TableId("ferry", "", "harbour", "boat"), BOAT)


# Cells around values


def cell(type: str, *parts: str) -> Node:
    fields = {"value": node(type, optional=True), "set": node("boolean"), "deletion_ts": node("int64")}
    return struct("cell", **{name: fields[name] for name in parts})


@pytest.mark.parametrize("parts", [("value", "set"), ("value", "deletion_ts", "set"), ("value",)])
@pytest.mark.parametrize("whole", [True, False])
def test_cells_of_other_connectors_are_unwrapped(parts: tuple[str, ...], whole: bool) -> None:
    row = struct("ferry.harbour.boat.Value", nr=cell("int32", *parts), name=cell("string", *parts))
    facts = {"value": 4, "set": True, "deletion_ts": None}
    made = event(row, connector="yugabytedb")
    made["payload"]["after"] = {
        "nr": {name: facts[name] for name in parts},
        "name": {name: {**facts, "value": "Anna"}[name] for name in parts},
    }
    key = {"schema": struct("ferry.harbour.boat.Key", nr=cell("int32", *parts)), "payload": {}}
    value = made if whole else made["payload"]
    seen = observed(value, key=key if whole else {"nr": 4})
    assert names(seen) == ("nr", "name")
    assert seen.schema is not None
    assert seen.schema.key == ("nr",)
    if whole:
        assert [c.type for c in seen.schema.columns] == [Integer(32), String()]
    else:
        assert json_kinds(seen) == {"nr": "json:number", "name": "json:string"}
    assert "wrapped-values" in kinds(value)
    rejected = RowReader().read(record(value, KEY))
    assert isinstance(rejected, Reject)
    assert whole is False or "cell" in rejected.reason


def test_structs_of_known_connectors_are_no_cells() -> None:
    row = struct("srv.public.t.Value", box=cell("int32", "value", "set"))
    made = event(row)
    made["payload"]["after"] = {"box": {"value": 1, "set": True}}
    seen = observed(made)
    assert seen.schema is not None
    assert not isinstance(seen.schema.columns[0].type, Integer)


# Avro's JSON encoding


def avro_json(**more: object) -> Payload:
    row = {"nr": 4, "name": {"string": "Anna"}, "depth": {"double": 2.5}, "crew": None, **more}
    source = {
        "version": "2.7.3.Final", "connector": "postgresql", "name": "ferry", "ts_ms": 1700000000000,
        "snapshot": {"string": "false"}, "db": "port", "sequence": {"string": '["1","2"]'},
        "schema": "harbour", "table": "boat", "txId": {"long": 8}, "lsn": {"long": 901}, "xmin": None,
    }  # fmt: skip
    return {
        "before": None, "after": {"ferry.harbour.boat.Value": row}, "source": source, "op": "c",
        "ts_ms": {"long": 1700000000100}, "transaction": None,
    }  # fmt: skip


def test_avro_in_its_json_encoding_is_unwrapped() -> None:
    seen = observed(avro_json(), key={"nr": 4})
    assert (seen.table, seen.weak) == (TableId("ferry", "port", "harbour", "boat"), False)
    assert (seen.evidence, names(seen)) == ("inferred", ("nr", "name", "depth", "crew"))
    assert seen.first.position == Position("lsn", "901", "1")
    assert seen.schema is not None
    assert seen.schema.key == ("nr",)
    assert json_kinds(seen) == {
        "nr": "json:number", "name": "json:string", "depth": "json:number", "crew": "json:null"
    }  # fmt: skip
    assert kinds(avro_json()) == ["wrapped-values"]


def test_a_column_that_is_added_in_avros_json_encoding_is_seen() -> None:
    found = read(avro_json(), avro_json(size={"int": 3}), avro_json(size={"int": 4}))
    assert [names(o) for o in found if isinstance(o, Observation)] == [
        ("nr", "name", "depth", "crew"),
        ("nr", "name", "depth", "crew", "size"),
    ]


def test_records_arrays_and_texts_in_unions_are_values() -> None:
    place = {"io.debezium.data.geometry.Point": {"x": 1.0, "y": 2.0, "wkb": {"bytes": "a"}, "srid": None}}
    seen = observed(avro_json(place=place, tags={"array": [{"string": "a"}]}, kind={"harbour.Kind": "OPEN"}))
    shown = json_kinds(seen)
    assert (shown["place"], shown["tags"], shown["kind"]) == ("json:object", "json:array", "json:string")


@pytest.mark.parametrize("row", [
    {"nr": 4, "note": {"string": 7}}, {"nr": 4, "note": {"a": 1}}, {"string": "Anna"},
    {"nr": 4, "tags": {"string": "of an hstore"}}, {"nr": 4, "int": 3},
])  # fmt: skip
def test_plain_json_is_no_encoding_of_avro(row: Payload) -> None:
    payload = {**event(ROW)["payload"], "after": row}
    assert names(observed(payload)) == tuple(row)
    assert "wrapped-values" not in kinds(payload)


@pytest.mark.parametrize("value", [{"bytes": "\u0001"}, {"long": 7}, {"boolean": True}])
def test_one_union_in_a_row_shows_the_encoding(value: Payload) -> None:
    payload = {**event(ROW)["payload"], "after": {"nr": value, "name": "Anna"}}
    assert "json:object" not in json_kinds(observed(payload)).values()
    assert "wrapped-values" in kinds(payload)


def test_flattened_rows_in_avros_json_encoding() -> None:
    row = {"nr": 4, "name": {"string": "Anna"}, "__op": {"string": "c"}, "__table": {"string": "boat"}}
    assert names(observed(row)) == ("nr", "name")


@pytest.mark.parametrize("value", [
    avro_json(), {"nr": 4, "__deleted": {"string": "false"}},
])  # fmt: skip
def test_rows_in_avros_json_encoding_are_not_written(value: Payload) -> None:
    """Bytes and decimals are texts of another encoding there."""
    found = RowReader().read(record(value, {"nr": 4}))
    assert isinstance(found, Reject)
    assert "Avro in its JSON encoding" in found.reason


def test_a_record_that_refers_to_its_schema_is_read_without_it() -> None:
    payload = {**event(ROW)["payload"], "after": BOAT}
    seen = observed({"schemaId": 7, "payload": payload}, key=KEY)
    assert (seen.table, seen.evidence) == (TableId("srv", "shop", "public", "t"), "inferred")
    assert names(seen) == ("nr", "name")
    lone = observed({"schemaId": 7, "payload": {"before": None, "after": BOAT, "op": "c"}}, key=KEY)
    assert (lone.table, lone.weak) == (TableId("ferry", "", "harbour", "boat"), True)
    keyed = observed({"schemaId": 7, "payload": payload}, key={"schemaId": 6, "payload": {"nr": 4}})
    assert keyed.schema is not None
    assert keyed.schema.key == ("nr",)


# Schema changes in a text


def history_record(text: str | None = None) -> Payload:
    column = {"name": "nr", "jdbcType": 4, "typeName": "INT", "typeExpression": "INT", "length": 11,
              "position": 1, "optional": False}  # fmt: skip
    change = {
        "source": {"file": "b.7", "pos": 4}, "position": {"file": "b.7", "pos": 9}, "databaseName": "port",
        "ddl": "ALTER TABLE boat ADD nr INT",
        "tableChanges": [{"type": "ALTER", "id": '"port"."boat"',
                          "table": {"primaryKeyColumnNames": ["nr"], "columns": [column]}}],
    }  # fmt: skip
    source = {"version": "1.9.8.Final", "connector": "mysql", "name": "ferry", "ts_ms": 7, "db": "port",
              "table": "boat", "file": "b.7", "pos": 4, "row": 0}  # fmt: skip
    schema = struct("io.debezium.connector.mysql.SchemaChangeValue", source=node("string"),
                    historyRecord=node("string"))  # fmt: skip
    return {"schema": schema, "payload": {"source": source, "historyRecord": text or json.dumps(change)}}


@pytest.mark.parametrize("whole", [True, False])
def test_a_schema_change_in_a_text_declares_its_table(whole: bool) -> None:
    made = history_record()
    value = made if whole else made["payload"]
    seen = observed(value, topic="ferry")
    assert (seen.table, seen.evidence, seen.ddl) == (
        TableId("ferry", "port", "", "boat"), "declared", "ALTER TABLE boat ADD nr INT",
    )  # fmt: skip
    assert (names(seen), seen.schema and seen.schema.key) == (("nr",), ("nr",))
    assert isinstance(RowReader().read(record(value)), Skipped)


@pytest.mark.parametrize("text", ["{", "7", "[]"])
def test_a_damaged_text_of_a_schema_change_is_refused(text: str) -> None:
    (outcome,) = read(history_record(text))
    assert isinstance(outcome, Reject)
    assert "historyRecord" in outcome.reason


# Flattened rows under names that a transformation set


def flat(name: str | None, **added: object) -> Payload:
    fields = {"nr": node("int32"), "name": node("string", optional=True)}
    extra = {k: node("string", optional=True) for k in added}
    schema = struct(name, **fields, **extra)
    return {"schema": schema, "payload": {**BOAT, **added}}


@pytest.mark.parametrize(("name", "added", "topic", "table"), [
    ("com.example.port.Boat", {"__op": "c", "__table": "boat"}, "sales",
     TableId("ferry", "", "harbour", "boat")),
    ("com.example.port.Boat", {}, "sales", TableId("ferry", "", "harbour", "boat")),
    ("Boat", {}, "sales", TableId("ferry", "", "harbour", "boat")),
    ("com.example.port.Boat", {}, TOPIC, TableId("ferry", "", "harbour", "boat")),
    (TOPIC, {"__deleted": "false"}, TOPIC, TableId("ferry", "", "harbour", "boat")),
    (None, {}, TOPIC, TableId("ferry", "", "harbour", "boat")),
])  # fmt: skip
def test_a_name_that_a_transformation_set_is_no_name_of_a_table(
    name: str | None, added: Payload, topic: str, table: TableId
) -> None:
    seen = observed(flat(name, **added), key=KEY, topic=topic)
    assert (seen.table, seen.weak) == (table, True)
    assert names(seen) == ("nr", "name")
    found = RowReader().read(record(flat(name, **added), KEY, topic=topic))
    assert isinstance(found, RowChange)
    assert (found.table, found.after) == (table, BOAT)


def test_added_fields_under_another_name_and_without_a_key_go_by_the_topic() -> None:
    seen = observed(flat("com.example.port.Boat", __op="c"), topic="port.boat")
    assert seen.table == TableId("port", "", "", "boat")


@pytest.mark.parametrize(
    "key", [None, {"nr": 4}, {**KEY, "schema": struct("com.example.Id", nr=node("int32"))}]
)
def test_rows_that_nothing_proves_are_refused_and_told_how_to_read_them(key: object) -> None:
    (outcome,) = read(flat("com.example.port.Boat"), key=key)
    assert isinstance(outcome, Reject)
    assert "--flattened" in outcome.reason


@pytest.mark.parametrize("value", [flat("com.example.port.Boat"), BOAT])
@pytest.mark.parametrize(("pattern", "is_read"), [(TOPIC, True), ("ferry.*", True), ("ferry", False)])
def test_a_topic_may_be_configured_to_hold_flattened_rows(
    value: Payload, pattern: str, is_read: bool
) -> None:
    found = read(value, key={"nr": 4}, forms=Forms(flattened=("other", pattern)))
    assert isinstance(found[0], Observation) == is_read
    if isinstance(found[0], Observation):
        assert found[0].table == TableId("ferry", "", "harbour", "boat")
        assert (names(found[0]), found[0].schema and found[0].schema.key) == (("nr", "name"), ("nr",))


# What is refused


@pytest.mark.parametrize(("value", "reason"), [
    ({"table": "P.B", "op_type": "I", "op_ts": "x", "after": {}}, "Oracle GoldenGate"),
    ({"data": [{}], "type": "INSERT", "isDdl": False, "database": "d", "table": "t"}, "Canal"),
    ({"data": {}, "type": "insert", "ts": 1, "database": "d", "table": "t", "xid": 4}, "Maxwell"),
    ({"data": {}, "metadata": {"record-type": "data"}}, "AWS DMS"),
    ({"after": {"nr": 4}, "updated": "1.0"}, "envelope=enriched"),
    ({"name": "c", "config": {"tasks.max": "1"}}, "the configuration of a connector"),
    ({"type": "record", "name": "R", "fields": []}, "a schema without a record"),
    ({"nr": 4}, "--flattened"),
    ({"op": "c", "after": "text"}, "looks like an event"),
])  # fmt: skip
def test_what_is_refused_says_what_it_is_and_what_to_do(value: Payload, reason: str) -> None:
    (outcome,) = read(value)
    assert isinstance(outcome, Reject)
    assert reason in outcome.reason
