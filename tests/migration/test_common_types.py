"""The type of a lake column whose source became another number: one that holds the old and the new values."""

from __future__ import annotations

from itertools import product

import pytest

from schemaman.migration.plan import Policy, PreviousVersion
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ProjectionRule
from schemaman.migration.target import LakeType
from schemaman.migration.type_mapping import holds_exactly, list_common_types
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.types import Decimal, Floating, Integer, Type, widens
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, lake, migrated, plan, source

NUMBERS = [
    *("SMALLINT", "INT", "BIGINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE"),
    *("DECIMAL(5,0)", "DECIMAL(10,2)", "DECIMAL(18,0)", "DECIMAL(38,0)", "DECIMAL(38,20)"),
]


def held(format: str, text: str) -> Type:
    answer = TARGETS[format][0].hold_type(parse_type(text))
    assert isinstance(answer, LakeType)
    return answer.type


@both
@pytest.mark.parametrize(("old", "new"), list(product(NUMBERS, NUMBERS)))
def test_a_number_goes_where_the_old_and_the_new_values_are_exact(format: str, old: str, new: str) -> None:
    """Or the plan says that no type holds both, or that the format has to rewrite the data."""
    made = lake(format, f"a {old}")
    drawn = plan(format, source(f"a {new}"), made.live)
    before, after = held(format, old), held(format, new)
    if drawn.refusals:
        (refusal,) = drawn.refusals
        nothing = not list_common_types(before, after)
        assert ("no type holds all numbers" in refusal.reason) is nothing
        assert not holds_exactly(after, before)
        return
    migrated(made, drawn)
    assert made.live is not None
    (column,) = made.live.schema.columns
    assert holds_exactly(before, column.type)
    assert holds_exactly(after, column.type) or widens(parse_type(new), column.type)
    again = plan(format, source(f"a {new}"), made.live)
    assert (again.steps, again.refusals) == ((), ())


@pytest.mark.parametrize(
    ("format", "old", "new", "becomes"),
    [
        ("iceberg", "DECIMAL(10,2)", "BIGINT", "DECIMAL(21,2)"),
        ("delta", "DECIMAL(10,2)", "INT", "DECIMAL(12,2)"),
        ("iceberg", "DECIMAL(6,3)", "SMALLINT", "DECIMAL(13,3)"),
        ("delta", "DECIMAL(6,3)", "SMALLINT", "DECIMAL(8,3)"),
        ("iceberg", "INT", "DECIMAL(5,0)", "INT"),
        ("delta", "BIGINT", "DECIMAL(18,0)", "BIGINT"),
        ("delta", "INT", "DECIMAL(10,2)", "DECIMAL(12,2)"),
        ("delta", "SMALLINT", "DECIMAL(8,4)", "DECIMAL(14,4)"),
        ("delta", "INT", "FLOAT", "DOUBLE"),
        ("iceberg", "FLOAT", "INT", "DOUBLE"),
        ("delta", "DOUBLE", "DECIMAL(15,0)", "DOUBLE"),
        ("iceberg", "STRUCT<m: DECIMAL(4,1)>", "STRUCT<m: BIGINT>", "STRUCT<m: DECIMAL(20,1)>"),
        ("delta", "ARRAY<INT>", "ARRAY<FLOAT>", "ARRAY<DOUBLE>"),
    ],
)
def test_the_common_type_is_the_narrowest_that_the_format_makes_in_place(
    format: str, old: str, new: str, becomes: str
) -> None:
    made = lake(format, f"a {old}")
    drawn = plan(format, source(f"a {new}"), made.live)
    assert drawn.refusals == ()
    assert [format_type(c.type) for c in drawn.wanted.columns] == [becomes]
    assert migrated(made, drawn).live is not None


def test_a_recipe_takes_the_common_type_where_the_format_has_to_rewrite() -> None:
    """FLOAT would lose digits of an integer, and DOUBLE holds both."""
    made = lake("iceberg", "a INT")
    drawn = plan("iceberg", source("a FLOAT"), made.live)
    assert drawn.wanted.columns == made.live.schema.columns  # type: ignore[union-attr]
    assert [refusal.change for refusal in drawn.refusals] == ["change `a` from INT to DOUBLE"]


@both
def test_a_number_that_stands_for_a_time_of_day_joins_no_number(format: str) -> None:
    target, table = TARGETS[format]
    policy = Policy(projections=(ProjectionRule((("time", "bigint"),)),))
    made = migrated(MemoryTable(table), make_plan(source("a TIME(6)"), None, target, table, policy))
    time = PreviousVersion("1", names={"a": "a"}, types={"a": parse_type("TIME(6)")})
    now = source("a DECIMAL(10,2)", past=(time,))
    assert make_plan(now, made.live, target, table, policy).refusals


def test_binary_numbers_hold_whole_decimals_up_to_their_digits() -> None:
    assert holds_exactly(Decimal(15, 0), Floating(64))
    assert not holds_exactly(Decimal(16, 0), Floating(64))
    assert not holds_exactly(Decimal(5, 1), Floating(64))
    assert holds_exactly(Decimal(18, 0), Integer(64))
    assert not holds_exactly(Decimal(19, 0), Integer(64))
