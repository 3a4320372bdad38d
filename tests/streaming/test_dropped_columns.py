"""Columns that came and went: what a table comes to does not hang on where batches end."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import ChangeKind, Level, Policy, PolicyRule
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_row_column_names import INT, TEXT
from tests.support.memory_sink import MemorySink
from tests.support.records import Node, node, row_event, struct

NUMBER = node("int32", optional=True)
KINDS = {"id": INT, "a": NUMBER, "b": TEXT, "c": NUMBER}


def told(offset: int, op: str, row: dict[str, Any], lsn: int | None = None, partition: int = 0) -> Record:
    """A change of a row; the columns of the table are those of the row."""
    fields = {name: KINDS.get(name) or kind_of(row[name]) for name in row}
    return row_event(fields, op, row, offset=offset, lsn=lsn, partition=partition)


def mirror(store: SqlStore, **levels: Level) -> MemorySink:
    kinds: dict[str, ChangeKind] = {"drop": "drop-column", "add": "add-column"}
    rules = tuple(PolicyRule(level, (kinds[name],)) for name, level in levels.items())
    return MemorySink(store, lambda _: None, "delta", Policy(rules=rules))


def rows(lake: MemorySink) -> list[dict[str, Any]]:
    (table,) = lake.lake()
    own = ("_row_order", "_row_deleted")
    found = ({n: v for n, v in row.items() if n not in own} for row in table.rows if not row["_row_deleted"])
    return sorted(found, key=lambda row: row["id"])


CAME_AND_WENT = [
    told(0, "c", {"id": 1, "a": 1}),
    told(1, "c", {"id": 2, "a": 2, "b": "x"}),
    told(2, "u", {"id": 1, "a": 5, "b": "y"}),
    told(3, "c", {"id": 3, "a": 3}),
    told(4, "d", {"id": 3, "a": 3}),
    told(5, "c", {"id": 4, "a": 4, "c": 9}),
    told(6, "c", {"id": 5, "a": 4}),
]


def test_a_column_that_left_before_the_table_was_made_is_kept_and_the_table_says_so(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([told(0, "c", {"id": 1, "b": "x", "a": 1}), told(1, "c", {"id": 2, "a": 2})])
    (table,) = lake.lake()
    assert table.live.schema.names == ("id", "b", "a", "_row_order", "_row_deleted")
    assert table.live.properties["schemaman.kept"] == '["b"]'
    assert rows(lake) == [{"id": 1, "b": "x", "a": 1}, {"id": 2, "b": None, "a": 2}]


def test_a_row_that_comes_late_brings_its_column(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([told(0, "c", {"id": 1, "a": 1}), told(0, "c", {"id": 2, "a": 2}, 150, partition=1)])
    lake.take([told(1, "c", {"id": 3, "a": 3, "b": "x"}, 120)])
    assert rows(lake)[-1] == {"id": 3, "b": "x", "a": 3}
    assert lake.withheld() == {}


@pytest.mark.parametrize("level", ["auto", "approve"])
def test_where_the_policy_drops_columns_their_values_are_left_out_and_that_is_told(
    store: SqlStore, level: Level
) -> None:
    lake = mirror(store, drop=level)
    lake.take([told(0, "c", {"id": 1, "b": "x", "a": 1}), told(1, "c", {"id": 2, "a": 2})])
    assert rows(lake) == [{"id": 1, "a": 1}, {"id": 2, "a": 2}]
    assert lake.withheld() == {}
    (note,) = lake.notes
    assert note.startswith("`b`: the source has dropped it, and its values in older rows are left out (")
    assert f"drop-column = {level}" in note


def test_a_value_that_the_lake_gets_no_column_for_waits_with_that_reason(store: SqlStore) -> None:
    lake = mirror(store, add="block")
    lake.take([told(0, "c", {"id": 1, "a": 1})])
    lake.take([told(1, "c", {"id": 2, "a": 2, "b": "x"}), told(2, "c", {"id": 3, "a": 3})])
    assert rows(lake) == [{"id": 1, "a": 1}, {"id": 3, "a": 3}]
    (reason,) = lake.withheld().values()
    assert reason == "b: the source has dropped this column, and the lake has no column for its values"
    assert "the lake did not get it for older rows: " in lake.notes[-1]
    # of a row that is gone nothing but its key is needed
    lake.take([told(3, "d", {"id": 1, "a": 1, "b": "x"}, 101, partition=1)])
    assert rows(lake) == [{"id": 3, "a": 3}]
    assert len(lake.withheld()) == 1


def nested(offset: int, op: str, id: int, /, **members: Any) -> Record:
    """A change of a row with a struct of these members: a dict is one in there, a list an array of such."""
    return told(offset, op, {"id": id, "s": members})


def kind_of(value: Any) -> Node:
    match value:
        case dict():
            return {**struct(None, **{name: kind_of(each) for name, each in value.items()}), "optional": True}
        case list():
            return {"type": "array", "optional": True, "items": kind_of(value[0])}
        case _:
            return NUMBER


def held(value: Any) -> Any:
    """A value without what is not there."""
    match value:
        case dict():
            return {name: held(each) for name, each in value.items() if each is not None}
        case list():
            return [held(each) for each in value]
        case _:
            return value


MEMBERS_CAME_AND_WENT = [
    nested(0, "c", 1, k=1, p=[{"x": 1}]),
    nested(1, "c", 2, k=2, m=3, p=[{"x": 1, "y": 4}], q={"u": 5, "v": 6}),
    nested(2, "c", 3, k=2, p=[{"x": 1}], q={"u": 5}),
    nested(3, "u", 1, k=1, p=[{"x": 1}]),
    nested(4, "c", 4, k=8, p=[{"x": 2}], r=9),
]


def test_a_value_of_a_member_that_the_policy_drops_waits(store: SqlStore) -> None:
    lake = mirror(store, drop="auto")
    lake.take(MEMBERS_CAME_AND_WENT)
    assert [row["id"] for row in rows(lake)] == [1, 4]
    assert set(lake.withheld().values()) == {
        "s: the lake's struct has no field 'm'", "s: the lake's struct has no field 'q'"
    }  # fmt: skip
