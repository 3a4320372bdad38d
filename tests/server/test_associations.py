"""Associations: the subject of a topic is the one that an administrator chose, for serialisers, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    Schema,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

import schemaman as sm
from schemaman.api.registry_copies import format_registry
from schemaman.registry import Registry
from schemaman.server.copy_documents import read_document
from schemaman.store.log import RegistrationEntry
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.associations import AssociationRequest, Resource
from schemaman.subjects.requests import SchemaRequest
from tests.server.conftest import Answer

Ask = Callable[..., Answer]
RECORD = '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}'
VALUE = SerializationContext("orders", MessageField.VALUE)
NAMED = {"resourceName": "orders", "resourceNamespace": "lkc-1", "resourceId": "r1"}
USUAL = ":.lkc-1:orders-value"


def bind(ask: Ask, method: str = "POST", path: str = "/associations", /, **parts: Any) -> Answer:
    """Bind the value of the topic `orders`; a part of the resource may be replaced."""
    named = {name: parts.pop(name, text) for name, text in NAMED.items()}
    return ask(method, path, {**named, "associations": [parts]})


def code(answer: Answer) -> int:
    assert answer.status == int(str(answer.body["error_code"])[:3])
    return int(answer.body["error_code"])


def register(ask: Ask, subject: str = "shared", text: str = RECORD) -> None:
    assert ask("POST", f"/subjects/{subject}/versions", {"schema": text}).status == 200


def test_a_serialiser_takes_the_subject_that_was_chosen(url: str) -> None:
    client = SchemaRegistryClient({"url": url})
    client.register_schema("shared", Schema(RECORD, "AVRO"))
    info = AssociationCreateOrUpdateInfo(subject="shared", association_type="value", lifecycle="WEAK")
    request = AssociationCreateOrUpdateRequest("orders", "lkc-1", "r1", "topic", [info])
    made: Any = client.create_association(request)
    assert (made.resource_id, made.associations[0].subject) == ("r1", "shared")
    (found,) = client.get_associations_by_resource_name("orders", "-", "topic", ["value"])
    assert (found.subject, found.resource_namespace, found.association_type) == ("shared", "lkc-1", "value")
    data = AvroSerializer(SchemaRegistryClient({"url": url}), RECORD)({"a": 1}, VALUE)
    assert AvroDeserializer(SchemaRegistryClient({"url": url}))(data, VALUE) == {"a": 1}
    assert client.get_subjects() == ["shared"]
    with pytest.raises(SchemaRegistryError, match="association exists"):
        client.delete_subject("shared")
    client.delete_associations("r1", "topic", ["value"])
    assert client.get_associations_by_resource_name("orders", "lkc-1") == []
    assert client.delete_subject("shared") == [1]


def test_a_strong_association_brings_its_schema_and_takes_it_away(ask: Ask) -> None:
    assert bind(ask, schema={"schema": RECORD}, dryRun=1).body["associations"][0]["subject"] == USUAL
    found = bind(ask, schema={"schema": RECORD}).body["associations"][0]
    assert (found["subject"], found["lifecycle"], found["frozen"]) == (USUAL, "STRONG", True)
    (listed,) = ask("GET", f"/associations/subjects/{USUAL}").body
    assert listed | {"guid": "", "createTs": 0, "updateTs": 0} == {
        **NAMED, "subject": USUAL, "guid": "", "resourceType": "topic", "associationType": "value",
        "lifecycle": "STRONG", "frozen": True, "createTs": 0, "updateTs": 0,
    }  # fmt: skip
    again = bind(ask, schema={"schema": RECORD}).body["associations"][0]["schema"]
    assert again["version"] == 1
    assert code(bind(ask, schema={"schema": RECORD.replace("}]", ',"default":1}]')})) == 40903
    assert ask("GET", f"/subjects/{USUAL}/versions").body == [1]
    assert code(bind(ask, "PUT", subject=USUAL, lifecycle="WEAK")) == 40908
    assert code(bind(ask, resourceId="r2", resourceName="other", subject=USUAL)) == 40905
    assert code(ask("DELETE", "/associations/resources/r1")) == 40908
    assert ask("DELETE", "/associations/resources/r1?cascadeLifecycle=true&dryRun=true").status == 204
    assert ask("DELETE", "/associations/resources/r1?cascadeLifecycle=true").status == 204
    assert ask("GET", "/subjects?deleted=true").body == []
    assert ask("GET", f"/config/{USUAL}").body["error_code"] == 40408


def test_what_does_not_fit_is_refused_and_binds_nothing(ask: Ask) -> None:
    register(ask)
    schema = {"schema": RECORD}
    invalid: tuple[dict[str, Any], ...] = (
        {},
        {"subject": "shared", "resourceName": ""},
        {"subject": "shared", "resourceName": "a\nb"},
        {"subject": "shared", "resourceId": None},
        {"subject": "shared", "resourceNamespace": 1},
        {"subject": 1},
        {"subject": "shared", "associationType": "header"},
        {"subject": "shared", "lifecycle": "FIRM"},
        {"subject": "shared", "frozen": True},
        {"subject": "shared", "lifecycle": "STRONG"},
        {"subject": "shared", "schema": schema},
        {"subject": USUAL},
        {"schema": schema, "lifecycle": "WEAK"},
        {"schema": schema, "frozen": False},
    )
    for parts in invalid:
        assert code(bind(ask, **parts)) == 42212, parts
    body: object
    for body in ([], {}, {**NAMED, "associations": []}, {**NAMED, "associations": [1]}):
        assert code(ask("POST", "/associations", body)) == 42212
    assert code(ask("PUT", "/associations", {})) == 42212
    assert code(ask("PUT", "/associations/resources/r1", {**NAMED, "resourceId": "r2"})) == 42212
    twice = {**NAMED, "associations": [{"subject": "shared"}, {"subject": "shared"}]}
    assert code(ask("POST", "/associations", twice)) == 42212
    half = {**NAMED, "associations": [{"subject": "shared"}, {"subject": "none", "associationType": "key"}]}
    assert code(ask("POST", "/associations", half)) == 40907
    assert code(bind(ask, "PUT", "/associations/resources/r2", subject="shared")) == 42212
    assert code(bind(ask, "PUT", subject="shared", schema=schema)) == 42212
    assert code(ask("DELETE", "/associations/resources/r1")) == 40410
    assert code(ask("GET", "/associations/resources/r1?lifecycle=FIRM")) == 42212
    assert ask("GET", "/associations/resources/-/-").body == []
    assert ask("GET", "/associations/resources/r1").body == []


def test_a_weak_association_is_shared_and_stays_as_it_is(ask: Ask) -> None:
    register(ask)
    register(ask, "other")
    assert bind(ask, "PUT", "/associations/resources/r1", subject="shared").status == 200
    assert bind(ask, subject="shared").status == 200
    assert (
        bind(ask, resourceId="r2", resourceName="second", subject="shared", associationType="key").status
        == 200
    )
    assert [one["resourceId"] for one in ask("GET", "/associations/subjects/shared").body] == ["r1", "r2"]
    assert [one["resourceId"] for one in ask("GET", "/associations/resources/lkc-1/-").body] == ["r1", "r2"]
    assert len(ask("GET", "/associations/resources/lkc-1/-?associationType=key&limit=5").body) == 1
    assert code(bind(ask, subject="other")) == 40903
    assert code(bind(ask, "PUT", subject="other")) == 42212
    assert code(bind(ask, "PUT", subject="shared", lifecycle="STRONG")) == 42212
    strong = bind(ask, resourceNamespace="x", resourceId="r3", schema={"schema": RECORD})
    assert strong.status == 200
    taken = bind(ask, resourceNamespace="x", resourceId="r4", schema={"schema": RECORD})
    assert code(taken) == 40904
    listed = ask("GET", "/schemas?resourceType=topic&associationType=key").body
    assert [one["subject"] for one in listed] == ["shared"]
    assert ask("GET", "/schemas?lifecycle=STRONG").body[0]["subject"] == ":.x:orders-value"


def test_several_resources_are_asked_and_changed_at_once(ask: Ask) -> None:
    register(ask)
    weak = {"opType": "CREATE", "subject": "shared"}
    wrong = {**NAMED, "associations": [{"opType": "RENAME"}]}
    done = ask(
        "POST", "/associations:batchMutate", {"requests": [{**NAMED, "associations": [weak]}, wrong, 1]}
    )
    assert done.status == 207
    assert [one.get("error", {}).get("error_code") for one in done.body["results"]] == [None, 42212, 42212]
    asked = {"requests": [{"resourceId": "r1"}, {"resourceName": "orders", "resourceNamespace": "-"}, {}]}
    found = ask("POST", "/associations:batchGet", asked).body["results"]
    assert found[0]["result"] == found[1]["result"]
    assert found[0]["result"]["resourceName"] == "orders"
    assert found[2]["error"]["error_code"] == 42212
    gone = {"requests": [{"resourceId": "r1", "associations": [{"opType": "DELETE"}]}] * 2}
    results = ask("POST", "/associations:batchMutate", gone).body["results"]
    assert [one.get("error", {}).get("error_code") for one in results] == [None, 40410]
    assert code(ask("POST", "/associations:batchGet", {"requests": []})) == 42212


def test_an_alias_is_found_by_its_own_name(ask: Ask) -> None:
    register(ask, "orders-v1")
    register(ask, "other")
    ask("PUT", "/config/sales", {"alias": "orders-v1"})
    found = ask("GET", "/schemas?aliases=true&subjectPrefix=sal").body
    assert [(one["subject"], one["aliases"]) for one in found] == [("orders-v1", ["sales"])]
    assert ask("GET", "/schemas?subjectPrefix=sal").body == []
    everything = ask("GET", "/schemas?aliases=true").body
    assert [(one["subject"], one.get("aliases")) for one in everything] == [
        ("orders-v1", ["sales"]), ("other", None),
    ]  # fmt: skip


def test_a_copy_has_associations_policies_and_quarantine(registry: sm.SchemaRegistry, ask: Ask) -> None:
    register(ask)
    bind(ask, subject="shared")
    ask("PUT", "/schemaman/v1/policy", {"policy": "QUARANTINE"})
    register(ask, "shared", RECORD.replace("int", "string"))
    text = format_registry(registry)
    other = sm.open_schema_registry()
    other.restore(read_document(text, "copy"))
    assert format_registry(other) == text
    scopes = {one["scope"]: one for one in json.loads(text)["settings"]}
    assert scopes[":.:"]["policy"] == "QUARANTINE"
    assert scopes["shared"]["quarantine"][0]["version"] == 2
    assert scopes["shared"]["associations"][0]["resourceName"] == "orders"
    assert [step.version.number for step in other.tables.list_quarantined()] == [2]


def test_the_evidence_of_an_association_is_in_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    registry = sm.open_schema_registry(url, create=True)
    key = {
        "type": "record", "name": "Key", "namespace": "s.t", "connect.name": "s.t.Key",
        "fields": [{"name": "id", "type": "int"}],
    }  # fmt: skip
    requests = (AssociationRequest("key", None, schema=SchemaRequest(json.dumps(key))),)
    topic = Resource("s.t", "c", "1")
    with SqlStore.open(url) as store:
        watch = store.read_revision()
        before = store.end()
        registry.associations.bind(topic, requests, is_dry_run=True)
        assert (store.end(), store.read_revision()) == (before, watch)
        monkeypatch.setattr(Registry, "note", lambda *_: pytest.fail("there is a second commit"))
        registry.associations.bind(topic, requests)
        entries = [each.entry for each in store.read()]
        assert [e.subject for e in entries if isinstance(e, RegistrationEntry)] == [":.c:s.t-key"]
