"""Rows of a table that was made anew under its name: they are in its successor, wherever batches end."""

from __future__ import annotations

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
