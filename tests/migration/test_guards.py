"""What stands against a change, and what is taken off for it: seen before the engine would refuse."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import apply, check
from schemaman.migration.plan import (
    MigrationSource,
    Policy,
    Refusal,
    count_outcomes,
)
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.target import Draft, LakeTable
from schemaman.migration.targets import delta, iceberg
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import AddColumn, ChangeNullable, ChangeType, DropColumn, RenameColumn
from schemaman.model.schema import Column
from schemaman.model.types import Floating, Integer
from tests.migration.test_recipes import live_of
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, migrated, plan, source
from tests.support.random_histories import lives
from tests.support.random_histories import source as life_source

REQUIRED = Policy(rules=(PolicyRule("approve", ("set-not-null",)),))
ALL = {
    "delta.columnMapping.mode": "name",
    "delta.enableTypeWidening": "true",
    "delta.feature.timestampNtz": "supported",
}


def table(ddl: str, name: str = "ice.db.t", **facts) -> LakeTable:
    return replace(LakeTable(name, parse_columns(ddl), "i", "0", dict(ALL)), **facts)


@pytest.mark.parametrize(
    "change",
    [
        RenameColumn(("a",), "b"),
        DropColumn(("a",), Column("a", Integer(32))),
        ChangeType(("a",), Integer(32), Integer(64)),
    ],
    ids=lambda change: type(change).__name__,
)
def test_what_a_generated_column_is_computed_from_stays_as_it_is(change) -> None:
    live = table("a INT, g INT", "/t", generated={"g": "A + 1"})
    answer = delta.TARGET.draft_change(live, change)
    assert isinstance(answer, Refusal)
    assert "generated column `g`" in answer.reason
    assert isinstance(delta.TARGET.draft_change(live, DropColumn(("g",), Column("g", Integer(32)))), Draft)
    assert isinstance(
        delta.TARGET.draft_change(live, AddColumn(("x",), Column("x", Integer(32)), "g")), Draft
    )


def test_a_table_that_is_read_as_iceberg_too_takes_no_change_that_iceberg_lacks() -> None:
    live = table("a INT", "/t", properties={**ALL, "delta.enableIcebergCompatV2": "true"})
    assert isinstance(delta.TARGET.draft_change(live, ChangeType(("a",), Integer(32), Integer(64))), Draft)
    refused = delta.TARGET.draft_change(live, ChangeType(("a",), Integer(32), Floating(64)))
    assert isinstance(refused, Refusal)


IDENTIFIED = table(
    "id INT NOT NULL, s STRUCT<x: INT NOT NULL> NOT NULL, k INT NOT NULL, PRIMARY KEY (id)",
    properties={"identifier-fields": '["id", "s.x"]', "schemaman.key": '["id"]'},
)


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (ChangeNullable(("id",), False, True), False),
        (ChangeNullable(("s", "x"), False, True), False),
        (ChangeNullable(("s",), False, True), False),
        (ChangeNullable(("k",), False, True), True),
        (DropColumn(("s",), Column("s", Integer(32))), False),
        (RenameColumn(("s",), "t"), False),
        (RenameColumn(("id",), "no"), True),
    ],
)
def test_identifier_fields_stand_against_what_iceberg_refuses(change, made: bool) -> None:
    assert isinstance(iceberg.TARGET.draft_change(IDENTIFIED, change), Draft) == made


def test_identifier_fields_come_off_for_a_change_and_stand_again() -> None:
    live = replace(IDENTIFIED, name="ice.raw.t")
    later = source("id INT NOT NULL, t STRUCT<x: INT>, k INT, PRIMARY KEY (id)", former_names={"t": ("s",)})
    drawn = make_plan(later, live, *TARGETS["iceberg"], Policy())
    kinds = [s.kind for s in drawn.steps]
    assert kinds[0] == "drop-key"
    assert kinds[-1] == "set-key"
    assert drawn.steps[0].statement.endswith("DROP IDENTIFIER FIELDS `id`, `s`.`x`")
    assert drawn.steps[-1].statement.endswith("SET IDENTIFIER FIELDS `id`")
    assert any("identifier fields prevent" in approval for approval in drawn.approvals_needed)
    assert drawn.refusals == ()


@pytest.mark.parametrize(
    ("ddl", "first_of_all"),
    [
        ("a INT NOT NULL ID 1, id INT ID 2, PRIMARY KEY (a)", []),
        ("b INT ID 1, id INT NOT NULL ID 2, PRIMARY KEY (b)", ["drop-key"]),
    ],
    ids=["handed on", "exchanged"],
)
def test_an_identifier_field_stays_with_its_column_when_its_name_goes_to_another(
    ddl: str, first_of_all: list[str]
) -> None:
    first = parse_columns("id INT NOT NULL ID 1, b INT NOT NULL ID 2, PRIMARY KEY (id)")
    live = table("id INT NOT NULL, b INT NOT NULL", "ice.raw.t", properties={"identifier-fields": '["id"]'})
    made = MemoryTable(TARGETS["iceberg"][1], replace(live, identifiers=(("id",),)))
    made.fields = {"id": 1, "b": 2}
    for versions in ([first], [first, parse_columns(ddl)]):
        following = life_source(versions)
        drawn = make_plan(following, made.live, *TARGETS["iceberg"], Policy())
        assert drawn.refusals == ()
        migrated(made, drawn)
    kinds = [s.kind for s in drawn.steps if s.kind != "set-properties"]
    assert kinds == [*first_of_all, *["rename-column"] * 3, "drop-not-null"]
    assert make_plan(following, made.live, *TARGETS["iceberg"], Policy()).steps == ()


def test_null_is_forbidden_by_a_check_that_asks_the_rows_first() -> None:
    made = lake("delta", "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a INT NOT NULL, new INT NOT NULL, PRIMARY KEY (id)")
    drawn = make_plan(later, made.live, *TARGETS["delta"], REQUIRED)
    checks = [s for s in drawn.steps if s.kind == "add-constraint"]
    assert [s.statement.partition("/t` ")[2] for s in checks] == [
        "ADD CONSTRAINT `schemaman_not_null_a` CHECK (`a` IS NOT NULL)"
    ]
    assert checks[0].precondition["counts"] == {"SELECT count(*) FROM `delta`.`/lake/t` WHERE `a` IS NULL": 0}
    assert count_outcomes(drawn)["needs-scan"] == 1
    assert any("set-not-null = approve" in approval for approval in drawn.approvals_needed)
    assert all(s.kind != "add-constraint" for s in plan("delta", later, made.live).steps)


def test_a_check_comes_off_for_a_rename_and_stands_again_in_the_same_plan() -> None:
    made = lake("delta", "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    key = "delta.constraints.schemaman_not_null_a"
    live = made.live
    assert live is not None
    guarded = replace(live, properties={**live.properties, key: "`a` IS NOT NULL"})
    later = source("id INT NOT NULL, b INT NOT NULL, PRIMARY KEY (id)", former_names={"b": ("a",)})
    drawn = make_plan(later, guarded, *TARGETS["delta"], REQUIRED)
    kinds = [s.kind for s in drawn.steps if s.kind != "set-properties"]
    assert kinds == ["drop-constraint", "rename-column", "add-constraint"]


AUTO = PolicyRule("auto", ("set-not-null",))
KEYED = "id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id)"
NULLABLE = KEYED.replace("id INT NOT NULL", "id INT")


@pytest.mark.parametrize(
    ("format", "rules", "later"),
    [
        ("delta", (AUTO,), KEYED.replace("a INT", "a TEXT")),
        ("delta", (AUTO, PolicyRule("ignore", ("widen",))), KEYED.replace("a INT", "a BIGINT")),
        ("delta", (AUTO, PolicyRule("ignore", ("rename-stated",))), KEYED.replace("a INT", "b INT")),
        ("delta", (AUTO, PolicyRule("block", ("rename-stated",))), KEYED.replace("a INT", "b INT")),
        ("iceberg", (PolicyRule("ignore", ("drop-not-null",)),), NULLABLE),
        ("iceberg", (PolicyRule("block", ("drop-not-null",)),), NULLABLE),
    ],
    ids=["refused", "ignored", "not renamed", "rename blocked", "key ignored", "key blocked"],
)
def test_a_guard_stays_on_where_what_it_stands_against_is_not_made(
    format: str, rules: tuple[PolicyRule, ...], later: str
) -> None:
    policy, made = Policy(rules=rules), MemoryTable(TARGETS[format][1])
    migrated(made, make_plan(source(KEYED), None, *TARGETS[format], policy))
    guards = dict(live_of(made).properties)
    told = source(later, former_names={"b": ("a",)} if " b " in later else {})
    for _ in range(2):
        drawn = make_plan(told, made.live, *TARGETS[format], policy)
        assert {step.kind for step in drawn.steps} <= {"set-properties"}
        assert drawn.approvals_needed == ()
        migrated(made, drawn)
    kept = {name for name in guards if "constraint" in name or "identifier" in name}
    assert kept
    assert all(live_of(made).properties.get(name) == guards[name] for name in kept)


@given(life=lives())
def test_rows_that_hold_null_are_found_before_the_first_step(life: list[MigrationSource]) -> None:
    """Columns are asked for under the names that they have by then, and a second plan finds nothing more."""
    target, name = TARGETS["delta"]
    made = MemoryTable(name)

    def asked(query: str, number: int) -> int:
        (column,) = re.findall(r"WHERE `((?:[^`]|``)+)` IS NULL", query)
        assert column.replace("``", "`") in live_of(made).schema.names
        return number

    free = Policy(rules=(PolicyRule("auto", ("set-not-null",)),))
    for following in life:
        drawn = make_plan(following, made.live, target, name, free)
        if not drawn.steps and made.live is None:
            return
        if made.live is not None and any(step.kind == "add-constraint" for step in drawn.steps):
            ran = len(made.ran)
            made.counted = lambda query: asked(query, 1)
            for how in (check, apply):
                with pytest.raises(StalePlan, match="IS NULL gives 1, not 0"):
                    how(drawn, made, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
            assert len(made.ran) == ran
        made.counted = lambda query: asked(query, 0)
        new = made.live is None
        before = set(live_of(made).schema.names) if made.live else set()
        migrated(made, drawn)
        again = make_plan(following, made.live, target, name, free)
        added = {c.name for c in live_of(made).schema.columns} - before
        assert {step.kind for step in again.steps} <= {"add-constraint"}
        assert not (new and again.steps)
        assert len(again.steps) <= len(added)
        migrated(made, again)
        assert make_plan(following, made.live, target, name, free).steps == ()


def test_a_new_table_forbids_null_from_the_start_where_nobody_has_to_be_asked() -> None:
    later = source("id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id)")
    free = Policy(rules=(PolicyRule("auto", ("set-not-null",)),))
    for policy, checks in ((free, 1), (REQUIRED, 0), (Policy(), 0)):
        drawn = make_plan(later, None, *TARGETS["delta"], policy)
        assert [step.kind for step in drawn.steps].count("add-constraint") == checks
        assert drawn.approvals_needed == ()


def test_deleted_rows_stay_in_a_mirrored_table_and_hold_null() -> None:
    later = add_row_columns(source("id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id)"))
    free = Policy(rules=(PolicyRule("auto", ("set-not-null",)),))
    made = MemoryTable(TARGETS["delta"][1])
    for _ in range(2):
        drawn = make_plan(later, made.live, *TARGETS["delta"], free)
        assert all(step.kind != "add-constraint" for step in drawn.steps)
        migrated(made, drawn)
    ordinary = source("id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id)")
    drawn = make_plan(ordinary, made.live, *TARGETS["delta"], free)
    assert all(step.kind != "add-constraint" for step in drawn.steps)


def test_a_column_that_keeps_its_name_is_not_guarded_under_another() -> None:
    made = lake("delta", "id INT NOT NULL, a INT, d INT, PRIMARY KEY (id)")
    told = "id INT NOT NULL, b INT NOT NULL, d INT NOT NULL, c INT, PRIMARY KEY (id)"
    later = source(told, former_names={"b": ("a",)})
    barred = Policy(rules=(PolicyRule("auto", ("set-not-null",)), PolicyRule("block", ("rename-stated",))))
    drawn = make_plan(later, made.live, *TARGETS["delta"], barred)
    # the stamp stays, so the table records what came beyond its version
    assert [step.kind for step in drawn.steps] == ["add-columns", "set-properties", "add-constraint"]
    assert "CHECK (`d` IS NOT NULL)" in drawn.steps[-1].statement


@both
def test_a_plan_counts_its_outcomes(format: str) -> None:
    made = lake(format, "id INT, a DATE")
    assert count_outcomes(plan(format, source("id INT, a DATE"), made.live)) == {"none": 1}
    mixed = count_outcomes(plan(format, source("id BIGINT, a BOOLEAN, b INT"), made.live))
    assert (mixed["refused"], mixed["additive"], mixed["widening"]) == (1, 1, 1)


def test_an_iceberg_name_that_reads_like_a_path_of_a_kept_column_is_refused() -> None:
    made = lake("iceberg", "id INT, a STRUCT<b: INT>, l ARRAY<INT>")
    for name in ("`a.b`", "`l.element`", "`A.B`"):
        drawn = plan("iceberg", source(f"id INT, {name} INT"), made.live)
        assert [r.reason for r in drawn.refusals if "joins names by dots" in r.reason]
        assert all(s.kind != "add-columns" for s in drawn.steps)


def test_an_upgrade_says_who_cannot_read_the_table_any_more() -> None:
    draft = delta.TARGET.upgrade_features("/t", ALL)
    assert (draft.step_class, draft.reversible, draft.undo) == ("capability-upgrade", "no", None)
    assert any("deltalake" in who for who in draft.hurts)
    assert len(draft.hurts) == 3


def test_a_rename_on_delta_hurts_streams_and_readers_of_the_change_feed() -> None:
    live = table("a INT", "/t", properties={**ALL, "delta.enableChangeDataFeed": "true"})
    answer = delta.TARGET.draft_change(live, RenameColumn(("a",), "b"))
    assert isinstance(answer, Draft)
    for words in ("`a`", "streams", "change data feed"):
        assert any(words in who for who in answer.hurts)


def test_an_added_column_can_be_taken_back_only_where_columns_can_be_dropped() -> None:
    change = AddColumn(("b",), Column("b", Integer(32)), "a")
    mapped, plain = table("a INT", "/t"), table("a INT", "/t", properties={})
    answers = [delta.TARGET.draft_change(live, change) for live in (mapped, plain)]
    assert [(a.reversible, a.undo is None) for a in answers if isinstance(a, Draft)] == [
        ("reversible", False),
        ("time-travel", True),
    ]


@both
@pytest.mark.parametrize("name", ["element", "key", "value"])
def test_columns_and_members_are_what_they_are_whatever_they_are_called(format: str, name: str) -> None:
    target, at = TARGETS[format]
    flat = table(f"id INT, `{name}` INT NOT NULL", at)
    inside = table(f"id INT, s STRUCT<a: INT, `{name}`: INT NOT NULL>", at)
    for live, path in ((flat, (name,)), (inside, ("s", name))):
        dropped = target.draft_change(live, DropColumn(path, Column(name, Integer(32))))
        assert isinstance(dropped, Draft)
        assert dropped.kind == "drop-columns"
        relaxed = target.draft_change(live, ChangeNullable(path, False, True))
        assert isinstance(relaxed, Draft)
        assert relaxed.kind == "drop-not-null"


@both
@pytest.mark.parametrize(
    "path",
    [("l", "element"), ("m", "key"), ("m", "value"), ("value", "element"), ("value", "element", "key")],
)
def test_parts_of_lists_and_maps_are_neither_dropped_nor_freed(format: str, path: tuple[str, ...]) -> None:
    target, at = TARGETS[format]
    live = table("l ARRAY<INT NOT NULL>, m MAP<INT, INT NOT NULL>, value ARRAY<MAP<INT, INT>>", at)
    assert isinstance(target.draft_change(live, DropColumn(path, Column("x", Integer(32)))), Refusal)
    assert isinstance(target.draft_change(live, ChangeNullable(path, False, True)), Refusal)
