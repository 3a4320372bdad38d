"""Successors of a lake table: names, and the list from the first table to the newest."""

from __future__ import annotations

import pytest

from schemaman.migration.properties.names import PREDECESSOR_PROPERTY, SUCCESSOR_PROPERTY
from schemaman.migration.properties.table_record import Predecessor, format_predecessor
from schemaman.migration.successor import choose_address, list_successors, name_successor
from schemaman.migration.target import LakeTable
from schemaman.model.schema import TableSchema


@pytest.mark.parametrize(
    ("address", "second"),
    [
        ("ice.raw.orders", "ice.raw.orders__2"),
        ("ice.raw.`a.b c`", "ice.raw.`a.b c__2`"),
        ("raw.orders", "raw.orders__2"),
        ("/lake/orders.v1/", "/lake/orders.v1__2"),
        ("s3://bucket/orders", "s3://bucket/orders__2"),
        ("delta.`/lake/orders`", "delta.`/lake/orders__2`"),
    ],
)
def test_the_last_part_of_a_name_gets_the_number(address: str, second: str) -> None:
    assert name_successor(address, 2) == second


def lake(name: str, **properties: str) -> LakeTable:
    """A table with properties of schemaman."""
    return LakeTable(name, TableSchema(()), name, "1", properties)


def test_the_newest_table_is_the_last_that_exists() -> None:
    tables = {
        "orders": lake("orders", **{SUCCESSOR_PROPERTY: "orders__2"}),
        "orders__2": lake("orders__2", **{SUCCESSOR_PROPERTY: "orders__3"}),
    }
    assert [each.address for each in list_successors(tables.get, "orders")] == ["orders", "orders__2"]
    assert list_successors(tables.get, "others") == ()
    tables["orders__2"] = lake("orders__2", **{SUCCESSOR_PROPERTY: "orders"})
    assert len(list_successors(tables.get, "orders")) == 2


def test_a_successor_takes_no_name_of_another_table_and_is_found_again() -> None:
    before = Predecessor("orders", "v2", "{}")
    tables = {"orders": lake("orders"), "orders__2": lake("orders__2")}
    found = list_successors(tables.get, "orders")
    assert choose_address(tables.get, found, before) == ("orders__3", None)
    begun = lake("orders__3", **{PREDECESSOR_PROPERTY: format_predecessor(before)})
    tables["orders__3"] = begun
    assert choose_address(tables.get, found, before) == ("orders__3", begun)
