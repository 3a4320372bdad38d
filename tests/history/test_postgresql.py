"""Situations of PostgreSQL streams, as records: what arrives, and the entry that the history makes of it.

Source of what arrives: Debezium, PostgreSQL connector, "Data change events", and the recordings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.decode import decode
from schemaman.debezium.key import KeyChange, read_key_change
from schemaman.debezium.observation import Note, Observation, Skipped
from schemaman.debezium.records import Record
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.io import files
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.types import Enum, Integer
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from tests.support.chain import now_ms
from tests.support.checkout import CAPTURES
from tests.support.records import Node, alone, node, struct

ID = node("int32")
TEXT = node("string", optional=True)
ROW = {"id": ID, "note": TEXT}
TIME = 1_700_000_000_000


def event(offset: int, row: dict[str, Node] | None, *, op: str = "c", key: tuple[str, ...] = ("id",),
          lsn: int | None = None, committed: int | None = None, lag: int = 1, version: str = "3.4.1.Final",
          partition: int = 0, more: dict[str, Node] | None = None, keys: dict[str, Node] | None = None,
          **source: Any) -> Record:  # fmt: skip
    """An event of the table shop.t; by default close behind its commit, a second after the one before."""
    committed = TIME + offset * 1000 if committed is None else committed
    place = 100 + offset if lsn is None else lsn
    told: dict[str, Any] = {
        "version": version, "connector": "postgresql", "name": "srv", "ts_ms": committed,
        "snapshot": "false", "db": "shop", "sequence": json.dumps([str(place), str(place)]),
        "schema": "shop", "table": "t", "txId": place, "lsn": place, "xmin": None,
    }  # fmt: skip
    told |= source
    block = struct("io.debezium.connector.postgresql.Source", **{n: node("string") for n in told})
    value = {**struct("srv.shop.t.Value", **(row or ROW)), "optional": True}
    envelope = struct(
        "srv.shop.t.Envelope", before=value, after=value, source=block, op=node("string"), **(more or {})
    )
    payload = {"before": None, "after": None, "source": told, "op": op, "ts_ms": committed + lag}
    fields = keys or {k: {**(row or ROW)[k]} for k in key}
    keyed = {"schema": struct("srv.shop.t.Key", **fields), "payload": dict.fromkeys(fields, 1)}
    body = json.dumps({"schema": envelope, "payload": payload}).encode()
    return Record("srv.shop.t", partition, offset, None, json.dumps(keyed).encode() if fields else None, body)


def read(offset: int, row: dict[str, Node], snapshot: str = "incremental", **more: Any) -> Record:
    """A row read from the table; an incremental snapshot tells no place."""
    beside = {"lsn": None, "txId": None} if snapshot == "incremental" else {}
    record = event(offset, row, op="r", **{"snapshot": snapshot, **more})
    told = json.loads(record.value or b"")
    told["payload"]["source"] |= beside
    return replace(record, value=json.dumps(told).encode())


def remember(*records: Record) -> TableHistory:
    """The history of the one table that the records speak of."""
    registry = Registry(MemoryStore(), now_ms)
    summary = ingest(records, registry, "main", lambda id: None)
    assert summary.rejects == 0
    (found,) = registry.tables()
    return found


def versions(*records: Record) -> tuple[SchemaVersion, ...]:
    return tuple(remember(*records).versions)


def kinds(found: TableHistory) -> list[str]:
    return [d.kind for d in found.disagreements]


# Columns and types: always of the record's own place in the log.


@pytest.mark.case(1)
def test_a_column_that_was_added_begins_behind_the_last_record_without_it() -> None:
    first, second = versions(event(0, ROW), event(1, ROW), event(2, ROW | {"more": TEXT}))
    assert second.schema.names == ("id", "note", "more")
    assert second.after is not None
    assert (second.after.offset, second.at.offset, second.at.position.value) == (1, 2, "102")
    assert first.until == second.at


@pytest.mark.case(2)
def test_a_required_column_has_its_default_at_once_or_gets_it_later() -> None:
    five = node("int32", default=5)
    (_, second) = versions(event(0, ROW), event(1, ROW | {"n": node("int32")}), event(2, ROW | {"n": five}))
    column = second.schema.column("n")
    assert column is not None
    assert (column.nullable, column.default) == (False, 5)
    assert [r.schema.columns[2].default for r in second.revisions] == [None, 5]


@pytest.mark.parametrize(("before", "after", "changed"), [
    ({"gone": TEXT}, {}, True),
    ({"old": TEXT}, {"new": TEXT}, True),
    ({"n": node("int32")}, {"n": node("int64")}, True),
    ({"n": node("int64")}, {"n": node("int32")}, True),
    # what is no structure: labels, comments, spellings of the source, defaults, placeholders of values
    ({"e": node("string", "io.debezium.data.Enum", parameters={"allowed": "a,b"})},
     {"e": node("string", "io.debezium.data.Enum", parameters={"allowed": "a,b,c"})}, False),
    ({"c": TEXT}, {"c": {**TEXT, "doc": "a comment"}}, False),
    ({"c": {**TEXT, "parameters": {"__debezium.source.column.length": "50"}}},
     {"c": {**TEXT, "parameters": {"__debezium.source.column.length": "100"}}}, False),
    ({"c": TEXT}, {"c": {**TEXT, "default": "x"}}, False),
])  # fmt: skip
def test_what_is_another_version_and_what_a_revision_at_most(
    before: dict[str, Node], after: dict[str, Node], changed: bool
) -> None:
    found = versions(event(0, ROW | before), event(1, ROW | after))
    assert len(found) == 1 + changed
    if not changed:
        assert {r.number for r in found[0].revisions} <= {0, 1}


@pytest.mark.case(45)
def test_labels_of_an_enum_grow_in_a_revision() -> None:
    def enum(labels: str) -> dict[str, Node]:
        return ROW | {"e": node("string", "io.debezium.data.Enum", parameters={"allowed": labels})}

    (version,) = versions(event(0, enum("a,b")), event(1, enum("a,b,c")))
    assert [r.schema.columns[2].type for r in version.revisions] == [Enum(("a", "b")), Enum(("a", "b", "c"))]


# Key, nullability: of the moment of reading.


@pytest.mark.case(22)
def test_a_key_that_came_later_is_another_version() -> None:
    emailed = {"id": ID, "email": node("string")}
    first, second = versions(
        event(0, emailed, key=("email",)), event(1, emailed, key=("id",)), event(2, emailed)
    )
    assert (first.schema.key, second.schema.key) == (("email",), ("id",))
    assert second.status == "confirmed"


@pytest.mark.case(24)
def test_a_later_key_is_confirmed_by_no_row_that_was_written_before_it_was_read() -> None:
    both = {"id": ID, "owner": ID}
    lagging = [event(n, both, key=("owner", "id"), lag=60_000 - n * 1000) for n in range(1, 8)]
    found = versions(event(0, both, op="r", snapshot="last"), *lagging)
    assert [v.status for v in found] == ["confirmed", "provisional"]
    assert (found[1].unconfirmed, found[1].proven_from) == (("key",), None)
    later = event(8, both, key=("owner", "id"), committed=TIME + 61_000)
    second = versions(event(0, both, op="r", snapshot="last"), *lagging, later)[1]
    assert (second.at.offset, second.status) == (1, "confirmed")
    assert second.proven_from is not None
    assert second.proven_from.offset == 8


@pytest.mark.case(24)
def test_a_key_that_is_missing_for_a_moment_stays_unconfirmed() -> None:
    """And what else was read with it: columns that the catalogue did not find are told to be nullable."""
    found = versions(event(0, ROW), event(1, ROW, key=(), lag=90_000), event(2, ROW))
    assert [v.schema.key for v in found] == [("id",), (), ("id",)]
    assert found[1].unconfirmed == ("key", "nullable:note")


def test_a_key_in_passing_is_told_as_one() -> None:
    paid = {"pay_id": ID, "currency": node("string")}
    renamed = {"id": ID, "currency": node("string")}
    after = [event(n, renamed, key=("currency", "id")) for n in (2, 3)]
    found = remember(event(0, paid, key=("pay_id",)), event(1, paid, key=("currency",), lag=90_000), *after)
    (passing,) = [d for d in found.disagreements if d.kind == "key-in-passing"]
    assert (passing.versions, passing.is_remark) == ((2,), True)
    assert "no record confirms the key (currency)" in passing.message
    flicker = remember(event(0, ROW), event(1, ROW, key=(), lag=90_000), event(2, ROW))
    assert kinds(flicker) == ["key-in-passing"]
    assert "the key was (id) before and after" in flicker.disagreements[0].message
    confirmed = [event(n, ROW, key=()) for n in (1, 2)]
    assert kinds(remember(event(0, ROW), *confirmed, event(3, ROW))) == []


@pytest.mark.case(25)
def test_not_null_that_is_dropped_before_the_row_was_written_is_unconfirmed() -> None:
    required = {"id": ID, "note": node("string")}
    found = versions(event(0, required, op="r", snapshot="last"), event(1, ROW, lag=90_000))
    assert found[1].unconfirmed == ("nullable:note",)


# Rows, not structures.


@pytest.mark.parametrize("before", [None, {"id": 1}, {"id": 1, "note": ""}, {"id": 1, "note": "old"}])
def test_what_before_holds_proves_nothing(before: object) -> None:
    """REPLICA IDENTITY nothing, the key (default or an index), the same with fallbacks, or all."""
    first = event(0, ROW)
    told = json.loads(event(1, ROW, op="u").value or b"")
    told["payload"]["before"] = before
    (version,) = versions(first, replace(event(1, ROW), value=json.dumps(told).encode()))
    assert version.records == 2
    assert [c.nullable for c in version.schema.columns] == [False, True]


@pytest.mark.case(46)
def test_a_value_that_toast_leaves_out_is_a_value() -> None:
    told = json.loads(event(1, ROW, op="u").value or b"")
    told["payload"]["after"] = {"id": 1, "note": "__debezium_unavailable_value"}
    (version,) = versions(event(0, ROW), replace(event(1, ROW), value=json.dumps(told).encode()))
    assert version.revision == 0


@pytest.mark.case(26)
def test_a_row_that_changes_its_key_is_a_delete_a_tombstone_and_a_create() -> None:
    gone = replace(event(1, ROW, op="d"), headers=(("__debezium.newkey", b'{"id":2}'),))
    stone = replace(gone, offset=2, value=None)
    back = replace(event(3, ROW), headers=(("x", None), ("__debezium.oldkey", b'{"id":1}')))
    (version,) = versions(event(0, ROW), gone, stone, back)
    assert (version.records, version.revision) == (3, 0)
    told = [read_key_change(r) for r in (gone, stone, back)]
    assert told == [KeyChange("old", '{"id":2}'), KeyChange("old", '{"id":2}'), KeyChange("new", '{"id":1}')]
    assert read_key_change(event(0, ROW)) is None


def test_the_two_ends_of_a_recorded_row_find_each_other() -> None:
    found = files.read_records(files.find_file(str(CAPTURES / "postgres" / "shop-json")))
    ends = [(r, c) for r in found if isinstance(r, Record) and r.value and (c := read_key_change(r))]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    for (old, told), (new, back) in pairs:
        assert (told.end, back.end) == ("old", "new")
        assert old.topic == new.topic
        assert told.other == json.dumps(json.loads(new.key or b"")["payload"], separators=(",", ":"))
        assert back.other == json.dumps(json.loads(old.key or b"")["payload"], separators=(",", ":"))
    assert len(ends) == 12


@pytest.mark.case(27)
def test_a_truncate_is_an_event_and_takes_no_key() -> None:
    found = remember(event(0, ROW), event(1, ROW, op="t", key=()), event(2, ROW))
    assert len(found.versions) == 1
    assert [(e.kind, e.at.offset) for e in found.events] == [("truncated", 1)]
    assert found.latest.schema.key == ("id",)


@pytest.mark.case(28)
def test_a_tombstone_shows_no_structure() -> None:
    (version,) = versions(event(0, ROW), replace(event(1, ROW), value=None), event(2, ROW))
    assert version.records == 2


# Deliveries: again, or in several partitions.


@pytest.mark.case(63)
def test_an_old_structure_that_arrives_late_in_another_partition_is_no_version() -> None:
    more = ROW | {"more": TEXT}
    found = versions(
        event(0, ROW, lsn=1), event(1, more, lsn=30), event(0, ROW, lsn=2, partition=1),
        event(1, ROW, lsn=20, partition=1), event(2, more, lsn=31, partition=1),
    )  # fmt: skip
    assert [v.schema.names for v in found] == [("id", "note"), ("id", "note", "more")]
    assert found[1].after is not None
    assert found[1].after.position.value == "20"


@pytest.mark.case(64)
def test_a_restart_from_older_offsets_repeats_and_changes_nothing() -> None:
    more = ROW | {"more": TEXT}
    once = versions(event(0, ROW), event(1, ROW), event(2, more), event(3, more))
    again = [event(4 + n, row, lsn=101 + n, lag=90_000) for n, row in enumerate((ROW, more, more))]
    twice = remember(event(0, ROW), event(1, ROW), event(2, more), event(3, more), *again)
    assert [(v.id, v.at) for v in twice.versions] == [(v.id, v.at) for v in once]
    assert sum(v.records for v in twice.versions) == 7
    assert kinds(twice) == []


# Snapshots.


MARKERS = [
    "true",
    "first",
    "first_in_data_collection",
    "last_in_data_collection",
    "last",
    True,
    "incremental",
]


@pytest.mark.parametrize("snapshot", MARKERS)
def test_every_marker_of_a_snapshot(snapshot: Any) -> None:
    (version,) = versions(read(0, ROW, snapshot), event(1, ROW))
    assert (version.status, version.records) == ("confirmed", 2)


@pytest.mark.case(40)
def test_a_new_snapshot_of_everything_is_no_new_incarnation() -> None:
    found = remember(
        read(0, ROW, "first"), event(1, ROW), read(2, ROW, "true"), read(3, ROW, "last"), event(4, ROW)
    )
    (version,) = found.versions
    assert (version.incarnation, version.records, kinds(found)) == (1, 5, [])


@pytest.mark.case(41)
@pytest.mark.parametrize("lsn", [None, 1, 999_999])
def test_incremental_reads_never_move_the_position_of_a_change(lsn: int | None) -> None:
    more = ROW | {"more": TEXT}
    rows = [read(1, ROW), read(3, ROW), read(5, more)]
    for number, record in enumerate(rows):
        told = json.loads(record.value or b"")
        told["payload"]["source"]["lsn"] = lsn
        rows[number] = replace(record, value=json.dumps(told).encode())
    found = remember(event(0, ROW), rows[0], event(2, ROW), rows[1], event(4, more), rows[2], event(6, more))
    first, second = found.versions
    assert (first.at.offset, second.at.offset) == (0, 4)
    assert second.after is not None
    assert second.after.offset == 3
    assert (first.records, second.records) == (4, 3)


@pytest.mark.case(41)
def test_a_change_inside_the_window_of_an_incremental_snapshot_is_reported() -> None:
    more = ROW | {"more": TEXT}
    assert kinds(remember(event(0, ROW), read(1, ROW), event(2, more))) == ["changed-while-read"]
    assert kinds(remember(event(0, ROW), read(1, ROW), event(2, ROW))) == []


# What is left out, and what is only perhaps a change.


@pytest.mark.case(48)
def test_a_column_that_is_left_out_of_the_row_stays_in_the_key_and_in_the_table() -> None:
    found = remember(event(0, ROW), event(1, {"note": TEXT}, keys={"id": ID}), event(2, ROW))
    (version,) = found.versions
    assert version.schema.names == ("id", "note")
    assert kinds(found) == ["column-excluded"]


def test_a_column_that_was_never_in_the_row_is_known_by_the_key() -> None:
    (version,) = versions(event(0, {"note": TEXT}, keys={"id": ID}))
    first = version.schema.columns[0]
    assert (first.name, first.type, first.emitted_name) == ("id", Integer(32), None)
    assert parse_columns(format_columns(version.schema)) == version.schema
    before, after = versions(event(0, {"note": TEXT}, keys={"id": ID}), event(1, ROW | {"more": TEXT}))
    assert [c.id for c in after.schema.columns[:2]] == [c.id for c in before.schema.columns]


def test_a_field_that_routing_added_to_a_key_is_no_column() -> None:
    record = event(0, ROW, keys={"id": ID, "shard": node("string")})
    key = json.loads(record.key or b"")
    key["payload"]["shard"] = "srv.shop.t"
    (version,) = versions(replace(record, key=json.dumps(key).encode()))
    assert (version.schema.names, version.schema.key) == (("id", "note"), ("id",))


@pytest.mark.case(48)
def test_a_column_that_is_left_out_and_in_no_key_looks_dropped() -> None:
    assert len(versions(event(0, ROW), event(1, {"id": ID}))) == 2


@pytest.mark.case(65)
def test_a_table_created_anew_under_its_name_is_reported_as_uncertain() -> None:
    other = {"label": node("string"), "size": TEXT, "place": TEXT}
    found = remember(event(0, ROW), event(1, other, key=("label",)))
    assert (len(found.versions), kinds(found)) == (2, ["perhaps-made-anew"])
    assert not {c.id for c in found.versions[0].schema.columns} & {c.id for c in found.latest.schema.columns}
    assert kinds(remember(event(0, ROW), event(1, ROW | {"more": TEXT}))) == []


# Frames of all releases: they are no structure.

LONG = node("int64")
BLOCK = struct(None, id=node("string"), total_order=node("int64"), data_collection_order=node("int64"))
FRAMES: dict[str, dict[str, Node]] = {
    "1.0.3.Final": {"ts_ms": LONG},
    "1.4.2.Final": {"ts_ms": LONG, "transaction": {**BLOCK, "optional": True}},
    "2.5.4.Final": {"ts_ms": LONG, "transaction": {**BLOCK, "name": "event.block", "version": 1}},
    "2.6.2.Final": {"ts_ms": LONG, "ts_us": LONG, "ts_ns": LONG, "transaction": BLOCK},
    "3.6.3.Final": {"transaction": BLOCK, "ts_ms": LONG, "ts_us": LONG, "ts_ns": LONG},
}  # fmt: skip
ALLOWED = {
    "1.0.3.Final": "true,last,false",
    "2.5.4.Final": "true,last,false,incremental",
    "3.6.3.Final": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental",
}
"""What the source block's schema lists, which lags behind what is sent."""
SOURCES: dict[str, dict[str, Any]] = {
    "1.0.3.Final": {"sequence": None},
    "3.6.3.Final": {"ts_us": 1, "ts_ns": 1, "origin": None, "origin_lsn": None},
}


@pytest.mark.case(17, 18)
def test_an_envelope_of_every_release_around_one_table_is_one_version() -> None:
    records = [
        source_of(event(offset, ROW, version=version, more=frame, **SOURCES.get(version, {})), version)
        for offset, (version, frame) in enumerate(FRAMES.items())
    ]
    found = remember(*records)
    (version,) = found.versions
    assert (version.records, version.revision, kinds(found)) == (len(FRAMES), 0, [])


def source_of(record: Record, version: str) -> Record:
    """The event with the source block's schema as a release writes it: labels of a snapshot, a version."""
    told = json.loads(record.value or b"")
    block = next(f for f in told["schema"]["fields"] if f["field"] == "source")
    snapshot = next(f for f in block["fields"] if f["field"] == "snapshot")
    snapshot |= {"name": "io.debezium.data.Enum", "version": 1, "optional": True, "default": "false"}
    snapshot["parameters"] = {"allowed": ALLOWED.get(version, ALLOWED["2.5.4.Final"])}
    if version >= "3.1":
        block["version"] = 1
    return replace(record, value=json.dumps(told).encode())


@pytest.mark.parametrize("op", ["r", "c", "u", "d"])
@pytest.mark.parametrize("version", FRAMES)
def test_every_operation_tells_the_structure(op: str, version: str) -> None:
    (version_,) = versions(event(0, ROW, op=op, version=version, more=FRAMES[version]))
    assert version_.schema.names == ("id", "note")


# Recordings: what is no row.


def told(run: str) -> Iterable[Observation | Skipped | Note]:
    for record in files.read_records(files.find_file(str(CAPTURES / "postgres" / run))):
        assert isinstance(record, Record)
        for outcome in decode(alone(record), "main", lambda id: None):
            assert isinstance(outcome, Observation | Skipped | Note)
            yield outcome


def test_transactions_of_four_releases_are_boundaries_and_nothing_else() -> None:
    found = list(told("shop-upgrade"))
    assert sum(isinstance(o, Skipped) and o.kind == "transaction" for o in found) == 74
    assert {o.table.table for o in found if isinstance(o, Observation)} == {
        "bins",
        "pick-lists",
        "products",
        "events",
    }


def test_a_recorded_signal_table_is_known_as_one() -> None:
    notes = [o for o in told("shop-incremental") if isinstance(o, Note)]
    assert {(n.kind, str(n.table)) for n in notes} == {("signal-table", "shopdb.shop.shop.dbz_signal")}


def test_columns_that_exchange_places_are_told_as_a_doubt() -> None:
    a, b = node("int32", optional=True), node("int32", optional=True)
    found = remember(
        event(0, {"id": ID, "a": a, "b": b}, key=("id",)), event(1, {"id": ID, "b": b, "a": a}, key=("id",))
    )
    assert kinds(found) == ["perhaps-swapped"]
    first, second = found.versions
    assert not {c.id for c in first.schema.columns[1:]} & {c.id for c in second.schema.columns[1:]}


@pytest.mark.parametrize(("names", "doubted"), [("abc", True), ("acb", False), ("ac", False)])
def test_a_column_that_comes_back_where_it_was_may_have_been_left_out(names: str, doubted: bool) -> None:
    def told(offset: int, names: str) -> Record:
        return event(offset, {n: node("int32", optional=True) for n in names}, key=())

    found = remember(told(0, "abc"), told(1, "ac"), told(2, names))
    assert ("perhaps-excluded" in kinds(found)) == doubted


@pytest.mark.parametrize(
    ("committed", "unconfirmed"), [(TIME + 60_000, ("nullable:a",)), (TIME + 100_000, ())]
)
def test_what_was_certain_of_a_column_is_not_of_another_one_of_its_name(
    committed: int, unconfirmed: tuple[str, ...]
) -> None:
    """A row may be read when a column that came anew takes NULLs at last, as the one before it did."""
    a, b = node("int32", optional=True), node("string", optional=True)
    other = {"id": ID, "b": b, "a": b}
    first, second = versions(
        *(event(n, {"id": ID, "a": a, "b": b}) for n in range(3)),
        event(3, other, committed=TIME + 30_000, lag=60_000),
        event(4, other, committed=committed, lag=30_000),
    )
    assert first.unconfirmed == ()
    assert second.unconfirmed == unconfirmed
    assert {p.fact for p in second.proofs} == {"nullable:a"}


@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("ahead", [0, 2_000])
def test_the_proof_of_a_key_has_the_time_at_which_the_key_was_first_read(ahead: int, chunks: int) -> None:
    """The record that proves a key may be the last of many, and the clock of the database may be ahead."""
    n = {"id": ID, "n": ID}
    changes = [event(i, n, key=("n",), lag=1_500) for i in range(1, 8)]
    records = [event(0, n, key=("id",), lag=-ahead or 1), *changes]
    registry = Registry(MemoryStore(), now_ms)
    for start in range(0, len(records), 8 // chunks):
        ingest(records[start : start + 8 // chunks], registry, "main", lambda id: None)
    (found,) = registry.tables()
    (proof,) = [p for p in found.latest.proofs if p.fact == "key"]
    assert proof.at is not None
    assert (proof.at.offset, proof.read_ms) == (7, TIME + 1_000 + 1_500 + ahead)


@pytest.mark.parametrize(("committed", "unconfirmed"), [(TIME + 1_000, ("default:n",)), (TIME + 9_000, ())])
def test_a_default_that_came_later_is_confirmed_as_a_key_is(committed: int, unconfirmed: tuple[str]) -> None:
    """Rows that were written before a default was set may be read with it: it may be from their future."""
    with_default = {"id": ID, "n": {**node("int32", optional=True), "default": 7}}
    found = remember(
        event(0, {"id": ID, "n": node("int32", optional=True)}, key=("id",)),
        event(1, with_default, key=("id",), committed=TIME + 500, lag=5_000),
        event(2, with_default, key=("id",), committed=committed, lag=5_000),
    )
    assert found.latest.revision == 1
    assert [f for f in found.latest.unconfirmed if f.startswith("default:")] == [*unconfirmed]
