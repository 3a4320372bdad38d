"""A whole registry moves into a file, into another store and into another server, and stays equal."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import schemaman as sm
from schemaman.api.registry_copies import format_registry, load_copy, send_copy
from schemaman.errors import CouldNotDo, UnreadableInput
from schemaman.server.copy_documents import parse_document, read_document
from schemaman.server.running import serve_in_thread
from schemaman.store.subjects import SchemaReference, SubjectName
from schemaman.subjects.associations import AssociationRequest, Resource
from schemaman.subjects.copies import list_differences
from schemaman.subjects.requests import SchemaRequest
from tests.support.checkout import ROOT

CAPTURES = ROOT / "fixtures" / "captures"
FAILURE = ("rule", "path", "message", "fix")
FIELD = '{"name": "%s", "type": ["null", "%s"], "default": null}'


def record(name: str, *fields: str) -> str:
    return f'{{"type": "record", "name": "{name}", "fields": [{", ".join(fields)}]}}'


def fill(registry: sm.SchemaRegistry) -> None:
    """Each kind of thing that a registry has."""
    first, second = FIELD % ("a", "int"), FIELD % ("b", "com.acme.Money")
    money = '{"type": "fixed", "name": "com.acme.Money", "size": 8, "namespace": "x"}'
    registry.register("money", money)
    registry.register("gone-value", record("Gone", first))
    registry.delete_subject("gone-value")
    to_money = SchemaReference("com.acme.Money", "money", 1)
    request = SchemaRequest(
        record("Order", first, second), references=(to_money,), metadata={"properties": {"owner": "ann"}}
    )
    registry.register("orders-value", record("Order", first), actor="bob")
    registry.register("orders-value", request)
    registry.register("z-first", record("Order", first), normalize=True)
    registry.register("names-value", '{"type":"enum","name":"b.c.E","symbols":["A"]}', normalize=True)
    registry.update_config({"compatibility": "NONE"}, "orders-value")
    registry.register("orders-value", '"string"')
    registry.delete_version("orders-value", 1)
    registry.update_config({"compatibility": "NONE", "normalize": False}, "doc")
    registry.register("doc", SchemaRequest('{ "type": "object" }', "JSON"))
    registry.register("doc", SchemaRequest('syntax = "proto3";\nmessage A {}\n', "PROTOBUF"))
    registry.set_mode({"mode": "READONLY"}, "doc")
    registry.register(":.team:orders-value", record("Order", first))
    registry.update_config({"compatibility": "FULL"}, ":.team:")
    registry.update_config({"compatibility": "FORWARD_TRANSITIVE"})
    registry.update_config({"compatibility": "NONE"}, ":.lkc:")
    registry.tables.set_policy({"policy": "CDC"})
    registry.tables.set_policy({"policy": "CDC"}, "z-first")
    registry.tables.mark_quarantined("z-first", 1, {"failures": [dict.fromkeys(FAILURE, "x")]})
    topic = Resource("orders", "lkc", "r1")
    weak = AssociationRequest("key", SubjectName(".", "z-first"))
    strong = AssociationRequest("value", None, schema=SchemaRequest('"bytes"'))
    registry.associations.bind(topic, (weak, strong))


@pytest.fixture
def filled() -> sm.SchemaRegistry:
    registry = sm.open_schema_registry()
    fill(registry)
    return registry


def test_a_file_keeps_everything(filled: sm.SchemaRegistry, tmp_path: Path) -> None:
    text = format_registry(filled)
    other = sm.open_schema_registry()
    other.restore(read_document(text, "copy"))
    assert format_registry(other) == text
    assert [e["subject"] for e in json.loads(text)["schemas"] if e.get("deleted")] == [
        "gone-value",
        "orders-value",
    ]
    # What was registered is found again, and the next id is a new one.
    largest = filled.find_largest_id()
    assert other.register("orders-value", '"string"').version.number == 3
    assert other.register("new", '"long"').version.schema_id == largest + 1
    with pytest.raises(CouldNotDo, match="empty one"):
        other.restore(read_document(text, "copy"))


def test_a_server_gives_and_takes_everything(filled: sm.SchemaRegistry) -> None:
    """No answer and no request has the user who registered; all else is there."""
    taken, fetched = sm.open_schema_registry(), sm.open_schema_registry()
    with serve_in_thread(filled) as source, serve_in_thread(taken) as target:
        fetched.restore(load_copy(source, {}))
        send_copy(filled, target, {})
        with pytest.raises(CouldNotDo, match="has subjects"):
            send_copy(filled, target, {})
    assert format_registry(fetched) == format_registry(filled).replace(', "actor": "bob"', "")
    # An export gives associations another guid and another time.
    mine, theirs = (read_document(format_registry(one), "copy") for one in (filled, taken))
    assert list_differences(mine, theirs) == ()
    assert mine.settings["z-first"].quarantine == theirs.settings["z-first"].quarantine
    assert mine.settings.keys() == theirs.settings.keys()


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit, CouldNotDo])
def test_an_export_that_is_stopped_leaves_a_registry_that_can_be_written(
    filled: sm.SchemaRegistry, fault: type[BaseException]
) -> None:
    told: list[str] = []
    taken = sm.open_schema_registry()

    def stop(line: str) -> None:
        told.append(line)
        assert taken.read_mode() == "IMPORT"
        raise fault("stopped")

    with serve_in_thread(taken) as target, pytest.raises(fault):
        send_copy(filled, target, {}, stop)
    assert [taken.in_context(name).read_mode() for name in (".", ".team", ".lkc")] == ["READWRITE"] * 3
    assert f"curl -X DELETE {target}/mode &&" in told[0]
    assert taken.register("a", '"int"').version.number == 1


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*/shop-avro*/registry.json"))[:3], ids=str)
def test_a_recorded_export_comes_back(path: Path) -> None:
    """What `GET /schemas` of a stand-in said while connectors ran: ids, numbers and texts are kept."""
    registry = sm.open_schema_registry()
    registry.restore(load_copy(str(path), {}))
    members = ("subject", "version", "id", "schemaType", "schema")
    recorded = {tuple(e.get(m) for m in members) for e in json.loads(path.read_text())}
    assert recorded == {tuple(e[m] for m in members) for e in _list_entries(registry)}


def _list_entries(registry: sm.SchemaRegistry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(format_registry(registry))["schemas"]
    return found


def test_contents_that_another_registry_tells_apart_keep_their_ids() -> None:
    """Two texts with one canonical form, as Karapace keeps them: records refer to both ids."""
    registry = sm.open_schema_registry()
    entries = [
        {"subject": "a", "version": 1, "id": 3, "schema": '"int"'},
        {"subject": "b", "version": 1, "id": 7, "schema": '{"type": "int"}'},
    ]
    registry.restore(parse_document(entries, "copy"))
    assert [registry.find_schema(id)[0].content.text for id in (3, 7)] == ['"int"', '"int"']
    assert registry.register("b", '"int"').version.schema_id == 7
    assert registry.look_up("b", '"int"').version.schema_id == 7
    assert registry.register("c", '"int"').version.schema_id == 3
    copy = format_registry(registry)
    other = sm.open_schema_registry()
    other.restore(read_document(copy, "copy"))
    assert format_registry(other) == copy


GOOD = {"subject": "a", "version": 1, "id": 3, "schema": '"int"'}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("[", "not JSON"),
        ({"a": 1}, "not the copy of a registry"),
        ({"format": "schemaman-registry", "format_version": 2}, "newer release"),
        ([{"subject": "a"}], "schema 1 lacks a subject"),
        ([GOOD | {"version": 0}], "not a valid version"),
        ([GOOD | {"id": 0}], "no id"),
        ([GOOD | {"deleted": "yes"}], "of another type"),
        ([GOOD, GOOD], "is there twice"),
        ([GOOD, GOOD | {"subject": "b", "schema": '"long"'}], "the id 3 has one schema in a@1"),
        ([GOOD, GOOD | {"version": 2}], "two versions of a"),
        ([GOOD | {"references": [{"name": "x", "subject": "y", "version": 1}]}], "refers to y@1"),
        ([GOOD | {"references": [{"name": "x", "subject": "a", "version": 1}]}], "refers to itself"),
        ({"format": "schemaman-registry", "format_version": 1, "settings": [{}]}, "lack a scope"),
    ],
)  # fmt: skip
def test_a_damaged_copy_is_refused_as_a_whole(document: object, words: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    registry = sm.open_schema_registry()
    with pytest.raises(UnreadableInput, match=words):
        registry.restore(read_document(text, "copy"))
    assert registry.list_subjects(deleted=True) == ()


KARAPACE: dict[str, object] = {
    "/subjects": ["a", "gone"],
    "/subjects/a/versions": [1],
    "/subjects/gone/versions?deleted=true": [2],
    "/subjects/a/versions/1": {"subject": "a", "id": 1, "version": 1, "schema": '"int"'},
    "/subjects/gone/versions/2": {"subject": "gone", "id": 4, "version": 2, "schema": '"long"'},
    "/config": {"compatibilityLevel": "FULL"},
    "/mode": {"mode": "READWRITE"},
    "/mode/a": {"mode": "READWRITE"},
    "/mode/gone": {"mode": "READWRITE"},
}
"""What a registry answers that has no contexts, no types of Avro schemas, and one mode for all subjects."""


class Stand(BaseHTTPRequestHandler):
    """Source: Karapace, REST API."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        found = KARAPACE.get(f"{path}?deleted=true" if "deleted=true" in query else path, KARAPACE.get(path))
        data = json.dumps({"error_code": 404} if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_PUT(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output belongs to the tests."""


def test_another_registry_gives_what_it_has() -> None:
    registry = sm.open_schema_registry()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stand)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        registry.restore(load_copy(f"http://127.0.0.1:{server.server_port}", {}))
    finally:
        server.shutdown()
        server.server_close()
    shown = [(e["subject"], e["version"], e["id"], e.get("deleted", False)) for e in _list_entries(registry)]
    assert shown == [("a", 1, 1, False), ("gone", 2, 4, True)]
    assert registry.read_config() == {"compatibilityLevel": "FULL"}
    assert json.loads(format_registry(registry))["settings"] == [
        {"scope": ":.:", "config": {"compatibilityLevel": "FULL"}}
    ]
