"""Each endpoint and each code of the REST API, asked with plain requests."""

from __future__ import annotations

import base64
import json
import socket
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

import schemaman as sm
from schemaman.server import application, deadlines, running
from schemaman.server.application import ServerOptions
from schemaman.server.running import serve_in_thread
from schemaman.server.users import Authenticator, add_line, format_user, read_users
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.schema_registry import WantedRegistration
from tests.server.conftest import Answer, Requests
from tests.server.page import tables
from tests.support.checkout import ROOT

Ask = Callable[..., Answer]
BEGIN, END = "<!-- endpoints -->\n", "<!-- end of endpoints -->\n"

RECORD = '{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}'
WIDER = RECORD.replace("}]", '},{"name":"b","type":"int","default":1}]')
OTHER = '{"type":"record","name":"A","fields":[{"name":"a","type":"string"}]}'


INVALID: tuple[object, ...] = (
    {"schema": "{"},
    {"schema": 1},
    {},
    [],
    None,
    {"schema": RECORD, "schemaType": "XML"},
    {"schema": RECORD, "references": [{}]},
    {"schema": RECORD, "references": [{"name": "x", "subject": "x", "version": 1}]},
    {"schema": RECORD, "metadata": {"tags": 1}},
    {"schema": RECORD.replace('"a"', '"ä"')},
    {"schema": RECORD, "version": 7},
    {"schema": "[" * 100_000},
)


def body(text: str = RECORD, **more: object) -> dict[str, object]:
    return {"schema": text, **more}


def register(ask: Ask, subject: str = "s", text: str = RECORD, **more: object) -> Any:
    answer = ask("POST", f"/subjects/{subject}/versions", body(text, **more))
    assert answer.status == 200, answer.body
    return answer.body


def fault(answer: Answer) -> tuple[int, int]:
    """The status and the code; the body has nothing else than a message."""
    assert set(answer.body) == {"error_code", "message"}
    assert answer.body["message"]
    return answer.status, answer.body["error_code"]


def test_a_version_is_answered_with_everything(ask: Ask) -> None:
    first = register(ask, metadata={"properties": {"p": "v"}, "tags": {}}, references=[])
    assert set(first) == {"subject", "version", "id", "guid", "schemaType", "metadata", "schema", "ts"}
    assert (first["id"], first["version"], first["metadata"]) == (1, 1, {"properties": {"p": "v"}})
    assert ask("GET", "/subjects/s/versions/1").body == first
    assert ask("GET", "/subjects/s/versions/latest").body == first
    assert ask("GET", "/subjects/s/versions/-1").body == first
    by_id = ask("GET", "/schemas/ids/1").body
    assert by_id == {k: v for k, v in first.items() if k not in ("subject", "version", "id", "ts")}
    assert ask("GET", "/schemas/ids/1?subject=s&fetchMaxId=true").body == {
        **by_id, "subject": "s", "version": 1, "ts": first["ts"], "maxId": 1,
    }  # fmt: skip
    assert ask("GET", "/schemas/ids/1/schema").body == json.loads(RECORD)
    assert ask("GET", "/subjects/s/versions/1/schema").body == json.loads(RECORD)
    assert ask("GET", f"/schemas/guids/{first['guid']}").body == by_id
    assert ask("GET", f"/schemas/guids/{first['guid']}/ids").body == [{"context": ".", "id": 1}]
    assert ask("GET", "/subjects/s/metadata?key=p&value=v").body == first
    assert ask("POST", "/subjects/s", body()).body == first
    assert ask("GET", "/schemas?latestOnly=true").body == [first]


def test_one_content_has_one_id_and_its_numbers_go_on(ask: Ask) -> None:
    assert [register(ask, s)["id"] for s in ("s", "t", "s")] == [1, 1, 1]
    assert register(ask, "s", WIDER)["version"] == 2
    assert ask("DELETE", "/subjects/s/versions/1").body == 1
    again = register(ask, "s", RECORD)
    assert (again["id"], again["version"]) == (1, 3)
    assert ask("GET", "/subjects/s/versions?deleted=true").body == [2, 3]
    assert ask("GET", "/schemas/ids/1/versions").body == [
        {"subject": "s", "version": 3}, {"subject": "t", "version": 1},
    ]  # fmt: skip
    assert ask("GET", "/schemas/ids/1/subjects?limit=1&offset=1").body == ["t"]
    assert ask("DELETE", "/subjects/s").body == [2, 3]
    assert ask("GET", "/schemas/ids/2").status == 200
    assert ask("DELETE", "/subjects/s?permanent=true").body == [2, 3]
    assert fault(ask("GET", "/schemas/ids/2")) == (404, 40403)
    assert (register(ask, "s", WIDER)["version"], register(ask, "s", WIDER)["id"]) == (1, 3)


def test_lists_are_paged_and_filtered(ask: Ask) -> None:
    for name in ("b", "a", "c%2Fd"):
        register(ask, name)
    ask("DELETE", "/subjects/b")
    assert ask("GET", "/subjects").body == ["a", "c/d"]
    assert ask("GET", "/subjects?deleted=True").body == ["a", "b", "c/d"]
    assert ask("GET", "/subjects?deletedOnly=true").body == ["b"]
    assert ask("GET", "/subjects?deleted_only=TRUE").body == ["b"]
    assert ask("GET", "/subjects?offset=1&limit=1").body == ["c/d"]
    assert ask("GET", "/subjects?limit=0&offset=x").body == ["a", "c/d"]
    assert ask("GET", "/subjects?subjectPrefix=c").body == ask("GET", "/subjects?subject=c").body == ["c/d"]
    assert [v["subject"] for v in ask("GET", "/schemas?deleted=true&limit=2").body] == ["a", "b"]
    assert ask("GET", "/subjects/b/versions?deletedAsNegative=true").body == [-1]
    assert ask("GET", "/subjects/b/versions?deletedOnly=true").body == [1]
    assert ask("GET", "/schemas/types").body == ["AVRO", "JSON", "PROTOBUF"]


def test_faults_of_what_is_missing(ask: Ask) -> None:
    assert fault(ask("GET", "/subjects/x/versions")) == (404, 40401)
    assert fault(ask("POST", "/subjects/x", body())) == (404, 40401)
    register(ask)
    assert fault(ask("GET", "/subjects/s/versions/2")) == (404, 40402)
    assert fault(ask("GET", "/schemas/ids/2")) == (404, 40403)
    assert fault(ask("GET", "/schemas/ids/99999999999999999999")) == (404, 40403)
    assert fault(ask("GET", "/schemas/guids/x")) == (404, 40403)
    assert fault(ask("POST", "/subjects/s", body(OTHER))) == (404, 40403)
    assert fault(ask("DELETE", "/subjects/s?permanent=true")) == (404, 40405)
    assert fault(ask("DELETE", "/subjects/s/versions/1?permanent=true")) == (404, 40407)
    ask("DELETE", "/subjects/s")
    assert fault(ask("DELETE", "/subjects/s")) == (404, 40404)
    assert fault(ask("DELETE", "/subjects/s/versions/1")) == (404, 40406)
    assert fault(ask("GET", "/config/s")) == (404, 40408)
    assert fault(ask("GET", "/mode/s")) == fault(ask("DELETE", "/mode/s")) == (404, 40409)
    assert fault(ask("DELETE", "/config/s")) == (404, 40408)


def test_faults_of_what_is_invalid(ask: Ask) -> None:
    for invalid in INVALID:
        assert fault(ask("POST", "/subjects/s/versions", invalid)) == (422, 42201), invalid
    for bad in ("0", "x", "2147483648", "1.0", "%31%00"):
        assert fault(ask("GET", f"/subjects/s/versions/{bad}")) == (422, 42202)
    assert fault(ask("PUT", "/config", {"compatibility": "x"})) == (422, 42203)
    assert fault(ask("PUT", "/config", {"normalize": 1})) == (422, 42203)
    assert fault(ask("PUT", "/mode", {"mode": "FORWARD"})) == (422, 42204)
    assert fault(ask("POST", "/subjects/s/versions", body(id=5))) == (422, 42205)
    for bad in ("a%00b", "__GLOBAL", "%FF", ":.__GLOBAL:x", "x" * 1001):
        assert fault(ask("POST", f"/subjects/{bad}/versions", body())) == (422, 42208)
    rules = {"domainRules": [{"name": "a"}, {"name": "a"}]}
    assert fault(ask("POST", "/subjects/s/versions", body(ruleSet=rules))) == (422, 42210)
    assert ask("GET", "/subjects").body == []


def test_references_keep_what_they_need(ask: Ask) -> None:
    register(ask, "in", '{"type":"fixed","name":"F","namespace":"n","size":2}')
    text = '{"type":"record","name":"R","fields":[{"name":"f","type":"n.F"}]}'
    reference = {"name": "n.F", "subject": "in", "version": -1}
    found = register(ask, "out", text, references=[reference])
    assert found["references"] == [reference | {"version": 1}]
    assert found["schema"] == text
    assert ask("GET", "/subjects/in/versions/1/referencedby").body == [found["id"]]
    assert fault(ask("DELETE", "/subjects/in/versions/1")) == (422, 42206)
    inline = text.replace('"n.F"', '{"type":"fixed","name":"F","namespace":"n","size":2}')
    assert ask("POST", "/subjects/out", body(inline)).body["version"] == 1
    assert ask("GET", "/subjects/out/versions/1?format=resolved").body["schema"] == inline
    ask("DELETE", "/subjects/out")
    assert ask("DELETE", "/subjects/in").body == [1]
    assert fault(ask("DELETE", "/subjects/in?permanent=true")) == (422, 42206)


def test_compatibility_is_checked_as_avro_does(ask: Ask) -> None:
    check = "/compatibility/subjects/s/versions"
    assert ask("POST", "/compatibility/subjects/s/versions/latest", body()).body == {"is_compatible": True}
    assert fault(ask("POST", f"{check}/1", body())) == (404, 40402)
    register(ask)
    assert ask("POST", f"{check}/1?verbose=true", body(WIDER)).body == {"is_compatible": True, "messages": []}
    assert ask("POST", f"{check}", body(OTHER)).body == {"is_compatible": False}
    messages = ask("POST", f"{check}/1?verbose=true", body(OTHER)).body["messages"]
    assert messages[0].startswith("{errorType:'TYPE_MISMATCH'")
    assert "/fields/0/type" in messages[0]
    assert messages[1:] == [
        "{oldSchemaVersion: 1}", f"{{oldSchema: '{RECORD}'}}", "{compatibility: 'BACKWARD'}",
    ]  # fmt: skip
    assert fault(ask("POST", "/subjects/s/versions", body(OTHER))) == (409, 409)
    json_schema = body('{"type":"object"}', schemaType="JSON")
    assert not ask("POST", check, json_schema).body["is_compatible"]
    register(ask, "j", '{"type":"object"}', schemaType="JSON")
    assert fault(ask("POST", "/subjects/j/versions", body("true", schemaType="JSON"))) == (422, 42203)


@pytest.mark.parametrize(
    ("level", "texts", "is_compatible"),
    [
        ("BACKWARD_TRANSITIVE", (WIDER, RECORD), True),
        ("FORWARD", (WIDER, RECORD), True),
        ("FORWARD", (RECORD.replace("int", "long"), RECORD), True),
        ("FULL", (RECORD.replace("int", "long"), RECORD), False),
        ("NONE", (OTHER, RECORD), True),
    ],
)
def test_a_level_of_a_subject_is_kept(
    ask: Ask, level: str, texts: tuple[str, str], is_compatible: bool
) -> None:
    assert ask("PUT", "/config/s", {"compatibility": level}).body == {"compatibility": level}
    register(ask, "s", texts[0])
    checked = ask("POST", "/compatibility/subjects/s/versions", body(texts[1])).body
    assert checked == {"is_compatible": is_compatible}
    assert ask("POST", "/subjects/s/versions", body(texts[1])).status == (200 if is_compatible else 409)


def test_settings_are_inherited_and_cleared(ask: Ask) -> None:
    assert ask("GET", "/config/").body == {"compatibilityLevel": "BACKWARD"}
    sent = {"compatibility": "full", "normalize": True, "alias": None}
    assert ask("PUT", "/config", sent).body == {"compatibility": "FULL", "normalize": True, "alias": None}
    assert ask("GET", "/config").body == {"compatibilityLevel": "FULL", "normalize": True}
    ask("PUT", "/config/s", {"compatibilityGroup": "g"})
    assert ask("GET", "/config/s").body == {"compatibilityGroup": "g"}
    assert ask("GET", "/config/s?defaultToGlobal=True").body == {
        "compatibilityLevel": "FULL", "normalize": True, "compatibilityGroup": "g",
    }  # fmt: skip
    ask("PUT", "/config", {"compatibility": None})
    assert ask("GET", "/config").body == {"compatibilityLevel": "BACKWARD", "normalize": True}
    assert ask("DELETE", "/config").body == {"compatibilityLevel": "BACKWARD", "normalize": True}
    assert ask("DELETE", "/config/s").body == {"compatibilityGroup": "g"}
    # a group compares only versions with the same property
    ask("PUT", "/config/s", {"compatibilityGroup": "g"})
    register(ask, "s", RECORD, metadata={"properties": {"g": "1"}})
    assert register(ask, "s", OTHER, metadata={"properties": {"g": "2"}})["version"] == 2
    ask("PUT", "/config/t", {"alias": "s"})
    assert ask("GET", "/subjects/t/versions").body == [1, 2]
    ask("PUT", "/config/u", {"defaultMetadata": {"properties": {"d": "1"}}, "overrideRuleSet": {
        "domainRules": [{"name": "r"}]}})  # fmt: skip
    full = register(ask, "u")
    assert full["metadata"] == {"properties": {"d": "1"}}
    assert full["ruleSet"] == {"domainRules": [{"name": "r"}]}


def test_modes_keep_writers_out_and_let_ids_in(ask: Ask) -> None:
    register(ask, "t")
    assert ask("GET", "/mode").body == {"mode": "READWRITE"}
    assert ask("PUT", "/mode/s", {"mode": "READONLY"}).body == {"mode": "READONLY"}
    assert fault(ask("POST", "/subjects/s/versions", body())) == (422, 42205)
    assert ask("GET", "/mode/x?defaultToGlobal=true").body == {"mode": "READWRITE"}
    assert fault(ask("PUT", "/mode", {"mode": "IMPORT"})) == (422, 42205)
    assert ask("PUT", "/mode/s", {"mode": "IMPORT"}).body == {"mode": "IMPORT"}
    assert fault(ask("POST", "/subjects/s/versions", body())) == (422, 42205)
    assert register(ask, "s", OTHER, id=70, version=3)["version"] == 3
    assert fault(ask("POST", "/subjects/s/versions", body(RECORD, id=70))) == (422, 42207)
    assert fault(ask("POST", "/subjects/s/versions", body(WIDER, id=70))) == (422, 42205)
    assert fault(ask("POST", "/subjects/s/versions", body(WIDER, id=71, version=3))) == (422, 42205)
    odd = '{"type":"record","name":"a-b","fields":[]}'
    assert register(ask, "s", odd, id=5)["schema"] == odd
    assert ask("DELETE", "/mode/s").body == {"mode": "IMPORT"}
    assert register(ask, "v", WIDER)["id"] == 71
    assert ask("PUT", "/mode?force=true", {"mode": "READONLY_OVERRIDE"}).status == 200
    ask("PUT", "/mode/t", {"mode": "READWRITE"})
    assert fault(ask("DELETE", "/subjects/t")) == (422, 42205)
    assert ask("POST", "/subjects/t", body()).body["version"] == 1
    assert ask("DELETE", "/mode?recursive=true").body == {"mode": "READONLY_OVERRIDE"}
    assert fault(ask("GET", "/mode/t")) == (404, 40409)


def test_contexts_are_apart(ask: Ask) -> None:
    register(ask, "s", WIDER)
    assert register(ask, ":.team:s")["id"] == 1
    assert ask("GET", "/contexts/.team/subjects").body == [":.team:s"]
    assert ask("GET", "/contexts/:.team:/subjects/s/versions/1").body["subject"] == ":.team:s"
    assert ask("GET", "/subjects").body == ["s", ":.team:s"]
    assert ask("GET", "/subjects?subjectPrefix=s").body == ["s"]
    assert ask("GET", "/subjects?subjectPrefix=:.team:").body == [":.team:s"]
    assert ask("GET", "/schemas/ids/1?subject=:.team:s").body["schema"] == RECORD
    assert ask("GET", "/contexts").body == [".", ".team"]
    assert ask("GET", "/contexts?offset=1").body == [".team"]
    ask("PUT", "/config/:.team:", {"compatibility": "NONE"})
    assert ask("GET", "/contexts/.team/config").body == {"compatibilityLevel": "NONE"}
    assert ask("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
    assert register(ask, ":.team:s", OTHER)["version"] == 2
    ask("PUT", "/config/:.__GLOBAL:", {"compatibility": "FULL"})
    assert ask("GET", "/config/s?defaultToGlobal=true").body == {"compatibilityLevel": "FULL"}
    assert fault(ask("DELETE", "/contexts/.team")) == (422, 42211)
    for path in ("/subjects/:.team:s", "/subjects/:.team:s?permanent=true"):
        assert ask("DELETE", path).body == [1, 2]
    assert ask("DELETE", "/contexts/.team").status == 204
    assert ask("GET", "/contexts").body == ["."]


def test_normal_texts_are_one_version(ask: Ask) -> None:
    some = '{"type":"record","name":"n.A","aliases":["n.c","n.b"],"fields":[],"y":1,"x":2}'
    same = '{"type":"record","name":"A","namespace":"n","aliases":["b","c"],"fields":[],"x":2,"y":1}'
    first = ask("POST", "/subjects/s/versions?normalize=True", body(some)).body
    assert ask("POST", "/subjects/s/versions?normalize=true", body(same)).body["version"] == first["version"]
    assert ask("POST", "/subjects/s?normalize=true", body(same)).body["id"] == first["id"]


def tagged(path: str, kind: str, *tags: str) -> list[dict[str, object]]:
    return [{"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": tags}]


def test_tags_are_written_into_the_schema(ask: Ask) -> None:
    inner = '{"type":"record","name":"B","fields":[{"name":"c","type":["null","int"]}]}'
    text = f'{{"type":"record","name":"A","namespace":"n","fields":[{{"name":"b","type":{inner}}}]}}'
    register(ask, "s", text, metadata={"properties": {"p": "v"}})
    change = {"tagsToAdd": [*tagged("n.B.c", "SR_FIELD", "PII", "x"), *tagged("n.A", "SR_RECORD", "own")]}
    found = ask("POST", "/subjects/s/versions/latest/tags", {"newVersion": 2, **change}).body
    schema = json.loads(found["schema"])
    assert (found["version"], schema["confluent:tags"]) == (2, ["own"])
    assert schema["fields"][0]["type"]["fields"][0]["confluent:tags"] == ["PII", "x"]
    assert found["metadata"] == {"properties": {"p": "v"}}
    again = {"tagsToRemove": [*tagged("n.B.c", "SR_FIELD", "PII", "x"), *tagged("n.A", "SR_RECORD", "own")]}
    assert ask("POST", "/subjects/s/versions/2/tags", again).body["version"] == 1
    # A new version takes over the tags of what it still has, if that is asked for.
    less = text.replace('"c"', '"d"')
    ask("PUT", "/config/s", {"compatibility": "NONE"})
    kept = register(ask, "s", less, propagateSchemaTags=True)
    taken = json.loads(kept["schema"])
    assert taken["confluent:tags"] == ["own"]
    assert "confluent:tags" not in taken["fields"][0]["type"]["fields"][0]
    assert register(ask, "new", text, propagateSchemaTags=True)["version"] == 1
    inline = register(ask, "t", text, schemaTagsToAdd=tagged("n.A.b", "SR_FIELD", "q"))
    assert json.loads(inline["schema"])["fields"][0]["confluent:tags"] == ["q"]
    bad: object
    for bad in (
        {"tagsToAdd": tagged("n.A.z", "SR_FIELD", "q")},
        {"tagsToAdd": tagged("A", "SR_RECORD", "q")},
        {"tagsToAdd": tagged("n.A", "x", "q")},
        {"tagsToAdd": {}},
    ):
        assert fault(ask("POST", "/subjects/s/versions/1/tags", bad)) == (422, 42201)
    register(ask, "j", "true", schemaType="JSON")
    assert fault(ask("POST", "/subjects/j/versions/1/tags", change)) == (422, 42201)


def test_schemas_are_chosen_by_their_rules(ask: Ask) -> None:
    register(ask, "a")
    register(ask, "b", ruleSet={"domainRules": [{"name": "r", "kind": "CONDITION", "type": "CEL"}]})
    assert [v["subject"] for v in ask("GET", "/schemas?ruleType=CEL").body] == ["b"]
    assert ask("GET", "/schemas?ruleType=CEL&offset=1").body == ask("GET", "/schemas?ruleType=X").body == []
    assert ask("GET", "/schemas?resourceType=topic").body == []


def test_the_rules_of_http(ask: Ask) -> None:
    assert (ask("GET", "/").body, ask("POST", "/").body, ask("GET", "/health").body) == ({}, {}, {})
    assert ask("GET", "/nowhere").status == ask("GET", "/subjects/a/b/c/d").status == 404
    assert fault(ask("PATCH", "/subjects")) == (405, 405)
    assert fault(ask("GET", "/subjects", Accept="text/html")) == (406, 406)
    wanted = "application/vnd.schemaregistry.v1+json"
    assert ask("GET", "/subjects").headers["content-type"] == wanted
    assert ask("GET", "/subjects", Accept="text/html, application/json;q=0.5").headers["content-type"] == (
        "application/json"
    )
    assert ask("GET", "/subjects", Accept="*/*").headers["content-type"] == wanted
    assert fault(ask("PUT", "/config", {}, Content_Type="text/plain")) == (415, 415)
    for kind in (wanted, "application/octet-stream", "application/json; charset=utf-8"):
        assert ask("PUT", "/config", {}, Content_Type=kind).status == 200
    assert fault(ask("PUT", "/config", b"{")) == fault(ask("PUT", "/config", b'{"a":NaN}')) == (400, 400)
    assert fault(ask("PUT", "/config", b'{"a":"' + b"x" * (5 << 20) + b'"}')) == (422, 42209)
    assert ask("HEAD", "/subjects").status == 200
    assert ask("GET", "/associations/resources/-/t?resourceType=topic").body == []
    assert ask("GET", "/v1/metadata/id").body["scope"]["clusters"]
    assert ask("GET", "/v1/metadata/version").body["version"]
    assert ask("GET", "/v1/metadata/deployment").status == 200
    assert register(ask, "", RECORD)["subject"] == ""
    assert ask("GET", "/subjects//versions/").body == [1]


def test_the_counters_have_routes_and_no_names(ask: Ask) -> None:
    register(ask, "secret-name")
    ask("GET", "/subjects/secret-name/versions/9")
    text = ask("GET", "/metrics").body
    route = "/subjects/{subject}/versions/{version}"
    assert f'schemaman_registry_requests_total{{method="GET",route="{route}",status="404"}}' in text
    assert 'schemaman_registry_refusals_total{code="40402"}' in text
    assert "schemaman_registry_registrations_total" in text
    assert "secret-name" not in text


def test_users_have_roles_and_no_secret_is_written(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_line(path, format_user("writer", "write", "pä:ss"))
    add_line(path, format_user("reader", "read", "old"))
    add_line(path, format_user("reader", "read", "word"))
    assert (path.stat().st_mode & 0o777, len(read_users(path))) == (0o600, 2)
    lines: list[str] = []
    options = ServerOptions(Authenticator(read_users(path)), conflict_code=40901, write_log=lines.append)
    with serve_in_thread(sm.open_schema_registry(), options=options) as url:
        ask = Requests(url)

        def asked(user: str, method: str, path: str, sent: object = None) -> Answer:
            header = base64.b64encode(user.encode()).decode()
            return ask(method, path, sent, Authorization=f"Basic {header}", X_Request_ID="r1")

        assert fault(ask("GET", "/subjects")) == (401, 401)
        assert ask("GET", "/subjects").headers["www-authenticate"].startswith("Basic")
        assert ask("GET", "/health").status == 200
        assert (
            fault(asked("writer:wrong", "GET", "/subjects"))
            == fault(asked("x:y", "GET", "/subjects"))
            == (401, 401)
        )
        assert asked("writer:pä:ss", "POST", "/subjects/s/versions", body()).status == 200
        assert asked("reader:word", "POST", "/subjects/s", body()).status == 200
        assert fault(asked("reader:word", "POST", "/subjects/s/versions", body())) == (403, 403)
        assert fault(asked("writer:pä:ss", "POST", "/subjects/s/versions", body(OTHER))) == (409, 40901)
        ask.connection.close()
    log = [json.loads(line) for line in lines]
    assert {"writer", "reader", ""} == {line["user"] for line in log}
    assert [line["status"] for line in log if line["user"] == "writer"] == [200, 409]
    assert log[-1]["path"] == "/subjects/s/versions"
    assert log[-1]["request_id"] == "r1"
    assert not any("Basic" in line or "scrypt" in line for line in lines)


def test_a_stop_answers_what_the_store_keeps_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registration may be carried out afterwards; its client sends it again."""
    monkeypatch.setattr(running, "_GRACE_SECONDS", 0.2)
    path, asked = tmp_path / "a.db", Event()
    registry = sm.open_schema_registry(f"sqlite:///{path}", create=True)
    register_group = registry.register_group

    def tell_and_register(group: Sequence[WantedRegistration]) -> object:
        asked.set()
        return register_group(group)

    monkeypatch.setattr(registry, "register_group", tell_and_register)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        with serve_in_thread(registry) as url:
            answer = pool.submit(Requests(url), "POST", "/subjects/s/versions", body())
            assert asked.wait(20)
        found = answer.result()
        other.execute("ROLLBACK")
    assert fault(found) == (503, 503)
    assert found.headers["connection"] == "close"


def test_a_client_that_sends_too_slowly_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(application, "BODY_SECONDS", 0.2)
    head = b"POST /subjects/s/versions HTTP/1.1\r\nHost: x\r\n"
    answers: list[bytes] = []
    with serve_in_thread(sm.open_schema_registry()) as url:
        place = urlsplit(url)
        for sent in (head, head + b"Content-Length: 9\r\n\r\n{", b""):
            with socket.create_connection((place.hostname, place.port), timeout=20) as slow:
                slow.sendall(sent)
                answers.append(slow.makefile("rb").read())
        assert Requests(url)("GET", "/subjects").body == []
    assert (answers[0], answers[2]) == (b"", b"")
    assert answers[1].startswith(b"HTTP/1.1 408 ")
    assert b'"error_code":408' in answers[1]


def test_a_store_that_does_not_answer_is_a_fault_of_the_server(tmp_path: Path) -> None:
    """Clients repeat a 500, and the store may be there again; a removed file is not made anew."""
    with SqlStore.open(str(tmp_path / "store.db"), create=True) as store:
        registry = sm.SchemaRegistry(store)
        with serve_in_thread(registry) as url:
            ask = Requests(url)
            register(ask)
            store.close()
            assert fault(ask("GET", "/subjects")) == (500, 50001)
            assert fault(ask("POST", "/subjects/s/versions", body(WIDER))) == (500, 50001)
            assert ask("GET", "/health").status == 200
            ask.connection.close()


def test_the_page_has_each_endpoint_and_each_code_with_its_test(bless: bool) -> None:
    page = ROOT / "docs" / "registry-api.md"
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin
    assert end
    written = f"{before}{BEGIN}{tables()}{END}{after}"
    if bless:
        page.write_text(written, encoding="utf-8")
    assert written == text or bless
    assert "| — |" not in written
