"""The endpoints of `/schemaman/v1`: what no other registry knows of a subject."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.server import table_answers as answers
from schemaman.server.calls import Call, Endpoint
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import SchemaRequest, parse_schema_request, parse_version


def find_source(call: Call) -> object:
    """Find the source tables of a subject, and the columns behind its fields."""
    return answers.build_source(call.registry.tables.find_source(call.subject))


def list_steps(call: Call) -> object:
    """List the versions of a subject with the versions of its table that they belong to."""
    return [answers.build_step(step) for step in call.registry.tables.list_steps(call.subject)]


def find_step(call: Call) -> object:
    """Find the versions of its table that a version of a subject belongs to."""
    return answers.build_step(call.registry.tables.list_steps(call.subject, call.version)[0])


def find_held(call: Call) -> object:
    """Find what the table of a subject was at a position or a time, and which versions describe it."""
    when = call.read_text("when")
    if not when:
        raise RefusedRequest(42271, "The parameter when is a position such as lsn:0/16B6A50, or a time")
    return answers.build_held(call.registry.tables.find_held(call.subject, when))


def judge_next(call: Call) -> object:
    """Judge a schema as the next one of a subject, for each reader; nothing is registered."""
    against = parse_version(call.read_text("against") or "latest")
    request = parse_schema_request(call.body)
    return answers.build_judgement(call.registry.tables.judge(call.subject, request, against))


def judge_version(call: Call) -> object:
    """Judge a registered version after another one, for each reader."""
    text = call.read_text("against")
    against = parse_version(text) if text else None
    return answers.build_judgement(call.registry.tables.judge_version(call.subject, call.version, against))


def judge_schemas(call: Call) -> object:
    """Judge the step from one given schema to another, for each reader."""
    old, new = _read_two(call.body, "old", "new")
    return answers.build_judgement(call.registry.tables.judge_schemas(old, new, call.read_text("table")))


def find_topic(call: Call) -> object:
    """Find the latest schemas of the key and of the value of a topic."""
    topic = call.parts["topic"]
    return answers.build_pair(topic, *call.registry.tables.find_topic(topic))


def register_topic(call: Call) -> object:
    """Register the schemas of key and value of a topic: both, or none."""
    topic = call.parts["topic"]
    key, value = _read_two(call.body, "key", "value")
    return answers.build_pair(topic, *call.registry.register_pair(topic, key, value, actor=call.actor))


def read_policy(call: Call) -> object:
    """Read the policy that holds; with `own`, the one that is set there, or an empty one."""
    subject, is_own = call.parts.get("subject"), call.is_true("own")
    return {"policy": call.registry.tables.read_policy(subject, is_own=is_own)}


def set_policy(call: Call) -> object:
    """Set a policy."""
    return {"policy": call.registry.tables.set_policy(call.body, call.parts.get("subject"))}


def delete_policy(call: Call) -> object:
    """Take a policy away; the answer is the one that holds then."""
    return {"policy": call.registry.tables.set_policy({"policy": ""}, call.parts.get("subject"))}


def list_quarantined(call: Call) -> object:
    """List the quarantined versions."""
    return [answers.build_step(step) for step in call.registry.tables.list_quarantined()]


def quarantine_version(call: Call) -> object:
    """Quarantine a version by hand."""
    version = parse_version(call.parts["version"])
    return answers.build_step(call.registry.tables.mark_quarantined(call.subject, version, call.body))


def release_version(call: Call) -> object:
    """Take a version out of quarantine; the answer is what it was there for."""
    version = parse_version(call.parts["version"])
    return answers.build_step(call.registry.tables.release(call.subject, version))


def _read_two(body: object, *names: str) -> tuple[SchemaRequest, SchemaRequest]:
    if not isinstance(body, Mapping) or not all(isinstance(body.get(name), Mapping) for name in names):
        raise RefusedRequest(42201, f"Invalid schema: the request has {' and '.join(names)}, both objects")
    first, second = (parse_schema_request(body[name]) for name in names)
    if first.text is None or second.text is None:
        raise RefusedRequest(42201, "Invalid schema: a part of the request has no schema")
    return first, second


OWN = "/schemaman/v1"
_SUBJECT = f"{OWN}/subjects/{{subject}}"
_VERSION = f"{_SUBJECT}/versions/{{version}}"
_POLICY = f"{OWN}/policies/{{subject}}"
_MARK = f"{OWN}/quarantine/{{subject}}/versions/{{version}}"

TABLE_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", f"{_SUBJECT}/source", find_source),
    Endpoint("GET", f"{_SUBJECT}/versions", list_steps),
    Endpoint("GET", _VERSION, find_step),
    Endpoint("GET", f"{_SUBJECT}/at", find_held),
    Endpoint("POST", f"{_SUBJECT}/verdict", judge_next),
    Endpoint("GET", f"{_VERSION}/verdict", judge_version),
    Endpoint("POST", f"{OWN}/verdict", judge_schemas),
    Endpoint("GET", f"{OWN}/topics/{{topic}}", find_topic),
    Endpoint("POST", f"{OWN}/topics/{{topic}}", register_topic, True),
    Endpoint("GET", f"{OWN}/policy", read_policy),
    Endpoint("PUT", f"{OWN}/policy", set_policy, True),
    Endpoint("DELETE", f"{OWN}/policy", delete_policy, True),
    Endpoint("GET", _POLICY, read_policy),
    Endpoint("PUT", _POLICY, set_policy, True),
    Endpoint("DELETE", _POLICY, delete_policy, True),
    Endpoint("GET", f"{OWN}/quarantine", list_quarantined),
    Endpoint("PUT", _MARK, quarantine_version, True),
    Endpoint("DELETE", _MARK, release_version, True),
)
