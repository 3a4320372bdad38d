"""Tables that other writers change: added columns, and tables that were made anew with earlier names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.names import ADDED_PROPERTY, FOREIGN_PROPERTY
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.model.column_list import parse_columns
from schemaman.sink.row_mapping import map_columns
from tests.migration.test_recipes import cook
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated, statements
from tests.support.random_histories import history

DROP = Policy(rules=(PolicyRule("auto", ("drop-column",)),))


def versions_of(versions: Sequence[str]) -> list[str]:
    return [f"id INT NOT NULL ID 1, {each + ', ' if each else ''}PRIMARY KEY (id)" for each in versions]


def plan(format: str, lake: MemoryTable, versions: Sequence[str], policy: Policy | None = None) -> Plan:
    told = history([parse_columns(text) for text in versions_of(versions)])
    source = add_row_columns(migration_source(told))
    return make_plan(source, lake.live, *TARGETS[format], policy or Policy())


def followed(format: str, versions: Sequence[str]) -> MemoryTable:
    """A table that follows the newest of these versions."""
    lake = MemoryTable(TARGETS[format][1])
    migrated(lake, plan(format, lake, versions))
    return lake


def by_hand(lake: MemoryTable, format: str, *actions: str) -> None:
    """Another writer alters the table."""
    target, table = TARGETS[format]
    for action in actions:
        lake.run(f"ALTER TABLE {target.table_name(table)} {action}")


def own_names(plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in plan.wanted.names if not name.startswith("_row_"))


@both
def test_a_table_made_anew_with_an_earlier_name_follows_the_rename(format: str) -> None:
    """CREATE OR REPLACE of Iceberg keeps the properties, with the stamp of the later version."""
    v = ["note STRING ID 2, n INT ID 3", "remark STRING ID 2, n INT ID 3"]
    lake = followed(format, v)
    by_hand(lake, format, "DROP COLUMNS (`remark`)", "ADD COLUMNS (`note` STRING)")
    made = plan(format, lake, v)
    assert statements(made)[0].endswith("RENAME COLUMN `note` TO `remark`")
    assert own_names(made) == ("id", "n", "remark")
    assert "it is `remark` now" in " ".join(made.notes)
    assert made.refusals == ()
    # rows that came before the plan would find the column, too
    assert lake.live is not None
    assert map_columns(history([parse_columns(t) for t in versions_of(v)]), lake.live).names[2] == "note"
    migrated(lake, made)
    assert plan(format, lake, v).steps == ()


@both
def test_a_table_made_anew_without_its_properties_follows_the_rename(format: str) -> None:
    v = ["note STRING ID 2", "remark STRING ID 2"]
    lake = followed(format, v[:1])
    assert lake.live is not None
    lake.live = replace(lake.live, properties={})
    made = plan(format, lake, v)
    assert any(each.endswith("RENAME COLUMN `note` TO `remark`") for each in statements(made))
    assert own_names(made) == ("id", "remark")


@both
def test_a_dropped_column_that_stays_is_not_taken_for_its_successor(format: str) -> None:
    """`note` was dropped, and `remark` is another column: nothing is renamed."""
    v = ["note STRING ID 2", "remark STRING ID 3"]
    lake = followed(format, v[:1])
    migrated(lake, plan(format, lake, v))
    made = plan(format, lake, v)
    assert (made.steps, own_names(made)) == ((), ("id", "note", "remark"))


@both
def test_a_rename_of_a_column_that_another_writer_added_needs_a_person(format: str) -> None:
    v = ["a INT ID 2", "a INT ID 2, b INT ID 3", "a INT ID 2, c INT ID 3"]
    lake = followed(format, v[:1])
    by_hand(lake, format, "ADD COLUMNS (`b` INT)")
    made = plan(format, lake, v)
    assert own_names(made) == ("id", "a", "c")
    (approval,) = made.approvals_needed
    assert "rename-suspected = approve" in approval
    assert "another writer added it" in " ".join(made.notes)


@both
def test_a_rename_of_a_column_that_a_plan_added_needs_none(format: str) -> None:
    """The first plan is made in part: another column waits, so the stamp stays that of the first version."""
    v = ["a INT ID 2", "a BOOLEAN ID 4, b INT ID 3", "a BOOLEAN ID 4, c INT ID 3"]
    lake = followed(format, v[:1])
    blocked = Policy(rules=(PolicyRule("quarantine", ("reuse-name",)),))
    migrated(lake, plan(format, lake, v[:2], blocked))
    assert lake.live is not None
    assert lake.live.properties[ADDED_PROPERTY] == '["b"]'
    made = plan(format, lake, v)
    assert not any("rename-suspected" in each for each in made.approvals_needed)
    assert "another writer" not in " ".join(made.notes)
    migrated(lake, made)
    assert lake.live.properties[ADDED_PROPERTY] == "[]"


@both
@pytest.mark.parametrize("policy", [Policy(), DROP], ids=["keep", "drop"])
def test_a_column_that_another_writer_added_is_never_dropped(format: str, policy: Policy) -> None:
    """The source had a column of its name, and dropped it, since the table was stamped."""
    v = ["a INT ID 2", "a INT ID 2, b INT ID 3", "a INT ID 2"]
    lake = followed(format, v[:1])
    by_hand(lake, format, "ADD COLUMNS (`b` INT)")
    made = plan(format, lake, v, policy)
    assert own_names(made) == ("id", "a", "b")
    assert "`b`: the source never had it: it does not change" in made.notes
    told = history([parse_columns(text) for text in versions_of(v)])
    assert lake.live is not None
    assert find_foreign_columns(migration_source(told), lake.live) == {"b"}
    # values of the dropped column do not go into it
    assert 3 not in map_columns(told, lake.live).names


@both
def test_a_foreign_column_makes_room_under_the_policy_of_reused_names_alone(format: str) -> None:
    v = ["a INT ID 2", "a INT ID 2, q INT ID 4", "a INT ID 2, q INT ID 4, region STRING ID 3"]
    lake = followed(format, v[:1])
    by_hand(lake, format, "ADD COLUMNS (`region` STRING)")
    migrated(lake, plan(format, lake, v[:2]))
    made = plan(format, lake, v)
    assert own_names(made) == ("id", "a", "region__old", "q", "region")
    assert all("reuse-name = approve" in each for each in made.approvals_needed)
    assert made.approvals_needed
    free = Policy(rules=(PolicyRule("auto", ("reuse-name",)), PolicyRule("ignore", ("rename-suspected",))))
    made = plan(format, lake, v, free)
    assert made.approvals_needed == ()
    migrated(lake, made)
    assert lake.live is not None
    assert lake.live.properties[FOREIGN_PROPERTY] == '["region__old"]'
    assert plan(format, lake, v, free).steps == ()


@both
@pytest.mark.parametrize("level", ["quarantine", "block"])
def test_a_name_that_others_fill_is_refused_where_the_policy_renames_nothing(format: str, level: str) -> None:
    v = ["a INT ID 2", "a INT ID 2, region STRING ID 3"]
    lake = followed(format, v[:1])
    by_hand(lake, format, "ADD COLUMNS (`Region` STRING)")
    migrated(lake, plan(format, lake, ["a INT ID 2", "a INT ID 2, q INT ID 4"]))
    assert lake.live is not None
    assert lake.live.properties[FOREIGN_PROPERTY] == '["Region"]'
    barred = Policy(rules=(PolicyRule(level, ("reuse-name",)),))  # type: ignore[arg-type]
    (refusal,) = plan(format, lake, v, barred).refusals
    assert "others fill it, and the source has a column of this name now" in refusal.reason
    assert f"take it out of the table property {FOREIGN_PROPERTY}" in refusal.instead
    # a person who says that it is the source's takes it out
    lake.live = replace(lake.live, properties={**lake.live.properties, FOREIGN_PROPERTY: "[]"})
    made = plan(format, lake, v, barred)
    assert (made.refusals, own_names(made)) == ((), ("id", "a", "Region", "q"))


def standing(format: str, columns: str) -> MemoryTable:
    """A table that somebody else made."""
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    lake.run(target.create_table(table, parse_columns(columns), {}).statement)
    return lake


@both
@pytest.mark.parametrize(
    ("columns", "more", "refused"),
    [
        ("x INT NOT NULL", {}, True),
        ("x INT NOT NULL", {"defaults": {"x": "1"}}, False),
        ("x INT NOT NULL", {"generated": {"x": "id + 1"}}, False),
        ("x INT NOT NULL", {"generated": {"x": ""}}, False),
        ("x INT", {"properties": {"delta.constraints.c": "(X is NOT  NULL)"}}, True),
        ("x INT", {"properties": {"delta.constraints.c": "x > 1"}}, False),
    ],
)
def test_a_column_is_unfilled_where_neither_table_nor_source_has_a_value(
    format: str, columns: str, more: dict[str, Any], refused: bool
) -> None:
    lake = standing(format, f"id INT NOT NULL, {columns}")
    assert lake.live is not None
    more = {**more, "properties": {**lake.live.properties, **more.get("properties", {})}}
    lake.live = replace(lake.live, **more)
    made = plan(format, lake, ["a INT ID 2"])
    assert [r.change for r in made.refusals] == (["write rows without `x`"] if refused else [])


@both
def test_an_identity_column_takes_no_values_of_the_source(format: str) -> None:
    lake = standing(format, "id INT NOT NULL, a BIGINT")
    assert lake.live is not None
    lake.live = replace(lake.live, generated={"a": ""})
    (refusal,) = plan(format, lake, ["a INT ID 2"]).refusals
    assert (refusal.change, "IDENTITY" in refusal.reason) == ("fill `a`", True)


@both
def test_a_new_table_in_the_place_of_another_records_what_others_fill(format: str) -> None:
    lake = standing(format, "id INT NOT NULL, a INT, segment STRING")
    migrated(lake, plan(format, lake, ["a INT ID 2"]))
    assert lake.live is not None
    told = history([parse_columns(text) for text in versions_of(["a INT ID 2", "a STRING ID 2"])])
    new = {"delta": "/lake/new", "iceberg": "ice.raw.new"}[format]
    made, _ = cook(format, add_row_columns(migration_source(told))).make_plans(lake.live, new)
    (create,) = (s.statement for s in made.steps if s.kind == "create-table")
    assert f"""'{FOREIGN_PROPERTY}' = '["segment"]'""" in create


@both
def test_the_columns_of_the_sink_are_never_foreign(format: str) -> None:
    lake = followed(format, ["a INT ID 2"])
    assert lake.live is not None
    assert "_row_order" in lake.live.schema.names
    told = history([parse_columns(text) for text in versions_of(["a INT ID 2", "a STRING ID 2"])])
    new = {"delta": "/lake/new", "iceberg": "ice.raw.new"}[format]
    made, _ = cook(format, migration_source(told)).make_plans(lake.live, new)
    assert not any(FOREIGN_PROPERTY in step.statement for step in made.steps)
