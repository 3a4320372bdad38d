"""Framings: the same records, framed in every known way, tell the same; what is ambiguous waits."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import get_args
from uuid import UUID

import fastavro
import pytest
from confluent_kafka.schema_registry import dual_schema_id_deserializer
from confluent_kafka.schema_registry.serde import SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.converters.avro import decode_body, decode_json, reduce_schema
from schemaman.debezium.observation import AMBIGUOUS_FORM, is_awaiting_schema
from schemaman.debezium.records import Record
from schemaman.debezium.wire_format import (
    AUTO,
    FORMS,
    FRAMING_HEADERS,
    Form,
    Forms,
    Framing,
    Side,
    read_framing,
)
from schemaman.errors import UnreadableInput
from schemaman.history.versions import TableHistory
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.ingest import ingest
from schemaman.ingest.scan import merge, scan
from schemaman.io.schema_registry import RegistryExport
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.support import recordings
from tests.support import schema_registry as registries
from tests.support.recordings import recorded
from tests.support.schema_registry import CONTENT, GLOBAL

RUN = "postgres/shop-avro"
Header = tuple[str, bytes | None]
Frame = Callable[[int, bytes, Side], tuple[bytes, list[Header]]]


def guid(id: int) -> UUID:
    return UUID(registries.guid(id))


def in_front(magic: bytes, name: Callable[[int], bytes]) -> Frame:
    """What names the schema stands before the body."""
    return lambda id, body, side: (magic + name(id) + body, [])


def in_header(header: str, name: Callable[[int], bytes], *others: tuple[str, bytes]) -> Frame:
    """What names the schema stands in a header."""

    def frame(id: int, body: bytes, side: Side) -> tuple[bytes, list[Header]]:
        return body, [(header.format(side), name(id)), *((h.format(side), v) for h, v in others)]

    return frame


def number(width: int, add: int = 0) -> Callable[[int], bytes]:
    return lambda id: (id + add).to_bytes(width, "big")


FRAMES: dict[str, tuple[Form, Frame]] = {
    "confluent": ("auto", in_front(b"\0", number(4))),
    "confluent, told": ("confluent", in_front(b"\0", number(4))),
    "guid in front": ("auto", in_front(b"\1", lambda id: guid(id).bytes)),
    "guid header": ("auto", in_header("__{}_schema_id", lambda id: b"\1" + guid(id).bytes)),
    "guid header, told": ("confluent", in_header("__{}_schema_id", lambda id: b"\1" + guid(id).bytes)),
    "number header": ("auto", in_header("__{}_schema_id", lambda id: b"\0" + id.to_bytes(4, "big"))),
    "apicurio-global-8": ("apicurio-global-8", in_front(b"\0", number(8, GLOBAL))),
    "apicurio-global-4": ("apicurio-global-4", in_front(b"\0", number(4, GLOBAL))),
    "apicurio-content-8": ("apicurio-content-8", in_front(b"\0", number(8, CONTENT))),
    "apicurio-content-4": ("apicurio-content-4", in_front(b"\0", number(4, CONTENT))),
    "apicurio global header": ("auto", in_header("apicurio.{}.globalId", number(8, GLOBAL))),
    "apicurio content header": (
        "apicurio-content-8",
        in_header("apicurio.{}.contentId", number(8, CONTENT), ("apicurio.{}.encoding", b"BINARY")),
    ),
}


@cache
def registry() -> RegistryExport:
    """The recorded registry, whose schemas have ids of every kind."""
    plain = recordings.registry(RUN).schemas
    told: dict[int | str, str] = {}
    for id, text in plain.items():
        assert isinstance(id, int)
        told |= {
            id: text,
            f"guid:{guid(id)}": text,
            f"globalId:{id + 1000}": text,
            f"contentId:{id + 2000}": text,
        }
    return RegistryExport(told)


def reframed(record: Record, frame: Frame) -> Record:
    """A record of the recording, framed in another way."""
    headers: list[Header] = list(record.headers)

    def side(data: bytes | None, name: Side) -> bytes | None:
        if data is None:
            return None
        assert data[0] == 0
        body, added = frame(int.from_bytes(data[1:5], "big"), data[5:], name)
        headers.extend(added)
        return body

    key, value = side(record.key, "key"), side(record.value, "value")
    return replace(record, key=key, value=value, headers=tuple(headers))


def history(records: tuple[Record, ...], forms: Forms) -> tuple[tuple[TableHistory, ...], int]:
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    rejects = ingest(records, desk, "main", registry(), forms=forms).rejects
    return desk.tables(), rejects


@cache
def expected() -> tuple[TableHistory, ...]:
    return history(recorded(RUN), AUTO)[0]


@pytest.mark.parametrize("name", FRAMES)
def test_however_a_recording_is_framed_its_history_is_the_same(name: str) -> None:
    form, frame = FRAMES[name]
    records = tuple(reframed(r, frame) for r in recorded(RUN))
    assert history(records, Forms(form, form)) == (expected(), 0)


def spelled(id: int, body: bytes, side: Side) -> tuple[bytes, list[Header]]:
    """The body in Avro's JSON encoding, as headers of Apicurio say it."""
    text = reduce_schema(registry()(id) or "")
    written = io.StringIO()
    fastavro.json_writer(written, json.loads(text), [decode_body(text, body, 0)])
    number = (id + GLOBAL).to_bytes(8, "big")
    told = [(f"apicurio.{side}.globalId", number), (f"apicurio.{side}.encoding", b"JSON")]
    return written.getvalue().encode(), list[Header](told)


def test_a_recording_in_avros_json_encoding_has_the_same_history() -> None:
    records = tuple(reframed(r, spelled) for r in recorded(RUN))
    assert history(records, AUTO) == (expected(), 0)
    reading = build_reading(registry())
    assert scan(records, reading) == scan(records, reading, quick=False)


@given(st.data(), st.sampled_from(sorted(FRAMES)), st.sampled_from(sorted(FRAMES)))
def test_the_scanner_is_exact_in_every_framing(data: st.DataObject, one: str, other: str) -> None:
    """Whatever forms are configured, and whatever comes: comparing and parsing give the same runs."""
    start = data.draw(st.integers(0, len(recorded(RUN)) - 1))
    some = recorded(RUN)[start : start + 60]
    names = data.draw(st.lists(st.sampled_from([one, other]), min_size=len(some), max_size=len(some)))
    records = [reframed(r, FRAMES[n][1]) for r, n in zip(some, names, strict=True)]
    forms = data.draw(st.builds(Forms, st.sampled_from(FORMS), st.sampled_from(FORMS)))
    reading = build_reading(registry(), forms)
    whole = scan(records, reading)
    assert whole == scan(records, reading, quick=False)
    cut = data.draw(st.integers(0, len(records)))
    assert merge((*scan(records[:cut], reading), *scan(records[cut:], reading)), reading) == whole


def test_json_that_headers_call_avro_is_avro_however_often_its_like_was_json() -> None:
    records = [r for r in recorded("postgres/shop-json") if r.topic == "shop.public.orders"][:200]
    marked = [
        replace(r, headers=(*r.headers, ("apicurio.value.globalId", bytes(8)))) if n % 50 == 49 else r
        for n, r in enumerate(records)
    ]
    runs = scan(marked, build_reading(registry()))
    assert runs == scan(marked, build_reading(registry()), quick=False)
    assert [run.first.offset for run in runs if run.fault] == [
        marked[n].offset for n in range(49, len(marked), 50)
    ]


@pytest.mark.parametrize(
    ("data", "headers", "form", "told"),
    [
        (b"{}", (), "auto", None),
        (b"{}", (), "json", None),
        (b"\0\0\0\0\7x", (), "auto", Framing(7, 5, likely=True)),
        (b"\0\0\0\0\7x", (), "confluent", Framing(7, 5)),
        (b"\0\0\0\0\7x", (), "apicurio-content-4", Framing("contentId:7", 5)),
        (b"\0" + bytes(7) + b"\7x", (), "apicurio-global-8", Framing("globalId:7", 9)),
        (b"\1" + bytes(16) + b"x", (), "confluent", Framing(f"guid:{UUID(int=0)}", 17)),
        (b"x", (("apicurio.value.contentHash", b"ab12"),), "auto", Framing("contentHash:ab12", 0)),
        (b"x", (("apicurio.value.artifactId", b"a"), ("apicurio.value.version", b"3")), "auto",
         Framing("artifact:default/a/3", 0)),
        (b"x", (("apicurio.value.globalId", bytes(7) + b"\7"), ("apicurio.value.contentId", bytes(8))),
         "auto",
         Framing("globalId:7", 0)),
        (b"{}", (("apicurio.value.globalId", bytes(7) + b"\7"), ("apicurio.value.encoding", b"JSON")), "auto",
         Framing("globalId:7", 0, json=True)),
        (b"{}", (("apicurio.value.globalId", bytes(8)),), "json", None),
        (b"{}", (("apicurio.key.globalId", bytes(8)), ("__key_schema_id", b"x")), "auto", None),
        (b"{}", (("apicurio.value.encoding", b"JSON"),), "auto", None),
    ],
)  # fmt: skip
def test_how_a_value_is_framed(
    data: bytes, headers: tuple[Header, ...], form: Form, told: Framing | None
) -> None:
    assert read_framing(data, headers, "value", form) == told


@pytest.mark.parametrize(
    ("data", "headers", "form", "reason", "waits"),
    [
        (b"\0" + bytes(7) + b"\7body", (), "auto", "ambiguous form of the value.*global-8", True),
        (b"x", (("apicurio.value.globalId", bytes(8)), ("__value_schema_id", b"\1" + bytes(16))), "auto",
         "ambiguous form of the value: headers of two registries", True),
        (b"\0\0\0\0\7x", (), "json", "framed as Avro, but configured as JSON", False),
        (b"\1" + bytes(16), (), "json", "framed as Avro, but configured as JSON", False),
        (b"{}", (), "confluent", "configured as framed by Confluent, but begins with 7b 7d", False),
        (b"{}", (), "apicurio-global-8", "configured as framed by Apicurio, but begins with 7b 7d", False),
        (b"\0\0\0", (), "confluent", "only 3 bytes long", False),
        (b"\0\0\0\0\7", (), "apicurio-global-8", "only 5 bytes long", False),
        (b"\1abc", (), "auto", "with a GUID, but only 4 bytes long", False),
        (b"x", (("__value_schema_id", b"\1ab"),), "auto", "__value_schema_id has no schema id", False),
        (b"x", (("apicurio.value.globalId", b"7"),), "auto", "value.globalId is not a number", False),
        (b"", (), "confluent", "begins with nothing", False),
    ],
)  # fmt: skip
def test_a_form_that_does_not_fit(
    data: bytes, headers: tuple[Header, ...], form: Form, reason: str, waits: bool
) -> None:
    with pytest.raises(UnreadableInput, match=reason) as fault:
        read_framing(data, headers, "value", form)
    assert is_awaiting_schema(fault.value.message) is waits


def test_what_is_ambiguous_is_read_once_the_form_is_told() -> None:
    records = tuple(reframed(r, FRAMES["apicurio-global-8"][1]) for r in recorded(RUN))
    values = sum(r.value is not None for r in records)
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    first = ingest(records, desk, "main", registry())
    assert (first.rejects, first.observations) == (values, 0)
    assert any("use --format-key apicurio-global-8" in reject.reason for reject in desk.rejects("main"))
    told = ingest(records, desk, "main", registry(), forms=Forms("apicurio-global-8", "apicurio-global-8"))
    assert (told.rejects, told.new) == (0, values)
    assert desk.rejects("main") == ()
    assert [t.versions for t in desk.tables()] == [t.versions for t in expected()]


@given(
    st.binary(max_size=24),
    st.lists(st.tuples(st.sampled_from([*sorted(FRAMING_HEADERS), "h"]), st.none() | st.binary(max_size=18))),
    st.sampled_from(("key", "value")),
    st.sampled_from(FORMS),
)
def test_nothing_but_a_reason_comes_of_bytes_and_headers(
    data: bytes, headers: list[Header], side: Side, form: Form
) -> None:
    try:
        told = read_framing(data, tuple(headers), side, form)
    except UnreadableInput:
        return
    assert told is None or 0 <= told.start <= len(data)
    again = read_framing(data, tuple(headers), side, form)
    assert told is None or (again is not None and told.build_proof(data) == again.build_proof(data))


@given(
    st.sampled_from([b"\0", b"\1", b"\2", b"{"]),
    st.binary(max_size=20),
    st.none() | st.tuples(st.sampled_from([(b"\0", 4), (b"\1", 16)]), st.binary(min_size=16, max_size=16)),
    st.sampled_from(("key", "value")),
)
def test_confluents_own_client_reads_the_same_schema_and_body(
    magic: bytes, rest: bytes, header: tuple[tuple[bytes, int], bytes] | None, side: Side
) -> None:
    data, headers = magic + rest, list[Header]()
    if header is not None:
        (first, size), id = header
        headers = [(f"__{side}_schema_id", first + id[:size])]
    theirs = SchemaId("AVRO")
    field = MessageField.KEY if side == "key" else MessageField.VALUE
    context = SerializationContext("t", field, [*headers])
    try:
        body = dual_schema_id_deserializer(data, context, theirs).read()
    except Exception:  # their parser raises its own and built-in errors
        with pytest.raises(UnreadableInput):
            read_framing(data, tuple(headers), side, "confluent")
        return
    told = read_framing(data, tuple(headers), side, "confluent")
    assert told is not None
    assert told.schema == (f"guid:{theirs.guid}" if theirs.guid else theirs.id)
    assert data[told.start :] == body


def test_ids_that_mean_another_schema_say_what_to_configure() -> None:
    """Apicurio's ids of four bytes, read as Confluent's: the registry knows them, as ids of others."""
    ids = sorted(id for id in registry().schemas if isinstance(id, int))
    shifted = RegistryExport({id: registry()(ids[(n + 7) % len(ids)]) or "" for n, id in enumerate(ids)})
    runs = scan(recorded(RUN), build_reading(shifted))
    reasons = [run.fault for run in runs if run.fault is not None]
    assert reasons
    assert all("if the id is Apicurio's, set --format-value" in reason for reason in reasons)
    told = scan(recorded(RUN), build_reading(shifted, Forms("confluent", "confluent")))
    assert any(run.fault for run in told)
    assert not any("Apicurio" in (run.fault or "") for run in told)


def test_all_forms_are_named() -> None:
    assert get_args(Form) == FORMS


SCHEMA = {
    "type": "record", "name": "Value", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ]}  # fmt: skip


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.binary(max_size=4),
    st.lists(st.text(), max_size=2),
)
def test_avro_in_json_reads_as_avro_in_bytes(
    id: int, name: str | None, amount: bytes, tags: list[str]
) -> None:
    told = {"id": id, "name": name, "amount": amount, "tags": tags}
    text = reduce_schema(json.dumps(SCHEMA))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, json.loads(text), told)
    union = None if name is None else {"string": name}
    spelled = json.dumps({"id": id, "name": union, "amount": amount.decode("latin-1"), "tags": tags})
    assert decode_json(text, spelled.encode()) == decode_body(text, body.getvalue(), 0) == told


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"id": "x"}', b"\xff", b"1\n2"])
def test_json_that_does_not_fit(data: bytes) -> None:
    with pytest.raises(UnreadableInput, match="does not fit"):
        decode_json(reduce_schema(json.dumps(SCHEMA)), data)


def test_a_record_that_an_earlier_release_could_not_frame_still_waits() -> None:
    """Stores hold the words of the release that rejected the record."""
    assert is_awaiting_schema("nobody told the form: a zero byte in front")
    assert is_awaiting_schema(f"{AMBIGUOUS_FORM}: a zero byte in front")
    assert not is_awaiting_schema("no JSON")
