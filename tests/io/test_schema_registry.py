"""Live registries: what they say is what their export says; what they cannot say is no fault of a record."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.converters.avro import to_connect
from schemaman.debezium.converters.avro_references import inline_references
from schemaman.debezium.observation import is_awaiting_schema
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import Form, Forms, SchemaId
from schemaman.errors import BadConfiguration, BadReference, RegistryUnavailable, UnknownName, UnreadableInput
from schemaman.ingest.ingest import Summary, ingest
from schemaman.io import files, schema_registry
from schemaman.io.confluent import Confluent
from schemaman.io.schema_registry import RegistryExport, open_registry
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from schemaman_cli.main import main
from tests.support.certificates import self_signed
from tests.support.checkout import CAPTURES
from tests.support.schema_registry import CONTENT, GLOBAL, Served, guid, serving

RUN = CAPTURES / "postgres/shop-avro"
APICURIO = ("apis/registry/v2", "apis/registry/v3")


@cache
def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RUN / "registry.json").read_bytes())
    return found


@cache
def recorded() -> tuple[Record, ...]:
    return tuple(r for r in files.read_records(files.find_file(str(RUN))) if isinstance(r, Record))


@cache
def export() -> RegistryExport:
    return schema_registry.load_export(str(RUN / "registry.json"))


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(entries()) as served:
        yield served


def read(records: Sequence[Record], schemas: Any, form: Form = "auto") -> tuple[Summary, Registry]:
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    return ingest(records, desk, "main", schemas, forms=Forms(form, form)), desk


def apicurio_ids(record: Record, add: int) -> Record:
    """The record with ids of eight bytes."""

    def side(data: bytes | None) -> bytes | None:
        return data and b"\0" + (int.from_bytes(data[1:5], "big") + add).to_bytes(8, "big") + data[5:]

    return replace(record, key=side(record.key), value=side(record.value))


def test_a_live_registry_gives_the_history_of_its_export(served: Served) -> None:
    told, desk = read(recorded(), open_registry(served.url, {}))
    expected, file = read(recorded(), export())
    assert told == expected
    assert desk.tables() == file.tables()
    assert len(served.asked) == len(set(served.asked))


@pytest.mark.parametrize("path", APICURIO)
@pytest.mark.parametrize(("form", "add"), [("apicurio-global-8", GLOBAL), ("apicurio-content-8", CONTENT)])
def test_a_live_registry_of_apicurio_gives_it_too(served: Served, path: str, form: Form, add: int) -> None:
    records = [apicurio_ids(r, add) for r in recorded()]
    told, desk = read(records, open_registry(f"{served.url}/{path}", {}), form)
    assert told.rejects == 0
    assert [t.versions for t in desk.tables()] == [t.versions for t in read(recorded(), export())[1].tables()]
    assert len(served.asked) == len(set(served.asked))


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_a_registry_can_be_sent_to_executors(served: Served, path: str) -> None:
    schemas = open_registry(f"{served.url}/{path}", {"timeout": "5"})
    id: SchemaId = f"globalId:{1 + GLOBAL}" if path else 1
    assert pickle.loads(pickle.dumps(schemas))(id) == schemas(id) == export()(1)


def test_ids_of_every_kind(served: Served) -> None:
    confluent = open_registry(served.url, {})
    assert confluent(f"guid:{guid(1)}") == confluent(1) == export()(1)
    assert confluent(9_999) is None
    assert confluent(f"guid:{guid(9_999)}") is None
    for path in APICURIO:
        apicurio = open_registry(f"{served.url}/{path}", {})
        subject, version = entries()[0]["subject"], entries()[0]["version"]
        assert apicurio(f"artifact:default/{subject}/{version}") == export()(1)
        assert apicurio(f"artifact:default/{entries()[-1]['subject']}/latest") is not None
        assert apicurio("globalId:1") is None


@pytest.mark.parametrize(
    ("path", "id", "reason"),
    [
        ("", "globalId:7", "registry does not know schema id globalId:7: ask Apicurio itself"),
        ("apis/registry/v3", 7, "ambiguous form of the ids"),
        ("apis/registry/v3", f"guid:{guid(7)}", "does not know schema id guid:.* Confluent"),
    ],
)
def test_ids_of_another_kind_of_registry_wait(served: Served, path: str, id: SchemaId, reason: str) -> None:
    with pytest.raises(UnreadableInput, match=reason) as fault:
        open_registry(f"{served.url}/{path}", {})(id)
    assert is_awaiting_schema(fault.value.message)


@pytest.mark.case(55)
def test_records_of_an_unregistered_schema_are_read_later() -> None:
    late = [e for e in entries() if e["id"] <= 10]
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    with serving(late) as served:
        first = ingest(recorded(), desk, "main", open_registry(served.url, {}))
    assert first.rejects > 0
    assert all(is_awaiting_schema(reject.reason) for reject in desk.rejects("main"))
    with serving(entries()) as served:
        assert ingest(recorded(), desk, "main", open_registry(served.url, {})).rejects == 0
    assert desk.rejects("main") == ()
    assert len(desk.tables()) == len(read(recorded(), export())[1].tables())


QUICK = {"max.retries": "0", "timeout": "5"}


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_an_outage_is_no_fault_of_a_record(path: str) -> None:
    id: SchemaId = "globalId:1" if path else 1
    options = {"timeout": "5"} if path else QUICK
    with serving(entries()) as served:
        schemas = open_registry(f"{served.url}/{path}", options)
        with pytest.raises(RegistryUnavailable, match="answers 404"):
            open_registry(f"{served.url}/elsewhere/{path}", options)(id)
        served.down = True
        with pytest.raises(RegistryUnavailable, match="answers 500"):
            schemas(id)
    with pytest.raises(
        RegistryUnavailable, match=f"the registry {served.url}.* cannot be reached: .*refused"
    ):
        schemas(id)
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    records = [apicurio_ids(r, GLOBAL) for r in recorded()] if path else recorded()
    forms = Forms("apicurio-global-8", "apicurio-global-8") if path else Forms()
    with pytest.raises(RegistryUnavailable):
        ingest(records, desk, "main", schemas, forms=forms)
    assert (desk.tables(), desk.offsets("main")) == ((), {})


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_an_answer_that_trickles_is_not_waited_for(path: str) -> None:
    options = {"timeout": "0.1"} | ({} if path else {"max.retries": "0", "retries.max.wait.ms": "0"})
    with serving(entries()) as served:
        served.pause = 0.05
        began = time.monotonic()
        with pytest.raises(RegistryUnavailable, match=r"its answer was not complete after"):
            open_registry(f"{served.url}/{path}", options)("globalId:1" if path else 1)
        assert 0.5 < time.monotonic() - began < 5
        served.pause = 0


def test_all_tries_that_the_options_allow_are_waited_for() -> None:
    assert Confluent("http://host").answer_timeout == 60
    assert Confluent("http://host", {"max.retries": "9"}).answer_timeout == 120


@pytest.mark.parametrize("path", ["", *APICURIO])
@pytest.mark.parametrize(
    "page",
    ["<html>\n<p>no</p>\n" + "<br>" * 500, json.dumps({"error_code": 50001, "message": "no\n" * 500})],
)
def test_a_refusal_is_said_in_one_line_and_only_strangers_are_told_to_sign_in(path: str, page: str) -> None:
    with serving(entries()) as served:
        schemas = open_registry(f"{served.url}/{path}", {"timeout": "5"} if path else QUICK)
        served.page = page
        for status in (500, 503, 401, 403, 404, 302):
            served.status = status
            with pytest.raises(RegistryUnavailable, match=f"answers {status}") as fault:
                schemas("globalId:1" if path else 1)
            said = fault.value.message.partition(f"answers {status}")[2]
            assert 0 < len(said) <= 200
            assert "\n" not in said
            assert fault.value.hint
            assert ("--registry-config" in fault.value.hint) is (status in (401, 403))


@pytest.mark.parametrize(
    "url",
    ["http://", "https://", "http://:8081", "http://[::1", "http://host:port", "http://host:99999", "http:///path",
     "http://host:8081,http://me:hush@host:8082", "http://host,ftp://host"],
)  # fmt: skip
def test_what_is_no_address_of_a_registry(url: str) -> None:
    with pytest.raises(BadReference) as fault:
        open_registry(url, {})
    assert fault.value.hint
    assert "hush" not in fault.value.message


def test_what_answers_like_no_registry() -> None:
    with serving([{"id": 1, "subject": "s", "version": 1, "schema": 5}]) as served:
        with pytest.raises(RegistryUnavailable, match="is not that of a registry: the schema 1 has no text"):
            open_registry(served.url, QUICK)(1)
        served.page = "<html>hello</html>"
        with pytest.raises(RegistryUnavailable, match="is not that of a registry"):
            open_registry(served.url, QUICK)(2)
        for path in APICURIO:
            for served.page in ("<html>hello</html>", "[1]", '[{"a": 1}]', "5"):
                with pytest.raises(RegistryUnavailable, match="is not that of a registry"):
                    open_registry(f"{served.url}/{path}", {"timeout": "5"})("globalId:2")


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_who_asks_is_told_apart(path: str) -> None:
    id: SchemaId = f"globalId:{1 + GLOBAL}" if path else 1
    with serving(entries(), user="me:hush") as served:
        url = f"{served.url}/{path}"
        assert open_registry(url, {"basic.auth.user.info": "me:hush"})(id) == export()(1)
        with pytest.raises(RegistryUnavailable, match="answers 401") as fault:
            open_registry(url, {"basic.auth.user.info": "me:wrong"})(id)
        assert "wrong" not in fault.value.message
        with pytest.raises(RegistryUnavailable, match="answers 401"):
            open_registry(url, {})(id)
        with pytest.raises(BadConfiguration, match=r"no\.such"):
            open_registry(url, {"no.such": "option"})(id)
        with pytest.raises(BadConfiguration, match="option"):
            open_registry(url, {"timeout": "soon"})(id)
        with pytest.raises(BadConfiguration, match="option"):
            open_registry(url, {"ssl.ca.location": "/no/such/file"})(id)
    with pytest.raises(BadReference, match="an address must not contain a user or a password"):
        open_registry("http://me:hush@127.0.0.1/", {})


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_tls(path: str, tmp_path: Path) -> None:
    id: SchemaId = f"globalId:{1 + GLOBAL}" if path else 1
    certificate = self_signed(tmp_path)
    with serving(entries(), certificate=certificate) as served:
        url = f"{served.url}/{path}"
        assert open_registry(url, {"ssl.ca.location": str(certificate)})(id) == export()(1)
        with pytest.raises(RegistryUnavailable, match="certificate verify failed"):
            open_registry(url, {} if path else QUICK)(id)


MONEY = {"type": "record", "name": "Money", "namespace": "common", "fields": [
    {"name": "amount", "type": "long"},
    {"name": "currency",
     "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "CHF"]}}]}  # fmt: skip
PRICE = {"type": "record", "name": "Price", "namespace": "shop", "fields": [
    {"name": "net", "type": "common.Money"},
    {"name": "gross", "type": ["null", "common.Money"]}]}  # fmt: skip
VALUE = {"type": "record", "name": "Value", "namespace": "shop", "fields": [
    {"name": "currency", "type": "common.Currency"},
    {"name": "price", "type": ["null", "Price"]},
    {"name": "prices", "type": {"type": "array", "items": "shop.Price"}},
    {"name": "extra", "type": {"type": "map", "values": "common.Money"}}]}  # fmt: skip
WHOLE = {"type": "record", "name": "Value", "namespace": "shop", "fields": [
    {"name": "currency",
     "type": {"type": "enum", "name": "Currency", "namespace": "common", "symbols": ["EUR", "CHF"]}},
    {"name": "price", "type": ["null", {"type": "record", "name": "Price", "namespace": "shop", "fields": [
        {"name": "net", "type": {"type": "record", "name": "Money", "namespace": "common", "fields": [
            {"name": "amount", "type": "long"}, {"name": "currency", "type": "common.Currency"}]}},
        {"name": "gross", "type": ["null", "common.Money"]}]}]},
    {"name": "prices", "type": {"type": "array", "items": "shop.Price"}},
    {"name": "extra", "type": {"type": "map", "values": "common.Money"}}]}  # fmt: skip
REFERRING = [
    {"id": 1, "subject": "money", "version": 2, "schema": json.dumps(MONEY)},
    {"id": 2, "subject": "price", "version": 1, "schema": json.dumps(PRICE),
     "references": [{"name": "common.Money", "subject": "money", "version": 2}]},
    {"id": 3, "subject": "value", "version": 1, "schema": json.dumps(VALUE), "guid": guid(3),
     "references": [{"name": "shop.Price", "subject": "price", "version": 1},
                    {"name": "common.Currency", "subject": "money", "version": 2}]},
    {"id": 4, "subject": "lost", "version": 1, "schema": json.dumps(VALUE),
     "references": [{"name": "shop.Price", "subject": "price", "version": 7}]},
    {"id": 5, "subject": "round", "version": 1, "schema": json.dumps(VALUE),
     "references": [{"name": "shop.Price", "subject": "round", "version": 1}]},
    {"id": 6, "subject": "other", "version": 1, "schema": "syntax = proto3", "schemaType": "PROTOBUF"},
]  # fmt: skip


def test_types_described_elsewhere_are_written_at_their_first_use() -> None:
    text = inline_references(json.dumps(VALUE), [json.dumps(MONEY), json.dumps(PRICE)])
    assert json.loads(text) == WHOLE
    to_connect(text)
    assert json.loads(inline_references(text, [json.dumps(MONEY)])) == WHOLE
    assert inline_references("anything", []) == "anything"
    with pytest.raises(UnreadableInput, match="not JSON"):
        inline_references(text, ["{"])


def test_an_export_with_references(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text(json.dumps(REFERRING))
    found = schema_registry.load_export(str(tmp_path / "registry.json"))
    assert json.loads(found(3) or "") == WHOLE
    assert found(f"guid:{guid(3)}") == found(3)
    assert (found(4), found(5), found(7)) == (None, None, None)
    with pytest.raises(UnreadableInput, match="the schema 6 is of type PROTOBUF"):
        found(6)


@pytest.mark.parametrize("path", ["", *APICURIO])
def test_a_live_registry_with_references(path: str) -> None:
    with serving(REFERRING) as served:
        schemas = open_registry(f"{served.url}/{path}", {})
        ids: list[SchemaId] = [f"globalId:{n + GLOBAL}" if path else n for n in range(7)]
        assert json.loads(schemas(ids[3]) or "") == WHOLE
        for id in (ids[4], ids[5]):
            asked = []
            for _ in range(2):
                with pytest.raises(UnreadableInput, match="refers to"):
                    schemas(id)
                asked.append(len(served.asked))
            assert asked[0] == asked[1]


def test_a_schema_that_is_not_avro() -> None:
    with serving(REFERRING) as served, pytest.raises(UnreadableInput, match="6 is of type PROTOBUF"):
        open_registry(served.url, {})(6)


def test_without_a_registry_the_reason_says_how_to_name_one() -> None:
    told, desk = read(recorded(), schema_registry.NO_REGISTRY)
    assert told.rejects == len(recorded()) - sum(n for kind, n in told.skipped if kind == "tombstone")
    (reason, *_) = {r.reason for r in desk.rejects()}
    assert "no schema registry is set: use --registry URL or FILE" in reason
    assert all(is_awaiting_schema(r.reason) for r in desk.rejects())
    assert pickle.loads(pickle.dumps(schema_registry.NO_REGISTRY)) == schema_registry.NO_REGISTRY
    assert ingest(recorded(), desk, "main", export()).rejects == 0


def test_subjects(served: Served) -> None:
    entry = entries()[0]
    schemas = open_registry(served.url, {})
    assert isinstance(schemas, Confluent)
    assert schemas.fetch_subject(entry["subject"], entry["version"]) == entry["schema"]
    newest = max((e for e in entries() if e["subject"] == entry["subject"]), key=lambda e: e["version"])
    assert schemas.fetch_subject(entry["subject"]) == newest["schema"]
    with pytest.raises(UnknownName, match="no subject 'none'"):
        schemas.fetch_subject("none")


def test_the_commands_ask_a_live_registry(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dump.parquet").write_bytes((RUN / "records.parquet").read_bytes())
    assert main(["ingest", "dump.parquet", "--registry", served.url, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["rejected"] == 0
    monkeypatch.setenv("SCHEMAMAN_REGISTRY", served.url)
    subject = entries()[1]["subject"]
    assert main(["show", f"registry:{subject}@1"]) == 0
    assert main(["show", "registry:none@1"]) == 2
    served.down = True
    again = ["ingest", "dump.parquet", "--stream", "again", "--registry-config"]
    capsys.readouterr()
    assert main([*again, "max.retries=0"]) == 3
    assert "answers 500" in capsys.readouterr().err
    assert main([*again, "basic.auth.user.info=me:hush"]) == 2
    assert "hush" not in capsys.readouterr().err
