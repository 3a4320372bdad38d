"""Clients of other vendors, unchanged but for the URL: serialisers, registry clients, in their own words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import ConfigCompatibilityLevel as Level
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from schema_registry.client import SchemaRegistryClient as OtherClient
from schema_registry.client import schema as other_schemas
from schema_registry.serializers.message_serializer import AvroMessageSerializer

import schemaman as sm
from tests.server.conftest import Answer
from tests.support.checkout import ROOT

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "An order",
    "fields": [{"name": "id", "type": {"type": "long"}}, {"name": "note", "type": ["null", "string"]}],
}
NEXT = ORDER | {"fields": [*ORDER["fields"], {"name": "more", "type": "int", "default": 0}]}
PAGE = ROOT / "docs" / "registry-api.md"
VALUE = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def client(url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": url})


def fresh(url: str) -> Any:
    """A client without a cache."""
    return SchemaRegistryClient({"url": url})


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({}, "orders-value"),
        ({"subject.name.strategy": record_subject_name_strategy}, "shop.Order"),
        ({"subject.name.strategy": topic_record_subject_name_strategy}, "orders-shop.Order"),
        ({"normalize.schemas": True}, "orders-value"),
    ],
)
def test_an_avro_serialiser_registers_and_reads_back(
    client: SchemaRegistryClient, url: str, options: dict[str, Any], subject: str
) -> None:
    serializer = AvroSerializer(client, json.dumps(ORDER), conf=options)
    data = serializer({"id": 7, "note": "x"}, VALUE)
    assert data is not None
    assert data[:5] == b"\0\0\0\0\1"
    assert AvroDeserializer(fresh(url))(data, VALUE) == {"id": 7, "note": "x"}
    assert fresh(url).get_subjects() == [subject]


def test_an_avro_serialiser_uses_what_is_registered(client: SchemaRegistryClient, url: str) -> None:
    client.register_schema("orders-value", Schema(json.dumps(ORDER), "AVRO"))
    for options in (
        {"auto.register.schemas": False},
        {"auto.register.schemas": False, "use.latest.version": True},
    ):
        data = AvroSerializer(fresh(url), json.dumps(ORDER), conf=options)({"id": 1, "note": None}, VALUE)
        assert AvroDeserializer(fresh(url), json.dumps(NEXT))(data, VALUE) == {
            "id": 1,
            "note": None,
            "more": 0,
        }
    unknown = AvroSerializer(fresh(url), json.dumps(NEXT), conf={"auto.register.schemas": False})
    with pytest.raises(SchemaRegistryError) as raised:
        unknown({"id": 1, "note": None, "more": 2}, VALUE)
    assert (raised.value.http_status_code, raised.value.error_code) == (404, 40403)


def test_an_avro_serialiser_is_told_why_its_schema_is_refused(client: SchemaRegistryClient) -> None:
    client.register_schema("orders-value", Schema(json.dumps(ORDER), "AVRO"))
    changed = ORDER | {"fields": [{"name": "id", "type": "string"}]}
    with pytest.raises(SchemaRegistryError) as raised:
        AvroSerializer(client, json.dumps(changed))({"id": "x"}, VALUE)
    assert (raised.value.http_status_code, raised.value.error_code) == (409, 409)
    assert "TYPE_MISMATCH" in raised.value.error_message


def test_avro_references_are_resolved(client: SchemaRegistryClient, url: str) -> None:
    inner = {"type": "enum", "name": "Color", "namespace": "shop", "symbols": ["RED"]}
    outer = {"type": "record", "name": "Car", "fields": [{"name": "color", "type": "shop.Color"}]}
    client.register_schema("color", Schema(json.dumps(inner), "AVRO"))
    schema = Schema(json.dumps(outer), "AVRO", [SchemaReference("shop.Color", "color", 1)])
    data = AvroSerializer(client, schema)({"color": "RED"}, VALUE)
    assert AvroDeserializer(fresh(url))(data, VALUE) == {"color": "RED"}
    latest = fresh(url).get_latest_version("orders-value")
    assert latest.schema.references == [SchemaReference("shop.Color", "color", 1)]
    resolved = fresh(url).get_latest_version("orders-value", fmt="resolved").schema.schema_str
    assert json.loads(resolved)["fields"][0]["type"]["symbols"] == ["RED"]
    assert fresh(url).get_referenced_by("color", 1) == [latest.schema_id]
    with pytest.raises(SchemaRegistryError) as raised:
        fresh(url).delete_subject("color")
    assert raised.value.error_code == 42206


def test_a_json_serialiser_registers_and_reads_back(client: SchemaRegistryClient, url: str) -> None:
    text = '{\n "title": "Order",  "type": "object", "properties": {"id": {"type": "integer"}}}'
    serializer = JSONSerializer(text, client)
    data = serializer({"id": 7}, VALUE)
    assert JSONDeserializer(None, schema_registry_client=fresh(url))(data, VALUE) == {"id": 7}
    assert fresh(url).get_latest_version("orders-value").schema.schema_str == text
    compact = Schema(json.dumps(json.loads(text)), "JSON")
    assert fresh(url).register_schema("orders-value", compact) == 1
    other = Schema('{"type": "object"}', "JSON")
    with pytest.raises(SchemaRegistryError) as raised:
        fresh(url).register_schema("orders-value", other)
    assert raised.value.error_code == 42203
    client.set_config("orders-value", ServerConfig(compatibility=Level.NONE))
    assert fresh(url).register_schema("orders-value", other) == 2


def car_message() -> type[Any]:
    """The class of a message whose file imports another file."""
    color = descriptor_pb2.FileDescriptorProto(name="shop/color.proto", package="shop", syntax="proto3")
    color.message_type.add(name="Color").field.add(name="code", number=1, type=5, label=1)
    car = descriptor_pb2.FileDescriptorProto(name="shop/car.proto", package="shop", syntax="proto3")
    car.dependency.append("shop/color.proto")
    car.message_type.add(name="Car").field.add(
        name="color", number=1, type=11, label=1, type_name=".shop.Color"
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(color)
    pool.Add(car)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Car"))


def test_a_protobuf_serialiser_registers_with_its_references(client: SchemaRegistryClient, url: str) -> None:
    message = car_message()
    options = {"use.deprecated.format": False}
    serializer = ProtobufSerializer(message, client, options)
    sent = message()
    sent.color.code = 7
    data = serializer(sent, VALUE)
    assert ProtobufDeserializer(message, options, fresh(url))(data, VALUE).color.code == 7
    found = fresh(url).get_latest_version("orders-value")
    assert found.schema.schema_type == "PROTOBUF"
    assert found.schema.references == [SchemaReference("shop/color.proto", "shop/color.proto", 1)]
    assert fresh(url).get_subjects() == ["orders-value", "shop/color.proto"]


def test_every_method_of_the_client_of_confluent(client: SchemaRegistryClient, url: str) -> None:
    first, second = Schema(json.dumps(ORDER), "AVRO"), Schema(json.dumps(NEXT), "AVRO")
    assert client.register_schema("a/b c-value", first) == 1
    full = client.register_schema_full_response("a/b c-value", second, normalize_schemas=True)
    assert (full.schema_id, full.version) == (2, 2)
    guid = str(full.guid)
    other = fresh(url)
    assert other.get_schema(1).schema_type == "AVRO"
    assert other.get_schema_by_guid(guid).schema_str == other.get_schema(2).schema_str
    assert other.get_schema_types() == ["AVRO", "JSON", "PROTOBUF"]
    assert other.get_subjects_by_schema_id(1) == ["a/b c-value"]
    assert [(v.subject, v.version) for v in other.get_schema_versions(2)] == [("a/b c-value", 2)]
    assert other.lookup_schema("a/b c-value", first).version == 1
    assert other.get_subjects() == ["a/b c-value"]
    assert other.get_subjects(subject_prefix="x") == []
    assert other.get_version("a/b c-value", 1).schema_id == 1
    assert other.get_latest_version("a/b c-value").version == 2
    assert other.get_versions("a/b c-value") == [1, 2]
    assert other.get_referenced_by("a/b c-value", 1) == []
    assert other.test_compatibility("a/b c-value", first)
    assert other.test_compatibility("a/b c-value", first, "latest")
    bad = Schema('"int"', "AVRO")
    assert not other.test_compatibility("a/b c-value", bad)
    assert not other.test_compatibility_all_versions("a/b c-value", bad)
    assert other.get_contexts() == ["."]
    config = ServerConfig(compatibility=Level.FULL, compatibility_group="v")
    other.set_config(config=config)
    assert other.get_config().compatibility_level == "FULL"
    other.set_config("a/b c-value", ServerConfig(compatibility=Level.NONE))
    assert other.get_config("a/b c-value").compatibility_level == "NONE"
    other.delete_config("a/b c-value")
    other.delete_config()
    assert other.get_config().compatibility_level == "BACKWARD"
    assert other.set_compatibility("a/b c-value", "FORWARD") == {"compatibility": "FORWARD"}
    assert other.get_compatibility("a/b c-value") == "FORWARD"
    assert (other.get_global_mode(), other.update_global_mode("READONLY")) == ("READWRITE", "READONLY")
    assert other.update_mode("a/b c-value", "READWRITE") == "READWRITE"
    assert other.get_mode("a/b c-value") == "READWRITE"
    assert other.delete_version("a/b c-value", 1) == 1
    assert other.delete_version("a/b c-value", 1, permanent=True) == 1
    assert other.delete_subject("a/b c-value") == [2]
    assert other.delete_subject("a/b c-value", permanent=True) == [2]
    other.update_global_mode("READWRITE")
    assert other.get_associations_by_resource_name("orders", "-", "topic", ["value"]) == []


def test_metadata_and_rule_sets_are_kept(url: str, ask: Callable[..., Answer]) -> None:
    metadata = {"tags": {"a.b": ["PII"]}, "properties": {"owner": "x"}, "sensitive": ["s"]}
    rule = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "params": {"k": "v"}}
    body = {"schema": json.dumps(ORDER), "metadata": metadata, "ruleSet": {"domainRules": [rule]}}
    assert ask("POST", "/subjects/orders-value/versions", body).body["ruleSet"] == body["ruleSet"]
    found = fresh(url).get_latest_version("orders-value").schema
    assert (found.metadata.to_dict(), found.rule_set.domain_rules[0].name) == (metadata, "check")
    assert fresh(url).get_latest_with_metadata("orders-value", {"owner": "x"}).version == 1
    # what a serialiser registers later without metadata is the same version
    plain = {"schema": json.dumps(ORDER)}
    assert ask("POST", "/subjects/orders-value/versions", plain).body["version"] == 1
    assert ask("POST", "/subjects/orders-value", plain).body["metadata"] == metadata
    with pytest.raises(SchemaRegistryError) as raised:
        fresh(url).get_latest_with_metadata("orders-value", {"owner": "y"})
    assert raised.value.error_code == 40403


def test_the_other_python_client(url: str) -> None:
    client = OtherClient({"url": url})
    schema = other_schemas.AvroSchema(ORDER)
    data = AvroMessageSerializer(client).encode_record_with_schema("orders", schema, {"id": 1, "note": "x"})
    assert AvroMessageSerializer(OtherClient({"url": url})).decode_message(data) == {"id": 1, "note": "x"}
    other: Any = OtherClient({"url": url})
    assert other.get_subjects() == ["orders"]
    assert other.check_version("orders", schema).version == 1
    assert other.test_compatibility("orders", other_schemas.AvroSchema(NEXT))
    assert other.get_versions("orders") == [1]
    assert [v.subject for v in other.get_schema_subject_versions(1)] == ["orders"]
    assert other.update_compatibility("FULL", "orders")
    assert other.get_compatibility("orders") == "FULL"
    assert other.delete_version("orders", "1") == 1
    assert other.get_subjects() == []


def test_the_server_serves_the_registry_of_this_process(url: str, registry: sm.SchemaRegistry) -> None:
    found = registry.register("orders-value", json.dumps(ORDER))
    assert SchemaRegistryClient({"url": url}).get_schema(found.version.schema_id).schema_str == (
        '{"type":"record","name":"Order","namespace":"shop","doc":"An order","fields":'
        '[{"name":"id","type":"long"},{"name":"note","type":["null","string"]}]}'
    )


def test_the_examples_of_the_page_give_what_they_say() -> None:
    """Each line that ends with a number in a comment has that value."""
    section = PAGE.read_text(encoding="utf-8").partition("## In a test or a job")[2].partition("\n## ")[0]
    code = "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
    code, count = re.subn(r"(?m)^( *)(\S.*?)  # (\d[\d, ]*)$", r"\1assert (\2) == (\3)", code)
    assert count == 2
    exec(compile(code, PAGE.name, "exec"), {})
