"""The scanner against a reader that parses every record whole and knows no shortcuts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.converters.avro import decode_body, reduce_schema
from schemaman.debezium.observation import ALTERNATIONS, SchemaRun
from schemaman.debezium.records import Position, Record
from schemaman.ingest.chunks import build_reading, read_position
from schemaman.ingest.probe import Prober
from schemaman.ingest.scan import merge, scan
from schemaman.io import schema_registry
from tests.support.checkout import CAPTURES
from tests.support.recordings import recorded, registry

RECORDINGS = sorted(p.parent for p in CAPTURES.glob("*/*/records.*"))
ROWS = [p for p in RECORDINGS if not re.search("plain|modes|flat|mongodb", str(p.relative_to(CAPTURES)))]
"""Those of rows with their schemas and a source block, which is what the reference reads."""
JSON_RUNS = ("postgres/shop-json", "db2/shop-3.4.1-json", "mariadb/bookshop-mariadb-3.5.0-json")


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as the reference sees it; `proof` is whatever has to be equal inside a run."""

    record: Record
    table: tuple[str, ...]
    proof: object
    position: Position


def body(data: bytes | None, schemas: schema_registry.RegistryExport) -> tuple[object, str, object]:
    """Schema, its name and payload, by parsing all of it."""
    if data is None:
        return None, "", None
    if data[0] == 0:
        text = schemas(int.from_bytes(data[1:5], "big"))
        assert text is not None
        schema = json.loads(text)
        return data[:5], f"{schema['namespace']}.{schema['name']}", decode_body(reduce_schema(text), data)
    document = json.loads(data)
    return json.dumps(document["schema"]), document["schema"].get("name", ""), document["payload"]


def see(record: Record, schemas: schema_registry.RegistryExport) -> Seen:
    if record.value is None:
        return Seen(record, ("tombstone",), "tombstone", Position("none", ""))
    schema, name, payload = body(record.value, schemas)
    assert isinstance(payload, dict)
    source, op = payload.get("source"), payload.get("op")
    key = None if record.key is None else body(record.key, schemas)[0]
    if not isinstance(source, dict):
        return Seen(record, (name,), (schema, key), Position("none", ""))
    place = read_position(source["connector"], source)
    streamed = source["snapshot"] in ("false", None)
    proof = (schema, key, source["version"], source["connector"], streamed, "c" if op in ("u", "d") else op)
    if op is None:
        return Seen(record, (), record.offset, place)
    if op == "m":
        return Seen(record, (name,), proof, place)
    table = tuple(str(source.get(k) or "") for k in ("name", "db", "schema", "table"))
    return Seen(record, table, proof, place)


def reference(records: Iterable[Record], schemas: schema_registry.RegistryExport) -> list[tuple[object, ...]]:
    """The runs, told as (table, first, last, count, interrupted, group of equal proofs)."""
    told: list[tuple[object, ...]] = []
    runs: dict[tuple[object, ...], list[list[Seen]]] = {}
    for one in (see(r, schemas) for r in records):
        mine = runs.setdefault((one.record.topic, one.record.partition, one.table), [])
        last = mine[-1][-1] if mine else None
        if (
            last is not None
            and one.table
            and last.proof == one.proof
            and last.position.kind == one.position.kind
            and one.position.rank >= last.position.rank
        ):
            mine[-1].append(one)
        else:
            mine.append([one])
    for (*_, table), mine in runs.items():
        interrupted = bool(table) and len(mine) > ALTERNATIONS
        if interrupted:
            by_proof: dict[object, list[Seen]] = {}
            for run in mine:
                by_proof.setdefault(run[0].proof, []).extend(run)
            mine = list(by_proof.values())
        told += [edges(table, run[0], run[-1], len(run), interrupted) for run in mine]
    return sorted(told, key=repr)


def edges(table: object, first: Seen, last: Seen, count: int, interrupted: bool) -> tuple[object, ...]:
    place = (first.record.topic, first.record.partition)
    whole = (first.record.offset, first.position), (last.record.offset, last.position)
    return (*place, table, *whole, count, interrupted, first.record)


def plain(runs: Iterable[SchemaRun]) -> list[tuple[object, ...]]:
    """Runs in the words of the reference."""
    return sorted(
        (
            (
                r.first.topic,
                r.first.partition,
                r.table,
                (r.first.offset, r.first.position),
                (r.last.offset, r.last.position),
                r.count,
                r.interrupted,
                r.sample,
            )
            for r in runs
        ),
        key=repr,
    )


def in_order(records: Iterable[Record]) -> list[Record]:
    """The records with new offsets, as they would lie in their partitions."""
    reached: dict[tuple[str, int], int] = {}
    placed = []
    for record in records:
        offset = reached.get((record.topic, record.partition), -1) + 1
        reached[record.topic, record.partition] = offset
        placed.append(replace(record, offset=offset))
    return placed


def moved(record: Record, by: int) -> Record:
    """The same event somewhat later, or earlier, in the source's log."""
    value = record.value or b""

    def shift(found: re.Match[bytes]) -> bytes:
        return found[1] + str(max(1, int(found[2]) + by)).encode()

    for pattern in (rb'("lsn":)([0-9]+)', rb'("pos":)([0-9]+)', rb'(\\",\\")([0-9]+)(?=\\"\])'):
        value = re.sub(pattern, shift, value)
    return replace(record, value=value if record.value is not None else None)


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[str, list[Record]]:
    """Real events of one recording, mixed over partitions, repeated, moved, in any order."""
    run = draw(st.sampled_from((*JSON_RUNS, "postgres/shop-avro")))
    pool = recorded(run)
    step = st.tuples(
        st.integers(0, len(pool) - 1),
        st.integers(1, 40),
        st.integers(0, 1),
        st.sampled_from([-9, 0, 1, 9999]),
    )
    found: list[Record] = []
    for at, length, partition, by in draw(st.lists(step, min_size=1, max_size=8)):
        stretch = pool[at : at + length] if by in (0, -9) else [pool[at]] * length
        found += [moved(replace(r, partition=partition), by * i) for i, r in enumerate(stretch)]
    return run, in_order(found)


@pytest.mark.parametrize("run", ROWS, ids=lambda p: p.name)
def test_recordings(run):
    name = str(run.relative_to(CAPTURES))
    records, schemas = recorded(name), registry(name)
    assert plain(scan(records, build_reading(schemas))) == reference(records, schemas)


@pytest.mark.parametrize("run", RECORDINGS, ids=lambda p: p.name)
def test_recordings_by_comparing_and_by_parsing(run):
    name = str(run.relative_to(CAPTURES))
    records, reading = recorded(name), build_reading(registry(name))
    runs = scan(records, reading)
    assert runs == scan(records, reading, quick=False)
    assert sum(r.count for r in runs) == len(records)


@given(interleavings())
def test_comparing_says_what_parsing_says(case):
    run, records = case
    reading = build_reading(registry(run))
    runs = scan(records, reading)
    assert plain(runs) == reference(records, registry(run))
    assert runs == scan(records, reading, quick=False)


@given(interleavings(), st.lists(st.integers(0, 320), max_size=5), st.randoms(use_true_random=False))
def test_parts_merged_are_the_whole(case, cuts, random):
    run, records = case
    reading = build_reading(registry(run))
    bounds = sorted({0, len(records), *(c for c in cuts if c < len(records))})
    parts = [scan(records[a:b], reading) for a, b in pairwise(bounds)]
    half = len(parts) // 2
    first, second = (
        merge((r for part in some for r in part), reading) for some in (parts[:half], parts[half:])
    )
    random.shuffle(parts)
    whole = scan(records, reading)
    assert merge((r for part in parts for r in part), reading) == whole
    assert merge((*second, *first), reading) == whole


def streamed(run: str = "postgres/shop-json", table: bytes = b'"table":"orders"') -> list[Record]:
    """Streamed events of one table."""
    found = [r for r in recorded(run) if r.value and table in r.value and b'"snapshot":"false"' in r.value]
    assert len(found) > 3
    return [replace(r, partition=0) for r in found]


def one_shape() -> list[Record]:
    """A hundred events of one table and shape, in order of the source."""
    return in_order(moved(streamed()[0], 8 * i) for i in range(100))


def no_registry(records: Sequence[Record], *, quick: bool = True) -> tuple[SchemaRun, ...]:
    return scan(records, build_reading(schema_registry.NO_REGISTRY), quick=quick)


def test_a_hundred_events_are_one_run():
    (run,) = no_registry(one_shape())
    assert (run.count, run.first.offset, run.last.offset) == (100, 0, 99)
    assert run.table == ("shopdb", "shop", "shop", "orders")
    assert run.sample == one_shape()[0]
    assert int(run.last.position.value) == int(run.first.position.value) + 8 * 99


def test_a_position_that_goes_back_ends_the_run():
    records = one_shape()
    runs = no_registry(in_order([*records, *records[40:]]))
    assert [r.count for r in runs] == [100, 60]


def at(record: Record, commit: int | None, lsn: int | None) -> Record:
    """The event at a place of PostgreSQL's log."""
    texts = [json.dumps(None if n is None else str(n)) for n in (commit, lsn)]
    sequence = json.dumps(f"[{','.join(texts)}]").encode()
    value = re.sub(rb'"sequence":"\[.*?\]"', lambda _: b'"sequence":' + sequence, record.value or b"")
    return replace(record, value=re.sub(rb'"lsn":[0-9]+', b'"lsn":' + json.dumps(lsn).encode(), value))


@pytest.mark.parametrize(
    ("places", "counts"),
    [
        ([(100, 100 + i) for i in range(50)] + [(101, 50 + i) for i in range(50)], [100]),
        ([(101, 50 + i) for i in range(50)] + [(100, 100 + i) for i in range(50)], [50, 50]),
        ([(90, 90 + i) for i in range(100)], [100]),
        ([(90, 100 + i) for i in range(50)] + [(90, 50 + i) for i in range(50)], [50, 50]),
        ([(1000 + i, 1000 + i) for i in range(50)] + [(999, 2000)] * 50, [50, 50]),
        ([(1000, 1000)] * 50 + [(999, 999)] * 50, [50, 50]),
        ([(None, 500 + i) for i in range(50)] + [(500, 600 + i) for i in range(50)], [50, 50]),
        ([(None, None)] * 50 + [(500, 600 + i) for i in range(50)], [50, 50]),
        ([(500, 600)] * 50 + [(None, None)] * 50, [50, 50]),
    ],
)
def test_places_are_compared_as_the_dialect_ranks_them(places, counts):
    event = streamed()[0]
    records = in_order(at(event, commit, lsn) for commit, lsn in places)
    runs = no_registry(records)
    assert [r.count for r in runs] == counts
    assert plain(runs) == reference(records, schema_registry.NO_REGISTRY)


@pytest.mark.parametrize(
    ("places", "counts"),
    [
        ([("000009", 900 + i, 0) for i in range(50)] + [("000010", 4 + i, 0) for i in range(50)], [100]),
        ([("000010", 4 + i, 0) for i in range(50)] + [("000009", 900 + i, 0) for i in range(50)], [50, 50]),
        ([("000009", 900 + i // 9, i % 9) for i in range(100)], [100]),
        ([("000009", 900, 5)] * 50 + [("000009", 900, 4)] * 50, [50, 50]),
        ([("000010", 100 + i, 0) for i in range(50)] + [("000009", 900 + i, 0) for i in range(50)], [50, 50]),
        ([("000009", 950 + i, 0) for i in range(100)] + [("000009", 999, 0)] * 30, [100, 30]),
    ],
)
def test_places_of_a_binary_log(places, counts):
    event = streamed("mariadb/bookshop-mariadb-3.5.0-json", b'"table":"book"')[0]
    records = []
    for file, pos, row in places:
        value = re.sub(rb"binlog.[0-9]+", b"binlog." + file.encode(), event.value or b"")
        value = re.sub(rb'"pos":[0-9]+,"row":[0-9]+', b'"pos":%d,"row":%d' % (pos, row), value)
        records.append(replace(event, value=value))
    assert [r.count for r in no_registry(in_order(records))] == counts


def test_rows_that_were_read_and_rows_that_were_streamed_are_two_runs():
    records = one_shape()
    old = [
        replace(r, value=(r.value or b"").replace(b'"snapshot":"false"', b'"snapshot":"true"'))
        for r in records
    ]
    assert [r.count for r in no_registry([*records[:50], *old[50:]])] == [50, 50]


@pytest.mark.parametrize(("times", "collapsed"), [(ALTERNATIONS, False), (ALTERNATIONS + 1, True)])
def test_so_many_alternations_are_told_one_by_one(times, collapsed):
    mixed = in_order(r if i % 2 else other_shape(r) for i, r in enumerate(one_shape()[:times]))
    assert [r.interrupted for r in no_registry(mixed)] == ([True] * 2 if collapsed else [False] * times)


@pytest.mark.parametrize("rest", [b"}", b"}}", b"x", b'{"a":{"b":1}}'])
def test_what_follows_a_value_is_a_fault(rest):
    records = one_shape()
    records[60] = replace(records[60], value=(records[60].value or b"") + rest)
    run, bad = no_registry(records)
    assert run.count == 99
    assert "Extra data" in (bad.fault or "")


def other_shape(record: Record) -> Record:
    value = (record.value or b"").replace(b'"optional":false,"field":"id"', b'"optional":true,"field":"id"')
    assert value != record.value
    return replace(record, value=value)


def test_there_and_back_are_three_runs():
    records = one_shape()
    back = in_order([*records[:30], *(other_shape(r) for r in records[30:60]), *records[60:]])
    runs = no_registry(back)
    assert [r.count for r in runs] == [30, 30, 40]
    assert runs[0].shape == runs[2].shape != runs[1].shape


def test_shapes_that_alternate_become_counted_intervals():
    records = one_shape()
    mixed = in_order(r if i % 2 else other_shape(r) for i, r in enumerate(records))
    runs = no_registry(mixed)
    assert [(r.count, r.first.offset, r.last.offset, r.interrupted) for r in runs] == [
        (50, 0, 98, True),
        (50, 1, 99, True),
    ]
    reading = build_reading(schema_registry.NO_REGISTRY)
    for cut in (10, 66, 70):
        assert merge((*no_registry(mixed[:cut]), *no_registry(mixed[cut:])), reading) == runs


def test_records_of_other_tables_do_not_end_a_run():
    one = one_shape()
    two = [
        replace(r, value=(r.value or b"").replace(b'"table":"orders"', b'"table":"orders_eu"')) for r in one
    ]
    runs = no_registry(in_order(r for pair in zip(one, two, strict=True) for r in pair))
    assert sorted((r.table[-1], r.count) for r in runs) == [("orders", 100), ("orders_eu", 100)]


def with_payload(record: Record, change: str) -> Record:
    """The record with its value written in another way."""
    document = json.loads(record.value or b"")
    match change:
        case "payload first":
            value = {"payload": document["payload"], "schema": document["schema"]}
        case "a third member":
            value = {"schema": document["schema"], "note": 1, "payload": document["payload"]}
        case "source first":
            payload = document["payload"]
            value = document | {"payload": {"source": payload.pop("source"), **payload}}
        case "a column called source":
            value = document
            value["payload"]["after"] = {
                "source": {"op": "c", "ts_ms": 1},
                "payload": '{"source":{"op":"d"}}',
            }
        case "spaces":
            return replace(record, value=json.dumps(document).encode())
        case _:
            return replace(record, value=json.dumps(document, indent=1, ensure_ascii=False).encode())
    return replace(record, value=json.dumps(value, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "change",
    ["payload first", "a third member", "source first", "a column called source", "spaces", "indented"],
)
def test_other_ways_to_write_the_same(change):
    records = [with_payload(r, change) for r in one_shape()]
    (run,) = no_registry(records)
    (plainly,) = no_registry(one_shape())
    told = replace(run, shape="", sample=plainly.sample, last_hash=plainly.last_hash)
    assert told == replace(plainly, shape="")
    assert no_registry(records, quick=False) == (run,)


@pytest.mark.parametrize("change", ["", "spaces"])
def test_a_record_of_a_known_form_is_not_parsed(change):
    records = [with_payload(r, change) if change else r for r in one_shape()]
    prober = Prober(build_reading(schema_registry.NO_REGISTRY))
    for record in records[:40]:
        prober.probe_record(record)
    assert all(prober.match_outline(record) for record in records[40:])


FORMED = ("postgres/shop-json", "mariadb/bookshop-mariadb-3.5.0-json", "db2/shop-3.4.1-json")


@pytest.mark.parametrize("run", FORMED)
def test_the_last_record_of_a_run_is_probed_as_any_other(run):
    """Bytes have proven such a record, so that only its position and times are read."""
    prober = Prober(build_reading(registry(run)))
    records = recorded(run)
    probes = [prober.probe_record(record) for record in records * 4][-len(records) :]
    proven = [i for i, record in enumerate(records) if prober.match_outline(record)]
    assert len(proven) > 10
    for i in proven:
        assert prober.probe_last(records[i], probes[i]) == replace(probes[i], layout=None, texts=())


def test_a_last_record_without_a_readable_position_is_a_fault():
    def refuse_position(connector, source):
        raise ValueError("no position")

    record, reading = one_shape()[0], build_reading(schema_registry.NO_REGISTRY)
    first = Prober(reading).probe_record(record)
    prober = Prober(replace(reading, position_of=refuse_position))
    prober.probe_record(record)
    assert prober.probe_last(record, first).fault == "no position"


def test_other_keys_are_other_runs():
    records = one_shape()
    keyless = [replace(r, key=None) if 30 <= i < 60 else r for i, r in enumerate(records)]
    assert [r.count for r in no_registry(keyless)] == [30, 30, 40]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "empty"),
        (b"not json", "not JSON: Expecting value at character 0"),
        (b'{"schema":{"type":"struct"},"payload":{"a":1', "not JSON"),
        (b"\xff\xfe", "not UTF-8: byte 0"),
        (b"\0\0\0", "only 3 bytes"),
        (b"\0\0\0\x30\x39rest", "registry does not know schema id 12345"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_a_fault_of_its_own(value, reason):
    records = one_shape()
    records[50] = replace(records[50], value=value)
    for quick in (True, False):
        run, bad = no_registry(records, quick=quick)
        assert run.count == 99
        assert bad.fault is not None
        assert reason in bad.fault
        assert (bad.count, bad.first.offset, bad.last.offset, bad.table) == (1, 50, 50, ())


@pytest.mark.parametrize("lsn", [-1, -(2**63), 10**19, 2**64, 10**400])
def test_a_place_that_no_log_has_is_a_fault_and_stands_behind_nothing(lsn):
    """One damaged number must not put a shape behind all that is to come."""
    records = one_shape()
    value = re.sub(rb'"lsn":[0-9]+', b'"lsn":%d' % lsn, records[50].value or b"")
    records[50] = replace(records[50], value=re.sub(rb'"sequence":"\[.*?\]"', b'"sequence":null', value))
    for quick in (True, False):
        run, bad = no_registry(records, quick=quick)
        assert run.count == 99
        assert (bad.fault or "").startswith("a position that cannot be read: lsn ")
        assert len(bad.fault or "") < 100


def test_a_commit_of_too_many_digits_is_not_told():
    event = streamed()[0]
    for commit in (10**19, 10**40):
        (run,) = no_registry([at(event, commit, 500)])
        assert (run.first.position.commit, run.first.position.value) == (None, "500")
    (run,) = no_registry([at(event, 10**19 - 1, 500)])
    assert run.first.position.commit == str(10**19 - 1)


@pytest.mark.parametrize("cut", [1, 2, 40, 700])
def test_truncated_values_are_faults(cut):
    records = one_shape()
    records = [replace(r, value=(r.value or b"")[:-cut]) if i >= 50 else r for i, r in enumerate(records)]
    runs = no_registry(records)
    assert [r.count for r in runs] == [50] + [1] * 50
    assert all("not JSON" in (r.fault or "") for r in runs[1:])


@pytest.mark.parametrize("bare", [b"5", b'"x"', b"[1]"])
def test_a_bare_key_is_no_null_key(bare):
    """The one is unknown, the other names no column: neither may speak for the other."""
    keys = [b"null", bare, b"null", bare]
    records = [replace(r, key=key) for r, key in zip(recorded("postgres/shop-modes"), keys, strict=False)]
    by_key: dict[bytes | None, set[str]] = {}
    for run in no_registry(records):
        by_key.setdefault(run.sample.key, set()).add(run.shape)
    assert sum(run.count for run in no_registry(records)) == 4
    assert by_key.keys() == {b"null", bare}
    assert not by_key[b"null"] & by_key[bare]


@pytest.mark.parametrize("key", [b'{"schema":{', b"plain text", b"", b"\0\0", b"Struct{id=7}"])
def test_a_key_that_cannot_be_read_begins_a_run_of_its_own(key):
    records = one_shape()
    records[99] = replace(records[99], key=key)
    run, other = no_registry(records)
    assert (run.count, other.count, other.fault) == (99, 1, None)
    assert run.shape != other.shape


@pytest.mark.parametrize("cut", [True, False])
def test_a_key_with_damaged_values_has_the_schema_of_the_others(cut):
    records = one_shape()
    good = records[99].key or b""
    records[99] = replace(records[99], key=good[:-2] if cut else good + b"}")
    (run,) = no_registry(records)
    assert (run.count, run.fault) == (100, None)


def test_a_key_waits_for_its_schema():
    records = one_shape()
    records[99] = replace(records[99], key=b"\0\0\0\0\x07x")
    run, bad = no_registry(records)
    assert run.count == 99
    assert (bad.fault or "").startswith("key: registry does not know schema id 7")


def test_an_unknown_id_of_a_registry_hides_nothing_around_it():
    records = list(recorded("postgres/shop-avro"))
    full = registry("postgres/shop-avro")
    lost = int.from_bytes((records[100].value or b"")[1:5], "big")
    less = schema_registry.RegistryExport({i: t for i, t in full.schemas.items() if i != lost})
    runs = scan(records, build_reading(less))
    bad = [r for r in runs if r.fault]
    ids = [(r.value or b"")[1:5] for r in records]
    assert len(bad) == ids.count(lost.to_bytes(4, "big"))
    assert {r.fault for r in bad} == {f"registry does not know schema id {lost}"}
    assert sum(r.count for r in runs) == len(records)


def test_merging_what_was_collapsed_keeps_counts():
    mixed = in_order(r if i % 2 else other_shape(r) for i, r in enumerate(one_shape() * 3))
    parts = [no_registry(mixed[a : a + 75]) for a in range(0, 300, 75)]
    reading = build_reading(schema_registry.NO_REGISTRY)
    assert merge((r for p in parts for r in p), reading) == no_registry(mixed)
    halves = (merge((*one, *other), reading) for one, other in (parts[:2], parts[2:]))
    assert merge((r for half in halves for r in half), reading) == no_registry(mixed)


@pytest.mark.parametrize("times", [ALTERNATIONS, ALTERNATIONS + 1, 100, 300])
def test_shapes_that_say_the_same_are_joined_when_they_are_too_many(times):
    records = (one_shape() * 3)[:times]
    mixed = in_order(
        same_content(moved(r, 10_000 * i)) if i % 2 else moved(r, 10_000 * i) for i, r in enumerate(records)
    )
    runs = no_registry(mixed)
    assert len(runs) == (times if times == ALTERNATIONS else 1)
    assert sum(r.count for r in runs) == times
    assert not any(r.interrupted for r in runs)
    assert runs == no_registry(mixed, quick=False)
    reading = build_reading(schema_registry.NO_REGISTRY)
    for size in (7, 60, 64, 65, 130):
        parts = [no_registry(mixed[a : a + size]) for a in range(0, times, size)]
        assert merge((r for p in reversed(parts) for r in p), reading) == runs


def same_content(record: Record) -> Record:
    value = (record.value or b"").replace(b'{"schema":{', b'{"schema":{"doc":"a table",')
    assert value != record.value
    return replace(record, value=value)
