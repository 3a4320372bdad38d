"""Rows under a key that no record confirms: what is certain of them is written without waiting."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from tests.streaming.test_autopilot import Moment, alive_in, keyless, lake, late, told
from tests.support.memory_sink import MemorySink

__all__ = ["lake"]


def take(lake: MemorySink, records: list[Record], size: int) -> None:
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])


def read_rows(lake: MemorySink) -> list[list[dict[str, Any]]]:
    return [alive_in(table) for table in lake.lake()]


@pytest.mark.parametrize("size", [1, 9])
def test_a_part_of_the_next_key_is_no_key_of_its_own(lake: MemorySink, size: int) -> None:
    """The connector reads the key (city, id) early, and rows that call one column otherwise show (city)."""
    records = [told(n, {"num": n, "n": n, "z": "z"}, key=("num",)) for n in range(3)]
    records += [
        late(3, {"num": 0, "n": 5, "z": "z", "city": "x"}, ("city",), "u"),
        late(4, {"num": 1, "n": 6, "z": "z", "city": "x"}, ("city",), "u"),
        late(5, {"num": 7, "n": 7, "z": "z", "city": "x"}, ("city",)),
    ]
    key = ("city", "id")
    records += [told(6, {"id": 8, "n": 8, "z": "z", "city": "x"}, "c", key)]
    records += [told(7, {"id": 9, "n": 9, "z": "z", "city": "y"}, "c", key)]
    take(lake, records, size)
    assert lake.withheld() == {}
    found = [row for rows in read_rows(lake) for row in rows]
    assert sorted((row["id"], row["n"]) for row in found) == [(0, 5), (1, 6), (2, 2), (7, 7), (8, 8), (9, 9)]


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("op", ["u", "d"])
def test_a_change_waits_behind_a_row_that_may_be_another_one_of_its_key(
    lake: MemorySink, size: int, op: str
) -> None:
    records = [told(0, {"id": 1, "n": 1, "v": 1}), told(1, {"id": 2, "n": 2, "v": 1})]
    records += [
        late(2, {"id": 1, "n": 9, "v": 2}, ("id", "n")),
        late(3, {"id": 1, "n": 9, "v": 3}, ("id", "n"), op),
        late(4, {"id": 2, "n": 2, "v": 4}, ("id", "n"), "u"),
    ]
    records += [told(5, {"id": 3, "n": 3, "v": 1}), told(6, {"id": 4, "n": 4, "v": 1})]
    take(lake, records, size)
    assert [place[2] for place in lake.withheld()] == [2, 3]
    (rows,) = read_rows(lake)
    assert {row["id"]: row["v"] for row in rows} == {1: 1, 2: 4, 3: 1, 4: 1}


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize(("n", "is_same"), [(1, True), (2, False)])
def test_an_update_under_another_key_names_the_row_that_is_the_same_in_all_keys(
    lake: MemorySink, size: int, n: int, is_same: bool
) -> None:
    records = [told(0, {"id": 1, "n": 1, "v": 1}), told(1, {"id": 2, "n": 2, "v": 1})]
    records += [late(2, {"id": 1, "n": n, "v": 5}, ("n",), "u")]
    records += [told(3, {"id": 3, "n": 3, "v": 1}), told(4, {"id": 4, "n": 4, "v": 1})]
    take(lake, records, size)
    assert (lake.withheld() == {}) == is_same
    (rows,) = read_rows(lake)
    assert {row["id"]: row["v"] for row in rows} == {1: 5 if is_same else 1, 2: 1, 3: 1, 4: 1}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("last", [5, 8])
def test_changes_from_after_the_first_reading_of_a_key_are_certain_before_the_record_that_proves_it(
    lake: MemorySink, size: int, last: int
) -> None:
    """The source gives one `id` to all rows once (n) is the key; the last record of a run proves the key."""
    records = [told(n, {"id": n, "n": n, "v": 1}) for n in range(3)]
    records += [
        told(3, {"id": 3, "n": 3, "v": 1}, key=("n",)),
        told(4, {"id": 4, "n": 4, "v": 1}, key=("n",)),
    ]
    records += [told(5 + n, {"id": 9, "n": n, "v": 2}, "u", ("n",)) for n in range(last - 4)]
    take(lake, records, size)
    assert lake.withheld() == {}
    rows = [row for rows in read_rows(lake) for row in rows]
    changed = dict.fromkeys(range(last - 4), (9, 2))
    assert {row["n"]: (row["id"], row["v"]) for row in rows} == {n: (n, 1) for n in range(5)} | changed
    assert len(rows) == 5


@pytest.mark.parametrize("size", [1, 9])
def test_changes_from_before_the_first_reading_of_a_key_wait(lake: MemorySink, size: int) -> None:
    """Two changes to one `id` were committed before (n) was read first, after 85 s; a third one later."""
    records = [told(n, {"id": n, "n": n, "v": 1}) for n in range(3)]
    records += [told(n, {"id": 9, "n": n - 5, "v": 2}, "u", ("n",), 35_000) for n in (5, 6)]
    records += [told(9, {"id": 9, "n": 2, "v": 3}, "u", ("n",))]
    take(lake, records, size)
    assert {place[2] for place in lake.withheld()} == {5, 6}
    assert {row["n"] for rows in read_rows(lake) for row in rows} == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_no_key_has_texts_that_the_lake_spells_otherwise_than_the_source(lake: MemorySink, size: int) -> None:
    """A time becomes a text, which comes into the key: later changes of its row have the source's text."""
    records = [told(n, {"id": n, "at": Moment(1_600_000_000_120), "v": 1}) for n in range(2)]
    records += [told(n, {"id": n, "at": "text", "v": 1}) for n in (2, 3)]
    records += [told(n, {"id": n, "at": "text", "v": 1}, key=("at", "id")) for n in (4, 5)]
    records += [told(6, {"id": 0, "at": "2020-09-13 12:26:40.12", "v": 2}, "u", ("at", "id"))]
    take(lake, records, size)
    assert lake.withheld() == {}
    first, second = (sorted((row["id"], row["v"]) for row in rows) for rows in read_rows(lake))
    assert first == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert second == [(0, 2), (4, 1), (5, 1)]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_rows_with_null_in_their_key_are_not_one_row(lake: MemorySink, size: int) -> None:
    """A unique index is the key of a table without a primary key, and NULL is not equal to NULL in it."""
    values = [(0, 5), (1, None), (2, None), (3, 6), (4, None)]
    records = [told(n, {"id": n, "k": k}, key=("k",)) for n, k in values]
    records += [
        told(5, {"id": 1, "k": None, "v": 9}, "u", ("k",)),
        told(6, {"id": 2, "k": None}, "d", ("k",)),
    ]
    take(lake, records, size)
    (rows,) = read_rows(lake)
    assert sorted(row["id"] for row in rows) == [0, 3]
    reasons = {place[2]: reason for place, reason in lake.withheld().items()}
    assert sorted(reasons) == [1, 2, 4, 5, 6]
    assert all("its key is NULL" in reasons[offset] for offset in (1, 2, 4, 5))


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_an_uncertain_update_is_compared_with_the_certain_rows_of_its_batch(
    lake: MemorySink, size: int, is_deleted: bool
) -> None:
    """The row (1, 6) becomes (1, 1) under the key (id), which nothing confirms between (n) and (id, n)."""
    both = ("id", "n")
    records = [told(0, {"id": 1, "n": 6}, "c", ("n",)), told(1, {"id": 7, "n": 7}, "c", ("n",))]
    records += [told(2, {"id": 1, "n": 1}, "u", ("id",))]
    records += [told(3, {"id": 1, "n": 1}, "d", both)] if is_deleted else []
    records += [told(4, {"id": 2, "n": 2}, "c", both), told(5, {"id": 3, "n": 3}, "c", both)]
    take(lake, records, size)
    found = [(row["id"], row["n"]) for rows in read_rows(lake) for row in rows]
    assert ((1, 6) in found) == (2 in {place[2] for place in lake.withheld()})
    assert len([row for row in found if row[0] == 1]) <= 1


@pytest.fixture(params=[("id", "n"), ("n",)], ids=str)
def key(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The key of a successor, which the rows before it do not prove."""
    found: tuple[str, ...] = request.param
    return found


def soon(offset: int, row: dict[str, Any], key: tuple[str, ...], op: str = "c") -> Record:
    """A change that the connector read before the changes at offset 8, which confirm its key."""
    return told(offset, row, op, key, read=25_000)


def read_successor(
    lake: MemorySink, changes: list[Record], key: tuple[str, ...], size: int
) -> dict[int, int]:
    """The rows of a successor, `n` by `id`, after changes that the connector read late."""
    old = ("id", "lost")[: len(key)]
    before = [told(n, dict.fromkeys(("id", *old), n), key=old) for n in range(1, 4)]
    after = [told(n, {"id": n, "n": n}, "c", key) for n in (8, 9)]
    take(lake, [*before, *changes, *after], size)
    _, second = lake.lake()
    rows = alive_in(second)
    assert second.live.schema.key == key
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["n"] for row in rows}


@pytest.mark.parametrize("size", [1, 9])
def test_an_update_of_a_row_that_is_in_the_table_before_is_written(
    lake: MemorySink, key: tuple[str, ...], size: int
) -> None:
    changes = [soon(n, {"id": id, "n": id + 4}, key, "u") for n, id in ((4, 1), (5, 2), (6, 1))]
    assert read_successor(lake, changes, key, size) == {1: 5, 2: 6, 8: 8, 9: 9}
    assert lake.withheld() == {}


@pytest.mark.parametrize("size", [1, 9])
def test_updates_that_may_be_of_one_row_under_two_keys_wait(
    lake: MemorySink, key: tuple[str, ...], size: int
) -> None:
    """The source had one row of this `id` under the earlier key, and has two under the later one."""
    changes = [soon(n, {"id": 1, "n": n}, key, "u") for n in (4, 5)]
    changes += [soon(6, {"id": 2, "n": 6}, key, "u")]
    assert read_successor(lake, changes, key, size) == {2: 6, 8: 8, 9: 9}
    assert [place[2] for place in lake.withheld()] == [4, 5]


@pytest.mark.parametrize("size", [1, 9])
def test_a_row_that_comes_late_waits_if_a_newer_one_may_have_been_made_of_it(
    lake: MemorySink, key: tuple[str, ...], size: int
) -> None:
    changes = [soon(6, {"id": 5, "n": 6}, key, "u")]
    assert read_successor(lake, changes, key, size)[5] == 6
    older = [soon(4, {"id": 5, "n": 4}, key), soon(5, {"id": 4, "n": 5}, key)]
    take(lake, [replace(record, partition=1, offset=n) for n, record in enumerate(older)], size)
    assert list(lake.withheld()) == [("srv.public.t", 1, 0)]
    assert {row["id"]: row["n"] for row in alive_in(lake.lake()[1])} == {4: 5, 5: 6, 8: 8, 9: 9}


Row = Callable[[int], dict[str, Any]]
KEYS: tuple[tuple[str, ...], ...] = ((), ("id",), ("n",), ("id", "n"))


def make_row(offset: int, key: tuple[str, ...], op: str = "c", **others: int) -> Record:
    return make_record(offset, {"id": offset, "n": offset, **others}, key, op)


def make_record(offset: int, row: dict[str, Any], key: tuple[str, ...], op: str = "c") -> Record:
    found = told(offset, row, op, key)
    return found if key else replace(found, key=None)


def list_ids(lake: MemorySink) -> list[int]:
    return sorted(row["id"] for rows in read_rows(lake) for row in rows)


@pytest.mark.parametrize(("first", "size"), [(1, 9), (2, 1)])
@pytest.mark.parametrize(("old", "new"), list(permutations(KEYS, 2)))
def test_no_row_waits_for_a_record_that_does_not_come(
    lake: MemorySink, first: int, size: int, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    """One record shows another key, and a batch without a record of the table follows."""
    take(lake, [*(make_row(n, old) for n in range(first)), make_row(first, new)], size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert list_ids(lake) == [*range(first + 1)]
    take(lake, [make_row(n, new) for n in (7, 8)], size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert list_ids(lake) == [*range(first + 1), 7, 8]
    *_, newest = lake.lake()
    assert set(newest.live.schema.key) == set(new)


ENDS: dict[str, tuple[Row, tuple[str, ...]]] = {
    "another type": (lambda n: {"id": n, "n": n}, ("id",)),
    "another key": (lambda n: {"a": 1.5, "b": n}, ("b",)),
    "no key": (lambda n: {"id": 1.5, "b": n}, ()),
}


@pytest.mark.parametrize("x", [None, 7])
@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("old", "odd"),
    [(("id",), ()), (("id",), ("n",)), (("n",), ("id", "n")), (("id", "n"), ()), ((), ("id",))],
)
def test_a_table_that_ends_after_a_key_that_nothing_confirms_takes_its_rows_wherever_batches_end(
    lake: MemorySink, old: tuple[str, ...], odd: tuple[str, ...], end: str, size: int, x: int | None
) -> None:
    """One record shows another key, and a column; the next ones are of another table: none confirms it."""
    make_later, key = ENDS[end]
    # In a log that ends by a key of another type, the row of the odd key has no table with its type.
    last = 1 if not old and end == "another type" else 2
    rows: list[dict[str, Any]] = [{"id": f"x{n}", "n": n} for n in range(last + 1)]
    rows[2:] = [row | ({"x": x} if x else {}) for row in rows[2:]]
    records = [make_record(n, row, odd if n == 2 else old) for n, row in enumerate(rows)]
    records += [make_record(n, make_later(n), key) for n in (3, 4, 5)]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ids = {*(row["id"] for row in rows), 3, 4, 5}
    found = [id for table in read_rows(lake) for row in table for id in {*row.values()} & ids]
    assert (len(found), {*found}) == (len(ids), ids)
    assert [row.get("x") for table in read_rows(lake) for row in table if "x2" in row.values()] == [x][
        : last - 1
    ]


@pytest.mark.parametrize("size", [1, 9])
def test_a_key_that_got_a_name_and_then_a_type_ends_its_table_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": f"x{n}", "n": n, "z": n}) for n in range(2)]
    records += [told(2, {"code": "x1", "n": 7, "z": 2}, "u", ("code",))]
    records += [told(n, {"code": n, "n": n, "z": n}, key=("code",)) for n in (3, 4)]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    first, second = read_rows(lake)
    assert sorted((row["code"], row["n"]) for row in first) == [("x0", 0), ("x1", 7)]
    assert [(row["code"], row["n"]) for row in second] == [(3, 3), (4, 4)]


@pytest.mark.parametrize(("old", "new"), list(permutations(KEYS, 2)))
def test_a_row_that_does_not_wait_has_its_new_column(
    lake: MemorySink, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    take(lake, [*(make_row(n, old) for n in range(2)), make_row(2, new, x=5)], 9)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert [row.get("x") for rows in read_rows(lake) for row in rows if row["id"] == 2] == [5]
    take(lake, [make_row(n, new, x=n) for n in (7, 8)], 9)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    found = {row["id"]: row.get("x") for rows in read_rows(lake) for row in rows}
    assert found == {0: None, 1: None, 2: 5, 7: 7, 8: 8}
    *_, newest = lake.lake()
    assert set(newest.live.schema.key) == set(new)


@pytest.mark.parametrize(("old", "new"), [(("id",), ()), ((), ("id",))])
def test_rows_of_a_certain_key_go_on_beside_one_of_a_key_that_is_not_confirmed(
    lake: MemorySink, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    lake.take([make_row(0, old), make_row(2, old)])
    lake.take([make_row(4, old), make_row(5, new)])
    lake.take([make_row(3, old)])
    assert [place[2] for place in lake.withheld()] == [5]
    assert list_ids(lake) == [0, 2, 3, 4]
    lake.take([make_row(6, new)])
    assert lake.withheld() == {}
    first, second = lake.lake()
    ids = [sorted(row["id"] for row in alive_in(table)) for table in (first, second)]
    assert (ids, first.live.schema.key, second.live.schema.key) == ([[0, 2, 3, 4], [5, 6]], old, new)


def test_a_change_under_a_lost_key_is_that_of_the_row_which_the_table_has(lake: MemorySink) -> None:
    lake.take([make_row(n, ("id",)) for n in range(3)])
    lake.take([keyless(5, {"id": 1, "n": 7}, "u")])
    lake.take([])
    assert lake.withheld() == {}
    (rows,) = read_rows(lake)
    assert [(row["id"], row["n"]) for row in rows] == [(0, 0), (1, 7), (2, 2)]


def test_a_new_row_with_the_key_of_another_one_waits_until_a_record_confirms_that_the_key_is_gone(
    lake: MemorySink,
) -> None:
    lake.take([make_row(n, ("id",)) for n in range(3)])
    lake.take([keyless(5, {"id": 1, "n": 7})])
    lake.take([])
    assert [place[2] for place in lake.withheld()] == [5]
    assert list_ids(lake) == [0, 1, 2]
    lake.take([keyless(6, {"id": 1, "n": 8})])
    assert lake.withheld() == {}
    assert list_ids(lake) == [0, 1, 1, 1, 2]


def test_a_table_takes_no_row_under_a_key_that_nothing_confirms_where_people_decide(lake: MemorySink) -> None:
    lake.policy = Policy(profile="careful")
    lake.take([make_row(n, ("id",)) for n in range(3)])
    lake.take([make_row(5, ())])
    lake.take([])
    assert [place[2] for place in lake.withheld()] == [5]
    assert list_ids(lake) == [0, 1, 2]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 20])
def test_an_update_that_may_have_the_earlier_key_names_its_row_before_the_table_gets_the_next_one(
    lake: MemorySink, size: int
) -> None:
    """The key is confirmed in the version after the first one that shows it."""
    key = ("id", "n")
    records = [told(n, {"id": n, "n": n}) for n in range(3)]
    records += [told(3, {"id": 2, "n": 2}, "d", key, read=150_000)]
    records += [told(n, {"id": n - 4, "n": 70, "v": 1}, "u", key, read=30_000) for n in (4, 5)]
    records += [told(n, {"id": n - 6, "n": 71, "v": 2}, "u", key, read=30_000) for n in (6, 7)]
    records += [told(n, {"id": 1, "n": n, "v": 3}, "c", key) for n in range(20, 24)]
    take(lake, records, size)
    assert lake.withheld() == {}
    (rows,) = read_rows(lake)
    assert sorted((row["id"], row["n"]) for row in rows) == [(0, 71), *((1, n) for n in (20, 21, 22, 23, 71))]


@pytest.mark.parametrize("size", [1, 9])
def test_an_update_is_of_a_row_that_lacks_the_column_of_another_key_as_it_does(
    lake: MemorySink, size: int
) -> None:
    """No key had the column `lost` while the source had none, so that it tells no two rows apart."""
    records = [told(n, {"id": n, "lost": n}) for n in (0, 1)]
    records += [late(2, {"id": 2, "lost": 2}, ("id", "lost"))]
    records += [soon(4, {"id": 5, "n": "1"}, ("id",))]
    records += [soon(n, {"id": 5, "n": "2"}, ("id",), "u") for n in (5, 6)]
    records += [told(8, {"id": 8, "n": "8"}), told(9, {"id": 5, "n": "2"}, "d")]
    take(lake, records, size)
    assert (lake.withheld(), list_ids(lake)) == ({}, [0, 1, 2, 8])


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("other", ["k4", "k5"])
def test_the_first_row_of_a_successor_was_in_no_row_of_it_before(
    lake: MemorySink, size: int, other: str
) -> None:
    """No column of the earlier key is there. Another update may be of the same row, by an unknown key."""
    records = [told(n, {"id": f"x{n}", "v": n}) for n in (0, 1, 2)]
    records += [late(4, {"code": "k4", "n": 4, "m": 1}, ("code",), "u")]
    records += [late(5, {"code": other, "n": 5, "m": 1}, ("code",), "u")]
    records += [told(n, {"code": f"k{n}", "n": n}, "c", ("code",)) for n in (8, 9)]
    take(lake, records, size)
    assert [place[2] for place in lake.withheld()] == ([] if other == "k4" else [4, 5])
    _, second = read_rows(lake)
    rows = {row["code"]: row["n"] for row in second}
    assert rows == {"k8": 8, "k9": 9} | ({"k4": 5} if other == "k4" else {})


@pytest.mark.parametrize("size", [1, 3, 20])
def test_rows_under_a_key_that_came_and_went_are_written_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    """In one batch the table never has that key. Of two rows with one `id` then, the second one waits."""
    key = ("id", "n")
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (1, 2, 3)]
    records += [
        told(4, {"id": 4, "n": 4, "v": 0}, "c", key),
        told(5, {"id": 1, "n": 1, "v": 5}, "u", key),
        told(6, {"id": 2, "n": 7, "v": 6}, "c", key),
        told(7, {"id": 2, "n": 7, "v": 7}, "u", key),
        told(8, {"id": 2, "n": 7, "v": 7}, "d", key),
        told(9, {"id": 3, "n": 3, "v": 0}, "d", key),
    ]
    records += [soon(10, {"id": 10, "n": 10, "v": 0}, ("id",))]
    records += [told(n, {"id": n + 0.5, "n": n, "v": 0}) for n in (14, 15)]
    take(lake, records, size)
    assert sorted(place[2] for place in lake.withheld()) == ([6, 7, 8] if size == 20 else [])
    rows = {row["id"]: row["v"] for rows in read_rows(lake) for row in rows}
    assert rows == {1: 5, 2: 0, 4: 0, 10: 0, 14.5: 0, 15.5: 0}


@pytest.mark.parametrize("size", [1, 20])
def test_a_new_row_under_a_key_without_the_columns_of_the_present_one_is_written(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": n, "n": n}) for n in (1, 2)]
    records += [told(n, {"id": n, "n": n}, "c", ("n",)) for n in (4, 5)]
    records += [soon(10, {"id": 10, "n": 10}, ("id",))]
    records += [told(n, {"id": n + 0.5, "n": n}) for n in (14, 15)]
    take(lake, records, size)
    assert (lake.withheld(), list_ids(lake)) == ({}, [1, 2, 4, 5, 10, 14.5, 15.5])


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("key", [("n",), ("id", "n")], ids=str)
def test_a_delete_under_another_key_leaves_the_row_that_may_be_another_one(
    lake: MemorySink, key: tuple[str, ...], size: int
) -> None:
    """Two rows had one `id` then. REPLICA IDENTITY FULL sends the whole row before the delete."""
    records = [told(n, {"id": n, "n": n}) for n in (1, 2)]
    records += [late(3, {"id": 1, "n": 9}, key), late(4, {"id": 1, "n": 9}, key, "d")]
    records += [told(n, {"id": n, "n": n}) for n in (8, 9)]
    take(lake, records, size)
    assert list_ids(lake) == [1, 2, 8, 9]
    assert [place[2] for place in lake.withheld()] == [3, 4]


@pytest.mark.parametrize("size", [1, 3, 9])
def test_a_table_gets_its_last_certain_key_before_one_that_nothing_confirms_and_another_type(
    lake: MemorySink, size: int
) -> None:
    """The key (id) goes and comes back for one record: the rows of the key between need a table with it."""
    key = ("id", "n")
    records = [told(n, {"id": f"x{n}", "n": n, "v": n}) for n in range(2)]
    records += [
        told(2, {"id": "x1", "n": 7, "v": 2}, "c", key),
        told(3, {"id": "x1", "n": 1, "v": 3}, "u", key),
    ]
    records += [late(4, {"id": "x9", "n": 9, "v": 4}, ("id",))]
    records += [told(n, {"id": n, "m": n}) for n in (5, 6)]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    first, second = read_rows(lake)
    assert sorted((row["id"], row["n"], row["v"]) for row in first) == [
        ("x0", 0, 0), ("x1", 1, 3), ("x1", 7, 2), ("x9", 9, 4),
    ]  # fmt: skip
    assert [(row["id"], row["m"]) for row in second] == [(5, 5), (6, 6)]


@pytest.mark.parametrize("size", [1, 3, 9])
def test_a_successor_has_the_rows_of_its_key_from_before_the_last_name_of_a_column(
    lake: MemorySink, size: int
) -> None:
    """Rows without `n` do not prove the key (id, n), whose `id` gets another name before the batch ends."""
    records = [told(n, {"id": f"x{n}", "v": n}) for n in range(2)]
    records += [told(2, {"code": "x1", "v": 2, "n": 7}, "c", ("code", "n"))]
    records += [told(3, {"code": "x1", "v": 3, "n": 1}, "c", ("code", "n"))]
    records += [told(n, {"name": f"x{n}", "v": n, "n": n}, "c", ("name", "n")) for n in (4, 5)]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    first, second = read_rows(lake)
    assert sorted(row["v"] for row in first) == [0, 1]
    assert sorted((row["name"], row["n"], row["v"]) for row in second) == [
        ("x1", 1, 3), ("x1", 7, 2), ("x4", 4, 4), ("x5", 5, 5),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 9])
def test_a_table_gets_the_certain_key_with_more_columns_before_it_may_have_lost_its_key(
    lake: MemorySink, size: int
) -> None:
    """A column of that key gets another name under a key that nothing confirms; the last record has none."""
    records = [told(n, {"id": n, "n": n, "v": n}) for n in range(2)]
    key = ("id", "n")
    records += [told(2, {"id": 1, "n": 7, "v": 2}, "c", key), told(3, {"id": 1, "n": 7, "v": 3}, "u", key)]
    records += [told(4, {"id": 1, "n": 8, "v": 4}, "c", key)]
    records += [late(5, {"id": 9, "m": 9, "v": 5}, ("id", "m")), keyless(6, {"id": 10, "m": 10, "v": 6})]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    assert sorted(row["v"] for rows in read_rows(lake) for row in rows) == [0, 1, 3, 4, 5, 6]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_table_gets_the_certain_key_with_more_columns_before_its_source_is_made_anew(
    lake: MemorySink, size: int
) -> None:
    """The rows do not prove the key (n), which (n, id) follows; the last record has no `id` any more."""
    records = [told(n, {"id": n, "v": n}) for n in range(2)]
    records += [told(n, {"id": n - 2, "v": n, "n": 18 + n}, "c", ("n",)) for n in (2, 3)]
    key = ("n", "id")
    records += [told(4, {"id": 1, "v": 4, "n": 21}, "u", key, read=20_000)]
    records += [told(n, {"id": n, "v": n, "n": 21}, "c", key) for n in (5, 6, 7)]
    records += [late(8, {"q": 9, "n": 30}, ("q", "n"))]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    rows = [[(row.get("id"), row.get("v")) for row in rows] for rows in read_rows(lake)]
    former = [[(0, 0), (1, 1)], [(0, 2), (1, 4), (5, 5), (6, 6), (7, 7)]]
    assert list(map(sorted, rows)) == [*former, [(None, None)]]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_change_names_no_row_by_a_key_that_surely_went_before_its_own(lake: MemorySink, size: int) -> None:
    """It was read late under (n, id), after the records that confirm (n): its key is one of both."""
    records = [told(n, {"id": n, "v": n}) for n in range(2)]
    records += [told(n, {"id": n - 2, "v": n, "n": 18 + n}, "c", ("n",)) for n in (2, 3)]
    key = ("n", "id")
    records += [told(4, {"id": 1, "v": 4, "n": 21}, "u", key, read=20_000)]
    records += [told(n, {"id": n, "v": n, "n": 21}, "c", key) for n in (5, 6, 7)]
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    rows = [[(row["v"], row["id"]) for row in rows] for rows in read_rows(lake)]
    assert list(map(sorted, rows)) == [[(0, 0), (1, 1)], [(2, 0), (4, 1), (5, 5), (6, 6), (7, 7)]]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_column_of_the_key_that_the_table_still_has_gets_another_type(lake: MemorySink, size: int) -> None:
    """A version before it, whose key nothing confirms, has another key: the table kept its own."""
    records = [told(n, {"id": n, "line": n, "v": n}, key=("id", "line")) for n in range(2)]
    records += [told(2, {"id": 1, "line": 1, "v": 2, "price": 7, "lost": 1}, "c", ("price",), read=100_000)]
    rows = {n: {"id": n, "line": f"x{n}", "v": n, "price": n} for n in (20, 21, 22)}
    records += [told(n, row, "c", ("price",)) for n, row in rows.items()]
    take(lake, records, size)
    assert lake.stopped == set()
    assert set(lake.withheld()) <= {("srv.public.t", 0, 2)}
    first, second = read_rows(lake)
    assert {row["v"] for row in first} >= {0, 1}
    assert second == [*rows.values()]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_update_waits_for_a_row_of_its_batch_that_lacks_the_column_of_its_new_key(
    lake: MemorySink, size: int
) -> None:
    """Key (n) follows the rows without `n`: one of them is the row which the update shows."""
    records = [told(n, {"id": n, "v": 1}) for n in range(2)]
    records += [told(2, {"id": 7, "v": 2, "n": 1, "lost": 1}, "u", ("n",), read=100_000)]
    records += [told(n, {"id": n, "v": n, "n": n}, "c", ("n",)) for n in (20, 21)]
    take(lake, records, size)
    assert [place[2] for place in lake.withheld()] == [2]
    first, second = read_rows(lake)
    assert [[row["id"] for row in rows] for rows in (first, second)] == [[0, 1], [20, 21]]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_update_waits_while_a_row_is_left_that_lacks_the_column_of_its_new_key(
    lake: MemorySink, size: int
) -> None:
    """All rows got the column of the key (n) at once: no record shows which row has which value."""
    records = [told(n, {"id": n, "v": 1}) for n in range(2)]
    records += [late(2, {"id": 7, "v": 2, "n": 1}, ("n",), "u")]
    take(lake, records, size)
    assert [place[2] for place in lake.withheld()] == [2]
    (rows,) = read_rows(lake)
    assert [(row["id"], row["v"]) for row in rows] == [(0, 1), (1, 1)]


def make_deleted(id: int) -> list[Record]:
    """An update whose key (n) was read late, and a later delete of the row with its `n`."""
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (1, 2, 3)]
    records += [soon(4, {"id": id, "n": 1, "v": 4}, ("n",), "u")]
    records += [told(n, {"id": n, "n": n, "v": n}, "c", ("n",)) for n in (8, 9)]
    return [*records, told(10, {"id": id, "n": 1, "v": 4}, "d", ("n",))]


@pytest.mark.parametrize("size", [1, 9])
def test_an_update_of_a_row_that_the_table_confirms_does_not_wait_for_its_delete(
    lake: MemorySink, size: int
) -> None:
    take(lake, make_deleted(1), size)
    assert lake.withheld() == {}
    assert list_ids(lake) == [2, 3, 8, 9]


@pytest.mark.parametrize("size", [1, 9])
def test_an_update_that_may_be_of_another_row_waits_whatever_newer_record_has_its_key(
    lake: MemorySink, size: int
) -> None:
    take(lake, make_deleted(2), size)
    assert sorted(place[2] for place in lake.withheld()) == ([4] if size == 1 else [4, 10])
    assert list_ids(lake) == ([2, 3, 8, 9] if size == 1 else [1, 2, 3, 8, 9])


@pytest.mark.parametrize("size", [1, 2, 9])
def test_an_update_waits_while_the_row_is_left_that_it_may_have_been_of(lake: MemorySink, size: int) -> None:
    """The update gave the row 2 the `n` of the deleted row 1, before the source got the key (n)."""
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (1, 2, 3)]
    records += [told(4, {"id": 1, "n": 1, "v": 0}, "d"), soon(5, {"id": 2, "n": 1, "v": 5}, ("n",), "u")]
    records += [told(8, {"id": 2, "n": 1, "v": 8}, "u", ("n",))]
    records += [told(n, {"id": n, "n": n, "v": 0}, "c", ("n",)) for n in (9, 10, 11)]
    take(lake, [*records, told(12, {"id": 2, "n": 1, "v": 12}, "u", ("n",))], size)
    assert 5 in {place[2] for place in lake.withheld()}


@pytest.mark.parametrize("size", [1, 4, 20])
def test_a_new_row_is_lost_to_no_delete_of_another_row_with_its_part_of_a_key(
    lake: MemorySink, size: int
) -> None:
    """Two rows had the `id` 2 while the key was (id, n); the older one is deleted before the key is (id)."""
    key = ("id", "n")
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (1, 2, 3)]
    records += [told(4, {"id": 4, "n": 4, "v": 0}, "c", key), told(6, {"id": 2, "n": 7, "v": 6}, "c", key)]
    records += [told(9, {"id": 2, "n": 2, "v": 0}, "d", key), soon(10, {"id": 10, "n": 10, "v": 0}, ("id",))]
    take(lake, [*records, *(told(n, {"id": n + 0.5, "n": n, "v": 0}) for n in (14, 15))], size)
    values = [row["v"] for rows in read_rows(lake) for row in rows]
    assert (6 in values) != (6 in {place[2] for place in lake.withheld()})


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_a_new_row_is_lost_to_no_update_of_another_row_with_its_part_of_a_key(
    lake: MemorySink, size: int
) -> None:
    """Nothing ever confirms the key (n), by which these are two rows with the `id` 1."""
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (1, 2, 3)]
    records += [late(4, {"id": 1, "n": 9, "v": 4}, ("n",)), late(5, {"id": 1, "n": 1, "v": 5}, ("n",), "u")]
    take(lake, [*records, *(told(n, {"id": n + 0.5, "n": n, "v": 0}) for n in (14, 15))], size)
    values = [row["v"] for rows in read_rows(lake) for row in rows]
    waiting = {place[2] for place in lake.withheld()}
    assert [(n in values) != (n in waiting) for n in (4, 5)] == [True, True]


def read_at(record: Record, position: int) -> Record:
    """The record at the position of another offset: one change of a row may be sent as two records."""
    at = 100 + position
    value = json.loads(record.value or b"")
    value["payload"]["source"] |= {"lsn": at, "sequence": f'["{at}","{at}"]'}
    return replace(record, value=json.dumps(value).encode())


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("again", [False, True], ids=["once", "delivered twice"])
def test_an_update_that_is_sent_as_a_delete_and_a_new_row_loses_no_row(
    lake: MemorySink, size: int, again: bool
) -> None:
    """The source fills a column, which is then in the key that the connector reads too early.

    Debezium sends an update of a key as a delete and a new row, both at the position of the update.
    """
    key = ("id", "n")
    records = [told(0, {"id": 1, "v": 5}), told(1, {"id": 2, "v": 6})]
    halves = [
        (late(3, {"id": 1, "v": 5, "n": 0}, key, "d"), 3), (late(4, {"id": 1, "v": 5, "n": 7}, key), 3),
        (late(5, {"id": 2, "v": 6, "n": 0}, key, "d"), 5), (late(6, {"id": 2, "v": 6, "n": 7}, key), 5),
    ]  # fmt: skip
    records += [read_at(record, position) for record, position in halves]
    if again:
        records += [replace(read_at(record, at), offset=record.offset + 4) for record, at in halves]
    records += [late(11, {"id": 3, "v": 7, "n": 8}, key)]
    records += [told(n, {"id": n, "v": n, "n": n}, "c", key) for n in (12, 13)]
    take(lake, records, size)
    assert lake.withheld() == {}
    found = sorted((row["id"], row["n"], row["v"]) for rows in read_rows(lake) for row in rows)
    assert found == [(1, 7, 5), (2, 7, 6), (3, 8, 7), (12, 12, 12), (13, 13, 13)]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("last", [None, ("n",)], ids=["no key", "another key"])
def test_a_key_that_got_another_type_ends_its_table_before_a_key_that_nothing_confirms(
    lake: MemorySink, size: int, last: tuple[str, ...] | None
) -> None:
    records = [told(n, {"id": f"x{n}", "n": n}) for n in range(2)]
    records += [told(n, {"id": n, "n": n}) for n in (2, 3, 4)]
    odd = late(5, {"id": 5, "n": 5}, last or ("id",))
    take(lake, [*records, odd if last else replace(odd, key=None)], size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    first, second = read_rows(lake)
    assert [(row["id"], row["n"]) for row in first] == [("x0", 0), ("x1", 1)]
    assert [(row["id"], row["n"]) for row in second] == [(n, n) for n in (2, 3, 4, 5)]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("op", ["u", "d"])
def test_a_change_waits_where_a_possible_key_is_no_part_of_its_own(
    lake: MemorySink, size: int, op: str
) -> None:
    """The row (4, 3) became (2, 3) under the key (n), and its next change shows the key after that."""
    records = [told(0, {"id": 2, "n": 5, "v": 1}), told(1, {"id": 4, "n": 3, "v": 1})]
    records += [
        told(2, {"id": 7, "n": 7, "v": 1}, "c", ("n",)),
        told(3, {"id": 2, "n": 3, "v": 2}, "u", ("n",)),
    ]
    records += [late(4, {"id": 2, "n": 3, "v": 3}, ("id", "n"), op)]
    take(lake, [*records, late(5, {"id": 9, "n": 9, "v": 1}, ("id", "n"))], size)
    found = {(row["id"], row["n"]): row["v"] for rows in read_rows(lake) for row in rows}
    waiting = {place[2] for place in lake.withheld()}
    assert found[2, 5] == 1
    assert found.get((2, 3)) == {"u": 3}.get(op) or 4 in waiting


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_update_is_compared_as_it_is_whatever_certain_change_of_its_row_follows(
    lake: MemorySink, size: int
) -> None:
    """The row (2, 3) became (2, 2), and (n) is the key once it becomes (1, 2)."""
    records = [told(0, {"id": 2, "n": 3, "v": 0}), told(1, {"id": 3, "n": 4, "v": 1})]
    records += [
        told(3, {"id": 2, "n": 2, "v": 2}, "u", ("n",), 20_001),
        told(7, {"id": 1, "n": 2, "v": 3}, "u", ("n",)),
    ]
    take(lake, records, size)
    waiting = {place[2] for place in lake.withheld()}
    *_, rows = read_rows(lake)
    assert ((2, 3) in {(row["id"], row["n"]) for row in rows}) <= bool(waiting)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_update_of_the_row_of_the_lake_does_not_wait_for_a_certain_change_after_it(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": n, "n": n, "v": 0}) for n in (0, 1)]
    records += [
        told(3, {"id": 1, "n": 1, "v": 3}, "u", ("n",), 20_001),
        told(7, {"id": 5, "n": 1, "v": 7}, "u", ("n",)),
    ]
    take(lake, records, size)
    assert lake.withheld() == {}
    *_, rows = read_rows(lake)
    assert [row["v"] for row in rows if row["n"] == 1] == [7]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_delete_without_its_row_in_the_lake_waits_for_the_row(lake: MemorySink, size: int) -> None:
    """The row (1, 2) is new under the key (n), and its delete shows (id, n): it comes before the key (n)."""
    n, both = ("n",), ("id", "n")
    records = [told(0, {"id": 1, "n": 3, "v": 0}), told(1, {"id": 1, "n": 3, "v": 0}, "d")]
    records += [
        told(2, {"id": 1, "n": 2, "v": 2}, "c", n, 10_001),
        told(3, {"id": 4, "n": 3, "v": 3}, "c", n),
    ]
    records += [
        told(4, {"id": 1, "n": 3, "v": 4}, "u", n),
        told(5, {"id": 1, "n": 2, "v": 2}, "d", both, 20_001),
    ]
    records += [told(6, {"id": 3, "n": 2, "v": 6}, "c", both, 10_001)]
    records += [told(7, {"id": 3, "n": 2, "v": 6}, "d", both), told(8, {"id": 4, "n": 1, "v": 8}, "c", both)]
    take(lake, records, size)
    found = {row["v"] for rows in read_rows(lake) for row in rows}
    waiting = {place[2] for place in lake.withheld()}
    assert (2 in found) <= (5 in waiting)
    assert (6 in found) <= (7 in waiting)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_row_of_an_earlier_key_does_not_come_back_behind_the_delete_of_a_later_one(
    lake: MemorySink, size: int
) -> None:
    """The row (2, 3) becomes (1, 3) under the key (n), and is deleted under the key (id)."""
    records = [told(0, {"id": 2, "n": 3, "v": 0})]
    records += [told(offset, {"id": 1, "n": 3, "v": offset}, "u", ("n",)) for offset in (1, 2)]
    records += [told(3, {"id": 1, "n": 3, "v": 2}, "d"), told(4, {"id": 4, "n": 2, "v": 4})]
    take(lake, records, size)
    found = {row["v"] for rows in read_rows(lake) for row in rows}
    assert 4 in found
    assert (0 in found) <= bool({1, 2, 3} & {place[2] for place in lake.withheld()})


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("op", ["c", "u"])
def test_a_row_that_comes_late_does_not_come_back_behind_a_delete_with_fewer_columns(
    lake: MemorySink, size: int, op: str
) -> None:
    """The delete came under the key (id), when the lake had no row (2, 2): only `id` is known of that row."""
    both = ("id", "n")
    records = [told(0, {"id": 1, "n": 1, "v": 0}), told(4, {"id": 2, "n": 2, "v": 2}, "d")]
    records += [told(n, {"id": n, "n": n, "v": n}, "c", both) for n in (5, 6)]
    take(lake, records, size)
    older = late(2, {"id": 2, "n": 2, "v": 2}, both, op)
    take(lake, [replace(older, partition=1, offset=0)], size)
    assert sorted(row["v"] for rows in read_rows(lake) for row in rows) == [0, 5, 6]
    assert [place[1:] for place in lake.withheld()] == [(1, 0)]


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_uncertain_insert_waits_for_the_row_that_has_its_key(lake: MemorySink, size: int) -> None:
    """The source had two rows with the `n` 4 under the key (id, n), whose second one shows the key (n)."""
    records = [told(0, {"id": 2, "n": 1, "v": 0}), told(1, {"id": 3, "n": 4, "v": 1}, "c", ("id", "n"))]
    records += [told(2, {"id": 1, "n": 4, "v": 2}, "c", ("n",), 20_001)]
    take(lake, [*records, told(7, {"id": 2, "n": 1, "v": 0}, "d", ("n",))], size)
    found = {row["v"] for rows in read_rows(lake) for row in rows}
    waiting = {place[2] for place in lake.withheld()}
    assert {1, 2} <= found | waiting


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_an_uncertain_insert_does_not_wait_for_its_own_first_delivery(lake: MemorySink, size: int) -> None:
    again = late(1, {"id": 2, "n": 2, "v": 1}, ("n",))
    records = [told(0, {"id": 1, "n": 1, "v": 0}), again, replace(again, offset=2)]
    for delivered in (records, [replace(again, offset=3)]):
        take(lake, delivered, size)
        assert lake.withheld() == {}
    assert list_ids(lake) == [1, 2]
    take(lake, [late(4, {"id": 2, "n": 9, "v": 3}, ("n",))], size)
    assert [place[2] for place in lake.withheld()] == [4]


@pytest.mark.parametrize("is_read", [False, True])
def test_an_update_waits_while_another_partition_may_have_records_of_a_third_key(
    lake: MemorySink, is_read: bool
) -> None:
    """The key was (n) when the source wrote the update, whose record shows (id, n)."""
    both = ("id", "n")
    first = told(0, {"id": 3, "n": 2, "v": 0})
    update = replace(told(2, {"id": 2, "n": 2, "v": 2}, "u", both, 10_001), partition=1, offset=0)
    third = replace(told(1, {"id": 1, "n": 4, "v": 1}, "c", ("n",)), offset=1)
    last = told(3, {"id": 4, "n": 4, "v": 3}, "c", both)
    take(lake, [first, last, update] if is_read else [first, update, third, last], 1)
    waits = (1, 0) in {place[1:] for place in lake.withheld()}
    is_written = {"id": 2, "n": 2, "v": 2} in read_rows(lake)[-1]
    assert (waits, is_written) == (not is_read, is_read)


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("first", [0, 1])
def test_a_row_has_a_version_with_its_own_key_where_another_partition_shows_another_one(
    lake: MemorySink, size: int, first: int
) -> None:
    """Records of the key (id, n) before and after those of the key (id) are one run of their partition."""
    both = ("id", "n")
    ids = {0: 1, 3: 2, 4: 3, 5: 4, 6: 3, 7: 5}
    rows = {at: {"id": id, "n": at, "v": at} for at, id in ids.items()}
    records = [told(at, rows[at], "c", both) for at in (0, 3, 6, 7)]
    others = [replace(told(at, rows[at]), partition=1) for at in (4, 5)]
    take(lake, [*others, *records] if first else [*records, *others], size)
    found = {row["v"] for rows in read_rows(lake) for row in rows}
    assert found | {place[2] for place in lake.withheld()} == ids.keys()


@pytest.mark.parametrize("size", [1, 9])
def test_a_row_that_came_and_went_under_another_key_deletes_no_row_of_its_key(
    lake: MemorySink, size: int
) -> None:
    """The key was (id, n) when the source wrote the last two changes, whose records show (n)."""
    other = {"id": 3, "n": 3, "v": 4}
    take(lake, [told(0, {"id": 3, "n": 2, "v": 0}), told(1, {"id": 2, "n": 1, "v": 1})], size)
    take(lake, [late(5, {"id": 3, "n": 2, "v": 5}, ("n",), "u")], size)
    changes = [late(4, other, ("n",)), late(6, other, ("n",), "d")]
    take(lake, [replace(change, partition=1) for change in changes], size)
    assert {"id": 3, "n": 2, "v": 5} in read_rows(lake)[-1]
    assert {place[1:] for place in lake.withheld()} == {(1, 4), (1, 6)}


def late_and_full(
    offset: int, row: dict[str, Any], before: dict[str, Any] | None = None, key: tuple[str, ...] = ()
) -> Record:
    """A change that was read late; an update of the whole row `before`, or a delete of it."""
    op = "c" if before is None else "u" if row else "d"
    record = told(offset, row or before or {}, op, key or ("id",), 15_000 if key == ("n",) else 60_000_000)
    value = json.loads(record.value or b"")
    value["payload"]["before"] = before
    return replace(record, key=record.key if key else None, value=json.dumps(value).encode())


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("row", [{"id": 1, "v": 3}, {}])
def test_a_change_of_a_row_that_waits_since_the_key_may_be_gone_changes_no_other_row(
    lake: MemorySink, size: int, row: dict[str, Any]
) -> None:
    """Without a key two rows have one `id`, and the whole row before a change tells which one it is of."""
    records = [told(n, {"id": n, "v": 1}) for n in range(3)]
    records += [late_and_full(3, {"id": 1, "v": 5}, {"id": 1, "v": 1})]
    records += [late_and_full(4, {"id": 1, "v": 2}), late_and_full(5, row, {"id": 1, "v": 2})]
    take(lake, records, size)
    assert {place[2] for place in lake.withheld()} == {4, 5}
    (rows,) = read_rows(lake)
    assert sorted((found["id"], found["v"]) for found in rows) == [(0, 1), (1, 5), (2, 1)]


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("row", [{"id": 2, "n": 3, "v": 6}, {}])
def test_a_change_of_a_log_under_the_next_key_is_of_no_row_that_has_it_now(
    lake: MemorySink, size: int, row: dict[str, Any]
) -> None:
    """Two rows without a key have one `n`; records from before the key (n) show it, too."""
    records = [keyless(0, {"id": 1, "n": 3, "v": 1}), keyless(1, {"id": 2, "n": 3, "v": 1})]
    records += [keyless(2, {"id": 3, "n": 9, "v": 1})]
    records += [late_and_full(3, {"id": 1, "n": 3, "v": 5}, {"id": 1, "n": 3, "v": 1}, ("n",))]
    records += [late_and_full(4, row, {"id": 2, "n": 3, "v": 1}, ("n",))]
    records += [told(n, {"id": n, "n": n, "v": 1}, key=("n",)) for n in (5, 6)]
    take(lake, records, size)
    assert {place[2] for place in lake.withheld()} == {3, 4}
    assert [[found["id"] for found in rows] for rows in read_rows(lake)] == [[1, 2, 3], [5, 6]]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_an_update_without_the_row_before_it_had_a_key(lake: MemorySink, size: int) -> None:
    """PostgreSQL updates no row of a table without a key, unless it sends the whole row before."""
    records = [keyless(n, {"id": n, "n": n, "v": 1}) for n in range(3)]
    records += [told(n, {"id": n - 2, "n": n - 2, "v": n}, "u", ("n",), 15_000) for n in (3, 4)]
    records += [told(n, {"id": n, "n": n, "v": 1}, key=("n",)) for n in (5, 6)]
    take(lake, records, size)
    assert lake.withheld() == {}
    found = [[(row["id"], row["v"]) for row in rows] for rows in read_rows(lake)]
    assert found == [[(0, 1), (1, 1), (2, 1)], [(1, 3), (2, 4), (5, 1), (6, 1)]]


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("ends", [False, True])
def test_a_change_names_its_row_by_the_row_before_it_whatever_its_key_was(
    lake: MemorySink, size: int, ends: bool
) -> None:
    """No record shows the values of the next key for rows of the lake: all rows got its column at once."""
    records = [told(n, {"id": n, "n": n}) for n in range(4)]
    before = [{"id": n, "n": n, "rank": 9 - n} for n in range(4)]
    records += [late_and_full(4, {**before[1], "n": 7}, before[1], ("rank",))]
    records += [late_and_full(5, {}, before[2], ("rank",)), late_and_full(6, before[1], None, ("rank",))]
    records += [late_and_full(7, {**before[1], "n": 8}, before[1], ("rank",))]
    records += [told(n, {"n": n, "rank": n}, key=("rank",)) for n in (8, 9)] if ends else []
    take(lake, records, size)
    assert {place[2] for place in lake.withheld()} == {6, 7}
    rows = read_rows(lake)[0]
    assert {row["id"]: row["n"] for row in rows} == {0: 0, 1: 7, 3: 3}
