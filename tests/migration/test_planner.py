"""Plans: what is wanted, in which order, what is refused, and that a plan does what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import RenameCandidate, Revision, SchemaVersion, TableHistory
from schemaman.migration.conditions import fingerprint_structure, is_met
from schemaman.migration.plan import (
    MigrationSource,
    Policy,
    PreviousVersion,
)
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.names import VERSION_PROPERTY
from schemaman.migration.properties.stamped_version import format_began
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, Scalar, TableId, TableSchema, fingerprint
from schemaman.model.types import Integer, widens
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, lake, migrated, plan, source, statements
from tests.support.random_histories import history as history_of
from tests.support.random_histories import lives


@both
@pytest.mark.parametrize("policy", [Policy(), Policy(drops="drop", comments=False)], ids=["keep", "drop"])
@given(life=lives())
def test_plans_lead_a_table_through_its_life(
    format: str, policy: Policy, life: list[MigrationSource]
) -> None:
    target, table = TARGETS[format]
    made = MemoryTable(TARGETS[format][1])
    whose: dict[int, int | None] = {}
    for following in life:
        drawn = make_plan(following, made.live, target, table, policy)
        if not drawn.steps and made.live is None:
            return
        migrated(made, drawn)
        again = make_plan(following, made.live, target, table, policy)
        assert again.steps == ()
        assert made.live is not None
        ids = {c.name: c.id for c in following.schema.columns}
        for name, number in made.fields.items():
            if number not in whose and name in ids:
                whose[number] = ids[name]
        said = " ".join(refusal.change for refusal in drawn.refusals)
        for name in ids.keys() & made.fields.keys():  # a refusal names what must not be followed
            assert whose.get(made.fields[name], ids[name]) == ids[name] or quote_name(name) in said
        if not drawn.refusals:
            for column in following.schema.columns:
                assert whose[made.fields[column.name]] == column.id
                assert not (column.nullable and not made.live.schema.column(column.name).nullable)  # type: ignore[union-attr]


@both
@given(life=lives())
def test_every_condition_of_a_plan_comes_true_in_turn(format: str, life: list[MigrationSource]) -> None:
    target, table = TARGETS[format]
    made = MemoryTable(TARGETS[format][1])
    for following in life:
        drawn = make_plan(following, made.live, target, table, Policy())
        for step in drawn.steps:
            assert is_met(made.live, step.precondition)
            made.run(step.statement)
            assert is_met(made.live, step.postcondition)


@both
@pytest.mark.parametrize("text", ["oops", "7", '["a", 1]', '{"exchanges": [{"column": 1}]}', '"a"', "[[]]"])
@pytest.mark.parametrize("name", ["kept", "names", "metadata", "retired", "recipe", "key"])
def test_a_property_that_somebody_spoilt_is_refused(format: str, name: str, text: str) -> None:
    live = lake(format, "id INT, a INT").live
    assert live is not None
    spoilt = replace(live, properties={**live.properties, f"schemaman.{name}": text})
    plan = make_plan(source("id INT, a BIGINT"), spoilt, *TARGETS[format], Policy())
    assert plan.steps == ()
    assert plan.wanted == spoilt.schema
    assert [(r.change, text in r.reason, "unset it" in r.instead) for r in plan.refusals] == [
        (f"read the property schemaman.{name} of {live.name}", True, True)
    ]


@both
def test_a_new_table_has_required_keys_and_nothing_else_required(format: str) -> None:
    drawn = plan(
        format, source("id BIGINT UNSIGNED NOT NULL, n INT NOT NULL COMMENT 'x', PRIMARY KEY (id)"), None
    )
    create = next(s for s in drawn.steps if s.kind == "create-table").statement
    assert "`id` DECIMAL(20,0) NOT NULL" in create
    assert "`n` INT COMMENT 'x'" in create
    assert drawn.wanted.key == ("id",)


def test_what_later_steps_need_is_switched_on_at_birth() -> None:
    statement = plan("delta", source("id INT"), None).steps[0].statement
    for word in (
        "columnMapping.mode' = 'name'",
        "enableTypeWidening' = 'true'",
        "timestampNtz' = 'supported'",
    ):
        assert word in statement
    assert "'format-version' = '2'" in plan("iceberg", source("id INT"), None).steps[1].statement


def test_an_iceberg_table_is_told_its_key_once_the_columns_allow_it() -> None:
    kinds = [s.kind for s in plan("iceberg", source("id INT NOT NULL, PRIMARY KEY (id)"), None).steps]
    assert kinds == ["create-namespace", "create-table", "set-key"]
    for key in ("id INT", "id DOUBLE NOT NULL", "id ARRAY<INT> NOT NULL"):
        drawn = plan("iceberg", source(f"{key}, PRIMARY KEY (id)"), None)
        assert [s.kind for s in drawn.steps] == ["create-namespace", "create-table"]


@both
def test_steps_come_in_an_order_that_works(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)")
    later = source(
        "id BIGINT, c BIGINT COMMENT 'now c', b INT, d DATE, e STRING, PRIMARY KEY (id)",
        former_names={"c": ("a",)},
    )
    assert made.live is not None
    loose = replace(made.live, schema=replace(made.live.schema, key=()), properties={})
    drawn = plan(format, later, replace(loose, properties=_features(made.live)))
    assert statements(drawn) == [
        "RENAME COLUMN `a` TO `c`",
        "ALTER COLUMN `id` DROP NOT NULL",
        "ALTER COLUMN `id` TYPE BIGINT, `c` TYPE BIGINT",
        "ALTER COLUMN `c` COMMENT 'now c'",
        "ADD COLUMNS (`d` DATE, `e` STRING)",
    ]
    assert [s.kind for s in drawn.steps][:2] == ["rename-column", "set-properties"]


def _features(live: LakeTable) -> dict[str, str]:
    """What the table can do, without a stamp and without a key."""
    return {k: v for k, v in live.properties.items() if not k.startswith(("schemaman.", "identifier-fields"))}


@both
def test_a_swap_goes_through_a_temporary_name_and_is_stamped_before_it_closes(format: str) -> None:
    made = lake(format, "id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 1})
    swapped = source("id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 2}, past=_swap())
    before = dict(made.fields)
    drawn = plan(format, swapped, made.live)
    assert [s.kind for s in drawn.steps] == [
        "rename-column",
        "rename-column",
        "set-properties",
        "rename-column",
    ]
    migrated(made, drawn)
    assert made.fields == {"id": before["id"], "a": before["b"], "b": before["a"]}
    assert plan(format, swapped, made.live).steps == ()


def _past(ddl: str, number: int, **names: str | None) -> PreviousVersion:
    schema = parse_columns(f"{ddl}, PRIMARY KEY (id)")
    return PreviousVersion(fingerprint(schema), {"at": number}, {n: names.get(n, n) for n in schema.names})


def _swap() -> tuple[PreviousVersion, ...]:
    return (_past("id INT, a INT, b INT", 1, a="b", b="a"), _past("id INT, a INT, b INT", 2))


@both
def test_a_stamp_of_before_a_late_witness_means_the_same_version(format: str) -> None:
    """The schema-change topic was read a week after the rows: id and beginning are of the declaration."""
    made = lake(format, "id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 1})
    assert made.live is not None
    swapped, now = _swap()
    stamp = made.live.properties[VERSION_PROPERTY]
    first = replace(swapped, id="declared", began={"at": 0}, previous_ids=(stamp,))
    second = replace(now, id="declared2", began={"at": 2})
    drawn = plan(
        format,
        source("id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 2}, past=(first, second)),
        made.live,
    )
    assert drawn.refusals == ()
    assert [step.kind for step in drawn.steps].count("rename-column") == 3


@both
def test_a_table_that_is_ahead_is_never_stamped_back(format: str) -> None:
    made = lake(format, "id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 2})
    assert made.live is not None
    newer = PreviousVersion(made.live.properties[VERSION_PROPERTY], {"at": 2})
    older = source("id INT, a INT, b INT, x DATE, PRIMARY KEY (id)", began={"at": 1})
    older = replace(older, past=(_past("id INT, a INT, b INT, x DATE", 1),), newer=(newer,))
    drawn = plan(format, older, made.live)
    assert (drawn.steps, drawn.wanted) == ((), made.live.schema)
    assert "follows version 2 already" in drawn.refusals[0].reason
    assert "schemaman.version" in drawn.refusals[0].instead
    # a shape may come back: where the stamp began tells which of two versions of one id it means
    alike = replace(older, past=(replace(older.past[0], id=newer.id),))
    assert "follows version 2 already" in plan(format, alike, made.live).refusals[0].reason
    first = replace(alike, past=(replace(alike.past[0], began={"at": 2}),), newer=())
    assert statements(plan(format, first, made.live)) == ["ADD COLUMNS (`x` DATE)"]
    # who knows that the table has the names of the older version takes the stamp away
    unset = replace(made.live, properties=_features(made.live))
    assert plan(format, older, unset).refusals == ()


@both
def test_a_stamp_that_nobody_knows_is_refused_and_a_place_that_is_known_is_enough(format: str) -> None:
    """A store that was put back from an older backup does not know where the table stands."""
    made = lake(format, "id INT, c INT, PRIMARY KEY (id)", began={"at": 9})
    lost = source("id INT, a INT, PRIMARY KEY (id)", past=(_past("id INT, a INT", 1),))
    drawn = plan(format, lost, made.live)
    assert drawn.steps == ()
    assert "is not known here" in drawn.refusals[0].reason
    assert "schemaman ingest" in drawn.refusals[0].instead
    # a version that was refined began at the same record
    refined = (_past("id INT, c INT", 9, c="a"), _past("id INT, a INT", 10))
    found = replace(lost, past=(replace(refined[0], id="refined"), refined[1]))
    assert statements(plan(format, found, made.live)) == ["RENAME COLUMN `c` TO `a`"]


@both
def test_a_stamp_that_fits_versions_of_other_meanings_is_refused(format: str) -> None:
    """One began elsewhere than was known when the table was stamped: the column came back as another one."""
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)", began={"at": 2})
    past = (_past("id INT, a INT", 1, a=None), _past("id INT", 3), _past("id INT, a INT", 5))
    drawn = plan(format, source("id INT, a INT, PRIMARY KEY (id)", began={"at": 5}, past=past), made.live)
    assert drawn.steps == ()
    assert "several versions have the id" in drawn.refusals[0].reason
    same = (_past("id INT, a INT", 1), *past[1:])
    again = source("id INT, a INT, PRIMARY KEY (id)", began={"at": 5}, past=same)
    assert plan(format, again, made.live).refusals == ()


def test_the_temporary_name_bars_every_other_plan() -> None:
    made = lake("delta", "id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 1})
    drawn = plan(
        "delta", source("id INT, a INT, b INT, PRIMARY KEY (id)", began={"at": 2}, past=_swap()), made.live
    )
    made.run(drawn.steps[0].statement)
    again = plan("delta", drawn.source, made.live)
    assert again.steps == ()
    assert "schemaman resume" in again.refusals[0].instead


@both
def test_a_swap_that_nothing_places_in_time_is_refused(format: str) -> None:
    made = lake(format, "id INT, a INT, b STRING, PRIMARY KEY (id)")
    assert made.live is not None
    unstamped = replace(made.live, properties=_features(made.live))
    swapped = source("id INT, a INT, b STRING, PRIMARY KEY (id)", former_names={"a": ("b",), "b": ("a",)})
    assert "swapped names" in plan(format, swapped, unstamped).refusals[0].reason


@both
def test_an_open_rename_question_is_left_alone(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    asked = source("id INT NOT NULL, b INT, c INT, PRIMARY KEY (id)", unanswered=(("a", "b"),))
    drawn = plan(format, asked, made.live, drops="drop")
    assert drawn.refusals[0].reason.startswith("rename not decided")
    assert statements(drawn) == ["ADD COLUMNS (`c` INT)"]


@both
def test_a_column_that_a_plan_in_part_has_added_is_known_by_what_its_name_has_meant(format: str) -> None:
    """Such a plan leaves no stamp: the table seems to stand at a version that had no such column."""
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)", began={"at": 1})
    first = _past("id INT, a INT", 1, a=None)
    second, open_ = _past("id INT, b INT, x INT", 2), {"began": {"at": 2}, "unanswered": (("a", "b"),)}
    in_part = source("id INT, b INT, x INT, PRIMARY KEY (id)", past=(first, second), **open_)
    migrated(made, plan(format, in_part, made.live))
    assert made.live is not None
    renamed = (first, _past("id INT, b INT, x INT", 2, x="y"), _past("id INT, b INT, y INT", 3))
    follows = source("id INT, b INT, y INT, PRIMARY KEY (id)", past=renamed, **open_)
    assert statements(plan(format, follows, made.live)) == ["RENAME COLUMN `x` TO `y`"]
    another = (*renamed, _past("id INT, b INT, y INT, x INT", 4))
    unclear = source("id INT, b INT, y INT, x INT, PRIMARY KEY (id)", past=another, **open_)
    drawn = plan(format, unclear, made.live)
    assert "follow `x`" in [refusal.change for refusal in drawn.refusals]
    (reason,) = (refusal.reason for refusal in drawn.refusals if refusal.change == "follow `x`")
    assert reason.startswith("a partly applied plan added it")
    assert [s for s in statements(drawn) if "`x`" in s or "`y`" in s] == []


@both
def test_columns_that_left_stay_and_no_longer_block_writers(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    assert made.live is not None
    table = made.live.schema
    required = TableSchema((*table.columns, Column("old", Integer(32), nullable=False)), table.key)
    followed = source(
        "id INT NOT NULL, a INT, PRIMARY KEY (id)", past=(PreviousVersion("x", {}, {"old": None}),)
    )
    kept = plan(format, followed, replace(made.live, schema=required))
    assert statements(kept) == ["ALTER COLUMN `old` DROP NOT NULL"]
    assert "is kept with its old values" in kept.notes[0]
    dropped = plan(format, followed, replace(made.live, schema=required), drops="drop")
    assert statements(dropped) == ["DROP COLUMNS (`old`)"]
    assert dropped.approvals_needed


@both
def test_columns_that_nobody_knows_are_not_touched(format: str) -> None:
    made = lake(format, "id INT NOT NULL, PRIMARY KEY (id)")
    assert made.live is not None
    strange = Column("etl_time", Integer(64), nullable=False)
    table = replace(made.live.schema, columns=(strange, *made.live.schema.columns))
    drawn = plan(
        format, source("id INT NOT NULL, PRIMARY KEY (id)"), replace(made.live, schema=table), drops="drop"
    )
    assert drawn.steps == ()
    assert "never had it" in drawn.notes[0]
    assert "NOT NULL" in drawn.notes[0]


@both
@pytest.mark.parametrize(
    ("here", "there", "step"),
    [
        ("BIGINT", "INT", None),
        ("STRING", "VARCHAR(10)", None),
        ("DECIMAL(12,2)", "DECIMAL(10,2)", None),
        ("DECIMAL(10,2)", "DECIMAL(12,2)", "DECIMAL(12,2)"),
        ("DECIMAL(10,2)", "DECIMAL(12,1)", "DECIMAL(13,2)"),
        ("INT", "BIGINT", "BIGINT"),
        ("FLOAT", "DOUBLE", "DOUBLE"),
    ],
)
def test_a_lake_column_grows_and_never_shrinks(format: str, here: str, there: str, step: str | None) -> None:
    made = lake(format, f"id INT, a {here}")
    drawn = plan(format, source(f"id INT, a {there}"), made.live)
    assert statements(drawn) == ([f"ALTER COLUMN `a` TYPE {step}"] if step else [])
    assert drawn.refusals == ()


def test_what_only_delta_widens_is_refused_on_iceberg() -> None:
    for old, new in (("INT", "DOUBLE"), ("DATE", "TIMESTAMP_NTZ"), ("INT", "DECIMAL(10,2)")):
        made = lake("delta", f"id INT, a {old}")
        assert plan("delta", source(f"id INT, a {new}"), made.live).refusals == ()
        made = lake("iceberg", f"id INT, a {old}")
        drawn = plan("iceberg", source(f"id INT, a {new}"), made.live)
        assert "backfill" in drawn.refusals[0].instead
        assert drawn.wanted == made.live.schema  # type: ignore[union-attr]


@both
def test_members_of_structs_are_added_widened_and_kept(format: str) -> None:
    made = lake(format, "id INT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, FLOAT>")
    later = source(
        "id INT, s STRUCT<z: DATE, x: BIGINT>, l ARRAY<STRUCT<p: BIGINT, q: INT>>, m MAP<STRING, DOUBLE>"
    )
    drawn = plan(format, later, made.live)
    assert statements(drawn) == [
        "ALTER COLUMN `s`.`x` TYPE BIGINT, `l`.`element`.`p` TYPE BIGINT, `m`.`value` TYPE DOUBLE",
        "ADD COLUMNS (`s`.`z` DATE, `l`.`element`.`q` INT)",
    ]
    assert any("`s`.`y`" in note for note in drawn.notes)
    migrated(made, drawn)
    assert plan(format, later, made.live).steps == ()


@both
@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("id INT, ID INT", "only by case"),
        ("id INT, `a${b}` INT", "variable"),
        ("id INT, __schemaman_1 INT", "own"),
        ("id INT, g UNKNOWN('geometry')", "geometry"),
    ],
)
def test_columns_that_would_ruin_a_table_are_refused(format: str, ddl: str, reason: str) -> None:
    assert any(reason in refusal.reason for refusal in plan(format, source(ddl), None).refusals)


@both
def test_a_column_without_a_name_is_refused(format: str) -> None:
    schema = TableSchema((Column("id", Integer(32)), Column("", Integer(32))))
    drawn = plan(format, replace(source("id INT"), schema=schema), None)
    assert "without a name" in drawn.refusals[0].reason
    assert drawn.wanted.names == ("id",)


@both
def test_another_key_needs_a_person(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id)")
    drawn = plan(format, source("id INT NOT NULL, a INT NOT NULL, PRIMARY KEY (id, a)"), made.live)
    assert drawn.refusals[0].change == "change the key from (id) to (id, a)"
    assert drawn.wanted.key == ("id",)


@both
def test_a_table_of_another_source_is_left_alone(format: str) -> None:
    made = lake(format, "id INT")
    drawn = plan(format, source("id INT, b INT", table="other.public.t"), made.live)
    assert drawn.steps == ()
    assert "another source" in drawn.refusals[0].reason


@both
def test_a_name_that_was_used_before_is_not_filled_with_another_column(format: str) -> None:
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)", began={"at": 1})
    past = (_past("id INT, a INT", 1, a=None), _past("id INT, a INT", 2))
    past = (replace(past[0], names={"id": "id", "a": None}), past[1])
    again = source("id INT, a INT, PRIMARY KEY (id)", began={"at": 2}, past=past)
    blocked = plan(format, again, made.live, rules=(PolicyRule("block", ("reuse-name",)),))
    assert "values would mix" in blocked.refusals[0].reason
    assert "`a__old`" in blocked.refusals[0].instead
    drawn = plan(format, again, made.live)
    kinds = [s.kind for s in drawn.steps]
    assert kinds == ["set-properties", "rename-column", "set-properties", "add-columns"]
    assert any("reuse-name" in approval for approval in drawn.approvals_needed)
    before = dict(made.fields)
    migrated(made, drawn)
    assert made.live is not None
    assert made.fields["a__old"] == before["a"]
    assert made.fields["a"] not in before.values()
    assert {name: each.was for name, each in read_displaced(made.live).items()} == {"a__old": "a"}
    assert plan(format, again, made.live).steps == ()
    later = plan(format, again, made.live, drops="drop")
    assert statements(later) == []
    assert any("until a recipe drops it" in note for note in later.notes)


@both
def test_a_new_column_under_the_name_of_a_retired_one_is_not_confused_with_it(format: str) -> None:
    made = lake(format, "id INT, a INT, PRIMARY KEY (id)", began={"at": 1})
    past = (_past("id INT, a INT", 1, a=None), _past("id INT, a INT", 2))
    again = source("id INT, a INT, PRIMARY KEY (id)", began={"at": 2}, past=past)
    migrated(made, plan(format, again, made.live))
    first = made.fields["a__old"]
    third = _past("id INT, a INT, a__old INT", 3)
    later = source("id INT, a INT, a__old INT, PRIMARY KEY (id)", began={"at": 3}, past=(*past, third))
    migrated(made, plan(format, later, made.live))
    assert made.live is not None
    assert made.fields["a__old__old"] == first
    assert {name: each.was for name, each in read_displaced(made.live).items()} == {"a__old__old": "a__old"}
    assert plan(format, later, made.live).steps == ()


def test_a_plain_delta_table_is_upgraded_only_when_that_is_allowed() -> None:
    plain = LakeTable(
        "/lake/t", parse_columns("id INT, a INT"), "i", "0", {"schemaman.source": "shop.public.t"}
    )
    later = source("id BIGINT, b INT", former_names={"b": ("a",)})
    drawn = plan("delta", later, plain, upgrades=False)
    assert drawn.steps == ()
    assert any("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" in r.instead for r in drawn.refusals)
    drawn = plan("delta", later, plain, upgrades=True)
    assert drawn.refusals == ()
    assert drawn.steps[0].step_class == "capability-upgrade"
    assert drawn.steps[0].reversible == "no"
    assert drawn.approvals_needed
    kinds = [s.kind for s in drawn.steps]
    assert kinds == ["set-properties", "rename-column", "set-properties", "change-type"]


@both
def test_a_table_that_someone_else_made_is_only_marked(format: str) -> None:
    live = LakeTable(TARGETS[format][1], parse_columns("id INT NOT NULL, a STRING"), "i", "0")
    drawn = plan(format, source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)"), live)
    assert [s.kind for s in drawn.steps] == ["set-properties"]
    assert drawn.wanted.key == ("id",)


@both
def test_names_that_differ_only_by_case_are_one_to_a_lake(format: str) -> None:
    made = lake(format, "id INT, name STRING")
    renamed = source("ID INT, NAME STRING", former_names={"ID": ("id",), "NAME": ("name",)})
    assert plan(format, renamed, made.live).steps == ()


@both
def test_comments_follow_where_the_source_has_one(format: str) -> None:
    made = lake(format, "id INT COMMENT 'old', a INT COMMENT 'mine', COMMENT 'table'")
    later = source("id INT COMMENT 'it\\'s `new`', a INT, COMMENT 'better'")
    assert statements(plan(format, later, made.live)) == [
        "ALTER COLUMN `id` COMMENT 'it\\'s `new`'",
        "IS 'better'",
    ]
    assert plan(format, later, made.live, comments=False).steps == ()


@both
def test_a_key_column_is_renamed_with_its_key(format: str) -> None:
    made = lake(format, "id INT NOT NULL, PRIMARY KEY (id)")
    later = source("order_id INT NOT NULL, PRIMARY KEY (order_id)", former_names={"order_id": ("id",)})
    drawn = plan(format, later, made.live)
    assert drawn.refusals == ()
    migrated(made, drawn)
    assert made.live is not None
    assert made.live.schema.key == ("order_id",)


def test_the_structure_sees_order_and_comments_and_not_the_key() -> None:
    table = parse_columns("a INT, b INT COMMENT 'x', PRIMARY KEY (a)")
    other = replace(table, columns=tuple(reversed(table.columns)))
    assert fingerprint_structure(table) != fingerprint_structure(other)
    assert fingerprint_structure(table) != fingerprint_structure(parse_columns("a INT, b INT"))
    assert fingerprint_structure(table) == fingerprint_structure(replace(table, key=()))
    assert fingerprint_structure(None) is None


def test_an_unknown_condition_never_passes_for_true() -> None:
    with pytest.raises(ValueError, match="unknown condition"):
        is_met(None, {"weather": "good"})


def test_a_condition_may_ask_the_table_for_a_number() -> None:
    live = LakeTable("t", parse_columns("id INT"), "i", "7")
    counted = {"counts": {"SELECT 1": 0}}
    assert is_met(live, counted, lambda query: 0)
    assert not is_met(live, counted, lambda query: 1)
    assert not is_met(None, counted, lambda query: 0)
    assert is_met(live, {"version": "7", "properties": {"gone": None}})
    assert not is_met(live, {"version": "6"})
    with pytest.raises(ValueError, match="no function to run it"):
        is_met(live, counted)


def test_a_new_column_gets_no_name_that_a_partition_field_of_iceberg_has() -> None:
    """Iceberg refuses it, and the plan would stop behind the rename."""
    made = lake("iceberg", "id INT, region TEXT, ts TIMESTAMP").live
    assert made is not None
    made = replace(made, layout=("region",), partition_names={"region": ("region",), "ts_day": ("ts",)})
    first = source("id INT, region TEXT, ts TIMESTAMP")
    later = source("id INT, area TEXT, region INT, ts_day DATE")
    followed = {"id": "id", "region": "area", "ts": None}
    past = (
        PreviousVersion(first.id, {"offset": 0}, followed),
        PreviousVersion(later.id, {"offset": 1}, {name: name for name in later.schema.names}),
    )
    later = replace(later, former_names={"area": ("region",)}, past=past)
    drawn = plan("iceberg", later, made)
    assert statements(drawn) == ["RENAME COLUMN `region` TO `area`"]
    assert [r.change for r in drawn.refusals if "partition field" in r.reason] == [
        "add `region` INT",
        "add `ts_day` DATE",
    ]
    bound = source("ts_day INT, region TEXT, ts TIMESTAMP", former_names={"ts_day": ("id",)})
    (refused,) = plan("iceberg", bound, made).refusals
    assert (refused.change, statements(plan("iceberg", bound, made))) == ("rename `id` to `ts_day`", [])


def test_names_are_exchanged_though_a_partition_field_has_one_of_them() -> None:
    """The field is of the column that gets its name; on its way that one has another name for a moment."""
    made = lake("iceberg", "id INT, region TEXT, area TEXT").live
    assert made is not None
    made = replace(made, layout=("region",), partition_names={"Area": ("region",)})
    first, later = source("id INT, region TEXT, area TEXT"), source("id INT, Area TEXT, region TEXT")
    followed = {"id": "id", "region": "Area", "area": "region"}
    past = (
        PreviousVersion(first.id, {"offset": 0}, followed),
        PreviousVersion(later.id, {"offset": 1}, {name: name for name in later.schema.names}),
    )
    later = replace(later, former_names={"Area": ("region",), "region": ("area",)}, past=past)
    drawn = plan("iceberg", later, made)
    assert drawn.refusals == ()
    assert statements(drawn) == [
        "RENAME COLUMN `region` TO `__schemaman_1`",
        "RENAME COLUMN `area` TO `region`",
        "RENAME COLUMN `__schemaman_1` TO `Area`",
    ]


def version(number: int, ddl: str, *candidates: tuple[str, str], incarnation: int = 1) -> SchemaVersion:
    schema = parse_columns(ddl)
    asked = tuple(RenameCandidate(old, new, "likely", ()) for old, new in candidates)
    at = Coordinates("t", 0, number)
    revisions = (Revision(0, schema, at),)
    return SchemaVersion(
        number, fingerprint(schema), incarnation, "confirmed", revisions, None, at, None, 1, (), (), asked
    )


def test_a_source_knows_what_its_columns_were_called() -> None:
    versions = (
        version(1, "x INT ID 9", incarnation=1),
        version(2, "id INT ID 1, a INT ID 2, gone INT ID 3", incarnation=2),
        version(3, "id INT ID 1, b INT ID 2, n INT ID 4", ("gone", "n"), incarnation=2),
        version(4, "id INT ID 1, c INT ID 2, m INT ID 4", incarnation=2),
    )
    history = TableHistory(TableId("shop", "app", "public", "t"), "postgresql", versions)
    found = migration_source(history)
    assert found.former_names == {"c": ("b", "a"), "m": ("n",)}
    assert found.unanswered == (("gone", "m"),)
    assert [p.names for p in found.past] == [
        {"id": "id", "a": "c", "gone": None},
        {"id": "id", "b": "c", "n": "m"},
        {"id": "id", "c": "c", "m": "m"},
    ]
    assert format_began(found.past[0].began) != format_began(found.past[1].began)
    decided = migration_source(history, {("gone", "n"): True})
    assert decided.former_names["m"] == ("n", "gone")
    assert decided.unanswered == ()
    assert migration_source(history, {("gone", "n"): False}).past[0].names["gone"] is None


def test_widening_is_what_the_types_say() -> None:
    assert widens(Integer(32), Integer(64))


@both
def test_a_new_column_with_a_default_says_that_rows_already_there_keep_null(format: str) -> None:
    made = lake(format, "id INT NOT NULL, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a INT, b INT, c INT NOT NULL, `Ord No` TEXT, PRIMARY KEY (id)")
    defaults: dict[str, Scalar] = {"b": 5, "Ord No": "new"}
    columns = tuple(replace(c, default=defaults.get(c.name)) for c in later.schema.columns)
    later = replace(later, schema=replace(later.schema, columns=columns))
    drawn = plan(format, later, made.live)
    told = [note for note in drawn.notes if "keep NULL" in note]
    assert [note.partition(";")[0] for note in told] == [
        "`b`: its default at the source is 5",
        "`c`: it is NOT NULL at the source",
        "`Ord No`: its default at the source is 'new'",
    ]
    assert all("execute-snapshot" in note for note in told)
    # a table that is made now has no rows
    assert not any("keep NULL" in note for note in plan(format, later, None).notes)
    # it is said by the plan that adds the column, and by no later one
    migrated(made, drawn)
    assert not any("keep NULL" in note for note in plan(format, later, made.live).notes)


@both
@pytest.mark.parametrize("drops", ["keep", "drop"])
def test_a_column_that_was_said_to_be_another_too_late_is_told_of_and_kept(format: str, drops: str) -> None:
    """The table has both by then: each has the values of a part of the rows."""
    told = [TableSchema((Column("id", Integer(32), id=1), Column(n, Integer(32), id=i))) for n, i in
            (("a", 2), ("c", 3), ("c", 2))]  # fmt: skip
    made = MemoryTable(TARGETS[format][1])
    for number in (1, 2):
        migrated(made, plan(format, migration_source(history_of(told[:number])), made.live))
    answered = plan(format, migration_source(history_of([told[0], told[2]])), made.live, drops=drops)
    assert answered.wanted.names == ("id", "a", "c")
    assert "a later decision says that it was renamed to `c`" in " ".join(answered.notes)


@both
@pytest.mark.parametrize("drops", ["keep", "drop"])
def test_it_is_kept_where_the_other_one_gets_a_third_name_in_the_same_plan(format: str, drops: str) -> None:
    told = [TableSchema((Column("id", Integer(32), id=1), Column(n, Integer(32), id=i))) for n, i in
            (("a", 2), ("c", 3), ("c", 2), ("e", 2))]  # fmt: skip
    made = MemoryTable(TARGETS[format][1])
    for number in (1, 2):
        migrated(made, plan(format, migration_source(history_of(told[:number])), made.live))
    answered = plan(format, migration_source(history_of([told[0], *told[2:]])), made.live, drops=drops)
    assert answered.wanted.names == ("id", "a", "e")
    assert "a later decision says that it was renamed to `e`" in " ".join(answered.notes)


ONE_NAME_BY_DOTS = [
    ("s STRUCT<a: INT>, `s.b` INT", "s STRUCT<a: INT, b: INT>"),
    ("r STRUCT<b: INT>, `s.b` INT", "s STRUCT<b: INT>"),
    ("s STRUCT<a: INT>, `s.b` STRUCT<c: INT>", "s STRUCT<a: INT, `b.c`: INT>"),
]


@pytest.mark.parametrize(("old", "new"), ONE_NAME_BY_DOTS)
def test_iceberg_gets_no_two_places_of_one_name_though_only_it_has_the_other(old: str, new: str) -> None:
    made = lake("iceberg", f"id INT, {old}")
    drawn = plan("iceberg", source(f"id INT, {new}", former_names={"s": ("r",)}), made.live)
    assert not [s.statement for s in drawn.steps if s.kind in ("add-columns", "rename-column")]
    assert "joins names by dots" in drawn.refusals[0].reason
