"""Tables that are there already: what a change would break is refused by the plan, not found at apply."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from schemaman.migration.plan import Policy, Refusal
from schemaman.migration.planner import make_plan
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.spark_sql import read_columns
from schemaman.migration.step_order import rename_columns
from schemaman.migration.target import Draft, LakeTable, LayoutField
from schemaman.migration.targets import delta, iceberg
from schemaman.migration.type_mapping import VARIANT
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    Change,
    ChangeNullable,
    ChangeType,
    DropColumn,
    RenameColumn,
)
from schemaman.model.schema import Column, Path
from schemaman.model.types import Array, Integer, String
from schemaman.spark.formats._iceberg_metadata import list_equality_heads, read_description, read_metadata
from tests.support.plans import TARGETS, source

FEED = {"delta.enableChangeDataFeed": "true"}
MAPPED = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
Facts = dict[str, object]
COLUMNS = "id INT NOT NULL, area INT, place STRUCT<x: INT, y: INT>"


def table(ddl: str, **facts) -> LakeTable:
    return replace(LakeTable("ice.db.t", parse_columns(ddl), "i", "0"), **facts)


def drop(*path: str) -> DropColumn:
    return DropColumn(path, Column(path[-1], Integer(32)))


def answer_of(target, lake: LakeTable, change: Change) -> str:
    """The reason of a refusal; empty for a draft."""
    answer = target.draft_change(lake, change)
    return answer.reason if isinstance(answer, Refusal) else ""


def field(id: int, name: str, type: object) -> Facts:
    return {"id": id, "name": name, "type": type, "required": False}


SCHEMA = {
    "schema-id": 0,
    "fields": [
        field(1, "id", "int"),
        field(2, "area", "int"),
        field(3, "place", {"type": "struct", "fields": [field(4, "x", "int"), field(5, "y", "int")]}),
    ],
}


def metadata(specs: list[list[Facts]], orders: list[list[Facts]], version: int = 2) -> Facts:
    """A metadata file whose last spec and last order are the current ones."""
    return {
        "table-uuid": "u", "location": "/t", "format-version": version, "properties": {},
        "current-schema-id": 0, "schemas": [SCHEMA],
        "default-spec-id": len(specs) - 1,
        "partition-specs": [{"spec-id": n, "fields": fields} for n, fields in enumerate(specs)],
        "default-sort-order-id": len(orders) - 1,
        "sort-orders": [{"order-id": n, "fields": fields} for n, fields in enumerate(orders)],
    }  # fmt: skip


def by(source: int, transform: str = "identity") -> Facts:
    return {"source-id": source, "transform": transform, "name": f"f{source}", "field-id": 1000 + source}


def sorted_by(source: int) -> Facts:
    return {**by(source), "direction": "asc", "null-order": "nulls-first"}


def read(specs: list[list[Facts]], orders: list[list[Facts]], version: int = 2) -> LakeTable:
    return read_metadata(
        "ice.db.t", parse_columns(COLUMNS).columns, "m.json", metadata(specs, orders, version)
    )


@pytest.mark.parametrize(
    ("specs", "orders", "former"),
    [
        ([[by(2)], []], [[]], [("area",)]),
        ([[by(2, "bucket[8]")], [by(1)]], [[]], [("id",), ("area",)]),
        ([[]], [[], [sorted_by(2)], []], [("area",)]),
        ([[]], [[sorted_by(4)], []], [("place", "x")]),
        # Version 1 never removes a partition field: it becomes void, and still refers to its column.
        ([[by(2, "void")]], [[]], [("area",)]),
        # A field that is gone already is nobody's obstacle any more.
        ([[by(9)], []], [[sorted_by(9)]], []),
        ([[{"source-ids": [1, 2], "transform": "bucket[4]", "name": "b", "field-id": 1000}], []], [[]],
         [("id",), ("area",)]),
    ],
    ids=["dropped field", "replaced field", "earlier order", "nested", "void", "gone", "several sources"],
)  # fmt: skip
def test_each_spec_and_order_of_the_metadata_keeps_its_fields(specs, orders, former: list[Path]) -> None:
    lake = read(specs, orders)
    assert lake.former_layout == tuple(former)
    for path in (("area",), ("place",), ("place", "x"), ("place", "y")):
        kept = any(each[: len(path)] == path for each in former)
        assert bool(answer_of(iceberg.TARGET, lake, drop(*path))) is kept, path
        moved = RenameColumn(path, "other")
        assert answer_of(iceberg.TARGET, lake, moved) == "", "ids stay, so a rename breaks nothing"


def test_nothing_is_dropped_while_the_metadata_cannot_be_read() -> None:
    described = [("# Detailed Table Information", ""), ("Location", "/t")]
    columns = parse_columns(COLUMNS).columns
    lake = read_description("ice.db.t", columns, "m.json", {"format-version": "2"}, described)
    assert "cannot be read" in answer_of(iceberg.TARGET, lake, drop("area"))
    added = AddColumn(("more",), Column("more", String()), None)
    assert answer_of(iceberg.TARGET, lake, added) == ""


def test_a_column_by_which_delete_files_delete_rows_stays() -> None:
    lake = table(COLUMNS, equality_deletes=(("area",), ("place", "x")))
    for path in (("area",), ("place",), ("place", "x")):
        answer = iceberg.TARGET.draft_change(lake, drop(*path))
        assert isinstance(answer, Refusal)
        assert "CALL `ice`.system.rewrite_data_files(table => 'db.t'" in answer.instead
        assert answer_of(iceberg.TARGET, lake, RenameColumn(path, "other")) == ""
    assert answer_of(iceberg.TARGET, lake, drop("place", "y")) == ""
    moved = rename_columns(lake, [RenameColumn(("area",), "b")])
    assert answer_of(iceberg.TARGET, moved, drop("b"))


def test_only_snapshots_that_may_have_equality_deletes_are_searched() -> None:
    def snapshot(id: int, **summary: str) -> Facts:
        return {"snapshot-id": id, "summary": summary}

    none, some = {"total-equality-deletes": "0"}, {"total-equality-deletes": "2"}
    found: Facts = {
        "format-version": 2, "current-snapshot-id": 3,
        "snapshots": [
            snapshot(1, **some), snapshot(2, **some), snapshot(3, **none), snapshot(4), snapshot(5, **some),
        ],
        "refs": {
            "main": {"type": "branch", "snapshot-id": 3}, "audit": {"type": "branch", "snapshot-id": 2},
            "other": {"type": "branch", "snapshot-id": 4}, "old": {"type": "tag", "snapshot-id": 5},
        },
    }  # fmt: skip
    assert list_equality_heads(found) == (2, 4)
    assert list_equality_heads(found | {"format-version": 1}) == ()
    assert list_equality_heads({"format-version": 2, "current-snapshot-id": None}) == ()


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_nested_field_beside_the_one_of_the_layout_may_go(format: str) -> None:
    facts = {"partitions": (LayoutField(("place", "x")),)} if format == "iceberg" else {}
    lake = table(COLUMNS, layout=("place",), clustering=(("place", "x"),), **facts)
    lake = replace(lake, clustering=() if format == "iceberg" else lake.clustering, properties=MAPPED)
    target, _ = TARGETS[format]
    assert answer_of(target, lake, drop("place", "y")) == ""
    assert "partitioned, clustered or sorted" in answer_of(target, lake, drop("place", "x"))
    assert "partitioned, clustered or sorted" in answer_of(target, lake, drop("place"))


def test_the_layout_follows_a_rename_within_a_plan() -> None:
    lake = table(
        COLUMNS,
        layout=("area", "place"),
        partitions=(LayoutField(("area",)),),
        sort=(LayoutField(("place", "x"), "identity asc nulls-first"),),
        clustering=(("place", "y"),),
        former_layout=(("area",), ("place", "x")),
    )
    moved = rename_columns(lake, [RenameColumn(("area",), "b"), RenameColumn(("place",), "spot")])
    assert moved.schema.names == ("id", "b", "spot")
    assert (moved.layout, moved.clustering) == (("b", "spot"), (("spot", "y"),))
    assert [each.path for each in (*moved.partitions, *moved.sort)] == [("b",), ("spot", "x")]
    assert moved.former_layout == (("b",), ("spot", "x"))
    assert answer_of(iceberg.TARGET, moved, drop("spot", "x"))
    assert rename_columns(replace(lake, former_layout=None), []).former_layout is None


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (drop("place"), True),
        (RenameColumn(("place",), "spot"), True),
        (drop("place", "x"), False),
        (RenameColumn(("place", "x"), "z"), False),
        (drop("area"), False),
        (RenameColumn(("area",), "b"), False),
        (ChangeType(("area",), Integer(32), Integer(64)), False),
    ],
    ids=str,
)
def test_metrics_of_a_nested_field_hold_what_it_is_in(change: Change, refused: bool) -> None:
    """Iceberg renames and removes such a property for its own field only."""
    prefix = "write.metadata.metrics.column."
    lake = table(COLUMNS, properties={f"{prefix}place.x": "full", f"{prefix}area": "counts"})
    answer = iceberg.TARGET.draft_change(lake, change)
    if not refused:
        assert isinstance(answer, Draft)
        return
    assert isinstance(answer, Refusal)
    assert answer.instead == (
        f"first run: ALTER TABLE `ice`.`db`.`t` UNSET TBLPROPERTIES IF EXISTS ('{prefix}place.x')"
    )
    other = replace(lake, properties={"write.parquet.bloom-filter-enabled.column.place.x": "true"})
    assert isinstance(iceberg.TARGET.draft_change(other, change), Draft)


@pytest.mark.parametrize("name", ["_change_type", "_commit_version", "_Commit_Timestamp"])
def test_the_change_data_feed_keeps_its_names(name: str) -> None:
    for change in (AddColumn((name,), Column(name, String()), None), RenameColumn(("area",), name)):
        lake = table(COLUMNS, properties=MAPPED | FEED)
        answer = delta.TARGET.draft_change(lake, change)
        assert isinstance(answer, Refusal)
        assert "leave the column out" in answer.instead
        assert answer_of(delta.TARGET, replace(lake, properties=MAPPED), change) == ""
    nested = AddColumn(("place", name), Column(name, String()), None)
    assert answer_of(delta.TARGET, table(COLUMNS, properties=MAPPED | FEED), nested) == ""


@pytest.mark.parametrize(
    "change", [drop("area"), RenameColumn(("area",), "b"), ChangeType(("area",), Integer(32), Integer(64))]
)
def test_a_plan_names_the_readers_of_the_feed(change: Change) -> None:
    for properties, named in ((MAPPED | FEED, True), (MAPPED, False)):
        draft = delta.TARGET.draft_change(table(COLUMNS, properties=properties), change)
        assert isinstance(draft, Draft)
        assert any("table_changes" in who for who in draft.hurts) is named
        assert any(who.startswith("streams") for who in draft.hurts)


@pytest.mark.parametrize(
    ("version", "type", "allowed"),
    [
        (1, Array(Integer(32)), False),
        (1, VARIANT, False),
        (1, String(), True),
        (2, Array(Integer(32)), True),
        (2, VARIANT, False),
        (3, VARIANT, True),
    ],
)
def test_a_table_that_is_read_as_iceberg_takes_what_iceberg_has(version: int, type, allowed: bool) -> None:
    lake = table(COLUMNS, properties=MAPPED | {f"delta.enableIcebergCompatV{version}": "true"})
    change = AddColumn(("more",), Column("more", type), None)
    assert (answer_of(delta.TARGET, lake, change) == "") is allowed


def test_delta_keeps_a_column_that_is_no_partition_column() -> None:
    lake = table("day INT, qty INT", properties=MAPPED, layout=("day",), partitions=(LayoutField(("day",)),))
    assert "last column" in answer_of(delta.TARGET, lake, drop("qty"))
    more = replace(lake, schema=parse_columns("day INT, qty INT, note STRING"))
    assert answer_of(delta.TARGET, more, drop("qty")) == ""


def test_delta_changes_only_the_name_of_an_identity_column() -> None:
    lake = table("id INT, area INT NOT NULL", properties=MAPPED, generated={"area": ""})
    assert "by itself" in answer_of(delta.TARGET, lake, ChangeNullable(("area",), False, True))
    assert "by the table itself" in answer_of(
        delta.TARGET, lake, ChangeType(("area",), Integer(32), Integer(64))
    )
    assert answer_of(delta.TARGET, lake, RenameColumn(("area",), "b")) == ""
    computed = replace(lake, generated={"area": "id + 1"})
    assert answer_of(delta.TARGET, computed, ChangeNullable(("area",), False, True)) == ""


@pytest.mark.parametrize(
    ("format", "facts", "reason"),
    [
        ("iceberg", {"former_layout": (("area",),)}, "could never be dropped"),
        ("iceberg", {"former_layout": None}, "could never be dropped"),
        ("iceberg", {"former_layout": (("id",),)}, ""),
        ("delta", {"properties": MAPPED | {"delta.appendOnly": "true"}}, "delta.appendOnly is true"),
        ("delta", {"properties": MAPPED}, ""),
    ],
)
def test_a_swap_of_columns_ends_with_a_drop_that_is_possible(format: str, facts: Any, reason: str) -> None:
    """The values move into a new column by updates, and the old column is dropped in the end."""
    target, address = TARGETS[format]
    told = source("id INT NOT NULL, area STRING, PRIMARY KEY (id)")
    lake = table("id INT NOT NULL, area INT, PRIMARY KEY (id)", name=address, **facts)
    found = RecipePlanner(told, target, address, Policy()).make_plans(lake)
    refusals = [refusal.reason for plan in found for refusal in plan.refusals]
    if reason:
        assert any(reason in each for each in refusals)
        assert not any(step.kind == "backfill" for plan in found for step in plan.steps)
    else:
        assert refusals == []
        assert any(step.kind == "backfill" for plan in found for step in plan.steps)


def test_a_statement_that_would_name_a_variable_is_refused() -> None:
    """A key column of others, which the table has to lose, is named by them."""
    lake = table("id INT NOT NULL, area INT, place STRUCT<`${env:HOME}`: INT, y: INT>")
    told = source("id INT NOT NULL, area INT, place STRUCT<`${env:HOME}`: BIGINT, y: INT>")
    plan = make_plan(told, lake, iceberg.TARGET, "ice.db.t", Policy())
    assert not any("${" in step.statement for step in plan.steps)
    assert plan.refusals


def test_sizes_of_texts_inside_of_columns_are_read() -> None:
    """Spark hides CHAR and VARCHAR, and keeps the text of the column's whole type beside it."""
    inner = [
        {"name": name, "type": type, "nullable": True, "metadata": {}}
        for name, type in (("a b:c,d", "string"), ("n", "decimal(9,2)"), ("w", "string"))
    ]
    types: dict[str, tuple[object, str, str]] = {
        "s": ({"type": "struct", "fields": inner}, "struct<a b:c,d:varchar(3),n:decimal(9,2),w:string>",
              "STRUCT<`a b:c,d`: VARCHAR(3), n: DECIMAL(9,2), w: STRING>"),
        "l": ({"type": "array", "elementType": "string", "containsNull": True}, "array<char(4)>",
              "ARRAY<CHAR(4)>"),
        "m": ({"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True},
              "map<string,varchar(5)>", "MAP<STRING, VARCHAR(5)>"),
        "v": ("string", "varchar(9)", "VARCHAR(9)"),
        "x": ("string", "struct<", "STRING"),
    }  # fmt: skip
    fields = [
        {"name": name, "type": type, "nullable": True, "metadata": {"__CHAR_VARCHAR_TYPE_STRING": text}}
        for name, (type, text, _) in types.items()
    ]
    found = read_columns(json.dumps({"type": "struct", "fields": fields}))
    assert [format_type(column.type) for column in found] == [ddl for _, _, ddl in types.values()]
    place = table("id INT, s STRUCT<v: VARCHAR(3)>", properties=MAPPED)
    wider = ChangeType(("s", "v"), String(3), String())
    assert answer_of(delta.TARGET, place, wider) == ""
    followed = make_plan(source("id INT, s STRUCT<v: STRING>"), place, delta.TARGET, "/lake/t", Policy())
    assert "ALTER COLUMN `s`.`v` TYPE STRING" in " ".join(step.statement for step in followed.steps)
