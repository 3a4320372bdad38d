"""Keys that change in a topic of two partitions, one of which is read later than the other one."""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.records import Record
from tests.streaming.test_autopilot import lake, told
from tests.streaming.test_uncertain_keys import read_rows
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
    others = [told(2, {"id": 2, "n": 3, "v": 2}, "u", N), told(3, {"id": 1, "n": 1, "v": 3}, "c", N)]
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
    found = {row["v"] for rows in read_rows(lake) for row in rows}
    assert len(lake.lake()) == 1
    assert found >= {2, 3, 4, 5, 6, 7}
    assert {place[1:] for place in lake.withheld()} == {(1, 0), (1, 1)}
