"""Rows of a table that was made anew under its name: they are in its successor, wherever batches end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from tests.streaming.test_autopilot import Moment, alive_in, lake, told
from tests.support.memory_sink import MemorySink

__all__ = ["lake"]

Row = dict[str, Any]


def take(lake: MemorySink, records: list[Record], size: int) -> None:
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])


@pytest.mark.parametrize("size", [1, 9])
def test_names_that_go_in_a_circle_after_a_table_was_made_anew_have_columns_for_all_values(
    lake: MemorySink, size: int
) -> None:
    """The name of one of them may have been handed on when the table was made anew."""
    first: Row = {"num": 1, "code": "a", "size": 2.5, "owner": Moment(9), "flag": 1}
    anew: Row = {"id": "1", "flag": Moment(1), "created": 1.5, "note": 7, "tag": Moment(2)}
    turned: Row = {"id": "2", "flag": Moment(1), "tag": 2.5, "created": 8, "note": Moment(3)}
    records = [told(n, first | {"num": n}, key=("num",)) for n in range(2)]
    rows = [anew, anew | {"id": "3"}, turned, turned | {"id": "4"}]
    take(lake, records + [told(n, row) for n, row in enumerate(rows, 2)], size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    before, after = map(alive_in, lake.lake())
    assert [row["flag"] for row in before] == [1, 1]
    found = {row["id"]: (row.get("created__old"), row.get("note__old"), row.get("tag")) for row in after}
    assert found == {
        "1": (1.5, 7, None), "3": (1.5, 7, None), "2": (None, None, 2.5), "4": (None, None, 2.5),
    }  # fmt: skip


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("anew", [{"id": 5, "total": 1.5, "note": 2}, {"num": 5, "total": 1.5, "note": 2}])
def test_the_last_row_of_a_table_that_was_made_anew_without_a_key_is_in_a_log(
    lake: MemorySink, anew: Row, size: int, later: bool
) -> None:
    """No record confirms that it has no key; a table with one may follow, which is surely another one."""
    records = [told(n, {"id": f"k{n}", "code": n, "qty": Moment(n)}) for n in range(2)]
    records += [replace(told(2, anew, key=("note",)), key=None)]
    records += [told(n, {"key": n, "w": "w"}, key=("key",)) for n in (3, 4)] if later else []
    take(lake, records, size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    tables = lake.lake()
    assert [table.live.schema.key for table in tables] == [("id",), (), ("key",)][: 3 if later else 2]
    found = [alive_in(table) for table in tables]
    assert [row["id"] for row in found[0]] == ["k0", "k1"]
    assert found[1] == [anew]


@pytest.mark.parametrize("size", [1, 9])
def test_a_successor_takes_its_keys_one_after_the_other_wherever_batches_end(
    lake: MemorySink, size: int
) -> None:
    records = [told(n, {"code": f"k{n}", "w": 1.5, "v": Moment(1)}, key=("code",)) for n in range(2)]
    records += [told(n, {"id": n, "n": n}) for n in (2, 3)]
    records += [told(3, {"id": 2, "n": 2}, "d")]
    records += [told(n, {"id": n, "n": n}, "c", ("id", "n")) for n in (5, 6)]
    records += [told(7, {"id": 3, "n": 3}, "d", ("id", "n"))]
    take(lake, [replace(record, offset=n) for n, record in enumerate(records)], size)
    assert (lake.withheld(), lake.stopped) == ({}, set())
    before, after = lake.lake()
    assert ([row["code"] for row in alive_in(before)], after.live.schema.key) == (["k0", "k1"], ("id", "n"))
    assert [row["id"] for row in alive_in(after)] == [5, 6]
