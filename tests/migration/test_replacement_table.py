"""A new table that takes the place of a live one, without an engine: what goes along, and what may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule, ProjectionRule
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    KEPT_PROPERTY,
    NAMES_PROPERTY,
    TRUNCATED_PROPERTY,
)
from schemaman.migration.row_columns import KEYED, KEYLESS, add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.spark_sql import read_set_properties
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer
from tests.migration.test_recipes import cook, live_of
from tests.support.plans import TARGETS, both, plan, source
from tests.support.plans import lake as made_for
from tests.support.random_histories import history

NEW = {"delta": "/lake/new", "iceberg": "ice.raw.new"}
KEY = "PRIMARY KEY (id)"


def mirrored(format: str, *versions: MigrationSource, **policy) -> LakeTable:
    """A table that a mirror brought from version to version."""
    made = made_for(format, "unused INT")
    made.live = None
    for version in versions:
        drawn = plan(format, add_row_columns(version), made.live, **policy)
        assert not drawn.refusals
        for step in drawn.steps:
            made.run(step.statement)
    return live_of(made)


def into(
    format: str, following: MigrationSource, live: LakeTable, policy: Policy | None = None
) -> tuple[Plan, ...]:
    plans = cook(format, following, policy=policy or Policy()).make_plans(live, NEW[format])
    assert [from_text(to_text(each)) for each in plans] == list(plans)
    return plans


def reasons(plans: Sequence[Plan]) -> str:
    (refused,) = plans
    assert refused.steps == ()
    return "; ".join(f"{r.change}: {r.reason}: {r.instead}" for r in refused.refusals)


OLD = source(f"id INT NOT NULL, n TEXT, gone TEXT, {KEY}")
GONE = source(f"id INT NOT NULL, n INT, {KEY}", former_names={"n": ("gone",)})


@both
def test_what_a_kept_column_is_goes_along_where_another_one_has_had_its_name_since(format: str) -> None:
    told: list[TableSchema] = []
    sources = []
    for columns in ({"id": 1, "x": 2}, {"id": 1}, {"id": 1, "x": 3}, {"id": 1, "y": 3}):
        told.append(TableSchema(tuple(Column(n, Integer(32), id=i) for n, i in columns.items()), ("id",)))
        sources.append(migration_source(history(told)))
    live = mirrored(format, sources[0])
    made = next(iter(into(format, add_row_columns(sources[3]), live)))
    (create,) = (s.statement for s in made.steps if s.kind == "create-table")
    said = read_set_properties(create, (DISPLACED_PROPERTY,))
    found = read_displaced(replace(live, schema=made.wanted, properties=said))
    assert {name: (each.column, each.version) for name, each in found.items()} == {"x": ("x", sources[0].id)}


@both
def test_positions_graves_and_kept_columns_go_along(format: str) -> None:
    live = mirrored(format, OLD)
    live = replace(live, properties={**live.properties, TRUNCATED_PROPERTY: "0042"})
    made, fill = into(format, GONE, live)
    assert made.wanted.names == ("id", "n", "gone", *(name for name, _ in KEYED))
    assert made.wanted.key == ("id",)
    (create,) = (s.statement for s in made.steps if s.kind == "create-table")
    assert f"'{TRUNCATED_PROPERTY}' = '0042'" in create
    assert f"""'{KEPT_PROPERTY}' = '["gone"]'""" in create
    (step,) = fill.steps
    assert "(`id`, `n`, `gone`, `_row_order`, `_row_deleted`) SELECT" in step.statement
    counts = step.postcondition["counts"]
    assert isinstance(counts, dict)
    assert sum("count_if(`_row_deleted`)" in query for query in counts) == 1
    assert set(counts.values()) == {0}


@both
def test_what_the_new_table_says_of_its_names_holds_for_what_went_along(format: str) -> None:
    avro = (ProjectionRule((("names", "avro"),)),)
    live = mirrored(format, source(f"id INT NOT NULL, `n-1` TEXT, `gone-1` TEXT, {KEY}"), projections=avro)
    assert live.schema.names[:3] == ("id", "n_1", "gone_1")
    later = source(f"id INT NOT NULL, `n-1` INT, {KEY}")
    made, _ = into(format, later, live, Policy(projections=avro))
    (create,) = (s.statement for s in made.steps if s.kind == "create-table")
    assert f'\'{NAMES_PROPERTY}\' = \'{{"gone_1": "gone-1", "n_1": "n-1"}}\'' in create


@both
def test_a_column_that_is_to_be_renamed_takes_its_values_along(format: str) -> None:
    live = mirrored(format, source(f"id INT NOT NULL, a TEXT, {KEY}"))
    later = source(f"id INT NOT NULL, b TEXT, {KEY}", former_names={"b": ("a",)})
    made, fill = into(format, later, live)
    assert made.wanted.names == ("id", "b", "_row_order", "_row_deleted")
    assert "(`id`, `b`, `_row_order`, `_row_deleted`) SELECT `id`, `a`, " in fill.steps[0].statement


@both
def test_a_column_that_left_and_one_of_its_name_are_not_mixed(format: str) -> None:
    live = mirrored(format, OLD)
    asked = source(f"id INT NOT NULL, m TEXT, {KEY}", unanswered=(("n", "m"),))
    assert "rename not decided" in reasons(into(format, asked, live))


@both
def test_dropped_columns_stay_behind_where_the_policy_drops_them(format: str) -> None:
    live = mirrored(format, OLD)
    dropping = Policy(rules=(PolicyRule("auto", ("drop-column",), tables=("shop.public.t",)),))
    made, _ = into(format, GONE, live, dropping)
    assert "gone" not in made.wanted.names


@both
@pytest.mark.parametrize("way", ["in place", "into"])
def test_a_log_of_changes_and_rows_by_key_are_not_each_others(format: str, way: str) -> None:
    keyless, keyed = source("id INT NOT NULL, n INT"), source(f"id INT NOT NULL, n INT, {KEY}")
    for before, after, words in (
        (keyless, keyed, "a log of changes"),
        (keyed, keyless, "keeps deleted rows"),
    ):
        live = mirrored(format, before)
        columns = KEYLESS if before is keyless else KEYED
        assert {name for name, _ in columns} <= set(live.schema.names)
        plans = into(format, after, live) if way == "into" else cook(format, after).make_plans(live)
        assert words in reasons(plans)
        assert "snapshot" in reasons(plans)
        ordinary = make_plan(add_row_columns(after), live, *TARGETS[format], Policy())
        assert [r.instead for r in ordinary.refusals] == [r.instead for r in plans[0].refusals]


@both
def test_a_log_goes_on_in_a_new_table(format: str) -> None:
    live = mirrored(format, source("id INT NOT NULL, n TEXT"))
    made, fill = into(format, source("id INT NOT NULL, n INT"), live)
    assert made.wanted.names == ("id", "n", *(name for name, _ in KEYLESS))
    assert all(f"`{name}`" in fill.steps[0].statement for name, _ in KEYLESS)


@both
def test_a_key_that_the_old_table_does_not_have_fills_nothing(format: str) -> None:
    live = mirrored(format, source(f"id INT NOT NULL, n INT, {KEY}"))
    later = source("id INT NOT NULL, shop INT NOT NULL, n INT, PRIMARY KEY (id, shop)")
    assert "lacks columns of the new key" in reasons(into(format, later, live))
