"""The cold reading room: what each kind of record says, and that none ever stops a topic."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import (
    Note,
    Observation,
    Outcome,
    Reject,
    SchemaRun,
    Skipped,
)
from schemaman.debezium.raw_record import read_facts
from schemaman.debezium.records import Coordinates, Record
from schemaman.ingest.chunks import build_reading
from schemaman.ingest.scan import scan
from schemaman.model.name_adjustment import adjust_field
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer, String
from tests.support.checkout import CAPTURES
from tests.support.records import (
    SOURCE,
    alone,
    change,
    column,
    event,
    image,
    node,
    outcomes,
    record,
    struct,
)

ROW = struct("srv.public.t.Value", id=node("int32"), note=node("string", optional=True))
KEY = {"schema": struct("srv.public.t.Key", id=node("int32")), "payload": {"id": 1}}
TABLE = TableId("srv", "shop", "public", "t")


def read(record: Record) -> tuple[Outcome, ...]:
    return decode(alone(record), "main", lambda id: None)


def one(record: Record) -> Any:
    outcome, *notes = read(record)
    assert all(isinstance(note, Note) for note in notes)
    return outcome


# Recordings: every record is testimony or set aside.


@pytest.mark.parametrize(("run", "expected"), [
    ("postgres/shop-json", {"emitted image": 389, "emitted truncate": 1, "tombstone": 13, "transaction": 170,
                            "heartbeat": 7, "message": 2}),
    ("postgres/shop-avro", {"emitted image": 389, "emitted truncate": 1, "tombstone": 13, "transaction": 170,
                            "message": 2}),
    ("postgres/shop-upgrade", {"emitted image": 127, "emitted truncate": 2, "tombstone": 9, "transaction": 74,
                               "message": 4}),
    ("postgres/shop-downtime", {"emitted image": 128, "tombstone": 2}),
    ("postgres/shop-crash", {"emitted image": 85, "tombstone": 6}),
    ("db2/shop-3.4.1-json", {"declared image": 21, "emitted image": 31, "tombstone": 2}),
    ("mariadb/bookshop-mariadb-3.5.0-json", {"declared image": 21, "declared create": 10,
                                             "declared rename": 5, "declared drop": 5,
                                             "emitted image": 35, "tombstone": 2, "snapshot-drop": 4,
                                             "ddl-without-structure": 18, "database-dropped": 1}),
])  # fmt: skip
def test_every_record_of_a_recording_is_understood(run, expected):
    counts = Counter(
        f"{o.evidence} {o.action}"
        if isinstance(o, Observation)
        else o.kind
        if isinstance(o, Skipped | Note)
        else o.reason
        for _, o in outcomes(CAPTURES / run)
    )
    assert counts == expected


def test_avro_and_json_of_the_same_statements_tell_the_same_structures():
    def told(run: str) -> set[tuple[object, ...]]:
        found = [o for _, o in outcomes(CAPTURES / run) if isinstance(o, Observation)]
        return {(o.table.table, *adjusted(o.schema)) for o in found if o.schema is not None}

    def adjusted(schema: TableSchema) -> tuple[object, ...]:
        columns = [
            (adjust_field(c.name, "avro"), type(c.type), c.nullable, c.default) for c in schema.columns
        ]
        return (*columns, *(adjust_field(k, "avro") for k in schema.key))

    plain, avro = told("postgres/shop-json"), told("postgres/shop-avro")
    assert plain < avro
    # one row was read with nullability and defaults of another moment
    assert [name for name, *_ in avro - plain] == ["orders"]


# Data events


def test_an_image():
    observed = one(record(event(ROW), KEY))
    mark = Coordinates("srv.public.t", 0, 0, timestamp_ms=1)
    assert observed == Observation(
        table=TABLE,
        evidence="emitted",
        action="image",
        connector="postgresql",
        connector_version="3.4.1.Final",
        first=mark,
        last=mark,
        count=1,
        snapshot=False,
        schema=observed.schema,
        schema_name="srv.public.t.Value",
    )
    assert observed.schema.columns == (
        Column("id", Integer(32), nullable=False, emitted_name="id"),
        Column("note", String(), emitted_name="note"),
    )
    assert observed.schema.key == ("id",)


def test_what_a_run_counts_is_kept():
    sample = record(event(ROW), KEY)
    last = Coordinates("srv.public.t", 0, 9)
    run = SchemaRun("s", alone(sample).first, last, 5, sample, interrupted=True)
    (observed,) = decode(run, "dev", lambda id: None)
    assert isinstance(observed, Observation)
    assert (observed.last, observed.count, observed.interrupted) == (last, 5, True)
    assert observed.table.stream == "dev"


@pytest.mark.parametrize(("key", "names"), [
    (None, ()),
    ({"schema": None, "payload": None}, ()),
    ({"id": 1, "note": "x"}, ("id", "note")),
    ({"schema": struct("K", note=node("string"), id=node("int32")), "payload": {}}, ("note", "id")),
    ({"schema": struct("K", id=node("int32"), __dbz__physicalTableIdentifier=node("string")), "payload": {}},
     ("id",)),
])  # fmt: skip
def test_keys(key, names):
    assert one(record(event(ROW), key)).schema.key == names


@pytest.mark.parametrize("key", [
    7, "a", {"schema": node("int32"), "payload": 7}, b"\0\0", b"person-7", b"", b"{",
    b"Struct{}", b"Struct{nr=1}", b"0c1d7c5e-3f44-4f5e-9d8f-2a54d1a3f001",
    b"Struct{id=1,note=another}", b"Struct{id=1,note=x,nr=2}",
])  # fmt: skip
@pytest.mark.parametrize("whole", [True, False])
def test_a_key_that_names_no_column_is_unknown_and_the_value_is_evidence(key, whole):
    """Keys go through a converter of their own; a text or a bare number does not name the key's columns."""
    value = event(ROW)
    value["payload"]["after"] = {"id": 1, "note": "x"}
    observed, *notes = read(record(value if whole else value["payload"], key))
    assert isinstance(observed, Observation)
    assert observed.schema is not None
    assert (observed.table, observed.schema.names, observed.schema.key) == (TABLE, ("id", "note"), ())
    assert observed.is_key_unknown
    assert [note.kind for note in notes if isinstance(note, Note)] == ["key-unreadable"]


@pytest.mark.parametrize(("key", "expected"), [
    (b"Struct{id=1}", ("id",)), (b"Struct{id=1,note=x}", ("id", "note")), (b"Struct{note=x}", ("note",)),
    ({"id": 1}, ("id",)),
])  # fmt: skip
def test_the_text_of_a_struct_names_the_columns_of_a_key(key, expected):
    value = event(ROW)
    value["payload"]["after"] = {"id": 1, "note": "x"}
    (observed,) = read(record(value, key))
    assert isinstance(observed, Observation)
    assert observed.schema is not None
    assert (observed.schema.key, observed.is_key_unknown) == (expected, False)


@pytest.mark.parametrize(("key", "reason"), [
    (b"berth-1", "a text"), (b"Struct{nr=1}", "a text"), (7, "a bare value"), (b"{", "not JSON"),
])  # fmt: skip
def test_a_note_says_what_a_key_is_and_what_to_do(key, reason):
    (note,) = (outcome for outcome in read(record(event(ROW), key)) if isinstance(outcome, Note))
    assert (note.kind, reason in note.message) == ("key-unreadable", True)


def test_a_key_whose_schema_is_whole_has_its_columns_however_damaged_its_values_are():
    """The schema precedes the values."""
    whole = json.dumps(KEY).encode()
    (observed,) = read(record(event(ROW), whole[:-4]))
    assert isinstance(observed, Observation)
    assert observed.schema is not None
    assert observed.schema.key == ("id",)


@pytest.mark.parametrize(("op", "snapshot", "expected"), [
    ("c", "false", False), ("c", None, False), ("c", False, False), ("r", "false", True),
    ("r", "first", True), ("c", "last", True), ("c", True, True), ("r", "incremental", True),
])  # fmt: skip
def test_snapshots(op, snapshot, expected):
    assert one(record(event(ROW, op, snapshot=snapshot), KEY)).snapshot is expected


def test_truncate_has_no_structure_and_needs_no_schema():
    truncated = one(record(event(ROW, "t")))
    assert (truncated.action, truncated.schema, truncated.table) == ("truncate", None, TABLE)
    assert one(record(event(ROW, "t")["payload"])).action == "truncate"


def test_a_table_of_signals_is_a_table_and_known_as_one():
    row = struct("V", id=node("string"), type=node("string"), data=node("string", optional=True))
    key = {**KEY, "schema": struct("srv.public.t.Key", id=node("string"))}
    observed, note = read(record(event(row, table="signals"), key))
    assert isinstance(observed, Observation)
    assert isinstance(note, Note)
    assert (note.kind, note.table, note.count) == ("signal-table", observed.table, 1)
    others = struct("V", id=node("int32"), type=node("string"), data=node("string"))
    assert len(read(record(event(others), KEY))) == 1


def test_a_key_column_bears_the_name_of_its_column():
    named = {"__debezium.source.column.name": "item no"}
    row = struct("V", item_no=node("int32", parameters=named))
    key = {"schema": struct("K", item_no=node("int32")), "payload": {}}
    schema = one(record(event(row), key)).schema
    assert (schema.names, schema.key) == (("item no",), ("item no",))
    assert schema.columns[0].emitted_name == "item_no"


def test_names_misread_by_the_stream_are_restored():
    wire = "gr\uffc3\uffb6\uffc3\uff9fe"
    row = struct("V", **{wire: node("int32")})
    key = {"schema": struct("K", **{wire: node("int32")}), "payload": {}}
    observed = one(record(event(row, table="\uffc3\uff9cn"), key))
    assert (observed.table.table, observed.schema.key) == ("Ün", ("größe",))
    assert (observed.schema.columns[0].name, observed.schema.columns[0].emitted_name) == ("größe", wire)


def test_only_postgresql_misreads():
    wire = "\uffc3\uffb6"
    row = struct("V", **{wire: node("int32")})
    assert one(record(event(row, connector="mysql"))).schema.names == (wire,)


# Everything else


@pytest.mark.parametrize(("value", "topic", "kind"), [
    (None, "srv.public.t", "tombstone"),
    (b"null", "srv.public.t", "tombstone"),
    ({"schema": ROW, "payload": None}, "srv.public.t", "tombstone"),
    ({"ts_ms": 1}, "__debezium-heartbeat.srv", "heartbeat"),
    ({"schema": struct("io.debezium.connector.common.Heartbeat", ts_ms=node("int64")), "payload": {"ts": 1}},
     "beats", "heartbeat"),
    ({"status": "BEGIN", "id": "1:2", "event_count": None}, "srv.tx", "transaction"),
    ({"source": SOURCE, "op": "m", "message": {"prefix": "p", "content": ""}}, "srv.message", "message"),
    ({"id": "1", "aggregate_type": "Initial Snapshot", "type": "STARTED", "additional_data": {}}, "n",
     "notification"),
    ({"id": "7", "type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}, "orders", "signal"),
    ({"type": "log", "data": {"message": "x"}}, "orders", "signal"),
])  # fmt: skip
def test_what_is_set_aside(value, topic, kind):
    outcome = one(record(value, topic=topic))
    assert isinstance(outcome, Skipped)
    assert outcome.kind == kind


@pytest.mark.parametrize("key", [b"srv", None, b"5", {"id": 1}])
def test_a_signal_topic_has_bare_texts_for_keys(key):
    """Connectors compare the key with their `topic.prefix`; nothing of it is a column."""
    asked = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
    signal = record(asked, key, topic="signals")
    assert isinstance(one(signal), Skipped)
    assert one(signal).kind == "signal"
    for quick in (True, False):
        (run,) = scan([signal], build_reading(lambda id: None), quick=quick)
        assert run.fault is None
    kept = {**event(ROW)["payload"], "type": "log"}
    assert getattr(one(record(kept, key)), "kind", None) != "signal"


@pytest.mark.parametrize("row", [
    {"id": 1, "type": "log", "__op": "c", "__table": "t"},
    {"id": 1, "type": "log"},
    {"id": 1, "type": "log", "data": "text of a column"},
    {"type": "stop-snapshot", "data": {"type": "incremental"}, "n": 1},
])  # fmt: skip
@pytest.mark.parametrize("key", [b"1", b"srv", None])
def test_a_row_with_a_column_called_type_is_no_signal(key, row):
    """A signal has the members `id`, `type` and `data` and no other, and `data` is an object."""
    assert getattr(one(record(row, key)), "kind", None) != "signal"


def test_a_signal_without_data_is_one():
    for asked in ({"type": "pause-snapshot"}, {"id": "1", "type": "resume-snapshot", "data": None}):
        stated = one(record(asked, b"srv", topic="orders"))
        assert isinstance(stated, Skipped)
        assert stated.kind == "signal"


@pytest.mark.parametrize("time", [-1, 2**63, 10**30, 253_402_300_800_000, 1.5, True, "soon", "9" * 16])
def test_a_time_that_no_clock_shows_is_not_told(time):
    payload = {"source": {**SOURCE, "ts_ms": time}, "op": "c", "ts_ms": time}
    assert (read_facts(payload, "").ts_ms, read_facts(payload, "").read_ms) == (None, None)
    late = {**payload, "source": {**SOURCE, "ts_ms": 253_402_300_799_999}}
    assert read_facts(late, "").ts_ms == 253_402_300_799_999


def test_a_key_that_tells_another_type_than_the_row_is_known():
    """Masks change rows and never keys."""
    wide = {**KEY, "schema": struct("srv.public.t.Key", id=node("int64"), note=node("string"))}
    observed, note = read(record(event(ROW), wide))
    assert isinstance(observed, Observation)
    assert observed.schema is not None
    assert observed.schema.columns[0].type == Integer(32)
    assert isinstance(note, Note)
    assert (note.kind, note.table, note.count) == ("key-type-differs", TABLE, 1)
    assert "id as BIGINT, the row as INT:" in note.message
    assert "note" not in note.message
    assert len(read(record(event(ROW), KEY))) == 1


def test_a_heartbeat_under_a_prefix_of_its_own_is_known_by_its_key():
    beat = one(record({"ts_ms": 1}, {"serverName": "srv"}, topic="alive.srv"))
    assert isinstance(beat, Skipped)
    assert beat.kind == "heartbeat"
    assert isinstance(one(record({"ts_ms": 1}, KEY, topic="alive.srv")), Reject)


def test_the_schema_of_a_key_tells_its_columns_whatever_the_payload():
    """Runs compare schemas: one damaged payload must not take the key from all that follow it."""
    assert one(record(event(ROW), KEY | {"payload": None})).schema.key == ("id",)


@pytest.mark.parametrize(("value", "reason"), [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (b"\0\0\0", "only 3 bytes"),
    (b"\0\0\0\0\7rest", "registry does not know schema id 7"),
    (b"[" * 100_000, "not JSON: nested too deeply"),
    (b'{"id":' + b"9" * 5_000 + b"}", "a number has more digits than are read: 4300"),
    (b"7", "bare JSON value"),
    ({"id": 1}, "JSON without a schema"),
    ({"schema": struct("com.example.Order", id=node("int32")), "payload": {"id": 1}}, "no record of"),
    (event(node("string", "io.debezium.data.Json")), "no row"),
    (event(ROW, table=7), "names no table"),
    (event(ROW, table=""), "names no table"),
    (event(ROW, name=None), "names no server"),
    (change(ddl="ALTER TABLE t ADD x INT", connector="yashandb"), "known are db2, informix, mariadb"),
])  # fmt: skip
def test_what_is_refused_says_why(value, reason):
    outcome = one(record(value, {"id": 1}))
    assert isinstance(outcome, Reject)
    assert reason in outcome.reason


def test_half_a_surrogate_pair_may_stand_in_a_row_but_not_in_a_name():
    row = event(ROW)
    payload = {**row["payload"], "after": {"id": 1, "note": "\ud800"}}
    assert isinstance(one(record({**row, "payload": payload}, KEY)), Observation)
    assert "surrogate" in one(record(event(struct("V", **{"\ud800": node("int32")})), KEY)).reason
    assert "surrogate" in one(record(event(ROW, table="\ud800"), KEY)).reason


def test_a_reject_tells_where_and_of_what_bytes():
    (reject,) = decode(alone(Record("t", 3, 9, None, b"k", b"{")), "dev", lambda id: None)
    assert isinstance(reject, Reject)
    assert (reject.stream, reject.topic, reject.partition, reject.offset, reject.count) == (
        "dev",
        "t",
        3,
        9,
        1,
    )
    assert reject.sha256 == "021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96"
    assert reject.payload is None


def test_a_fault_found_by_the_scanner_is_passed_on():
    run = SchemaRun(
        "s",
        Coordinates("t", 0, 0),
        Coordinates("t", 0, 0),
        1,
        Record("t", 0, 0, None, None, b"x"),
        fault="not JSON",
    )
    (reject,) = decode(run, "main", lambda id: None)
    assert isinstance(reject, Reject)
    assert reject.reason == "not JSON"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> object:
    """A good record in which one place holds something else."""
    create = {
        "type": "CREATE",
        "id": '"shop"."t"',
        "table": image(column("e", "ENUM", enumValues=["'a'"]), key=("e",)),
    }
    good = draw(
        st.sampled_from([event(ROW), event(ROW, "t"), change(create, ddl="ALTER TABLE t ADD x INT"), KEY])
    )
    copy: Any = json.loads(json.dumps(good))
    place = copy
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 4)):
            place = place[key]
            continue
        place[key] = draw(JSON)
        return copy


@given(damaged(), damaged() | st.just(KEY))
def test_a_damaged_record_is_an_outcome_and_no_exception(value, key):
    for outcome in read(record(value, key)):
        assert isinstance(outcome, Observation | Skipped | Reject | Note)


@given(st.binary(max_size=60), st.none() | st.binary(max_size=20))
def test_any_bytes_are_an_outcome(value, key):
    schema = json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "string"]}]}
    )
    for data in (value, b"\0" + value):
        (outcome,) = decode(alone(Record("t", 0, 0, None, key, data)), "main", lambda id: schema)
        assert isinstance(outcome, Skipped | Reject)
