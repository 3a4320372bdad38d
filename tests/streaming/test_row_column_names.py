"""Columns of a source that are called as a mirror calls its own: none is lost, none stops another table."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy, ProjectionRule
from schemaman.migration.row_columns import KEYED, KEYLESS
from schemaman.store.sql.store import SqlStore
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

INT, TEXT = node("int32"), node("string", optional=True)
HELPERS = ("__kept", "__needs_row", "__reason", "__places")
BEHIND_KEYED = tuple(name for name, _ in KEYED)
BEHIND_KEYLESS = tuple(name for name, _ in KEYLESS)


def told(offset: int, row: dict[str, Any], *, keyed: bool = True, table: str = "t") -> Record:
    """A row that was made; all of its columns but `id` are texts."""
    fields = {name: INT if name == "id" else TEXT for name in row}
    return row_event(fields, "c", row, offset=offset, table=table, keyed=keyed)


def rows(lake: MemorySink) -> list[dict[str, Any]]:
    (table,) = lake.lake()
    return table.rows


@pytest.mark.parametrize("name", sorted({*BEHIND_KEYLESS} - {*BEHIND_KEYED}))
def test_a_table_with_a_key_has_columns_called_as_those_of_tables_without(store: SqlStore, name: str) -> None:
    lake = MemorySink(store, lambda _: None, "delta")
    lake.take([told(0, {"id": 1, name: "mine"})])
    assert [row[name] for row in rows(lake)] == ["mine"]
    assert lake.withheld() == {}


def test_a_table_without_a_key_has_a_column_called_as_one_of_tables_with(store: SqlStore) -> None:
    lake = MemorySink(store, lambda _: None, "delta")
    lake.take([told(0, {"id": 1, "_row_deleted": "mine"}, keyed=False)])
    assert [row["_row_deleted"] for row in rows(lake)] == ["mine"]
    assert lake.withheld() == {}


def test_a_metadata_column_is_called_as_one_of_tables_without_a_key(store: SqlStore) -> None:
    beside = Policy(projections=(ProjectionRule((("metadata", (("op", "_row_op"),)),)),))
    lake = MemorySink(store, lambda _: None, "delta", beside)
    lake.take([told(0, {"id": 1, "a": "x"})])
    assert [row["_row_op"] for row in rows(lake)] == ["c"]


@pytest.mark.parametrize(
    "names", [*((name,) for name in HELPERS), HELPERS, ("__REASON", "___reason", "__kept")]
)
def test_what_helps_to_write_rows_has_names_that_the_table_has_not(
    store: SqlStore, names: tuple[str, ...]
) -> None:
    lake = MemorySink(store, lambda _: None, "delta")
    lake.take([told(0, {"id": 1, **dict.fromkeys(names, "mine")}), told(1, {"id": 1, "b": "x"}, table="u")])
    found = {table.source.table: table.rows for table in lake.lake()}
    assert [[row[name] for name in names] for row in found["t"]] == [["mine"] * len(names)]
    assert [row["b"] for row in found["u"]] == ["x"]
    assert lake.withheld() == {}


@pytest.mark.parametrize("collisions", ["refuse", "number"])
def test_a_column_called_exactly_as_one_of_the_table_stops_it_with_advice_that_helps(
    store: SqlStore, collisions: str
) -> None:
    how = Policy(projections=(ProjectionRule((("collisions", collisions),)),))
    lake = MemorySink(store, lambda _: None, "delta", how)
    lake.take([told(0, {"id": 1, "_row_order": "mine"})])
    (reason,) = lake.withheld().values()
    assert "the sink adds a column of this name to its tables" in reason
    assert "column.exclude.list" in reason
    assert "collisions" not in reason


def test_a_column_that_only_case_tells_from_one_of_the_table_gets_a_number(store: SqlStore) -> None:
    how = Policy(projections=(ProjectionRule((("collisions", "number"),)),))
    lake = MemorySink(store, lambda _: None, "delta", how)
    lake.take([told(0, {"id": 1, "_ROW_ORDER": "mine"})])
    assert [row["_ROW_ORDER_2"] for row in rows(lake)] == ["mine"]
