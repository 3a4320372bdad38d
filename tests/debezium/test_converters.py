"""Schema languages: Connect nodes as columns, Avro as Connect nodes, Avro bodies as values."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.converters.avro import decode_body, reduce_schema, to_connect
from schemaman.debezium.converters.connect import read_columns, read_type
from schemaman.errors import UnreadableInput
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column
from schemaman.model.types import Decimal, Integer, String, Timestamp
from tests.support.checkout import CAPTURES
from tests.support.records import node, records, registry, struct

DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
DATE = "io.debezium.time.Date"
ENUM = "io.debezium.data.Enum"


def test_columns_of_a_row():
    row = struct(
        "srv.public.t.Value",
        id=node("int32", default=0),
        name=node("string", optional=True, doc="as printed"),
        free={"type": "int64"},
    )
    assert read_columns(row) == (
        Column("id", Integer(32), nullable=False, default=0, emitted_name="id"),
        Column("name", String(), comment="as printed", emitted_name="name"),
        Column("free", Integer(64), nullable=False, emitted_name="free"),
    )


def test_propagated_parameters_give_back_name_type_and_comment():
    parameters = {
        "__debezium.source.column.name": "item no",
        "__debezium.source.column.type": "VARCHAR",
        "__debezium.source.column.length": "80",
        "__debezium.source.column.comment": "which one",
    }
    (column,) = read_columns(struct("V", item_no=node("string", parameters=parameters)))
    assert (column.name, column.emitted_name) == ("item no", "item_no")
    assert (column.source_type, column.comment) == ("VARCHAR(80)", "which one")


def test_the_text_of_a_semantic_struct_is_no_comment():
    numeric = struct("io.debezium.data.VariableScaleDecimal", scale=node("int32"), value=node("bytes"))
    (column,) = read_columns(struct("V", n={**numeric, "doc": "Variable scaled decimal"}))
    assert column.comment is None


@pytest.mark.parametrize(("scale", "default", "text"), [
    ("2", "AMg=", "2.00"), ("4", "AA==", "0.0000"), ("0", "/w==", "-1"), ("2", "/w==", "-0.01"),
    ("2046", "Aw==", "300"), ("2", "1.50", "1.50"), ("2", "", "0.00"),
])  # fmt: skip
def test_decimal_defaults_are_shown_as_digits(scale, default, text):
    field = node("bytes", DECIMAL, parameters={"scale": scale}, default=default)
    assert read_columns(struct("V", c=field))[0].default == text


@pytest.mark.parametrize("default", [{"scale": 0, "value": "AA=="}, [], [1]])
def test_defaults_that_are_no_scalars_are_left_out(default):
    assert read_columns(struct("V", c=node("string", default=default)))[0].default is None


@pytest.mark.parametrize("broken", [
    {}, {"type": "int24"}, {"type": None}, {"type": "array"}, {"type": "array", "items": "int32"},
    {"type": "map", "keys": {"type": "string"}}, {"type": "struct"}, {"type": "struct", "fields": [{}]},
    {"type": "struct", "fields": ["a"]}, {"type": "array", "items": {"type": "struct", "fields": None}},
])  # fmt: skip
def test_what_is_no_connect_schema_is_refused(broken):
    with pytest.raises(UnreadableInput):
        read_type(broken)


@pytest.mark.parametrize(
    "parameters", [None, [], {"scale": "two"}, {"scale": 2}, {"connect.decimal.precision": "9" * 99}]
)
def test_odd_parameters_are_no_reason_to_fail(parameters):
    assert isinstance(read_type(node("bytes", DECIMAL, parameters=parameters)), Decimal)


# Avro → Connect. Source of the forms: Confluent AvroData.fromConnectSchema.


def field_of(avro_field: dict[str, Any]) -> dict[str, Any]:
    record = {
        "type": "record",
        "name": "Value",
        "namespace": "srv.t",
        "fields": [{"name": "c", **avro_field}],
    }
    found: dict[str, Any] = to_connect(json.dumps(record))["fields"][0]
    return found


@pytest.mark.parametrize(("avro", "connect"), [
    ({"type": "int"}, {"type": "int32", "optional": False}),
    ({"type": {"type": "int", "connect.type": "int16"}}, {"type": "int16", "optional": False}),
    ({"type": "long"}, {"type": "int64", "optional": False}),
    ({"type": ["null", "string"], "default": None}, {"type": "string", "optional": True}),
    ({"type": ["string", "null"], "default": "x"}, {"type": "string", "optional": True, "default": "x"}),
    ({"type": [{"type": "int", "connect.default": 3}, "null"], "default": 3},
     {"type": "int32", "optional": True, "default": 3}),
    ({"type": {"type": "int", "connect.version": 1, "connect.name": DATE, "connect.default": 0},
      "default": 0},
     {"type": "int32", "optional": False, "name": DATE, "version": 1, "default": 0}),
    ({"type": {"type": "string", "connect.parameters": {"allowed": "a,b"}, "connect.name": ENUM}},
     {"type": "string", "optional": False, "name": ENUM, "parameters": {"allowed": "a,b"}}),
    ({"type": {"type": "array", "items": ["null", "int"]}},
     {"type": "array", "optional": False, "items": {"type": "int32", "optional": True}}),
    ({"type": {"type": "map", "values": ["null", "string"]}},
     {"type": "map", "optional": False, "keys": {"type": "string", "optional": False},
      "values": {"type": "string", "optional": True}}),
    ({"type": {"type": "string", "connect.doc": "as printed"}},
     {"type": "string", "optional": False, "doc": "as printed"}),
    ({"type": "string", "doc": "said by the field"},
     {"type": "string", "optional": False, "doc": "said by the field"}),
    ({"type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
     {"type": "string", "optional": False, "name": ENUM, "parameters": {"allowed": "A,B"}}),
    ({"type": {"type": "fixed", "name": "F", "size": 4}}, {"type": "bytes", "optional": False}),
    ({"type": ["int"]}, {"type": "int32", "optional": False}),
    ({"type": {"type": {"type": "int"}, "connect.name": DATE}},
     {"type": "int32", "optional": False, "name": DATE}),
])  # fmt: skip
def test_avro_fields_as_connect(avro, connect):
    assert field_of(avro) == {**connect, "field": "c"}


def test_maps_with_other_keys_come_as_a_list_of_entries():
    entry = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro",
             "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "double"}]}  # fmt: skip
    assert (
        format_type(read_type(field_of({"type": {"type": "array", "items": entry}})))
        == "MAP<INT, DOUBLE NOT NULL>"
    )


def test_a_union_of_several_types_becomes_a_struct():
    told = read_type(field_of({"type": ["null", "int", "string"]}))
    assert format_type(told) == "STRUCT<int32: INT, string: STRING>"


def test_names_refer_to_records_described_before():
    row = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "int"}]}
    envelope = {"type": "record", "name": "Envelope", "namespace": "srv.t", "fields": [
        {"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "Value"]},
        {"name": "again", "type": "srv.t.Value"},
    ]}  # fmt: skip
    before, after, again = to_connect(json.dumps(envelope))["fields"]
    assert before == {**after, "field": "before"}
    assert before["name"] == "srv.t.Value"
    assert (after["optional"], again["optional"]) == (True, False)


def test_records_without_a_name_stay_without():
    record = {
        "type": "record",
        "name": "ConnectDefault2",
        "namespace": "io.confluent.connect.avro",
        "fields": [],
    }
    assert "name" not in to_connect(json.dumps(record))


@pytest.mark.parametrize(("logical", "type"), [
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal(9, 2)),
    ({"type": "long", "logicalType": "timestamp-micros"}, Timestamp(6)),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, Timestamp(3, zoned=False)),
    ({"type": "long", "logicalType": "timestamp-millis", "connect.name": TIMESTAMP},
     Timestamp(3, zoned=False)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2, "connect.name": DECIMAL,
      "connect.parameters": {"scale": "2"}}, Decimal(38, 2)),
    ({"type": "int", "logicalType": "nobody-knows"}, Integer(32)),
])  # fmt: skip
def test_logical_types_of_avro(logical, type):
    assert read_type(field_of({"type": logical})) == type


def test_a_default_of_bytes_reads_as_in_json():
    decimal = {"type": "bytes", "connect.name": DECIMAL, "connect.parameters": {"scale": "2"},
               "connect.default": "\u00c8"}  # fmt: skip
    assert field_of({"type": decimal, "default": "\u00c8"})["default"] == "yA=="


@pytest.mark.parametrize("text", [
    "", "{", "[]", '["null"]', "7", '"Unknown"', "{}", '{"type":"record","name":"R"}',
    '{"type":"record","name":"R","fields":[{"type":"int"}]}',
    '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}',
    '{"type":"array"}', '{"type":"map","values":null}', "[" * 5000,
])  # fmt: skip
def test_what_connect_cannot_say_is_refused(text):
    with pytest.raises(UnreadableInput):
        to_connect(text)


# Bodies


PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2046}
SCHEMA = {"type": "record", "name": "Value", "namespace": "srv.2023_sales", "fields": [
    {"name": "id", "type": "int", "default": "not a number"}, {"name": "price", "type": ["null", PRICE]},
]}  # fmt: skip
BARE = {"type": "record", "name": "Value", "fields": [
    {"name": "id", "type": "int"}, {"name": "price", "type": ["null", "bytes"]},
]}  # fmt: skip


def framed(value: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, BARE, value)
    return b"\0\0\0\0\7" + body.getvalue()


def test_a_body_is_read_although_its_schema_is_odd():
    value = {"id": 7, "price": b"\x03"}
    assert decode_body(reduce_schema(json.dumps(SCHEMA)), framed(value)) == value


def test_a_body_that_does_not_fit_is_refused():
    text = reduce_schema(json.dumps(SCHEMA))
    data = framed({"id": 7, "price": None})
    with pytest.raises(UnreadableInput, match="1 bytes are left"):
        decode_body(text, data + b"\0")
    with pytest.raises(UnreadableInput, match="does not fit"):
        decode_body(text, data[:-1])
    with pytest.raises(UnreadableInput, match="not a valid Avro schema"):
        decode_body('{"type":"nothing"}', data)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(UnreadableInput):
        value = decode_body(reduce_schema(json.dumps(SCHEMA)), data)
        assert set(value) == {"id", "price"}


def test_every_schema_and_body_of_a_recording():
    run = CAPTURES / "postgres/shop-avro"
    lookup, count = registry(run), 0
    for record in records(run):
        for data in (record.key, record.value):
            if data is not None:
                text = lookup(int.from_bytes(data[1:5]))
                assert text is not None
                connect, value = to_connect(text), decode_body(reduce_schema(text), data)
                assert [f["field"] for f in connect["fields"]] == list(value)
                count += 1
    assert count == 1118
