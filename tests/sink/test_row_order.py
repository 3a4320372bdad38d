"""The order of row changes, and what a reader remembers so that reads beside the stream have one."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import Reject, Skipped
from schemaman.debezium.records import (
    NO_POSITION,
    Coordinates,
    Position,
    Record,
)
from schemaman.model.schema import TableId
from schemaman.sink.progress import OrderAmbiguity, ReadProgress
from schemaman.sink.reader import RowReader
from schemaman.sink.row_change import RowChange
from schemaman.sink.row_order import format_order, parse_order
from tests.support import chain
from tests.support.checkout import CAPTURES
from tests.support.records import event, node, record, records, registry, struct

OPTIONAL = node("string", optional=True)
ROW = struct("srv.public.t.Value", id=node("int32"), n=node("int32"))

POSITIONS = st.one_of(
    st.builds(
        lambda value, commit: Position("lsn", str(value), None if commit is None else str(commit)),
        st.integers(0, 2**63 - 1),
        st.none() | st.integers(0, 2**63 - 1),
    ),
)
BINLOG = st.builds(
    lambda file, at, row: Position("binlog", f"mysql-bin.{file:06d}:{at}:{row}"),
    st.integers(1, 10**6 - 1),
    st.integers(4, 2**40),
    st.integers(0, 10**6),
)


@given(POSITIONS, POSITIONS)
def test_texts_compare_as_places_of_postgresql_do(one: Position, other: Position) -> None:
    assert (format_order(one, 1, 0, 0) < format_order(other, 1, 0, 0)) == (one.rank < other.rank)


@given(BINLOG, BINLOG)
def test_texts_compare_as_places_of_the_binary_log_do(one: Position, other: Position) -> None:
    assert (format_order(one, 1, 0, 0) < format_order(other, 1, 0, 0)) == (one.rank < other.rank)


def test_a_file_with_more_digits_is_a_later_one() -> None:
    last, next_one = Position("binlog", "binlog.999999:9:0"), Position("binlog", "binlog.1000000:4:0")
    assert format_order(last, 1, 0, 0) < format_order(next_one, 1, 0, 0)


@given(st.integers(0, 10**5), st.integers(0, 2**62), st.integers(0, 10**5), st.integers(0, 2**62))
def test_ties_are_broken_by_partition_and_offset(p: int, o: int, q: int, r: int) -> None:
    here = Position("lsn", "7", "7")
    assert (format_order(here, 1, p, o) < format_order(here, 1, q, r)) == ((p, o) < (q, r))


def test_of_one_place_the_snapshot_comes_first_and_a_read_beside_the_stream_last() -> None:
    here = Position("lsn", "7", "7")
    assert format_order(here, 0, 0, 9) < format_order(here, 1, 0, 5) < format_order(here, 2, 0, 3)
    assert parse_order(format_order(here, 2, 0, 3)) == ("00000000000000000007.00000000000000000007", 2)


def told(offset: int, op: str = "c", n: int = 0, topic: str = "srv.public.t", **source: object) -> Record:
    """An event of row 1 in the only partition."""
    value: dict[str, Any] = event(ROW, op, **source)
    value["payload"]["after"] = {"id": 1, "n": n}
    key = {"schema": struct("srv.public.t.Key", id=node("int32")), "payload": {"id": 1}}
    made = record(value, key, topic)
    return Record(made.topic, 0, offset, 1, made.key, made.value)


def newest(*given: Record, reader: RowReader | None = None) -> int:
    """The offset of the change that a lake keeps of row 1."""
    found = [(reader or RowReader()).read(r) for r in given] if reader else list(RowReader().read_all(given))
    changes = [c for c in found if isinstance(c, RowChange)]
    assert len(changes) == len(given)
    return max(changes, key=lambda c: c.order).record.offset


def streamed(offset: int, lsn: int, commit: int | None, op: str = "u") -> Record:
    sequence = f'[{"null" if commit is None else f"{chr(34)}{commit}{chr(34)}"},"{lsn}"]'
    return told(offset, op, lsn=lsn, sequence=sequence)


def test_a_snapshot_is_undone_by_what_was_streamed_behind_it() -> None:
    read = told(0, "r", snapshot="true", lsn=100, sequence='[null,"100"]')
    assert newest(read, streamed(1, 140, 120)) == 1


def test_a_transaction_that_began_before_the_snapshot_and_ended_behind_it_wins() -> None:
    read = told(0, "r", snapshot="true", lsn=100, sequence='[null,"100"]')
    # the first transaction behind a snapshot tells no commit, and its records may lie before the snapshot
    assert newest(read, streamed(1, 90, None)) == 1
    # delivered again behind later ones it is what it was
    assert newest(read, streamed(1, 90, None), streamed(2, 140, 120), streamed(3, 90, None)) == 2


def of_oracle(offset: int, scn: int, commit: int | None = None, op: str = "u") -> Record:
    block: dict[str, Any] = {"scn": str(scn), "commit_scn": None if commit is None else str(commit)}
    return told(offset, op, connector="oracle", snapshot="true" if op == "r" else "false", **block)


def test_so_does_one_of_oracle_of_which_no_commit_is_told() -> None:
    read = of_oracle(0, 30, op="r")
    assert newest(read, of_oracle(1, 25)) == 1
    assert newest(read, of_oracle(1, 25), of_oracle(2, 26)) == 2
    # another process knows of the read from the history
    here = (TableId("srv", "shop", "public", "t"), "srv.public.t", 0)
    past = ReadProgress({}, {here: [format_order(Position("scn", "30"), 0, 0, 0)]})
    mark = Coordinates(*here[1:], 1, Position("scn", "25"))
    assert past.order_change(here[0], mark, {}, read=False)[0] > format_order(Position("scn", "30"), 0, 0, 0)
    # what stands behind the snapshot is where it was, and so is what tells its commit
    assert newest(read, of_oracle(1, 50), of_oracle(2, 40)) == 1
    assert newest(read, of_oracle(1, 25, 29)) == 0
    assert newest(read, of_oracle(1, 25, 40), of_oracle(2, 35)) == 1
    # delivered again behind later ones it is what it was
    assert newest(read, of_oracle(1, 25), of_oracle(2, 50), of_oracle(3, 25)) == 2


def test_a_change_never_stands_before_its_own_number() -> None:
    # 1.9.5 to 2.3 tell of all but the last event of a transaction the commit before it in its redo thread
    assert newest(of_oracle(0, 95, 100), of_oracle(1, 110, 50)) == 1
    assert newest(of_oracle(0, 95, 100), of_oracle(1, 110, 50), of_oracle(2, 111, 120)) == 2
    # one that is told right is where it was
    assert format_order(Position("scn", "95", "100"), 1, 0, 0).startswith(f"{100:020}.{95:020}/")


def test_a_second_snapshot_wins_over_what_was_streamed_before_it() -> None:
    assert newest(streamed(0, 90, 80), told(1, "r", snapshot="true", lsn=200, sequence='["150","200"]')) == 1


def test_a_read_beside_the_stream_wins_over_older_changes_and_never_over_newer_ones() -> None:
    read = told(1, "r", snapshot="incremental", lsn=None, sequence='["100","110"]')
    assert newest(streamed(0, 110, 100), read) == 1
    assert newest(streamed(0, 110, 100), read, streamed(2, 120, 100)) == 2
    assert newest(read, streamed(2, 111, 100)) == 2


MYSQL: dict[str, Any] = {"connector": "mysql", "file": "binlog.000002", "schema": None}


def test_a_read_without_any_place_stands_where_its_partition_stood() -> None:
    before, behind = told(0, "u", pos=100, **MYSQL), told(2, "u", pos=200, **MYSQL)
    read = told(1, "r", snapshot="incremental", **{**MYSQL, "file": "", "pos": 0})
    assert newest(before, read) == 1
    assert newest(before, read, behind) == 2
    # a change that is delivered again behind the read is no newer than it was
    again = told(3, "u", pos=100, **MYSQL)
    assert newest(before, read, again) == 1


def test_another_reader_goes_on_where_the_first_one_ended() -> None:
    first = RowReader()
    before = told(0, "u", pos=100, **MYSQL)
    change = first.read(before)
    assert isinstance(change, RowChange)
    read = told(1, "r", snapshot="incremental", **{**MYSQL, "file": "", "pos": 0})
    later = RowReader(horizons=first.greatest_orders).read(read)
    assert isinstance(later, RowChange)
    assert later.order > change.order
    # one that knows nothing of what was read before cannot know better
    ignorant = RowReader().read(read)
    assert isinstance(ignorant, RowChange)
    assert ignorant.order < change.order


def test_flattened_rows_without_a_place_are_ordered_by_their_offsets() -> None:
    def row(offset: int, deleted: str) -> Record:
        told = {"id": node("int32"), "__deleted": node("string", optional=True)}
        schema = struct("srv.public.t.Value", **told)
        key = {"schema": struct("srv.public.t.Key", id=node("int32")), "payload": {"id": 1}}
        made = record({"schema": schema, "payload": {"id": 1, "__deleted": deleted}}, key)
        return Record(made.topic, 0, offset, 1, made.key, made.value)

    reader = RowReader()
    found = [reader.read(r) for r in (row(8, "false"), row(9, "true"), row(10, "false"))]
    changes = [c for c in found if isinstance(c, RowChange)]
    assert [(c.op, c.deleted, c.key) for c in changes] == [
        ("u", False, {"id": 1}),
        ("d", True, {"id": 1}),
        ("u", False, {"id": 1}),
    ]
    assert [c.order for c in changes] == sorted(c.order for c in changes)
    # a tombstone behind a delete that was rewritten says nothing new; behind anything else it is the delete
    gone = row(11, "true")
    assert isinstance(reader.read(gone), RowChange)
    assert isinstance(reader.read(Record("srv.public.t", 0, 12, 1, gone.key, None)), Skipped)
    reader.read(row(13, "false"))
    alone = reader.read(Record("srv.public.t", 0, 14, 1, gone.key, None))
    assert isinstance(alone, RowChange)
    assert alone.deleted


def test_a_flattened_delete_of_which_only_the_key_is_left() -> None:
    key = {"schema": struct("srv.public.t.Key", id=node("int32")), "payload": {"id": 7}}
    schema = struct("srv.public.t.Value", id=node("int32"))
    # with a schema of rows the null itself says so
    found = RowReader().read(record({"schema": schema, "payload": None}, key))
    assert isinstance(found, RowChange)
    assert (found.op, found.key, found.before, found.after) == ("d", {"id": 7}, None, None)
    # a bare null may be the tombstone of an event, unless a header tells, or rows of the topic were flat
    bare = record(None, key)
    assert isinstance(RowReader().read(bare), Skipped)
    header = Record(bare.topic, 0, 5, 1, bare.key, None, (("__op", b"d"),))
    told = RowReader().read(header)
    assert isinstance(told, RowChange)
    assert (told.op, told.key) == ("d", {"id": 7})
    reader = RowReader()
    row = reader.read(record({"schema": schema, "payload": {"id": 7}}, key))
    assert isinstance(row, RowChange)
    gone = reader.read(Record(bare.topic, 0, 6, 1, bare.key, None))
    assert isinstance(gone, RowChange)
    assert gone.deleted
    assert gone.order > row.order


def test_every_damage_is_a_reject_with_a_reason() -> None:
    good = told(0, "c", lsn=1)
    damaged = {
        "not UTF-8": (good.value or b"").replace(b'"n": 0', b'"n": "\xff"'),
        "not JSON": (good.value or b"")[:-3],
        "the value is a bare JSON value": b"7",
        "the record has no such field": (good.value or b"").replace(b', "n": 0}', b"}"),
        "no such": (good.value or b"").replace(b'"n": 0', b'"m": 0'),
        "n: 'x' is no int32": (good.value or b"").replace(b'"n": 0', b'"n": "x"'),
        "without the row after it": (good.value or b"").replace(b'{"id": 1, "n": 0}', b"null"),
        "the source block names no table": (good.value or b"").replace(b'"table": "t"', b'"table": ""'),
        "a position that cannot be read": (good.value or b"").replace(b'"lsn": 1', b'"lsn": -1'),
        "registry does not know schema id 9": b"\0\0\0\0\x09rest",
    }
    for reason, value in damaged.items():
        found = RowReader().read(Record(good.topic, 0, 3, 1, good.key, value))
        assert isinstance(found, Reject), reason
        assert reason in found.reason, (reason, found.reason)
        assert (found.topic, found.offset, found.count) == ("srv.public.t", 3, 1)
    key = RowReader().read(Record(good.topic, 0, 3, 1, b"{", good.value))
    assert isinstance(key, Reject)
    assert key.reason.startswith("key: not JSON")


def test_a_bare_null_is_a_delete_where_the_history_knows_flattened_rows_alone() -> None:
    run = "postgres/shop-flat-routed"
    known = {h.table: h for h in chain.histories(run)}
    told = list(records(CAPTURES / run))
    rows = [r for r in told if r.topic == "shopdb.inventory.parts"]
    bare = [Record(r.topic, r.partition, r.offset, 1, r.key, None) for r in rows[:1]]
    # the reader has not seen the partition before, and a place is what its other rows have
    found = RowReader(known).read(bare[0])
    assert isinstance(found, Reject)
    assert "how far its partition was read" in found.reason
    first = RowReader(known)
    change = first.read(rows[0])
    assert isinstance(change, RowChange)
    later = RowReader(known, horizons=first.greatest_orders).read(
        Record(rows[0].topic, rows[0].partition, rows[0].offset + 1, 1, rows[0].key, None)
    )
    assert isinstance(later, RowChange)
    assert (later.op, later.key, later.table) == ("d", change.key, change.table)
    assert later.order > change.order


def test_of_events_a_bare_null_is_the_tombstone_of_the_delete_before_it_and_else_a_delete() -> None:
    events = {h.table: h for h in chain.histories("postgres/shop-json")}
    told = list(records(CAPTURES / "postgres/shop-json"))
    reader = RowReader(events)
    found = [(r, reader.read(r)) for r in told]
    tombstones = [outcome for r, outcome in found if r.value is None]
    assert len(tombstones) == 13
    assert all(isinstance(outcome, Skipped) for outcome in tombstones)
    # compaction keeps tombstones alone: without the event before it each of them is the delete
    deletes = {(r.topic, r.partition, r.offset) for r, o in found if isinstance(o, RowChange) and o.deleted}
    left = [r for r in told if (r.topic, r.partition, r.offset) not in deletes]
    compacted = RowReader(events)
    outcomes = [compacted.read(r) for r in left]
    alone = [o for r, o in zip(left, outcomes, strict=True) if r.value is None and r.key is not None]
    assert all(isinstance(o, RowChange) and o.deleted for o in alone)
    assert len(alone) == 10


def flat_delete(offset: int) -> Record:
    """The delete of row 1, of which only the key is left."""
    return Record("srv.public.t", 0, offset, 1, told(0).key, None)


HERE = (TableId("srv", "shop", "public", "t"), "srv.public.t", 0)


def doubted(doubts: OrderAmbiguity, *told: tuple[int, int | None]) -> list[int]:
    """The offsets of records, which have those places or none, whose order cannot be told for sure."""
    reader = ReadProgress({}, {HERE: [format_order(Position("lsn", "100"), 1, 0, 3)]}, doubts)
    found = []
    for offset, lsn in told:
        position = NO_POSITION if lsn is None else Position("lsn", str(lsn))
        *_, doubt = reader.order_change(HERE[0], Coordinates(*HERE[1:], offset, position), {}, read=False)
        found += [offset] if doubt else []
    return found


def test_a_record_without_a_place_is_in_doubt_where_nobody_has_read_what_stands_before_it() -> None:
    ahead = {HERE: [(2, 9)]}
    asked = frozenset({(*HERE[1:], 5)})
    # once this process has read on itself, it knows
    assert doubted(OrderAmbiguity(ahead), (5, None), (6, 140), (7, None)) == [5]
    assert doubted(OrderAmbiguity(ahead), (5, 140), (6, None)) == []
    assert doubted(OrderAmbiguity(ahead, frozenset({HERE})), (5, None)) == []
    assert doubted(OrderAmbiguity({HERE: [(2, 4)]}), (5, None)) == []
    assert doubted(OrderAmbiguity(ahead, queried_offsets=asked), (5, None), (6, None)) == []
    assert doubted(OrderAmbiguity(ahead, queried_offsets=frozenset()), (5, None), (6, None)) == [5, 6]
    # what may be delivered again behind such a delete
    assert doubted(OrderAmbiguity(), (5, 100), (6, 90), (7, 110)) == [5]
    assert doubted(OrderAmbiguity(), (5, 110), (6, 90)) == []
    # of records with gaps between them those are known that follow one that is, without a gap
    gaps = OrderAmbiguity(ahead, frozenset({HERE}), has_gaps=True, queried_offsets=asked)
    assert doubted(gaps, (5, None), (6, 140), (7, None), (9, None), (10, None)) == [9]


def test_what_is_delivered_again_behind_a_delete_without_a_place_comes_behind_it() -> None:
    schema = struct("srv.public.t.Value", id=node("int32"), __op=OPTIONAL, __lsn=node("int64", optional=True))

    def row(offset: int, lsn: int) -> Record:
        payload = {"id": 1, "__op": "u", "__lsn": lsn}
        made = record({"schema": schema, "payload": payload}, None)
        return Record(made.topic, 0, offset, 1, told(0).key, made.value)

    first = (row(0, 100), flat_delete(1), row(2, 120), row(3, 130))
    assert newest(*first) == 3
    # the connector crashed, and begins again with the delete
    assert newest(*first, flat_delete(4)) == 4
    assert newest(*first, flat_delete(4), row(5, 120)) == 5
    assert newest(*first, flat_delete(4), row(5, 120), row(6, 130)) == 6
    assert newest(*first, flat_delete(4), row(5, 120), row(6, 130), row(7, 140)) == 7


FUZZED = ("postgres/shop-json", "postgres/shop-avro", "postgres/shop-flat-routed", "db2/shop-3.4.1-json",
          "mariadb/bookshop-mariadb-3.5.0-plain", "mongodb/inventory-2.5.4-update-full")  # fmt: skip


@given(st.data())
def test_whatever_bytes_come_a_record_has_one_outcome(data: st.DataObject) -> None:
    run = data.draw(st.sampled_from(FUZZED))
    told = _told_once(run)
    sound = told[data.draw(st.integers(0, len(told) - 1))]
    side = data.draw(st.sampled_from(["key", "value"]))
    damaged = bytearray((sound.key if side == "key" else sound.value) or b"{}")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        length = data.draw(st.integers(0, 20))
        damaged[at : at + length] = data.draw(st.sampled_from(WRONG) | st.binary(max_size=4))
    key = bytes(damaged) if side == "key" else sound.key
    value = bytes(damaged) if side == "value" else sound.value
    record = Record(sound.topic, sound.partition, sound.offset, 1, key, value, sound.headers)
    histories = {h.table: h for h in chain.histories(run)}
    for reader in (RowReader(histories, registry(CAPTURES / run)), RowReader(None, registry(CAPTURES / run))):
        found = reader.read(record)
        assert isinstance(found, RowChange | Reject | Skipped)
        assert not isinstance(found, Reject) or found.reason


WRONG = [
    b"null",
    b'"x"',
    b"1e99999999999999999999",
    b"{}",
    b"[]",
    b"true",
    b"9" * 30,
    b'"\\ud800"',
    b'"type":"odd"',
]


@cache
def _told_once(run: str) -> list[Record]:
    return list(records(CAPTURES / run))
