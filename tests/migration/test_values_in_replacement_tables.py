"""Law: a new table that is filled from a live one has in each column what that column held, and nothing else.

Wherever in the life of its source it is made, by whatever policy, and whether the ordinary plan came first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule, ProjectionRule
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import format_type
from schemaman.model.schema import TableSchema
from schemaman.sink.row_mapping import map_columns
from tests.migration.test_nested_fields import plan as drawn
from tests.migration.test_nested_fields import renamed, until
from tests.migration.test_nested_fields import told as of_columns
from tests.migration.test_values_in_columns import CALLED, lives, none_twice, policies, schema_of, written
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, migrated
from tests.support.random_histories import history

ACTS = ("plan", "plan", "plan", "skip", "into", "into-unplanned")


@settings(max_examples=5000 if PROOF else 150)
@given(
    format=st.sampled_from(sorted(TARGETS)),
    life=st.sampled_from(CALLED).flatmap(lives),
    acts=st.lists(st.sampled_from(ACTS), min_size=6, max_size=6),
    chosen=st.lists(policies(), min_size=1, max_size=2),
    otherwise=st.booleans(),
)
def test_a_new_table_has_each_value_in_the_column_that_it_was_in(
    format: str, life: list[TableSchema], acts: list[str], chosen: list[Policy], otherwise: bool
) -> None:
    follow(format, life, acts, chosen, otherwise=otherwise)


def follow(
    format: str, life: list[TableSchema], acts: list[str], chosen: list[Policy], *, otherwise: bool
) -> None:
    """A life of a source, its table followed or filled anew, by the same policy or another one."""
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    whose: dict[int, int] = {}
    for number, act in enumerate(acts[: len(life)]):
        if act == "skip":
            continue
        told = life[: number + 1]
        following, policy = add_row_columns(migration_source(history(told))), chosen[number % len(chosen)]
        if act != "into-unplanned" or lake.live is None:
            plan = make_plan(following, lake.live, target, lake.table, policy)
            if plan.steps and written(plan):
                apply(plan, lake, MemoryJournal(), lambda: 0, run="r", approved=True)
            if lake.live is not None and written(plan):
                knows(lake, told, whose)
        if act.startswith("into") and lake.live is not None:
            beside = chosen[(number + 1) % len(chosen)] if otherwise else policy
            there = f"{table}{number}"
            plans = RecipePlanner(following, target, lake.live.name, beside).make_plans(lake.live, there)
            if plans[0].steps:
                lake, whose = filled(lake, plans, there, whose, dropping=drops(beside, format))
                knows(lake, told, whose)


def drops(policy: Policy, format: str) -> bool:
    return policy.find_ruling("drop-column", "shop.app.public.t", format).level in ("auto", "approve")


@both
def test_what_a_column_is_that_gets_out_of_the_way_is_told_by_its_name_in_the_lake(format: str) -> None:
    """The lake calls it otherwise than the source, and knows already as which of several of its name."""
    ids: tuple[Mapping[str, int], ...] = ({"x y": 2}, {"x y": 3}, {}, {"x y": 4}, {}, {"x y": 5})
    life = [required(schema_of(each), 3, 4, 5) for each in ids]
    avro = ProjectionRule((("names", "avro"), ("collisions", "number")))
    quarantine = PolicyRule("quarantine", ("add-required-column",))
    policy = Policy(rules=(PolicyRule("auto", ("add-column",)), quarantine), projections=(avro,))
    follow(format, life, ["plan"] * 5 + ["into"], [policy], otherwise=False)


def required(schema: TableSchema, *ids: int) -> TableSchema:
    columns = (replace(c, nullable=False) if c.id in ids else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def knows(lake: MemoryTable, told: list[TableSchema], whose: dict[int, int]) -> None:
    """Rows of each column of the source go where nothing else ever was."""
    assert lake.live is not None
    to = map_columns(history(told), lake.live)
    for id, name in to.names.items():
        assert whose.setdefault(lake.fields[name], id) == id, (name, to)
    none_twice(to, told)


def filled(
    old: MemoryTable, plans: tuple[Plan, ...], table: str, whose: Mapping[int, int], *, dropping: bool
) -> tuple[MemoryTable, dict[int, int]]:
    """The new table, and whose values each of its columns has; what the source had is not left behind."""
    made, fill = plans
    new = MemoryTable(table)
    assert apply(made, new, MemoryJournal(), lambda: 0, run="r", approved=True).differences == ()
    pairs = moved(fill)
    assert len(dict(pairs)) == len({there for _, there in pairs}) == len(pairs)
    left = old.fields.keys() - {there for _, there in pairs}
    assert dropping or not [name for name in left if old.fields[name] in whose], (left, pairs)
    fields = {new.fields[here]: old.fields[there] for here, there in pairs}
    return new, {here: whose[there] for here, there in fields.items() if there in whose}


def moved(fill: Plan) -> list[tuple[str, str]]:
    """The columns that the statement fills, each with the one that it reads."""
    (step,) = fill.steps
    found = re.fullmatch(r"INSERT INTO \S+ \((`.*`)\) SELECT (`.*`) FROM \S+", step.statement, re.DOTALL)
    assert found, step.statement
    into, out = (re.findall(r"`([^`]*)`", part) for part in found.groups())
    return list(zip(into, out, strict=True))


@both
def test_a_column_whose_name_another_one_has_goes_along_out_of_its_way(format: str) -> None:
    """The ordinary plan, which would move it away, was not made."""
    target, table = TARGETS[format]
    told = [schema_of(ids) for ids in ({"a": 2}, {}, {"a": 4})]
    live = brought(format, told[:2], Policy())
    _, fill = RecipePlanner(migration_source(history(told)), target, table, Policy()).make_plans(
        live, table + "_new"
    )
    assert moved(fill) == [("key", "key"), ("a__old", "a")]
    assert "reuse-name = approve by default" in fill.approvals_needed[0]


TIME = ProjectionRule((("time", "bigint"),))
RULES = ((), (PolicyRule("auto", ("retype",)),))


@both
@pytest.mark.parametrize("rules", RULES)
def test_another_meaning_under_one_type_is_asked_for(format: str, rules: tuple[PolicyRule, ...]) -> None:
    _, fill = retold(format, "TIME(6)", "BIGINT", Policy(rules=rules, projections=(TIME,)))
    assert "TIME(6) at the source and is BIGINT" in fill.approvals_needed[0]


@both
@pytest.mark.parametrize("level", ["quarantine", "block"])
def test_another_meaning_that_the_policy_keeps_out_fills_nothing(format: str, level: str) -> None:
    rule = PolicyRule("quarantine" if level == "quarantine" else "block", ("change-representation",))
    (refused,) = retold(format, "TIME(6)", "BIGINT", Policy(rules=(rule,), projections=(TIME,)))
    assert refused.steps == ()
    assert "change-representation" in refused.refusals[0].reason


LOCAL = ProjectionRule((("local_timestamp", "timestamp"),))
STANDING_FOR_OTHERS = [
    (TIME, "TIME(6)", "VARCHAR(20)", TIME),
    (TIME, "TIME(6)", "TIME(6)", ProjectionRule((("time", "string"),))),
    (TIME, "DECIMAL(10,2)", "TIME(6)", TIME),
    (TIME, "STRUCT<t: TIME(6)>", "STRUCT<t: VARCHAR(20)>", TIME),
    (TIME, "ARRAY<TIME(6)>", "ARRAY<VARCHAR(20)>", TIME),
    (ProjectionRule((("time", "string"),)), "INT", "TIME(6)", ProjectionRule((("time", "string"),))),
    (LOCAL, "TIMESTAMP_NTZ(6)", "VARCHAR(30)", LOCAL),
    (LOCAL, "TIMESTAMP_NTZ(6)", "TIMESTAMP_NTZ(6)", ProjectionRule((("local_timestamp", "string"),))),
]


@both
@pytest.mark.parametrize("way", ["in place", "into"])
@pytest.mark.parametrize(("before", "old", "new", "after"), STANDING_FOR_OTHERS)
def test_what_only_stands_for_a_value_is_not_converted(
    format: str, way: str, before: ProjectionRule, old: str, new: str, after: ProjectionRule
) -> None:
    """`45296000000` is no time of day, and a local time has no `Z`."""
    now = Policy(projections=(after,))
    (refused,) = retold(format, old, new, now, Policy(projections=(before,)), into=way == "into")
    assert refused.steps == ()
    assert "does not show which of them a value is" in refused.refusals[0].reason


@both
@pytest.mark.parametrize("shape", ["STRUCT<{}>", "ARRAY<STRUCT<{}>>"])
@pytest.mark.parametrize("way", ["in place", "into"])
def test_a_member_stands_for_what_it_did_under_its_old_name(format: str, way: str, shape: str) -> None:
    target, table = TARGETS[format]
    policy = Policy(projections=(TIME,))
    types = [shape.format(member) for member in ("a: TIME(6), c: INT", "b: VARCHAR(20), c: INT")]
    inside = "s.element" if shape.startswith("ARRAY") else "s"
    versions = of_columns(*(f"key INT NOT NULL ID 1, s {each} ID 2, PRIMARY KEY (key)" for each in types))
    told = renamed(versions, (f"{inside}.a", f"{inside}.b"))
    lake = MemoryTable(table)
    for number in (1, 2):
        migrated(lake, drawn(format, until(told, number), lake, policy))
    assert lake.live is not None
    assert "b" in format_type(lake.live.schema.columns[1].type)
    (refused,) = RecipePlanner(until(told, 2), target, table, policy).make_plans(
        lake.live, table + "_new" if way == "into" else None
    )
    assert refused.steps == ()
    assert "does not show which of them a value is" in refused.refusals[0].reason


@both
def test_a_plan_in_part_does_not_hide_what_the_values_are(format: str) -> None:
    """It bears the stamp of the newest version, and its column the type of before."""
    target, table = TARGETS[format]
    policy = Policy(projections=(TIME,))
    told = [parse_columns(f"key INT NOT NULL ID 1, a {type} ID 2, PRIMARY KEY (key)") for type in
            ("TIME(6)", "VARCHAR(20)")]  # fmt: skip
    live = brought(format, told, policy)
    (refused,) = RecipePlanner(migration_source(history(told)), target, table, policy).make_plans(live)
    assert "does not show which of them a value is" in refused.refusals[0].reason


@both
def test_a_key_is_given_by_no_column_that_holds_the_values_of_another(format: str) -> None:
    target, table = TARGETS[format]
    policy = Policy(rules=(PolicyRule("block", ("reuse-name",)),))
    told = [
        parse_columns(f"id INT NOT NULL ID 1, x {type} ID 9{more}")
        for type, more in (
            ("BINARY", ", a INT ID 2, PRIMARY KEY (id)"),
            ("BINARY", ", PRIMARY KEY (id)"),
            ("DATE", ", a INT NOT NULL ID 4, PRIMARY KEY (id, a)"),
        )
    ]
    live = brought(format, told, policy)
    for exact in ((), ("a",)):
        (refused,) = RecipePlanner(
            migration_source(history(told)), target, table, policy, exact=exact
        ).make_plans(live)
        assert refused.steps == ()
        assert any("is not decided" in each.reason for each in refused.refusals)


def brought(format: str, told: list[TableSchema], policy: Policy) -> LakeTable:
    """A table that followed version after version, as far as plans went."""
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    for number in range(1, len(told) + 1):
        plan = make_plan(migration_source(history(told[:number])), lake.live, target, table, policy)
        apply(plan, lake, MemoryJournal(), lambda: 0, run="r", approved=True, partial=True)
    assert lake.live is not None
    return lake.live


def retold(
    format: str, old: str, new: str, policy: Policy, before: Policy | None = None, *, into: bool = True
) -> tuple[Plan, ...]:
    """The recipe for a table of one column more, whose type became another one."""
    target, table = TARGETS[format]
    types = (old, new) if old != new else (old,)
    told = [parse_columns(f"key INT NOT NULL ID 1, a {type} ID 2, PRIMARY KEY (key)") for type in types]
    live = brought(format, told[:1], before or policy)
    cook = RecipePlanner(migration_source(history(told)), target, table, policy)
    return cook.make_plans(live, table + "_new" if into else None)
