"""Plain events are read as the reader of single records reads them, whatever comes between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from schemaman.debezium.records import Record
from schemaman.ingest.ingest import ingest
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.sink.decoders import Histories
from schemaman.sink.plain_events import PlainRun
from schemaman.sink.plain_reader import PlainReader
from schemaman.sink.progress import OrderAmbiguity, ReadOrders, collect_orders, collect_spans
from schemaman.sink.reader import RowReader
from schemaman.sink.record_columns import RecordColumns
from schemaman.sink.row_change import RowChange
from schemaman.store.memory import MemoryStore
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.records import node, records, row_event

FIELDS = {
    "id": node("int64"),
    "n": node("int32", optional=True),
    "d": node("double", optional=True),
    "s": node("string", optional=True),
    "b": node("boolean", optional=True),
    "at": node("int64", "io.debezium.time.MicroTimestamp", optional=True),
}
HOSTILE = (
    "1.0", "-0", "-0.0", "1e400", "1e-400", "NaN", "-Infinity", "2147483648", "9007199254740993",
    "9223372036854775808", "123456789012345678901234567890", "1" * 5000, "01", "1.", "tru", "true", "null",
    '"NaN"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\x01"', '"\\u0000"', '"\\x"', '""',
    '"__debezium_unavailable_value"', "[1]", '{"a":1,"a":2}', '"\xff"', "2", '"2"', "", "2,", '2,"x":1',
    '2,"id":7', '2,"\\u0069d":8', "2}", "[" * 2000, "253402300800000000",
)  # fmt: skip


def row(id: int) -> dict[str, object]:
    return {"id": id, "n": id % 7, "d": id / 4, "s": f"text {id}", "b": None, "at": id}


def ingested(read: Iterable[Record]) -> MemoryStore:
    store = MemoryStore()
    ingest(read, Registry(store, lambda: 0), "main", NO_REGISTRY)
    return store


def histories_of(store: MemoryStore) -> Histories:
    found = [store.history(table) for table in store.tables()]
    return {history.table: history for history in found if history is not None}


def require_same(
    read: Sequence[Record],
    histories: Histories,
    stream: str = "main",
    chunk: int = 1000,
    past: ReadOrders | None = None,
    ambiguity: OrderAmbiguity | None = None,
) -> int:
    """Read the records by both readers; returns how many of them are plain."""
    single, other = (RowReader(histories, stream=stream, past=past, ambiguity=ambiguity) for _ in range(2))
    expected = list(single.read_all(read))
    plain = PlainReader(other, in_full=1, chunk=chunk)
    found: list[object] = []
    for read_outcome in plain.read_all([make_columns(read)]):
        if isinstance(read_outcome, PlainRun):
            found += [(read_outcome.rows, at) for at in read_outcome.changes]
        else:
            found.append(read_outcome)
    assert len(found) == len(expected)
    for outcome, wanted in zip(found, expected, strict=True):
        assert describe(outcome) == describe(wanted)
    assert other.greatest_orders == single.greatest_orders
    assert other._last == single._last
    return sum(isinstance(outcome, tuple) for outcome in found)


def make_columns(read: Sequence[Record]) -> RecordColumns:
    """Records column by column."""
    return RecordColumns(
        [record.topic for record in read],
        [record.partition for record in read],
        [record.offset for record in read],
        [record.key for record in read],
        [record.value for record in read],
        [record.headers for record in read],
        lambda: [record.timestamp_ms for record in read],
    )


def describe(outcome: object) -> object:
    """What a change writes, with the types of its values."""
    if isinstance(outcome, tuple):
        rows, index = outcome
        op, sample = rows.ops[index], rows.sample
        cells, key = (
            {name: column[index] for name, column in zip(names, columns, strict=True)}
            for names, columns in ((rows.names, rows.cells), (rows.key_names, rows.keys))
        )
        after = None if op == "d" else cells
        time = (rows.orders[index], rows.times[index], False, "")
        return repr(
            (rows.find_record(index), sample.table, sample.version, op, time, frozenset(), key, after)
        )
    if not isinstance(outcome, RowChange):
        return outcome
    change = outcome
    at = change.record.topic, change.record.partition, change.record.offset
    time = (change.order, change.ts_ms, change.redelivered, change.ambiguity)
    told = (at, change.table, change.version, change.op, time, change.unavailable, change.key)
    return repr((*told, change.after))


@pytest.mark.parametrize("compact", [False, True])
def test_a_hostile_cell_is_read_as_before(compact: bool) -> None:
    told: list[Record] = []
    for name in FIELDS:
        for text in HOSTILE:
            for value in ("MARK", "fine"):
                made = row_event(FIELDS, "u", row(9) | {name: value}, offset=len(told))
                if name == "id":
                    made = replace(made, key=(made.key or b"").replace(b'"fine"', b"9"))
                written = text.encode("latin-1") if value == "MARK" else b"null" if name != "id" else b"9"
                data = (made.value or b"").replace(f'"{value}"'.encode(), written)
                key = (made.key or b"").replace(b'"MARK"', written)
                if compact:
                    data = data.replace(b'": ', b'":').replace(b', "', b',"')
                told.append(replace(made, value=data, key=key))
    plain = require_same(told, histories_of(ingested([row_event(FIELDS, "c", row(1))])))
    assert len(told) / 2 < plain < len(told)


def test_an_event_that_differs_in_anything_is_read_in_full() -> None:
    def told(op: str, id: int, **more: object) -> Record:
        return row_event(FIELDS, op, row(id), **more)  # type: ignore[arg-type]

    def changed(old: bytes, new: bytes) -> Record:
        made = told("u", 5)
        assert made.value is not None
        assert old in made.value
        return replace(made, value=made.value.replace(old, new))

    fine = told("u", 3)
    sequence = [
        told("c", 1), fine, fine, told("d", 3), replace(told("d", 3), value=None), fine,
        replace(fine, value=None), told("u", 3, lsn=50), fine,
        told("u", 3, snapshot="true"), fine,
        told("r", 4), fine, told("u", 3, table="other"), replace(told("u", 3), topic="srv.public.other"),
        fine,
        replace(fine, key=None), replace(fine, key=b"{}"), replace(fine, key=(fine.key or b"") + b"}"),
        replace(fine, headers=(("apicurio.value.globalId", b"1"),)), replace(fine, headers=(("a", b"1"),)),
        replace(fine, value=(fine.value or b"") + b" "), replace(fine, value=(fine.value or b"")[:-1]),
        replace(fine, value=b""), replace(fine, partition=1), replace(fine, partition=1),
        changed(b'"lsn": 100', b'"lsn": null'), changed(b'"lsn": 100', b'"lsn": -5'),
        changed(b'"lsn": 100', b'"lsn": 99999999999999999999'),
        changed(b'"op": "u"', b'"op": "t"'), changed(b'"op": "u"', b'"op": "x"'),
        changed(b'"op": "u"', b'"op": 1'), changed(b'"ts_ms": 5', b'"ts_us": 5'),
        changed(b'"ts_ms": 5', b'"message": {}'), changed(b'"sequence": ', b'"sequence2": '), fine,
        changed(b'"table": "t"', b'"table": ["t"]'),
        changed(b'"snapshot": "false"', b'"snapshot": true'),
        changed(b'"snapshot": "false"', b'"snapshot": null'), fine,
        changed(b'"version": ', b'"more": 1, "version": '),
        changed(b'"version": "', b'"version": "\xff'), fine,
        changed(b'"after": {', b'"after": null, "x": {'), fine,
    ]  # fmt: skip
    partitions: dict[int, int] = {}
    placed = []
    for record in sequence:
        offset = partitions[record.partition] = partitions.get(record.partition, 0) + 1
        value, lsn = record.value, b"%d" % (100 + offset)
        if value is not None:
            value = value.replace(b'"lsn": 100', b'"lsn": ' + lsn).replace(rb"[\"100", rb"[\"" + lsn)
        placed.append(replace(record, offset=offset, value=value))
    assert require_same(placed, histories_of(ingested([told("c", 1)]))) > 8


@pytest.mark.parametrize("run", ["postgres/shop-json", "postgres/shop-incremental"])
def test_a_recording_is_read_as_before(run: str) -> None:
    histories = {history.table: history for history in chain.histories(run)}
    assert require_same(list(records(CAPTURES / run)), histories, chain.STREAM, chunk=3) > 50


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("run", ["postgres/shop-incremental", "postgres/shop-crash"])
def test_a_recording_that_its_history_holds_already_is_read_as_before(
    run: str, read_before: bool, gaps: bool
) -> None:
    read = list(records(CAPTURES / run))
    store = ingested(read)
    histories = histories_of(store)
    observations = [observation for table in store.tables() for observation in store.load(table)]
    past, spans = collect_orders(observations), collect_spans(observations)
    partitions = frozenset(spans) if read_before else frozenset()
    plain = 0
    for chosen in (read, read[len(read) // 2 :], read[::2], read + read):
        ambiguity = OrderAmbiguity(spans, partitions, gaps)
        plain += require_same(chosen, histories, "main", 7, past, ambiguity)
    assert (plain > 0) is not gaps
