"""Values that were not sent, and where a mirror may take them from: never from before a record that waits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED
from schemaman.spark.streaming.quarantine import NO_PREVIOUS_ROW
from schemaman.spark.streaming.row_staging import CAME_LATE, WAITS_FOR_OLDER
from schemaman.spark.streaming.unread_records import make_unread_records
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_policy import alive, mirror
from tests.support.batches import cut
from tests.support.memory_sink import EMPTYING, MemorySink
from tests.support.records import event, node, record, row_event, struct

BIG = "__debezium_unavailable_value"
INFINITE = 9223372036825200000
"""`infinity` of PostgreSQL in microseconds, which no lake holds. Source: Debezium PostgresValueConverter."""
ROW = {
    "id": node("int32"),
    "big": node("string", optional=True),
    "at": node("int64", "io.debezium.time.MicroTimestamp", optional=True),
}


def row(offset: int, op: str, id: int, big: str | None, at: int | None, lsn: int | None = None) -> Record:
    return row_event(ROW, op, {"id": id, "big": big, "at": at}, offset=offset, lsn=lsn or 100 + 10 * offset)


OLD = row(0, "c", 1, "old", 5)
BAD = row(1, "u", 1, "new", INFINITE)
BEHIND = row(2, "u", 1, BIG, 7)


def bigs(lake: MemorySink) -> dict[int, Any]:
    return {found["id"]: found["big"] for found in alive(lake)}


def waits(lake: MemorySink) -> dict[int, str]:
    """The offsets of what is withheld, each with the beginning of its reason."""
    short = {WAITS_FOR_OLDER: "waits", CAME_LATE: "late", NO_PREVIOUS_ROW: "no old row"}
    return {place[2]: short.get(reason, reason[:3]) for place, reason in lake.withheld().items()}


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_an_update_waits_behind_one_that_may_have_the_value_that_it_lacks(
    store: SqlStore, cuts: tuple[int, ...]
) -> None:
    lake = mirror(store)
    records = [OLD, BAD, BEHIND]
    for batch in cut(records, cuts):
        lake.take(batch)
    assert (bigs(lake), waits(lake)) == ({1: "old"}, {1: "at:", 2: "waits"})
    # one behind it waits, too, and another row does not
    lake.take([row(3, "u", 1, BIG, 8), row(4, "c", 2, "other", 5)])
    lake.take([row(5, "u", 2, BIG, 6)])
    assert (bigs(lake), waits(lake)) == (
        {1: "old", 2: "other"}, {1: "at:", 2: "waits", 3: "waits"},
    )  # fmt: skip


def test_a_whole_row_lets_all_go_that_waited_behind_an_older_one(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([OLD, BAD])
    lake.take([BEHIND])
    lake.take([row(3, "u", 1, "whole", 9)])
    lake.take([row(4, "u", 1, BIG, 10)])
    assert (alive(lake)[0]["at"].microsecond, bigs(lake), waits(lake)) == (10, {1: "whole"}, {1: "at:"})


def test_a_delete_waits_for_nothing(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([OLD, BAD])
    lake.take([row(2, "d", 1, None, None), row(3, "c", 1, "again", 9)])
    lake.take([row(4, "u", 1, BIG, 10)])
    assert (bigs(lake), waits(lake)) == ({1: "again"}, {1: "at:"})


def test_what_waits_is_written_in_its_order_once_the_table_can_take_it(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([OLD, BAD])
    lake.take([BEHIND, row(3, "u", 1, BIG, 8)])
    assert waits(lake) == {1: "at:", 2: "waits", 3: "waits"}
    # somebody has looked, and put right what the record said
    (held,) = lake.kept.values()
    better = row(1, "u", 1, "new", 6)
    held["srv.public.t", 0, 1] |= {"value": better.value}
    lake.take([])
    assert (bigs(lake), waits(lake)) == ({1: "new"}, {})
    assert [found["at"].microsecond for found in alive(lake)] == [8]


def test_what_comes_again_after_a_crash_waits_no_more_than_at_first(store: SqlStore) -> None:
    lake = mirror(store)
    later = [row(3, "u", 1, "whole", 9), row(4, "u", 1, BIG, 10)]
    for batch in ([OLD, BAD], [OLD, BAD], [BEHIND], [BEHIND], later, later):
        lake.take(batch)
    lake.take([])
    assert (bigs(lake), waits(lake)) == ({1: "whole"}, {1: "at:"})
    (table,) = lake.lake()
    assert [found[DELETED] for found in table.rows] == [False]


# Columns that left the source.


def shrunk(offset: int, op: str, b: str | None, lsn: int, partition: int = 0) -> Record:
    """A row whose column `b` has left, if it has none."""
    told: dict[str, Any] = {"id": 1, "a": lsn}
    fields = {"id": node("int32"), "a": node("int32")}
    if b is not None:
        told["b"], fields["b"] = b, node("string", optional=True)
    return row_event(fields, op, told, offset=offset, lsn=lsn, partition=partition)


def kept_b(lake: MemorySink) -> object:
    (found,) = alive(lake)
    return found["b"]


FIRST, GONE = shrunk(0, "c", "old", 100), shrunk(0, "u", None, 130, partition=1)


def test_a_late_value_of_a_column_that_left_is_not_passed_over(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([FIRST], [GONE], [shrunk(1, "u", "new", 120)]):
        lake.take(batch)
    assert (kept_b(lake), waits(lake)) == ("old", {1: "late"})
    # nothing is lost of one that says the same
    lake.take([shrunk(2, "u", "old", 125)])
    assert waits(lake) == {1: "late"}


def test_a_late_value_waits_no_longer_than_the_newer_row_is_there(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([FIRST], [GONE], [shrunk(1, "u", "new", 120)]):
        lake.take(batch)
    assert waits(lake) == {1: "late"}
    lake.take([shrunk(2, "d", None, 140)])
    lake.take([])
    assert (alive(lake), waits(lake)) == ([], {})


def test_a_late_value_that_a_newer_row_would_bring_is_not_taken_for_the_last_one(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([FIRST], [GONE], [shrunk(1, "u", "new", 120), shrunk(2, "u", None, 140)]):
        lake.take(batch)
    assert (kept_b(lake), waits(lake)) == ("old", {1: "late", 2: "late"})


def test_a_value_of_a_column_that_left_comes_again_unseen(store: SqlStore) -> None:
    lake = mirror(store)
    records = [FIRST, shrunk(1, "u", "new", 120), shrunk(2, "u", None, 130)]
    for batch in (records[:1], records[1:2], records[2:], records[2:]):
        lake.take(batch)
    # the connector crashed, and delivers all of it once more
    for number, each in enumerate(records):
        lake.take([Record(each.topic, 0, 3 + number, 1, each.key, each.value)])
    assert (kept_b(lake), waits(lake)) == ("new", {})


def emptied() -> Record:
    """A TRUNCATE behind the first row."""
    typed = struct("srv.public.t.Value", id=node("int32"), a=node("int32"))
    made = record(event(typed, "t", lsn=110), None)
    return Record(made.topic, 0, 1, 1, None, made.value)


@pytest.mark.parametrize("cut", [1, 2], ids=["one batch with the row", "a batch of its own"])
def test_a_row_keeps_nothing_of_one_that_a_truncate_ended(store: SqlStore, cut: int) -> None:
    """The update has no word of the column that left, and what made its row anew was not read."""
    lake = mirror(store, truncate="auto")
    records = [FIRST, emptied(), shrunk(2, "u", None, 130)]
    for batch in (records[:cut], records[cut:]):
        lake.take(batch)
    assert alive(lake) == [{"id": 1, "a": 130, "b": None}]


# Older records that nobody understood.


def damaged(offset: int, id: int | None, big: str = "new", partition: int = 0) -> Record:
    """An update of which another cell cannot be read; it tells no key if `id` is None."""
    made = row(offset, "u", id or 1, big, 6)
    value = json.loads(made.value or b"")
    value["payload"]["after"]["at"] = "damaged"
    key = made.key if id else None
    return Record(made.topic, partition, offset, 1, key, json.dumps(value).encode())


def test_an_update_waits_on_behind_one_that_nobody_understands_any_more(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([OLD, BAD, BEHIND])
    assert waits(lake) == {1: "at:", 2: "waits"}
    (kept,) = lake.kept.values()
    kept["srv.public.t", 0, 1] |= {"value": damaged(1, 1).value}
    for _ in range(2):
        lake.take([])
        assert (bigs(lake), waits(lake)) == ({1: "old"}, {1: "at:", 2: "waits"})
    assert lake.unplaced.keys() == {("srv.public.t", 0, 1)}


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_an_update_waits_behind_one_that_nobody_understood(store: SqlStore, cuts: tuple[int, ...]) -> None:
    lake = mirror(store)
    records = [OLD, damaged(1, 1), BEHIND]
    for batch in cut(records, cuts):
        lake.take(batch)
    assert (bigs(lake), waits(lake)) == ({1: "old"}, {1: "at:", 2: "waits"})
    assert lake.unplaced.keys() == {("srv.public.t", 0, 1)}
    # one behind it waits, too, and another row does not
    lake.take([row(3, "u", 1, BIG, 8), row(4, "c", 2, "other", 5)])
    lake.take([row(5, "u", 2, BIG, 6)])
    assert waits(lake) == {1: "at:", 2: "waits", 3: "waits"}
    # and a whole one lets all go
    lake.take([row(6, "u", 1, "whole", 9)])
    lake.take([row(7, "u", 1, BIG, 10)])
    assert (bigs(lake), waits(lake)) == ({1: "whole", 2: "other"}, {1: "at:"})
    assert {found["id"]: found["at"].microsecond for found in alive(lake)} == {1: 10, 2: 6}


def test_what_is_understood_at_last_is_written_before_what_waits_behind_it(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([OLD], [damaged(1, 1)], [BEHIND], [row(3, "u", 1, BIG, 8)]):
        lake.take(batch)
    assert waits(lake) == {1: "at:", 2: "waits", 3: "waits"}
    # say that a registry tells its schema by now
    lake.unplaced["srv.public.t", 0, 1] |= {"value": row(1, "u", 1, "new", 6).value}
    lake.take([row(4, "c", 2, "other", 1)])
    lake.take([])
    assert (bigs(lake), waits(lake)) == ({1: "new", 2: "other"}, {})
    assert {found["id"]: found["at"].microsecond for found in alive(lake)} == {1: 8, 2: 1}


def test_a_record_without_a_key_may_be_of_any_row_of_its_partition(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([OLD, row(1, "c", 2, "other", 5)])
    lake.take([damaged(0, None, partition=1)])
    lake.take([row(2, "u", 1, BIG, 6)])
    assert waits(lake) == {0: "at:"}
    lake.take([damaged(3, None)])
    lake.take([row(4, "u", 1, BIG, 7), row(5, "u", 2, BIG, 7), row(6, "c", 3, "third", 7)])
    assert waits(lake) == {0: "at:", 3: "at:", 4: "waits", 5: "waits"}
    assert bigs(lake) == {1: "old", 2: "other", 3: "third"}


def test_all_that_waited_together_is_let_go_by_a_whole_row_in_between(store: SqlStore) -> None:
    lake = mirror(store)
    for batch in ([OLD], [damaged(1, 1)], [BEHIND], [row(3, "u", 1, "whole", 9)]):
        lake.take(batch)
    # a TRUNCATE from long before stops the table for a while
    lake.policy = Policy()
    value = event(ROW, "t", lsn=50, sequence='["50","50"]')
    value["payload"]["after"] = value["payload"]["before"] = None
    emptied = record(value, None)
    lake.take([Record(emptied.topic, 0, 4, 1, None, emptied.value), row(5, "u", 1, BIG, 10)])
    assert waits(lake).keys() == {1, 2, 4, 5}
    lake.policy = EMPTYING
    lake.take([])
    assert (bigs(lake), waits(lake)) == ({1: "whole"}, {1: "at:"})
    assert alive(lake)[0]["at"].microsecond == 10


def test_a_batch_that_comes_again_waits_behind_what_nobody_understood_no_more_than_at_first(
    store: SqlStore,
) -> None:
    lake = mirror(store)
    for batch in ([OLD, row(1, "u", 1, BIG, 6)], [damaged(2, 1)], [row(3, "u", 1, "whole", 9)]):
        lake.take(batch)
        lake.take(batch)
    lake.take([OLD, row(1, "u", 1, BIG, 6), damaged(2, 1), row(3, "u", 1, "whole", 9)])
    assert (bigs(lake), waits(lake)) == ({1: "whole"}, {2: "at:"})


def test_of_which_row_a_record_is_that_nobody_understood() -> None:
    known = make_unread_records([("t", 0, 9, b"a"), ("t", 0, 3, b"a"), ("t", 0, 5, None), ("u", 0, 1, b"a")])
    assert [known.find_before(("t", 0, at), b"a") for at in (3, 4, 6, 10)] == [None, 3, 5, 9]
    assert [known.find_before(("t", 0, at), b"b") for at in (5, 6, 10)] == [None, 5, 5]
    assert [known.find_before(("t", 0, at), None) for at in (3, 4, 10)] == [None, 3, 9]
    assert known.find_before(("t", 1, 10), b"a") is None
    # where there are too many, only how early they begin is known
    many = make_unread_records([("t", 0, 3, None)], crowded=True)
    assert [many.find_before(("t", 0, at), b"a") for at in (3, 4, 10)] == [None, 3, 9]
    assert many.find_before(("t", 1, 10), b"a") is None
