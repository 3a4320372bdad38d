"""What each statement of a plan means for the policy, whatever its file says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.migration import spark_sql as sql
from schemaman.migration.approvals import list_missing_approvals
from schemaman.migration.held_columns import find_exchanged_contents
from schemaman.migration.plan import MigrationSource, Plan, Policy, Step, StepKind
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ChangeKind, PolicyRule
from schemaman.migration.rename_grounds import RenameGrounds, find_rename_grounds
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.source import migration_source
from schemaman.migration.step_kinds import list_step_kinds
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import Column
from schemaman.model.types import Decimal, Floating, Integer, Type
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated
from tests.support.random_histories import history, lives

NAME = "`ice`.`raw`.`t`"
BASE = parse_columns("id INT NOT NULL, a INT, day INT, PRIMARY KEY (id)")
GROUNDS = RenameGrounds(used=frozenset({"gone"}))
Written = tuple[StepKind, str, dict[str, object]]
Before = Mapping[str, object]
RECORDED: Before = {"properties": {"schemaman.key": '["id"]'}}
UNRECORDED: Before = {"properties": {"schemaman.key": None}}


def key_step(key: list[str] | None) -> Written:
    properties = {"schemaman.key": None if key is None else json.dumps(key)}
    statement = (
        sql.unset_properties(NAME, ["schemaman.key"])
        if key is None
        else sql.set_properties(NAME, {"schemaman.key": json.dumps(key)})
    )
    return "set-properties", statement, {"properties": properties}


def retyped(column: str, type: Type) -> Written:
    words = f"TYPE {sql.type_name(type)}"
    return "change-type", sql.alter_columns(NAME, [((column,), words)]), {}


def added(name: str) -> Written:
    return "add-columns", sql.add_columns(NAME, [((name,), Column(name, Integer(32)))]), {}


def own(properties: dict[str, str]) -> Written:
    return "set-properties", sql.set_properties(NAME, properties), {"properties": properties}


STATEMENTS: list[tuple[Written, Before, set[ChangeKind]]] = [
    # The grammar of plans, one statement of each: what it changes, or why it changes no meaning.
    (("create-namespace", "CREATE NAMESPACE IF NOT EXISTS `ice`.`raw`", {}), {}, set()),  # it is empty
    (added("b"), {}, {"add-column"}),
    (added("GONE"), {}, {"add-column", "reuse-name"}),
    (retyped("a", Integer(64)), {}, {"widen"}),
    (retyped("a", Decimal(20, 0)), {}, {"integer-to-decimal"}),
    (retyped("a", Floating(64)), {}, {"integer-to-double"}),
    (retyped("day", Integer(64)), {}, {"widen", "change-layout-column"}),
    (("rename-column", sql.rename_column(NAME, ("a",), "b"), {}), {}, {"rename-suspected"}),
    (("drop-columns", sql.drop_columns(NAME, [("a",)]), {}), {}, {"drop-column"}),
    (("drop-not-null", sql.alter_columns(NAME, [(("id",), "DROP NOT NULL")]), {}), {}, {"drop-not-null"}),
    (("add-constraint", sql.add_check(NAME, "schemaman_a", "`a` IS NULL"), {}), {}, {"set-not-null"}),
    (("drop-constraint", sql.drop_check(NAME, "schemaman_a"), {}), {}, {"drop-not-null"}),
    (("change-comment", sql.comment_on_table(NAME, "x"), {}), {}, {"change-comment"}),
    (("backfill", sql.update_rows(NAME, [("a", "NULL")], "true"), {}), {}, {"retype"}),
    (own({"format-version": "3"}), {}, {"upgrade"}),
    # Identifier fields are the key of other engines, the property is that of schemaman.
    (("drop-key", sql.drop_identifier_fields(NAME, ["id"]), {}), {}, {"change-key"}),
    (("set-key", sql.set_identifier_fields(NAME, ["a"]), {}), {}, {"change-key"}),
    (("set-key", sql.set_identifier_fields(NAME, ["id", "a"]), {}), {}, {"change-key"}),
    (("set-key", sql.set_identifier_fields(NAME, ["id"]), {}), {}, set()),  # by which rows are merged anyway
    (key_step(["a"]), RECORDED, {"change-key"}),
    (key_step([]), RECORDED, {"change-key"}),
    (key_step(None), RECORDED, {"change-key"}),
    (key_step(["a"]), {}, {"change-key"}),  # nothing checks that the table has no key
    (key_step(["id"]), RECORDED, set()),
    (key_step(["a"]), UNRECORDED, set()),  # the first record: the next plan compares it with the source
    # What a table says of itself: the statement check holds it to the plan's source and version.
    (own({"schemaman.source": "shop.public.t"}), {}, set()),
]  # fmt: skip


def made_by_hand(*steps: tuple[Written, Before]) -> Plan:
    source = MigrationSource("shop.public.t", 1, "v1", 0, BASE)
    made = (
        Step(kind, statement, "none", "reversible", before, after)
        for (kind, statement, after), before in steps
    )
    return Plan("raw", "iceberg", "ice.raw.t", source, "i", "0", BASE, BASE, tuple(made))


@pytest.mark.parametrize(("step", "before", "kinds"), STATEMENTS, ids=[each[0][1] for each in STATEMENTS])
def test_each_statement_has_the_kinds_of_its_change(
    step: Written, before: Before, kinds: set[ChangeKind]
) -> None:
    plan = made_by_hand((step, before))
    assert set(list_step_kinds(plan, ["day"], GROUNDS)[0]) == kinds
    for kind in kinds:
        policy = Policy(rules=(PolicyRule("auto"), PolicyRule("approve", (kind,))))
        assert len(list_missing_approvals(plan, policy, grounds=GROUNDS, layout=["day"])) == 1
    asked = replace(plan, approvals_needed=(f"{step[0]}: {step[1]} (why)",))
    assert list_missing_approvals(asked, Policy(), grounds=GROUNDS, layout=["day"]) == ()


def test_the_key_and_the_layout_follow_the_renames_of_a_plan() -> None:
    turns = [("id", "t"), ("a", "id"), ("t", "a")]
    steps: list[tuple[Written, Before]] = [
        (("rename-column", sql.rename_column(NAME, (a,), b), {}), {}) for a, b in turns
    ]
    keyed: list[tuple[Written, Before]] = [
        (key_step(["a"]), RECORDED),
        (("set-key", sql.set_identifier_fields(NAME, ["a"]), {}), {}),
    ]
    # The record comes before the last rename of a ring, and has the names after it.
    for order in ([*steps, *keyed], [*steps[:2], keyed[0], steps[2], keyed[1]]):
        kinds = list_step_kinds(made_by_hand(*order))
        assert [each for each in kinds if "change-key" in each] == []
    wrong = made_by_hand(*steps, (key_step(["id"]), RECORDED))
    assert list_step_kinds(wrong)[-1] == ("change-key",)
    moved: list[tuple[Written, Before]] = [
        (("rename-column", sql.rename_column(NAME, ("day",), "d"), {}), {}),
        (retyped("d", Integer(64)), {}),
    ]
    assert "change-layout-column" in list_step_kinds(made_by_hand(*moved), ["day"])[1]


POLICIES = [
    Policy(),
    Policy(profile="autopilot"),
    Policy(drops="drop", rules=(PolicyRule("approve"), PolicyRule("auto", ("new-table",)))),
]


@both
@settings(max_examples=300 if PROOF else 30)
@given(policy=st.sampled_from(POLICIES), life=lives())
def test_plans_and_rollbacks_of_ours_ask_for_all_that_they_need(
    format: str, policy: Policy, life: list[MigrationSource]
) -> None:
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    for number in range(1, len(life) + 1):
        recorded = history([each.schema for each in life[:number]])
        following = migration_source(recorded)
        grounds = find_rename_grounds([following], [following], [following])
        plan = make_plan(following, lake.live, target, table, policy)
        missing = list_missing_approvals(plan, policy, grounds=grounds, layout=_layout(lake.live))
        assert plan.approvals_needed or plan.refusals or missing == ()
        assert find_exchanged_contents(plan, lake.live, recorded) == ()
        migrated(lake, plan)
        back = plan_rollback(plan, lake.live, len(plan.steps)) if plan.steps else plan
        missing = list_missing_approvals(back, policy, grounds=grounds, layout=_layout(lake.live))
        assert back.approvals_needed or missing == ()


def _layout(live: LakeTable | None) -> tuple[str, ...]:
    return live.layout if live else ()
