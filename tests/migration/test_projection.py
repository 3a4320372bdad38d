"""Projection: how values and names of a source are held, and that no table with rows is read anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadConfiguration
from schemaman.migration import spark_sql as sql
from schemaman.migration.column_map import read_names
from schemaman.migration.plan import (
    MigrationSource,
    Plan,
    Policy,
    Refusal,
)
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import ProjectionRule
from schemaman.migration.projection.column_names import map_lake_names
from schemaman.migration.projection.metadata_columns import read_metadata_columns
from schemaman.migration.projection.project import project
from schemaman.migration.target import LakeTable, LakeType
from schemaman.migration.targets import delta
from schemaman.migration.type_mapping import CHOICES, DEFAULT, ROLES, VARIANT, Names, Representation
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.diff import AddColumn, ChangeType, RenameColumn, diff
from schemaman.model.types import Binary, Field, Floating, Integer, String, Struct, Timestamp, Type, widens
from tests.support import type_sheets as sheets
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated, source
from tests.support.random_histories import ALIKE, lives
from tests.support.random_histories import source as following_all
from tests.support.strategies import TYPES

SHEET_TYPES = sorted(
    {row.type for name in sheets.sheets() for row in sheets.rows(name)} - {sheets.ABSENT, ""}
)
NUMERICS = ("string", "double", "decimal(38,10)")
WAYS = [(option, word) for option, words in CHOICES.items() for word in words]
WAYS += [("numeric", word) for word in NUMERICS]
HOWS = st.builds(
    Representation,
    numeric=st.sampled_from(NUMERICS),
    **{option: st.sampled_from(words) for option, words in CHOICES.items()},
)


def chosen(option: str, word: str) -> Representation:
    return Policy(projections=(ProjectionRule(((option, word),)),)).find_representation("t", "delta")


def options(how: Representation) -> Policy:
    chosen = [(name, getattr(how, name)) for name in (*CHOICES, "numeric", "metadata")]
    return Policy(projections=(ProjectionRule(tuple(chosen)),))


def plan(
    format: str, following: MigrationSource, live: LakeTable | None, how: Representation = DEFAULT
) -> Plan:
    target, table = TARGETS[format]
    return make_plan(following, live, target, table, options(how))


def lake(format: str, ddl: str, how: Representation = DEFAULT) -> MemoryTable:
    return migrated(MemoryTable(TARGETS[format][1]), plan(format, source(ddl), None, how))


NESTED = "Place STRUCT<City: STRING, zip: STRING, At: ARRAY<STRUCT<X: INT>>"


@pytest.mark.parametrize(
    ("style", "is_there", "names"),
    [
        ("lower", False, "`City`, `At`, `X`, `New`"),
        ("avro-lower", True, "`New`"),
        ("avro", False, ""),
        ("source", False, ""),
    ],
)
def test_a_plan_notes_the_nested_fields_that_keep_their_names(
    style: Names, is_there: bool, names: str
) -> None:
    how = Policy(projections=(ProjectionRule((("names", style),)),))
    target, table = TARGETS["delta"]
    made = make_plan(source(f"id INT, {NESTED}>"), None, target, table, how)
    live = migrated(MemoryTable(table), made).live
    later = make_plan(source(f"id INT, {NESTED}, New: INT>"), live if is_there else None, target, table, how)
    kept = [note.partition(" keep their names: ")[2] for note in later.notes if "nested fields keep" in note]
    assert kept == ([names] if names else [])


# Types.


@both
@pytest.mark.parametrize(("option", "word"), WAYS, ids=lambda w: w)
def test_every_type_of_every_connector_is_held_or_refused_with_a_remedy(
    format: str, option: str, word: str
) -> None:
    target, how = TARGETS[format][0], chosen(option, word)
    for told in SHEET_TYPES:
        answer = target.hold_type(parse_type(told), how)
        if isinstance(answer, Refusal):
            assert answer.reason, told
            assert answer.instead, told
            continue
        assert sql.type_name(answer.type), told
        assert target.hold_type(answer.type, how) == LakeType(answer.type), told
        if answer.note is None:
            assert _same_values(parse_type(told), answer.type), told


def _same_values(raw: Type, held: Type) -> bool:
    """Whether nothing needs to be said: the same values, or their one usual text, list or bytes."""
    usual = (String(), Binary(), VARIANT, parse_type("ARRAY<STRING>"))
    return widens(raw, held) or held in usual or not isinstance(held, Integer | Floating | Timestamp)


@both
@given(type=TYPES, how=HOWS)
def test_holding_twice_is_holding_once_whatever_was_chosen(
    format: str, type: Type, how: Representation
) -> None:
    held = TARGETS[format][0].hold_type(type, how)
    if isinstance(held, LakeType):
        assert TARGETS[format][0].hold_type(held.type, how) == LakeType(held.type)


@pytest.mark.parametrize(
    ("option", "word", "raw", "held", "lost"),
    [
        ("unsigned_bigint", "bigint", "BIGINT UNSIGNED", "BIGINT", "above 9223372036854775807"),
        ("unsigned_bigint", "string", "BIGINT UNSIGNED", "STRING", "as text"),
        ("numeric", "decimal(38,10)", "NUMERIC", "DECIMAL(38,10)", "28 digits before the point or 10 after"),
        ("numeric", "double", "NUMERIC", "DOUBLE", "rounded"),
        ("numeric", "double", "DECIMAL(50,2)", "DOUBLE", "50 digits do not fit"),
        ("local_timestamp", "timestamp", "TIMESTAMP_NTZ(6)", "TIMESTAMP(6)", "no zone is lost"),
        ("local_timestamp", "string", "TIMESTAMP_NTZ(6)", "STRING", "as text"),
        ("nanoseconds", "string", "TIMESTAMP(9)", "STRING", "with its nanoseconds"),
        ("nanoseconds", "string", "TIMESTAMP(6)", "TIMESTAMP(6)", None),
        ("time", "bigint", "TIME(6)", "BIGINT", "microseconds since midnight"),
        ("time", "bigint", "TIME(9)", "BIGINT", "finer values do not fit"),
        ("time", "bigint", "TIMETZ(6)", "STRING", "as text"),
        ("json", "variant", "JSON", "UNKNOWN('variant')", None),
        ("sets", "array", "SET('a','b')", "ARRAY<STRING>", None),
        ("arrays", "string", "ARRAY<INT>", "STRING", "JSON text"),
        ("documents", "string", "STRUCT<a: INT>", "STRING", "JSON text"),
        ("documents", "string", "MAP<STRING, INT>", "STRING", "JSON text"),
        ("uuid", "binary", "UUID", "BINARY", None),
        ("geometry", "wkb", "STRUCT<wkb: BINARY NOT NULL, srid: INT>", "BINARY", "without srid"),
        ("documents", "string", "STRUCT<a: INT, b: ARRAY<TIME(6)>>", "STRING", "JSON text"),
    ],
)
def test_a_choice_is_kept_and_what_it_loses_is_said(option, word, raw, held, lost) -> None:
    answer = delta.TARGET.hold_type(parse_type(raw), chosen(option, word))
    assert isinstance(answer, LakeType)
    assert format_type(answer.type) == held
    assert (lost is None) == (answer.note is None)
    assert (lost or "") in (answer.note or "")


def test_shapes_may_be_refused() -> None:
    shape = parse_type("STRUCT<x: DOUBLE NOT NULL, y: DOUBLE NOT NULL, wkb: BINARY, srid: INT>")
    assert isinstance(delta.TARGET.hold_type(shape, replace(DEFAULT, geometry="refuse")), Refusal)
    plain = parse_type("STRUCT<wkb: BINARY>")
    assert isinstance(delta.TARGET.hold_type(plain, replace(DEFAULT, geometry="refuse")), LakeType)


@both
def test_what_is_lost_is_a_note_of_the_plan(format: str) -> None:
    drawn = plan(
        format, source("id INT, n NUMERIC, PRIMARY KEY (id)"), None, Representation(numeric="double")
    )
    assert "`n`: numbers without declared precision are rounded" in drawn.notes[0]


def test_variant_makes_an_iceberg_table_of_version_3_and_asks_before_an_old_one_becomes_it() -> None:
    how = Representation(json="variant")
    made = plan("iceberg", source("id INT, d JSON"), None, how)
    assert "'format-version' = '3'" in made.steps[1].statement
    assert "`d` VARIANT" in made.steps[1].statement
    old = lake("iceberg", "id INT")
    grown = plan("iceberg", source("id INT, d JSON"), old.live, how)
    assert [s.step_class for s in grown.steps][:2] == ["capability-upgrade", "additive"]
    assert "upgrade = approve by default" in grown.approvals_needed[0]
    assert plan("delta", source("id INT, d JSON"), lake("delta", "id INT").live, how).approvals_needed


@both
@given(type=TYPES, before=HOWS, after=HOWS)
def test_another_choice_for_a_table_with_rows_changes_no_type_but_to_a_wider_one(
    format: str, type: Type, before: Representation, after: Representation
) -> None:
    following = source("id INT, PRIMARY KEY (id)")
    column = replace(following.schema.columns[0], name="c", type=type, nullable=True)
    following = replace(
        following, schema=replace(following.schema, columns=(*following.schema.columns, column))
    )
    made = MemoryTable(TARGETS[format][1])
    migrated(made, plan(format, following, None, before))
    assert made.live is not None
    drawn = plan(format, following, made.live, after)
    for change in diff(made.live.schema, drawn.wanted):
        assert isinstance(change, ChangeType | AddColumn)
        assert isinstance(change, AddColumn) or widens(change.old, change.new)
    migrated(made, drawn)
    assert plan(format, following, made.live, after).steps == ()


def test_the_narrower_projection_decides_each_option_alone_and_two_alike_are_an_error() -> None:
    def rule(tables: str, targets: str = "*", **chosen: str) -> ProjectionRule:
        return ProjectionRule(tuple(chosen.items()), (tables,), (targets,), f"[[projection]] {tables}")

    rules = (rule("*", json="variant", time="bigint"), rule("public.*", "raw", time="string"))
    how = Policy(projections=rules).find_representation("shop.public.t", "raw", "delta")
    assert (how.json, how.time) == ("variant", "string")
    assert Policy(projections=rules).find_representation("shop.audit.t", "raw", "delta").time == "bigint"
    torn = Policy(projections=(rule("t", uuid="binary"), rule("t", uuid="string")))
    with pytest.raises(BadConfiguration, match="choose different uuid for shop"):
        torn.find_representation("shop.public.t", "delta")
    # Where a narrower one decides, others need not agree, in whatever order they stand.
    settled = rule("public.t", uuid="string")
    for order in permutations((*torn.projections, settled)):
        assert Policy(projections=order).find_representation("shop.public.t", "delta").uuid == "string"


# Names.


STYLES = st.builds(
    Representation,
    names=st.sampled_from(CHOICES["names"]),
    collisions=st.sampled_from(CHOICES["collisions"]),
)


@both
@given(life=lives(called=ALIKE), how=STYLES)
def test_names_never_collide_and_what_is_in_the_lake_keeps_its_name(
    format: str, life: list[MigrationSource], how: Representation
) -> None:
    made = MemoryTable(TARGETS[format][1])
    ages: dict[int, tuple[str, str]] = {}
    whose: dict[int, int | None] = {}
    for following in life:
        drawn = plan(format, following, made.live, how)
        if not drawn.steps and made.live is None:
            return
        migrated(made, drawn)
        assert made.live is not None
        lowered = [name.lower() for name in made.live.schema.names]
        assert len(lowered) == len(set(lowered))
        assert plan(format, following, made.live, how).steps == ()
        names = map_lake_names(following.schema, made.live)
        if drawn.refusals:
            return
        assert names.keys() == set(following.schema.names)
        assert len(set(names.values())) == len(names)
        for column in following.schema.columns:
            assert column.id is not None
            lake_name, number = names[column.name], made.fields[names[column.name]]
            assert whose.setdefault(number, column.id) == column.id
            before = ages.get(column.id)
            if before is not None and before[0] == column.name:
                # The source may have changed the case alone, which is seen when another such column comes.
                assert lake_name.lower() == before[1].lower()
            ages[column.id] = column.name, lake_name


@both
@pytest.mark.parametrize("collisions", ["refuse", "number"])
def test_names_that_become_one_are_refused_or_numbered_by_age(format: str, collisions) -> None:
    how = Representation(names="avro-lower", collisions=collisions)
    drawn = plan(format, source("`X-y` INT ID 2, x_y INT ID 1, z INT ID 3"), None, how)
    if collisions == "refuse":
        assert "another column of the table is called `x_y`" in drawn.refusals[0].reason
        assert "collisions = number" in drawn.refusals[0].instead
        return
    assert drawn.refusals == ()
    assert drawn.wanted.names == ("x_y_2", "x_y", "z")
    assert "`X-y`: the lake calls it `x_y_2`" in drawn.notes
    made = migrated(MemoryTable(TARGETS[format][1]), drawn)
    assert made.live is not None
    assert read_names(made.live) == {"x_y_2": "X-y"}
    later = source("`X-y` INT ID 2, x_y INT ID 1, z INT ID 3, X_Y INT ID 4")
    grown = plan(format, later, made.live, how)
    assert grown.wanted.names == ("x_y_2", "x_y", "z", "x_y_3")


@both
def test_names_that_differ_only_by_case_are_numbered_where_that_is_wanted(format: str) -> None:
    refused = plan(format, source("id INT, ID INT"), None)
    assert "collisions = number" in refused.refusals[0].instead
    drawn = plan(format, source("id INT, ID INT"), None, Representation(collisions="number"))
    assert drawn.wanted.names == ("id", "ID_2")


@both
@pytest.mark.parametrize(
    ("life", "field"),
    [
        (("id INT ID 1, ID INT ID 2", "id INT ID 1"), 1),
        (("id INT ID 1, ID INT ID 2", "id INT ID 1", "ID INT ID 1"), 1),
        (("id INT ID 1, ID INT ID 2", "ID INT ID 2"), 2),
        (("id INT ID 1, ID INT ID 2", "ID INT ID 2", "Id INT ID 2"), 2),
    ],
)
def test_a_column_of_which_only_case_tells_one_that_left_stays_itself(
    format: str, life: Sequence[str], field: int
) -> None:
    made, how = MemoryTable(TARGETS[format][1]), Representation(collisions="number")
    schemas = [parse_columns(ddl) for ddl in life]
    for number in range(1, len(schemas) + 1):
        following = following_all(schemas[:number])
        migrated(made, plan(format, following, made.live, how))
        assert plan(format, following, made.live, how).steps == ()
    assert made.live is not None
    (here,) = map_lake_names(schemas[-1], made.live).values()
    assert made.fields[here] == field


@both
def test_another_style_for_a_table_that_is_there_renames_nothing(format: str) -> None:
    made = lake(format, "id INT, `a b` INT")
    drawn = plan(format, source("id INT, `a b` INT, `c d` INT"), made.live, Representation(names="avro"))
    assert drawn.wanted.names == ("id", "a b", "c_d")
    migrated(made, drawn)
    assert plan(format, source("id INT, `a b` INT, `c d` INT"), made.live).steps == ()


@both
def test_a_table_that_someone_made_with_legal_names_is_taken_as_it_is(format: str) -> None:
    live = LakeTable(TARGETS[format][1], parse_columns("id INT, a_b INT"), "i", "0")
    drawn = plan(format, source("id INT, `a b` INT"), live, Representation(names="avro"))
    assert [s.kind for s in drawn.steps] == ["set-properties"]
    assert '"a_b": "a b"' in drawn.steps[0].statement


@both
def test_a_renamed_column_gets_the_name_that_its_new_one_makes(format: str) -> None:
    how = Representation(names="avro-lower")
    made = lake(format, "id INT, `Old Name` INT", how)
    later = source("id INT, `New Name` INT", former_names={"New Name": ("Old Name",)})
    drawn = plan(format, later, made.live, how)
    assert made.live is not None
    assert diff(made.live.schema, drawn.wanted, {"old_name": "new_name"}) == (
        RenameColumn(("old_name",), "new_name"),
    )
    migrated(made, drawn)
    assert made.fields.keys() == {"id", "new_name"}
    assert plan(format, later, made.live, how).steps == ()


def test_legal_names_make_room_for_columns_that_iceberg_could_not_have() -> None:
    bad = source("id INT, `${x}` INT, `s.t` INT, s STRUCT<t: INT>")
    assert len(plan("iceberg", bad, None).refusals) == 2
    assert plan("iceberg", bad, None, Representation(names="avro")).refusals == ()


# Metadata columns.


ALL_ROLES = tuple((role, name) for role, (name, _) in ROLES.items())


@both
def test_metadata_columns_stand_behind_all_others_and_come_once(format: str) -> None:
    how = Representation(metadata=ALL_ROLES)
    following = source("id INT NOT NULL, PRIMARY KEY (id)")
    drawn = plan(format, following, None, how)
    assert drawn.refusals == ()
    assert drawn.wanted.names == ("id", *(name for _, name in ALL_ROLES))
    made = migrated(MemoryTable(TARGETS[format][1]), drawn)
    assert read_metadata_columns(made.live) == dict(ALL_ROLES)
    assert plan(format, following, made.live, how).steps == ()
    later = plan(format, source("id INT NOT NULL, b INT, PRIMARY KEY (id)"), made.live, how)
    assert later.wanted.names[-1] == "b"
    assert later.notes == ()


@both
def test_metadata_columns_are_added_to_a_table_that_is_there_and_stay_if_unwanted(format: str) -> None:
    made = lake(format, "id INT")
    how = Representation(metadata=(("op", "_op"), ("ts", "_ts")))
    drawn = plan(format, source("id INT"), made.live, how)
    assert [s.kind for s in drawn.steps] == ["add-columns", "set-properties"]
    migrated(made, drawn)
    assert plan(format, source("id INT"), made.live, how).steps == ()
    less = plan(format, source("id INT"), made.live, Representation(metadata=(("op", "_op"),)))
    assert less.steps == ()
    assert less.notes == ("`_ts`: it is no longer a metadata column, and is kept",)
    other = plan(format, source("id INT"), made.live, Representation(metadata=(("op", "_what"),)))
    assert other.steps == ()
    assert 'metadata = { op = "_op" }' in other.refusals[0].instead


@both
@pytest.mark.parametrize("name", ["__schemaman_op", "${env:HOME}"])
def test_a_metadata_column_has_a_name_that_a_table_can_have(format: str, name: str) -> None:
    how = Representation(metadata=(("op", name),))
    for made in (None, lake(format, "id INT").live):
        drawn = plan(format, source("id INT"), made, how)
        assert name not in drawn.wanted.names
        assert 'metadata = { op = "…" }' in drawn.refusals[0].instead


@both
@pytest.mark.parametrize("name", ["", "${x}", "__schemaman_1"])
def test_a_member_has_a_name_that_a_table_can_have(format: str, name: str) -> None:
    held = TARGETS[format][0].hold_type(Struct((Field("a", Integer(32)), Field(name, Integer(32)))))
    assert isinstance(held, Refusal)
    assert "rename the fields at the source" in held.instead


@both
def test_a_metadata_column_never_takes_the_name_of_a_column_nor_gives_its_own(format: str) -> None:
    how = Representation(metadata=(("op", "_op"),))
    refused = plan(format, source("id INT, _OP INT"), None, how).refusals
    assert "a column of the table has this name" in refused[0].reason
    made = lake(format, "id INT", how)
    late = plan(format, source("id INT, _op INT"), made.live, how)
    assert late.steps == ()
    assert "a metadata column of this name" in late.refusals[0].reason
    assert read_metadata_columns(made.live) == {"op": "_op"}


def test_iceberg_keeps_the_name_deleted_for_itself() -> None:
    how = Representation(metadata=(("deleted", "_deleted"),))
    refused = plan("iceberg", source("id INT"), None, how)
    assert any("Iceberg reserves this name" in r.reason for r in refused.refusals)
    assert plan("delta", source("id INT"), None, how).refusals == ()


def test_projecting_its_own_result_gives_it_again() -> None:
    following = source("id INT NOT NULL, n NUMERIC, `a b` TIME(6), PRIMARY KEY (id)")
    how = Representation(names="avro", time="bigint", metadata=(("op", "_op"),))
    for format, (target, _) in TARGETS.items():
        made = migrated(MemoryTable(TARGETS[format][1]), plan(format, following, None, how))
        assert made.live is not None
        again = project(following, made.live, target, options(how))
        assert again.wanted == made.live.schema
