"""Changes from before a TRUNCATE: nothing is left of their rows, so that none of them waits for its row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.sink.row_order import SNAPSHOT, STREAM, UNPOSITIONED, format_order_at, is_surely_before
from tests.streaming.test_autopilot import alive_in, lake, late, told
from tests.streaming.test_uncertain_keys import list_ids, read_at, take
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

__all__ = ["lake"]

INT = node("int32")
SIZES = [1, 2, 3, 9]


def empty(offset: int) -> Record:
    """A TRUNCATE."""
    return row_event({"id": INT, "n": INT}, "t", None, offset=offset)


def make_stream(*others: Record) -> list[Record]:
    """Two rows, some changes behind them, and rows of the same key, which is surely theirs."""
    before = [told(n, {"id": n, "n": n}) for n in (1, 2)]
    return [*before, *others, *(told(n, {"id": n, "n": n}) for n in (12, 13))]


WAITING = {
    "a new row that may be another one": late(3, {"id": 1, "n": 9}, ("n",)),
    "an update that may be of either row": late(3, {"id": 1, "n": 2}, ("n",), "u"),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("waiting", WAITING.values(), ids=WAITING)
def test_a_change_whose_row_is_not_known_is_done_with_once_the_table_was_emptied(
    lake: MemorySink, size: int, waiting: Record
) -> None:
    take(lake, make_stream(waiting), size)
    assert [place[2] for place in lake.withheld()] == [3]
    take(lake, [empty(14), told(15, {"id": 1, "n": 5}), told(16, {"id": 2, "n": 6})], size)
    assert lake.withheld() == {}
    assert ("srv.public.t", 0, 3) in lake.truncated
    assert list_ids(lake) == [1, 2]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("waiting", WAITING.values(), ids=WAITING)
def test_it_is_done_with_wherever_batches_end(lake: MemorySink, size: int, waiting: Record) -> None:
    take(lake, make_stream(waiting, empty(4)), size)
    assert lake.withheld() == {}
    assert list_ids(lake) == [12, 13]


def test_a_change_under_a_key_that_the_table_never_had_is_done_with(lake: MemorySink) -> None:
    first = [late(n, {"id": n, "n": n}, ("id", "n"), "u") for n in (0, 1)]
    lake.take([*first, told(12, {"id": 12, "n": 12}), told(13, {"id": 13, "n": 13})])
    assert [place[2] for place in lake.withheld()] == [0, 1]
    for record in (told(14, {"id": 14, "n": 14}), empty(15), told(16, {"id": 16, "n": 16})):
        lake.take([record])
    assert lake.withheld() == {}
    assert {place[2] for place in lake.truncated} == {0, 1}
    assert list_ids(lake) == [16]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("position", "is_done"), [(3, True), (20, False)])
def test_a_change_that_comes_behind_the_truncate_counts_by_its_place_in_the_log_of_the_source(
    lake: MemorySink, size: int, position: int, is_done: bool
) -> None:
    update = late(20, {"id": 12, "n": 13}, ("n",), "u")
    records = [*make_stream(empty(4)), read_at(replace(update, partition=1, offset=0), position)]
    take(lake, [*records, *(told(n, {"id": n, "n": n}) for n in (21, 22))], size)
    place = ("srv.public.t", 1, 0)
    assert (list(lake.withheld()), place in lake.truncated) == ([] if is_done else [place], is_done)
    assert list_ids(lake) == [12, 13, 21, 22]


@pytest.mark.parametrize("size", SIZES)
def test_a_table_that_is_not_emptied_keeps_its_waiting_changes(lake: MemorySink, size: int) -> None:
    lake.policy = Policy(profile="autopilot", rules=(PolicyRule("ignore", ("truncate",)),))
    take(lake, make_stream(late(3, {"id": 1, "n": 9}, ("n",)), empty(4)), size)
    assert [place[2] for place in lake.withheld() if place not in lake.left] == [3]
    assert list_ids(lake) == [1, 2, 12, 13]


@pytest.mark.parametrize("size", SIZES)
def test_a_change_of_an_earlier_lake_table_waits_though_its_successor_is_emptied(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"id": n, "n": 1}) for n in (1, 2)]
    take(lake, [*records, late(3, {"id": 1, "n": 9}, ("id", "n")), told(4, {"id": 4, "n": 4})], size)
    take(lake, [told(n, {"id": n, "n": n}, key=("n",)) for n in (14, 15, 16)], size)
    take(lake, [empty(17)], size)
    assert [place[2] for place in lake.withheld()] == [3]
    first, second = (alive_in(table) for table in lake.lake())
    assert ([row["id"] for row in first], second) == ([1, 2, 4], [])


def test_only_positions_of_the_source_say_that_a_change_came_before() -> None:
    def order(position: str, step: int = STREAM, partition: int = 0) -> str:
        return format_order_at(position, step, partition, 7)

    assert is_surely_before(order("1"), order("2", partition=1))
    assert is_surely_before(order("1", SNAPSHOT), order("1"))
    assert not is_surely_before(order("2"), order("1"))
    assert not is_surely_before(order("1"), order("1"))
    # Offsets of several partitions are not ordered, and a delete may be later than the record before it.
    assert not is_surely_before(order("-"), order("-", partition=1))
    assert not is_surely_before(order("-"), order("1"))
    assert not is_surely_before(order("1", UNPOSITIONED), order("2"))
