"""The policies above Avro's levels: what the gate fails is refused with its rule, or kept and quarantined."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import schemaman as sm
from schemaman.compat.gate import GatePolicy
from schemaman.store.sql.memory_subjects import MemorySubjects
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import RegistrationGate
from schemaman.subjects.schema_registry import SchemaRegistry, Surroundings
from tests.server.conftest import Answer

Ask = Callable[..., Answer]
MILLIS, MICROS = "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"
READERS = {"avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key"}


def decimal(scale: int) -> dict[str, object]:
    return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}


def row(name: str = "Value", /, **types: object) -> str:
    fields = [{"name": field, "type": type} for field, type in types.items()]
    return json.dumps({"type": "record", "name": name, "namespace": "srv.app.bills", "fields": fields})


def named(connect_name: str) -> dict[str, object]:
    return {"type": "long", "connect.name": connect_name}


def optional(type: object) -> list[object]:
    return ["null", type]


BILL = row(nr="int", sum=decimal(2), at=named(MILLIS))


def register(ask: Ask, subject: str, text: str) -> Answer:
    return ask("POST", f"/subjects/{subject}/versions", {"schema": text})


def start(ask: Ask, policy: str) -> None:
    """A topic with key and value, whose subjects have no level of Avro's, and a policy for all of them."""
    assert ask("PUT", "/config", {"compatibility": "NONE"}).status == 200
    assert register(ask, "bills-key", row("Key", nr="int")).status == 200
    assert register(ask, "bills-value", BILL).status == 200
    assert ask("PUT", "/schemaman/v1/policy", {"policy": policy}).body == {"policy": policy}


@pytest.mark.parametrize(
    ("subject", "text", "rule"),
    [
        ("bills-value", row(nr="int", sum=decimal(3), at=named(MILLIS)), "decimal-scale-changed"),
        ("bills-value", row(nr="int", sum=decimal(2), at=named(MICROS)), "temporal-unit-changed"),
        (
            "bills-value",
            row(nr="int", sum=decimal(2), at=named(MILLIS), NR=optional("int")),
            "case-collision",
        ),
        ("bills-value", row(nr="int", sum=decimal(2)), "column-dropped"),
        ("bills-key", row("Key", nr="int", at=named(MILLIS)), "key-column-added"),
        ("bills-key", row("Key", at=named(MILLIS)), "key-column-"),
        ("bills-key", row("Key", nr="string"), "key-column-type-changed"),
    ],
)
def test_cdc_refuses_what_the_gate_fails(ask: Ask, subject: str, text: str, rule: str) -> None:
    start(ask, "CDC")
    refused = register(ask, subject, text)
    assert (refused.status, refused.body["error_code"]) == (409, 409)
    assert rule in refused.body["message"]
    assert "to do: " in refused.body["message"]
    assert ask("GET", f"/subjects/{subject}/versions").body == [1]
    verdict = ask("POST", f"/schemaman/v1/subjects/{subject}/verdict", {"schema": text}).body
    assert not verdict["passes"]
    assert any(f["rule"].startswith(rule) and f["fails"] for f in verdict["findings"])
    assert set(verdict["readers"]) == READERS
    assert "break" in verdict["readers"].values()
    checked = ask("POST", f"/compatibility/subjects/{subject}/versions?verbose=true", {"schema": text}).body
    assert not checked["is_compatible"]
    assert rule in checked["messages"][0]


def test_cdc_accepts_what_the_gate_passes(ask: Ask) -> None:
    start(ask, "CDC")
    field = {"name": "note", "type": ["null", "string"], "default": None}
    wider = json.dumps((shape := json.loads(BILL)) | {"fields": [*shape["fields"], field]})
    check = "/compatibility/subjects/bills-value/versions/latest"
    assert ask("POST", check, {"schema": wider}).body == {"is_compatible": True}
    assert register(ask, "bills-value", wider).body["version"] == 2
    assert register(ask, "bills-value", wider).body["version"] == 2
    assert register(ask, "other-value", row(a="int")).body["version"] == 1
    assert ask("GET", "/schemaman/v1/subjects/bills-value/versions/2/verdict?against=1").body["passes"]
    assert ask("GET", "/schemaman/v1/subjects/bills-value/versions/2/verdict").body["findings"]


def test_a_schema_without_a_verdict_is_refused_and_the_first_one_is_not(ask: Ask) -> None:
    start(ask, "CDC")

    def proto(text: str) -> Answer:
        return ask("POST", "/subjects/p-value/versions", {"schema": text, "schemaType": "PROTOBUF"})

    assert proto('syntax = "proto3"; message A { int32 a = 1; }').status == 200
    refused = proto('syntax = "proto3"; message A { int64 a = 1; }')
    assert (refused.status, "not-judged" in refused.body["message"]) == (409, True)


def test_the_nearest_policy_holds_and_clients_never_see_it(ask: Ask) -> None:
    start(ask, "CDC")
    assert ask("GET", "/schemaman/v1/policies/bills-value").body == {"policy": "CDC"}
    assert ask("PUT", "/schemaman/v1/policies/bills-value", {"policy": "AVRO"}).body == {"policy": "AVRO"}
    assert register(ask, "bills-value", row(nr="int")).body["version"] == 2
    assert ask("GET", "/config/bills-value").body["error_code"] == 40408
    assert ask("GET", "/config").body == {"compatibilityLevel": "NONE"}
    assert ask("DELETE", "/schemaman/v1/policies/bills-value").body == {"policy": "CDC"}
    assert ask("DELETE", "/config").body == {"compatibilityLevel": "NONE"}
    assert ask("GET", "/schemaman/v1/policy").body == {"policy": "CDC"}
    assert ask("PUT", "/contexts/.team/schemaman/v1/policy", {"policy": "QUARANTINE"}).status == 200
    assert ask("GET", "/schemaman/v1/policies/:.team:x").body == {"policy": "QUARANTINE"}
    assert ask("DELETE", "/schemaman/v1/policy").body == {"policy": "AVRO"}
    wrong: object
    for wrong in ({"policy": "STRICT"}, {"policy": ["CDC"]}, {}, [], None):
        assert ask("PUT", "/schemaman/v1/policy", wrong).body["error_code"] == 42272


def test_quarantine_keeps_what_fails_until_it_is_released(ask: Ask) -> None:
    start(ask, "QUARANTINE")
    ask("PUT", "/config", {"compatibility": "BACKWARD"})
    scaled = row(nr="int", sum=decimal(4), at=named(MILLIS))
    assert register(ask, "bills-value", scaled).body["version"] == 2
    # Avro alone refuses a required field without a default; the connector goes on all the same.
    required = row(nr="int", sum=decimal(2), at=named(MILLIS), who="string")
    assert register(ask, "bills-value", required).body["version"] == 3
    listed = ask("GET", "/schemaman/v1/quarantine").body
    assert [(one["subject"], one["version"]) for one in listed] == [("bills-value", 2), ("bills-value", 3)]
    rules = [[f["rule"] for f in one["quarantine"]["failures"]] for one in listed]
    assert rules[0] == ["decimal-scale-changed"]
    assert "compatibility-level" in rules[1]
    assert ask("GET", "/schemaman/v1/subjects/bills-value/versions").body[0]["quarantine"] is None
    # The next one is compared with the newest accepted version, 1.
    noted = row(nr="int", sum=decimal(2), at=named(MILLIS), note={"type": "string", "default": ""})
    assert ask("POST", "/schemaman/v1/subjects/bills-value/verdict", {"schema": BILL}).body["passes"]
    assert register(ask, "bills-value", noted).status == 200
    released = ask("DELETE", "/schemaman/v1/quarantine/bills-value/versions/2")
    assert (released.body["version"], released.status) == (2, 200)
    again = ask("DELETE", "/schemaman/v1/quarantine/bills-value/versions/2")
    assert again.body["error_code"] == 40472
    assert ask("DELETE", "/subjects/bills-value/versions/3").body == 3
    assert 3 not in [one["version"] for one in ask("GET", "/schemaman/v1/quarantine").body]


def test_a_version_is_quarantined_by_hand(ask: Ask) -> None:
    start(ask, "AVRO")
    assert register(ask, "bills-value", row(nr="int")).body["version"] == 2
    mark = "/schemaman/v1/quarantine/bills-value/versions/2"
    bad: object
    for bad in ({"failures": 1}, {"failures": [{"rule": "x"}]}, {"since_ms": "now"}):
        assert ask("PUT", mark, bad).body["error_code"] == 42273
    why = dict.fromkeys(("rule", "path", "message", "fix"), "x")
    assert ask("PUT", mark, {"failures": [why]}).body["quarantine"]["failures"] == [why]
    assert (
        ask("PUT", "/schemaman/v1/quarantine/bills-value/versions/latest").body["quarantine"]["failures"]
        == []
    )
    assert [one["version"] for one in ask("GET", "/schemaman/v1/quarantine").body] == [2]
    assert ask("GET", "/schemaman/v1/policies/bills-value?own=true").body == {"policy": ""}
    assert ask("DELETE", "/schemaman/v1/quarantine/bills-value/versions/2").status == 200


def test_quarantine_is_told_once_with_its_rules() -> None:
    told: list[VersionedSchema] = []
    registry = SchemaRegistry(MemorySubjects(), surroundings=Surroundings(notify=told.append))
    registry.tables.set_policy({"policy": "QUARANTINE"}, "t-value")
    for text in (BILL, row(nr="int", sum=decimal(3), at=named(MILLIS))):
        for _ in range(2):
            registry.register("t-value", text)
    assert [one.version.number for one in told] == [2]
    assert told[0].quarantine is not None
    assert [failure["rule"] for failure in told[0].quarantine.failures] == ["decimal-scale-changed"]


def test_the_settings_of_the_gate_decide() -> None:
    changed = row(nr="int", sum=decimal(3), at=named(MILLIS))
    for policy in (GatePolicy(fail_on="off"), GatePolicy(overrides={"decimal-scale-changed": "note"})):
        registry = SchemaRegistry(MemorySubjects(), surroundings=Surroundings(RegistrationGate(policy)))
        registry.tables.set_policy({"policy": "CDC"})
        registry.register("t-value", BILL)
        fingerprint = registry.tables.judge("t-value", sm.SchemaRequest(changed)).findings[0][0].fingerprint
        assert registry.register("t-value", changed).version.number == 2
    waiving = Surroundings(RegistrationGate(GatePolicy(waived=[fingerprint])))
    registry = SchemaRegistry(MemorySubjects(), surroundings=waiving)
    registry.tables.set_policy({"policy": "CDC"})
    registry.register("t-value", BILL)
    assert registry.register("t-value", changed).version.number == 2


@pytest.mark.parametrize("topic", ["", "t-"])
def test_key_and_value_are_one_unit_by_every_strategy(topic: str) -> None:
    names = (f"{topic}srv.app.bills.Key", f"{topic}srv.app.bills.Value")
    registry = sm.open_schema_registry()
    registry.tables.set_policy({"policy": "CDC"})
    registry.set_mode({"mode": "READWRITE"})
    registry.update_config({"compatibility": "NONE"})
    registry.register(names[0], row("Key", nr="int"))
    registry.register(names[1], BILL)
    with pytest.raises(sm.RefusedRequest, match="key-column-added"):
        registry.register(names[0], row("Key", nr="int", at=named(MILLIS)))
    assert registry.tables.find_source(names[0]).meaning.part == "key"
    assert registry.tables.find_source(names[1]).meaning.part == "value"


def test_a_topic_is_registered_as_one_unit(ask: Ask) -> None:
    pair: dict[str, Any] = {"key": {"schema": row("Key", nr="int")}, "value": {"schema": BILL}}
    assert ask("GET", "/schemaman/v1/topics/bills").body["error_code"] == 40401
    first = ask("POST", "/schemaman/v1/topics/bills", pair).body
    assert (first["key"]["subject"], first["value"]["version"]) == ("bills-key", 1)
    assert ask("GET", "/schemaman/v1/topics/bills").body == first
    ask("PUT", "/schemaman/v1/policy", {"policy": "CDC"})
    wrong = {"key": {"schema": row("Key", nr="long")}, "value": {"schema": row(nr="int", sum=decimal(5))}}
    assert ask("POST", "/schemaman/v1/topics/bills", wrong).status == 409
    assert ask("GET", "/schemaman/v1/topics/bills").body == first
    bad: object
    for bad in ({}, [], {"key": {}, "value": {}}, {"key": pair["key"]}):
        assert ask("POST", "/schemaman/v1/topics/bills", bad).body["error_code"] == 42201


def test_two_given_schemas_are_judged(ask: Ask) -> None:
    texts = {"old": {"schema": BILL}, "new": {"schema": row(nr="int", sum=decimal(1), at=named(MILLIS))}}
    found = ask("POST", "/schemaman/v1/verdict?table=bills", texts).body
    assert (found["passes"], found["table"], found["is_judged"]) == (False, "bills", True)
    assert [f["rule"] for f in found["findings"]] == ["decimal-scale-changed"]
    other = {"old": {"schema": BILL}, "new": {"schema": 'syntax = "proto3";', "schemaType": "PROTOBUF"}}
    found = ask("POST", "/schemaman/v1/verdict", other).body
    assert (found["passes"], found["is_judged"], found["readers"]) == (False, False, {})
    assert ask("POST", "/schemaman/v1/verdict", {"old": {"schema": BILL}}).body["error_code"] == 42201
