"""Keys that change in a topic of two partitions, one of which is read later than the other one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from schemaman.debezium.records import Record
from tests.streaming.test_autopilot import lake, late, told
from tests.streaming.test_uncertain_keys import read_rows, take
from tests.support.memory_sink import MemorySink

__all__ = ["lake"]

N, BOTH = ("n",), ("id", "n")


def beside(record: Record) -> Record:
    """The record in the other partition."""
    return replace(record, partition=1)


def test_each_change_of_an_earlier_key_is_compared_with_the_newer_rows(lake: MemorySink) -> None:
    """The row (3, 4) becomes (3, 3), and under the key (n) it becomes (2, 3)."""
    created = told(0, {"id": 3, "n": 4, "v": 0})
    changed = told(1, {"id": 3, "n": 3, "v": 1}, "u")
    others = [told(2, {"id": 1, "n": 1, "v": 2}, "c", N), told(3, {"id": 2, "n": 3, "v": 3}, "u", N)]
    last = [told(4, {"id": 3, "n": 4, "v": 4}, "c", BOTH), told(5, {"id": 3, "n": 4, "v": 5}, "u", BOTH)]
    lake.take([created, *map(beside, others)])
    lake.take([changed, *map(beside, last)])
    lake.take([])
    assert {"id": 3, "n": 3, "v": 1} not in read_rows(lake)[-1]
    assert {place[1:] for place in lake.withheld()} <= {(0, 0), (0, 1)}


def test_no_successor_begins_with_an_earlier_key_whose_records_come_late(lake: MemorySink) -> None:
    """Two rows of the key (n) have the same `id`; records of the key (id) come in another partition."""
    lake.take([told(2, {"id": 4, "n": 2, "v": 2}, "u", N), told(3, {"id": 1, "n": 1, "v": 3}, "c", N)])
    lake.take([beside(told(0, {"id": 4, "n": 2, "v": 0})), beside(told(1, {"id": 2, "n": 4, "v": 1}))])
    lake.take([told(4, {"id": 4, "n": 4, "v": 4}, "u", N), told(5, {"id": 5, "n": 5, "v": 5}, "c", N)])
    lake.take([told(6, {"id": 1, "n": 4, "v": 6}, "c", BOTH), told(7, {"id": 6, "n": 6, "v": 7}, "c", BOTH)])
    lake.take([])
    assert len(lake.lake()) == 1
    assert list_values(lake) >= {2, 3, 4, 5, 6, 7}
    assert {place[1:] for place in lake.withheld()} == {(1, 0), (1, 1)}


def test_a_late_row_of_the_earlier_key_is_not_lost_behind_another_row_with_its_key(lake: MemorySink) -> None:
    """The rows (3, 4) and (3, 3) share the key (id), which is (n) when the second one is new."""
    lake.take([told(0, {"id": 1, "n": 1, "v": 0})])
    lake.take([beside(told(3, {"id": 3, "n": 3, "v": 3}, "c", N))])
    lake.take([beside(told(5, {"id": 2, "n": 2, "v": 5}, "c", BOTH))])
    lake.take([told(2, {"id": 3, "n": 4, "v": 2})])
    lake.take([])
    assert list_values(lake) >= {0, 3, 5}
    assert (0, 2) in {place[1:] for place in lake.withheld()}


@pytest.mark.parametrize("size", [1, 9])
def test_an_update_waits_behind_an_older_one_that_may_have_changed_its_row(
    lake: MemorySink, size: int
) -> None:
    """The row (2, 2) becomes (2, 4), and the row (1, 2) then becomes (2, 2) under the key (n)."""
    records = [told(0, {"id": 1, "n": 2, "v": 0}), late(1, {"id": 2, "n": 2, "v": 1}, N)]
    records += [late(3, {"id": 2, "n": 4, "v": 3}, BOTH, "u"), late(4, {"id": 2, "n": 2, "v": 4}, BOTH, "u")]
    take(lake, records, size)
    assert 0 in list_values(lake)
    assert {place[2] for place in lake.withheld()} >= {3, 4}


def test_an_update_waits_if_it_may_be_of_a_row_of_its_batch_that_is_deleted_later(lake: MemorySink) -> None:
    """The row (2, 2) becomes (4, 2) under the key (n), (2, 2) again, and is deleted."""
    records = [told(0, {"id": 3, "n": 3, "v": 0}), late(1, {"id": 1, "n": 1, "v": 1}, N)]
    records += [late(3, {"id": 2, "n": 2, "v": 3}, BOTH)]
    records += [late(4, {"id": 4, "n": 2, "v": 4}, BOTH, "u"), late(6, {"id": 2, "n": 2, "v": 6}, BOTH, "u")]
    take(lake, [*records, late(7, {"id": 2, "n": 2, "v": 6}, BOTH, "d")], 9)
    assert 4 not in list_values(lake)
    assert 4 in {place[2] for place in lake.withheld()}


def list_values(lake: MemorySink) -> set[int]:
    return {row["v"] for rows in read_rows(lake) for row in rows}


def test_an_update_waits_for_its_row_while_the_other_partition_may_have_records_of_a_third_key(
    lake: MemorySink,
) -> None:
    """The row (2, 4) becomes (1, 4) under the key (n), whose records come last."""
    lake.take([told(1, {"id": 3, "n": 2, "v": 1}), beside(told(0, {"id": 2, "n": 4, "v": 0}))])
    lake.take(
        [told(3, {"id": 1, "n": 4, "v": 3}, "u", BOTH, 10_001), told(5, {"id": 1, "n": 4, "v": 5}, "u", BOTH)]
    )
    lake.take([beside(told(2, {"id": 1, "n": 1, "v": 2}, "c", N, 10_001))])
    lake.take([told(7, {"id": 3, "n": 3, "v": 7}, "c", BOTH)])
    lake.take([])
    assert list_values(lake) >= {0, 1, 7}
    assert (0, 3) in {place[1:] for place in lake.withheld()}


def test_an_update_waits_whose_row_before_it_has_another_key_than_the_one_shown(lake: MemorySink) -> None:
    """Debezium sends such an update as a delete and a new row: the connector did not have this key then."""
    lake.take([told(n, {"id": n, "n": n, "v": n}, "c", BOTH) for n in (0, 1)])
    lake.take([told(n, {"id": n, "n": n, "v": n}) for n in (2, 3)])
    change = told(5, {"id": 5, "n": 1, "v": 5}, "u")
    value = json.loads(change.value or b"")
    value["payload"]["before"] = {"id": 1, "n": 1, "v": 1}
    lake.take([beside(replace(change, value=json.dumps(value).encode()))])
    lake.take([])
    assert list_values(lake) == {0, 1, 2, 3}
    assert [place[1:] for place in lake.withheld()] == [(1, 5)]


def test_an_update_waits_while_the_row_that_is_the_same_may_have_changed_in_the_other_partition(
    lake: MemorySink,
) -> None:
    """The row (3, 3) becomes (3, 1), and the row (2, 3) then becomes (3, 3) under the key (n)."""
    lake.take([told(0, {"id": 3, "n": 3, "v": 0}), beside(told(1, {"id": 2, "n": 3, "v": 1}))])
    lake.take([beside(late(4, {"id": 3, "n": 3, "v": 4}, N, "u"))])
    lake.take([told(2, {"id": 3, "n": 1, "v": 2}, "u")])
    lake.take([told(6, {"id": 6, "n": 6, "v": 6}, "c", N), told(7, {"id": 7, "n": 7, "v": 7}, "c", N)])
    lake.take([])
    assert 2 in list_values(lake)
    assert (1, 4) in {place[1:] for place in lake.withheld()}


def test_two_changes_overwrite_no_row_with_their_key_that_came_between_them(lake: MemorySink) -> None:
    """The rows (4, 3) and (4, 4) share the key (id), which is (id, n) when the second one is new."""
    lake.take([told(1, {"id": 1, "n": 1, "v": 1})])
    lake.take([beside(late(3, {"id": 4, "n": 4, "v": 3}, BOTH))])
    lake.take([])
    assert list_values(lake) == {1, 3}
    lake.take([told(2, {"id": 4, "n": 3, "v": 2}), late(5, {"id": 4, "n": 3, "v": 5}, BOTH, "u")])
    lake.take([])
    assert list_values(lake) == {1, 3}
    assert {place[1:] for place in lake.withheld()} == {(0, 2), (0, 5)}


def test_a_change_does_not_wait_for_partitions_that_earlier_batches_have_read(lake: MemorySink) -> None:
    """The history has the first and the last record of a run, and the first partition is read in between."""
    lake.take([told(0, {"id": 1, "n": 1, "v": 0}), beside(told(1, {"id": 2, "n": 2, "v": 1}))])
    lake.take([late(n, {"id": n, "n": n, "v": n}, BOTH) for n in (4, 6)])
    lake.take([replace(told(7, {"id": 7, "n": 7, "v": 7}, "c", BOTH), partition=2)])
    lake.take([beside(late(5, {"id": 2, "n": 2, "v": 5}, BOTH, "u"))])
    assert list_values(lake) >= {0, 5}
    assert (1, 5) not in {place[1:] for place in lake.withheld()}
