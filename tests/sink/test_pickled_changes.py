"""Changes go to tasks and come back as bytes: every field of them, also one that is added later."""

from __future__ import annotations

import pickle
from dataclasses import fields

from schemaman.debezium.records import Position
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer
from schemaman.sink.row_change import RecordOffset, RowChange
from schemaman.sink.upsert import LakeChange

SCHEMA = TableSchema((Column("id", Integer(32)),), ("id",))
ROW_CHANGE = RowChange(
    RecordOffset("main", "t", 1, 2), TableId("main", "srv", "db", "s", "t"), "u", {"id": 1}, {"id": 2},
    {"id": 3}, frozenset({"z"}), "1/2", 5, True, SCHEMA, 7, Position("lsn", "9", "8"), True, "late",
    {"id": "why"}, True,
)  # fmt: skip
LAKE_CHANGE = LakeChange("u", "1/2", ("t", 1, 2), {"id": 1}, frozenset({"z"}), True, "alike")


def test_a_change_that_is_pickled_has_each_of_its_fields() -> None:
    for change in (ROW_CHANGE, LAKE_CHANGE):
        assert pickle.loads(pickle.dumps(change)) == change


def test_each_field_differs_from_its_default() -> None:
    """So that a field that is forgotten makes the test above fail."""
    for change in (ROW_CHANGE, LAKE_CHANGE):
        for each in fields(change):
            default = each.default_factory() if callable(each.default_factory) else each.default
            assert getattr(change, each.name) != default, each.name
