"""The calls of web consoles, as their clients write them: one fault breaks a page of a console.

Source: the registry clients of kafka-ui (`contract/kafka-sr-api.yaml`), AKHQ (`SchemaRegistryRepository`),
and Redpanda Console (`backend/pkg/schema`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.server.conftest import Answer

RECORD = '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}'
SENT = {"schema": RECORD, "schemaType": "AVRO", "references": []}
V1 = "application/vnd.schemaregistry.v1+json"
JSON = "application/json"
Calls = tuple[tuple[str, str, object, int], ...]

KAFKA_UI: Calls = (
    ("GET", "/subjects", None, 200),
    ("GET", "/subjects/a-value/versions/latest", None, 200),
    ("GET", "/subjects/none/versions/latest", None, 404),
    ("GET", "/subjects/a-value/versions", None, 200),
    ("GET", "/subjects/a-value/versions/1", None, 200),
    ("GET", "/config/a-value", None, 404),
    ("GET", "/config/", None, 200),
    ("PUT", "/config/", {"compatibility": "FULL"}, 200),
    ("PUT", "/config/a-value/", {"compatibility": "BACKWARD"}, 200),
    ("DELETE", "/config/a-value", None, 200),
    ("POST", "/compatibility/subjects/a-value/versions/latest", SENT, 200),
    ("GET", "/schemas/ids/1", None, 200),
    ("GET", "/schemas/ids/1/versions", None, 200),
    ("POST", "/subjects/a-value/versions", SENT, 200),
    ("DELETE", "/subjects/a-value/versions/1?permanent=false", None, 200),
    ("DELETE", "/subjects/a-value?permanent=true", None, 200),
)
AKHQ: Calls = (
    ("GET", "/subjects", None, 200),
    ("GET", "/subjects/a-value/versions", None, 200),
    ("GET", "/subjects/a-value/versions/latest", None, 200),
    ("GET", "/config", None, 200),
    ("GET", "/config/a-value", None, 404),
    ("PUT", "/config/a-value", {"compatibility": "NONE"}, 200),
    ("POST", "/subjects/a-value/versions?normalize=false", {"schema": RECORD}, 200),
    ("POST", "/subjects/a-value?normalize=false&deleted=false", {"schema": RECORD}, 200),
    ("GET", "/schemas/ids/1?fetchMaxId=false&subject=a-value", None, 200),
    ("GET", "/schemas/ids/1/versions", None, 200),
    ("DELETE", "/subjects/a-value/versions/1", None, 200),
)
REDPANDA: Calls = (
    ("GET", "/mode", None, 200),
    ("GET", "/config", None, 200),
    ("GET", "/schemas/types", None, 200),
    ("GET", "/contexts", None, 200),
    ("GET", "/subjects?deleted=true", None, 200),
    ("GET", "/subjects?subjectPrefix=%3A*%3A", None, 200),
    ("GET", "/schemas", None, 200),
    ("GET", "/mode/a-value?defaultToGlobal=true", None, 200),
    ("GET", "/mode/a-value", None, 404),
    ("GET", "/config/a-value?defaultToGlobal=true", None, 200),
    ("GET", "/subjects/a-value/versions?deleted=true", None, 200),
    ("GET", "/subjects/a-value/versions/1?deleted=true", None, 200),
    ("GET", "/subjects/a-value/versions/1/schema", None, 200),
    ("GET", "/subjects/a-value/versions/1/referencedby", None, 200),
    ("GET", "/schemas/ids/1/schema", None, 200),
    ("GET", "/schemas/ids/1/subjects", None, 200),
    ("GET", "/schemas/ids/1/versions", None, 200),
    ("POST", "/compatibility/subjects/a-value/versions/latest?verbose=true", SENT, 200),
    ("PUT", "/mode/a-value", {"mode": "READONLY"}, 200),
    ("DELETE", "/mode/a-value", None, 200),
    ("PUT", "/config/a-value", {"compatibility": "FULL_TRANSITIVE"}, 200),
    ("DELETE", "/subjects/a-value", None, 200),
    ("DELETE", "/subjects/a-value?permanent=true", None, 200),
)


@pytest.mark.parametrize(
    ("calls", "accept", "sent"),
    [
        (KAFKA_UI, f"{V1}, {JSON}", JSON),
        (AKHQ, V1, V1),
        (REDPANDA, "application/vnd.schemaregistry+json", V1),
    ],
    ids=["kafka-ui", "akhq", "redpanda-console"],
)
def test_each_call_of_a_console_is_answered(
    ask: Callable[..., Answer], calls: Calls, accept: str, sent: str
) -> None:
    assert ask("POST", "/subjects/a-value/versions", SENT).body["id"] == 1
    for method, path, body, status in calls:
        kind = {} if body is None else {"Content_Type": sent}
        answer = ask(method, path, body, Accept=accept, **kind)
        assert answer.status == status, (method, path, answer.body)
        assert status != 404 or set(answer.body) == {"error_code", "message"}
        assert answer.headers["content-type"] in accept
