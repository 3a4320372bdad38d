"""Successors of a lake table: names, and the list from the first table to the newest."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.properties.names import PREDECESSOR_PROPERTY, SUCCESSOR_PROPERTY
from schemaman.migration.properties.table_record import Predecessor, format_predecessor
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.recipes.successor_plans import plan_successor
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.statement_check import is_taking_rows
from schemaman.migration.successor import LakeTableAt, choose_address, list_successors, name_successor
from schemaman.migration.successor_rows import (
    Filling,
    RowOrigin,
    is_filling_successor,
    is_own_filling,
    read_filling_table,
)
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableSchema
from tests.support.memory_lake import MemoryJournal, MemoryLake
from tests.support.plans import TARGETS, both, source
from tests.support.plans import lake as made_lake


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
    assert choose_address(tables.get, found, before, ["Orders__3", "orders__5"]) == ("orders__4", None)
    begun = lake("orders__3", **{PREDECESSOR_PROPERTY: format_predecessor(before)})
    tables["orders__3"] = begun
    assert choose_address(tables.get, found, before, ["orders__3"]) == ("orders__3", begun)


@pytest.mark.parametrize("is_interrupted", [False, True])
@both
def test_a_successor_is_made_and_then_linked_and_the_link_is_taken_back(
    format: str, is_interrupted: bool
) -> None:
    target, address = TARGETS[format]
    tables = MemoryLake({address: made_lake(format, "id INT NOT NULL, n INT, PRIMARY KEY (id)")})
    target_tables = list_successors(lambda name: tables.inspect(name, format), address)
    before = Predecessor(address, "v2", "{}")

    def plan_again() -> tuple[Plan, ...]:
        following = source("id INT NOT NULL, n INT")
        ways = (target, lambda name: tables.inspect(name, format), target_tables, before, Policy(), "")
        return plan_successor(following, *ways)

    plans = plan_again()
    assert [plan.phase.name for plan in plans if plan.phase] == ["expand", "link"]
    journal = MemoryJournal()
    for number, plan in enumerate(plans):
        apply(plan, tables, journal, lambda: 0, run=str(number))
        if is_interrupted and number == 0:
            (plans_left,) = plan_again()
            assert plans_left == plans[1]
    assert [t.address for t in list_successors(lambda name: tables.inspect(name, format), address)] == [
        address,
        name_successor(address, 2),
    ]
    old = tables.inspect(address, format)
    assert old is not None
    assert old.schema == target_tables[0].lake.schema
    back = plan_rollback(plans[1], old, 1)
    apply(back, tables, journal, lambda: 0, run="back", approved=True)
    assert len(list_successors(lambda name: tables.inspect(name, format), address)) == 1
    with pytest.raises(StalePlan, match="not as the plan left it"):
        plan_rollback(plans[1], tables.inspect(address, format), 1)


def test_more_key_columns_are_proven_by_the_key_and_the_new_column_alone() -> None:
    def queries(key: str) -> list[str]:
        live = made_lake("iceberg", "id INT NOT NULL, n INT, PRIMARY KEY (id)").live
        following = source(f"id INT NOT NULL, n INT, PRIMARY KEY ({key})")
        target, table = TARGETS["iceberg"]
        policy = Policy(profile="autopilot")
        assert live is not None
        plan = RecipePlanner(following, target, table, policy).plan_rekey(live)
        assert isinstance(plan, Plan)
        counts = plan.steps[0].precondition["counts"]
        assert isinstance(counts, Mapping)
        return [str(query) for query in counts]

    assert ["GROUP BY" in query for query in queries("id, n")] == [False]
    assert ["GROUP BY" in query for query in queries("n")] == [False, True]


def test_a_filling_is_read_back_and_one_of_other_rows_is_none() -> None:
    target, address = TARGETS["iceberg"]
    before, after = (
        LakeTableAt(name, LakeTable(name, parse_columns(f"id INT, a INT, b INT{key}"), name, "1"))
        for name, key in ((address, ", PRIMARY KEY (id)"), (name_successor(address, 2), ""))
    )
    filling = Filling(target, before, after, RowOrigin("main", "it's"))
    for statement in (filling.write_statement(), filling.write_deletes()):
        assert is_filling_successor(statement)
        assert not is_taking_rows(statement)
        assert read_filling_table(statement) == address
        assert is_own_filling(statement, target, before, after)
        for old, new in (("older.`a`", "older.`b`"), (target.table_name(address), "`ice`.`raw`.`secrets`")):
            assert not is_own_filling(statement.replace(old, new), target, before, after)
