"""A type of the source that the lake cannot tell from the one before: nothing is filled with it unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy, PolicyRule, ProjectionRule
from schemaman.migration.properties.names import VERSION_PROPERTY
from schemaman.migration.source import migration_source
from schemaman.model.column_list import parse_columns
from tests.migration.test_nested_fields import plan as drawn
from tests.migration.test_nested_fields import renamed, until
from tests.migration.test_nested_fields import told as of_columns
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated
from tests.support.random_histories import history as history_of


def sources(*types: str) -> list[MigrationSource]:
    told = history_of([parse_columns(f"id INT ID 1, a {each} ID 2") for each in types])
    numbers = range(1, len(types) + 1)
    return [migration_source(replace(told, versions=told.versions[:number])) for number in numbers]


def policy(option: str, word: str, *rules: PolicyRule) -> Policy:
    return Policy(rules=rules, projections=(ProjectionRule(((option, word),)),))


def after(format: str, policy: Policy, old: str, new: str) -> tuple[MemoryTable, MigrationSource, Plan]:
    """The lake as the old type left it, what it is to follow, and the plan for that."""
    made = MemoryTable(TARGETS[format][1])
    first, second = sources(old, new)
    migrated(made, drawn(format, first, made, policy))
    return made, second, drawn(format, second, made, policy)


HIDDEN = [
    ("local_timestamp", "timestamp", "TIMESTAMP_NTZ(6)", "TIMESTAMP(6)"),
    ("time", "bigint", "TIME(6)", "BIGINT"),
    ("time", "bigint", "BIGINT", "TIME(6)"),
    ("time", "bigint", "STRUCT<x: INT, t: TIME(6)>", "STRUCT<x: INT, t: BIGINT>"),
    ("time", "bigint", "ARRAY<TIME(6)>", "ARRAY<BIGINT>"),
    ("time", "bigint", "MAP<TIME(6), INT>", "MAP<BIGINT, INT>"),
    ("time", "bigint", "MAP<STRING, TIME(6)>", "MAP<STRING, BIGINT>"),
    ("time", "bigint", "STRUCT<x: INT, t: TIME(6)>", "STRUCT<x: INT, T: BIGINT>"),
    ("uuid", "binary", "UUID", "BINARY"),
]


@both
@pytest.mark.parametrize(("option", "word", "old", "new"), HIDDEN)
def test_values_of_another_meaning_are_approved_once(
    format: str, option: str, word: str, old: str, new: str
) -> None:
    chosen = policy(option, word)
    made, following, plan = after(format, chosen, old, new)
    assert [s.kind for s in plan.steps] == ["set-properties"]
    assert [r.kind for r in plan.rulings] == ["change-representation"]
    assert len(plan.approvals_needed) == 1
    assert "old and new values cannot be distinguished" in plan.approvals_needed[0]
    assert any("[[projection]] writes both in one lake type" in note for note in plan.notes)
    assert not plan.refusals
    migrated(made, plan)
    again = drawn(format, following, made, chosen)
    assert (again.steps, again.rulings, again.approvals_needed) == ((), (), ())


@both
@pytest.mark.parametrize(
    ("option", "word", "types"),
    [
        ("time", "bigint", ("TIME(6)", "VARCHAR(9)", "BIGINT")),
        ("time", "bigint", ("BIGINT", "VARCHAR(9)", "TIME(6)")),
        ("time", "bigint", ("TIME(6)", "VARCHAR(9)", "VARCHAR(20)", "BIGINT")),
        ("time", "bigint", ("ARRAY<TIME(6)>", "ARRAY<STRING>", "ARRAY<BIGINT>")),
        ("time", "bigint", ("STRUCT<x: INT, t: TIME(6)>", "STRUCT<x: INT, t: STRING>",
                            "STRUCT<x: INT, t: BIGINT>")),
        ("time", "bigint", ("STRUCT<x: INT, t: TIME(6)>", "STRUCT<x: INT>", "STRUCT<x: INT, t: BIGINT>")),
        ("local_timestamp", "timestamp", ("TIMESTAMP_NTZ(6)", "VARCHAR(40)", "TIMESTAMP(6)")),
    ],
)  # fmt: skip
def test_a_type_that_the_lake_never_took_on_hides_no_other_meaning(
    format: str, option: str, word: str, types: tuple[str, ...]
) -> None:
    """The one between is refused, and the rest of that plan made, with its stamp: the old values stay."""
    chosen = policy(option, word)
    made = MemoryTable(TARGETS[format][1])
    for following in sources(*types):
        last = drawn(format, following, made, chosen)
        asked = [r.kind for r in last.rulings if r.kind == "change-representation"]
        if following.schema.column("a") != sources(*types)[-1].schema.column("a"):
            assert asked == []
        migrated(made, last)
    assert (asked, len(last.approvals_needed), last.refusals) == (["change-representation"], 1, ())
    assert not drawn(format, sources(*types)[-1], made, chosen).approvals_needed


THERE_AND_BACK = [
    ("TIME(6)", "BIGINT"),
    ("BIGINT", "TIME(6)"),
    ("TIME(6)", "DECIMAL(20,0)"),
    ("ARRAY<TIME(6)>", "ARRAY<BIGINT>"),
    ("STRUCT<x: INT, t: TIME(6)>", "STRUCT<x: INT, t: BIGINT>"),
]


@both
@pytest.mark.parametrize(("one", "other"), THERE_AND_BACK)
def test_a_meaning_that_came_and_went_between_two_plans_is_asked_about(
    format: str, one: str, other: str
) -> None:
    """Rows of it are on their way, and nothing tells them from those of before and behind."""
    chosen = policy("time", "bigint")
    made = MemoryTable(TARGETS[format][1])
    first, *_, last = sources(one, other, one)
    migrated(made, drawn(format, first, made, chosen))
    plan = drawn(format, last, made, chosen)
    assert ([r.kind for r in plan.rulings], len(plan.approvals_needed)) == (["change-representation"], 1)
    migrated(made, plan)
    assert not drawn(format, last, made, chosen).approvals_needed


@both
def test_numbers_that_a_narrower_column_takes_are_asked_about_on_the_way_back(format: str) -> None:
    """The policy keeps the column BIGINT, in which each number of a DECIMAL goes that has room there."""
    rules = PolicyRule("ignore", ("integer-to-decimal", "retype"))
    chosen = policy("time", "bigint", rules)
    made = MemoryTable(TARGETS[format][1])
    for following in sources("TIME(6)", "DECIMAL(20,0)", "TIME(6)"):
        last = drawn(format, following, made, chosen)
        migrated(made, last)
    assert len(last.approvals_needed) == 1


@both
def test_a_type_that_the_lake_took_on_in_between_is_the_one_that_counts(format: str) -> None:
    chosen = policy("time", "bigint")
    made = MemoryTable(TARGETS[format][1])
    for following in sources("TIME(6)", "BIGINT", "BIGINT UNSIGNED", "BIGINT"):
        last = drawn(format, following, made, chosen)
        migrated(made, last)
    assert not last.approvals_needed


IN_STRUCTS = ["STRUCT<x: INT, {}>", "ARRAY<STRUCT<x: INT, {}>>", "STRUCT<x: INT, y: STRUCT<x: INT, {}>>"]


@both
@pytest.mark.parametrize("shape", IN_STRUCTS)
def test_a_member_that_got_another_name_too_is_no_other_one(format: str, shape: str) -> None:
    types = [shape.format(member) for member in ("a: TIME(6)", "b: BIGINT")]
    inside = {0: "s", 1: "s.element", 2: "s.y"}[IN_STRUCTS.index(shape)]
    told = renamed(of_columns(*(f"id INT ID 1, s {each} ID 2" for each in types)),
                   (f"{inside}.a", f"{inside}.b"))  # fmt: skip
    made = MemoryTable(TARGETS[format][1])
    chosen = policy("time", "bigint")
    for number in (1, 2):
        drawn_now = drawn(format, until(told, number), made, chosen)
        migrated(made, drawn_now)
    assert [(r.kind, r.level) for r in drawn_now.rulings if r.kind != "rename-proven"] == [
        ("change-representation", "approve")
    ]
    assert f"fill {inside}.b with BIGINT" in drawn_now.approvals_needed[0].replace("`", "")


@both
@pytest.mark.parametrize("types", [("MAP<STRING, INT>", "JSON"), ("JSON", "STRUCT<x: INT>")])
def test_texts_that_tell_their_own_structure_are_of_one_meaning(format: str, types: tuple[str, str]) -> None:
    *_, plan = after(format, policy("documents", "string"), *types)
    assert (plan.rulings, plan.approvals_needed, plan.refusals) == ((), (), ())


@both
def test_while_the_policy_sets_the_rows_aside_the_table_keeps_its_stamp(format: str) -> None:
    chosen = policy("time", "bigint", PolicyRule("quarantine", ("change-representation",)))
    made, following, plan = after(format, chosen, "TIME(6)", "BIGINT")
    assert (plan.steps, plan.refusals) == ((), ())
    more = replace(following, schema=parse_columns("id INT ID 1, a BIGINT ID 2, b INT ID 3"))
    migrated(made, make_plan(more, made.live, *TARGETS[format], chosen))
    assert made.live is not None
    assert made.live.schema.column("b") is not None
    assert [r.level for r in drawn(format, following, made, chosen).rulings] == ["quarantine"]


@both
def test_where_the_policy_blocks_it_the_table_keeps_its_stamp(format: str) -> None:
    chosen = policy("time", "bigint", PolicyRule("block", ("change-representation",)))
    made, following, plan = after(format, chosen, "TIME(6)", "BIGINT")
    assert plan.steps == ()
    assert "change-representation = " in plan.refusals[0].instead
    more = replace(following, schema=parse_columns("id INT ID 1, a BIGINT ID 2, b INT ID 3"))
    migrated(made, make_plan(more, made.live, *TARGETS[format], chosen))
    assert made.live is not None
    assert made.live.schema.column("b") is not None
    assert made.live.properties[VERSION_PROPERTY] != following.id
    assert drawn(format, following, made, chosen).refusals


@both
@pytest.mark.parametrize(
    ("option", "word", "old", "new"),
    [
        ("unsigned_bigint", "bigint", "BIGINT", "BIGINT UNSIGNED"),
        ("numeric", "double", "DOUBLE", "NUMERIC"),
        ("documents", "string", "STRUCT<x: INT>", "STRUCT<x: INT, y: INT>"),
        ("arrays", "string", "ARRAY<INT>", "ARRAY<STRING>"),
        ("time", "bigint", "TIME(3)", "TIME(6)"),
        ("time", "string", "STRING", "TIME(6)"),
    ],
)
def test_what_means_the_same_is_not_asked_about(
    format: str, option: str, word: str, old: str, new: str
) -> None:
    _, _, plan = after(format, policy(option, word), old, new)
    assert plan.approvals_needed == ()
    assert plan.rulings == ()


@both
@pytest.mark.parametrize("types", [("TIME(6)", "INT"), ("INT", "TIME(6)"), ("TIME(6)", "DECIMAL(20,0)"),
                                   ("DECIMAL(20,0)", "TIME(6)")])  # fmt: skip
def test_a_wider_type_hides_another_meaning_as_well(format: str, types: tuple[str, str]) -> None:
    """Microseconds since midnight and numbers, in a column that takes both."""
    *_, plan = after(format, policy("time", "bigint"), *types)
    assert [r.level for r in plan.rulings if r.kind == "change-representation"] == ["approve"]
    assert (
        any(("old and new values cannot be distinguished") in each for each in plan.approvals_needed)
        or plan.refusals
    )
