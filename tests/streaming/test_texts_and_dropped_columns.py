"""Values that only a text holds, of rows that change in the same batch once a column was dropped."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.cases.connector import INT, TEXT
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, row_event


def _tell(offset: int, op: str, kind: Node, **row: Any) -> Any:
    kinds = {"id": INT, "zip": kind, "phone": TEXT}
    return row_event({name: kinds[name] for name in row}, op, row, offset=offset)


@pytest.mark.parametrize("size", [1, 99])
def test_a_text_does_not_come_late_because_its_column_came_with_it(store: SqlStore, size: int) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    records = [
        _tell(0, "c", TEXT, id=1, zip="AB1", phone="7"),
        _tell(1, "c", TEXT, id=2, zip="AB2", phone="8"),
        _tell(2, "c", TEXT, id=3, zip="33", phone="9"),
        _tell(3, "u", INT, id=1, zip=11, phone="6"),
        _tell(4, "u", INT, id=1, zip=12),
        _tell(5, "d", INT, id=2, zip=13),
        _tell(6, "u", INT, id=3, zip=34),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    (table,) = lake.lake()
    rows = {row["id"]: row for row in table.rows if not row["_row_deleted"]}
    found = {id: ([v for n, v in row.items() if n.startswith("zip") and v is not None], row["phone"])
             for id, row in rows.items()}  # fmt: skip
    assert {id: (list(map(str, zips)), phone) for id, (zips, phone) in found.items()} == {
        1: (["12"], "6"),
        3: (["34"], "9"),
    }
