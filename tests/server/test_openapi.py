"""The OpenAPI document: valid, complete, and true of what the endpoints read and answer."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator

from schemaman.server import association_endpoints, endpoints, openapi
from schemaman.server.routes import ROUTED
from tests.server.conftest import Answer

Ask = Callable[..., Answer]
TEXT = '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}'
CHECK = "/compatibility/subjects/{subject}/versions"
OTHER = TEXT.replace("int", "string")


def test_the_document_has_each_endpoint_and_valid_schemas(ask: Ask) -> None:
    document = ask("GET", "/schemaman/v1/openapi.json").body
    assert document["openapi"] == "3.1.0"
    listed = {(m.upper(), path) for path, operations in document["paths"].items() for m in operations}
    assert listed == {(endpoint.method, endpoint.path) for endpoint in ROUTED}
    Draft202012Validator.check_schema({"$defs": document["components"]["schemas"]})
    names = set(document["components"]["schemas"])
    text = json.dumps(document)
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) <= names
    operations = [o for path in document["paths"].values() for o in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert all(operation["summary"] for operation in operations)


HELPERS = (
    association_endpoints._list_page,
    association_endpoints._bind,
    association_endpoints._delete,
)


def test_the_parameters_are_those_that_the_functions_read() -> None:
    for endpoint in ROUTED:
        source = inspect.getsource(endpoint.answer)
        read = set(re.findall(r'(?:is_true|read_text|query\.get)\("(\w+)"', source))
        if endpoint.answer is endpoints.list_schemas:
            source += inspect.getsource(endpoints._list_page)
            read |= {"deleted", "latestOnly"}
        for helper in HELPERS:
            source += inspect.getsource(helper) if f"{helper.__name__}(call" in source else ""
        if "read_filter(" in source or "_list_associated(" in source:
            read |= {"resourceType", "associationType", "lifecycle"}
        if endpoint.answer is association_endpoints.change_many:
            read |= {"context", "dryRun", "cascadeLifecycle"}
        read |= set(re.findall(r'(?:is_true|read_text|query\.get)\("(\w+)"', source))
        read |= {"offset", "limit"} if "read_page(" in source else set()
        read |= {"format"} if "_choose_text(" in source else set()
        read |= {"subjectPrefix"} if "call.prefix" in source else set()
        said = set(openapi.QUERY.get(endpoint.answer, ()))
        assert read - {"deleted_only"} == said, endpoint.answer.__name__


def test_answers_are_as_the_document_says(ask: Ask) -> None:
    document = ask("GET", "/schemaman/v1/openapi.json").body
    body: dict[str, Any] = {"schema": TEXT}
    pair = {"key": body, "value": body}
    asked: tuple[tuple[str, str, str, object], ...] = (
        ("PUT", "/config", "/config", {"compatibility": "NONE"}),
        ("POST", "/schemaman/v1/topics/t", "/schemaman/v1/topics/{topic}", pair),
        ("PUT", "/schemaman/v1/policy", "/schemaman/v1/policy", {"policy": "QUARANTINE"}),
        ("POST", "/subjects/t-value/versions", "/subjects/{subject}/versions", {"schema": OTHER}),
        ("GET", "/subjects", "/subjects", None),
        ("GET", "/schemas", "/schemas", None),
        ("GET", "/schemas/ids/1?subject=t-key&fetchMaxId=true", "/schemas/ids/{id}", None),
        ("GET", "/schemas/ids/1/versions", "/schemas/ids/{id}/versions", None),
        ("POST", f"{CHECK.format(subject='t-key')}?verbose=true", CHECK, body),
        ("GET", "/schemaman/v1/topics/t", "/schemaman/v1/topics/{topic}", None),
        ("GET", "/schemaman/v1/quarantine", "/schemaman/v1/quarantine", None),
        ("GET", "/schemaman/v1/subjects/t-value/source", "/schemaman/v1/subjects/{subject}/source", None),
        ("GET", "/schemaman/v1/subjects/t-value/versions", "/schemaman/v1/subjects/{subject}/versions", None),
        ("POST", "/schemaman/v1/subjects/t-key/verdict", "/schemaman/v1/subjects/{subject}/verdict", body),
    )  # fmt: skip
    for method, path, pattern, sent in asked:
        answer = ask(method, path, sent)
        assert answer.status == 200, (path, answer.body)
        content = document["paths"][pattern][method.lower()]["responses"]["200"]["content"]
        schema = content[answer.headers["content-type"]]["schema"]
        found = {**schema, "components": document["components"]}
        assert not list(Draft202012Validator(found).iter_errors(answer.body)), path
    fault = ask("GET", "/subjects/x/versions").body
    assert not list(Draft202012Validator(document["components"]["schemas"]["Error"]).iter_errors(fault))
