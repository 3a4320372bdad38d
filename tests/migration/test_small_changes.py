"""Changes at the source that mean little for the rows: the order of a key, a comment, the case of a name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import Revision, SchemaVersion, TableHistory
from schemaman.migration.plan import MigrationSource, PreviousVersion
from schemaman.migration.policy import ProjectionRule
from schemaman.migration.properties.names import KEY_PROPERTY, VERSION_PROPERTY
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Field, Integer, String, Struct
from tests.support.memory_lake import MemoryTable
from tests.support.plans import both, migrated, plan, source, statements


def follow(format: str, *versions: MigrationSource) -> MemoryTable:
    """A lake table that followed each version in turn."""
    made = MemoryTable({"delta": "/lake/t", "iceberg": "ice.raw.t"}[format])
    for version in versions:
        migrated(made, plan(format, version, made.live))
    return made


def keyed(*key: str) -> MigrationSource:
    made = source("a INT NOT NULL, b INT NOT NULL, c INT")
    return replace(made, schema=replace(made.schema, key=key))


@both
def test_key_columns_in_another_order_are_the_same_key(format: str) -> None:
    made = follow(format, keyed("a", "b"))
    drawn = plan(format, keyed("b", "a"), made.live)
    assert drawn.refusals == ()
    assert {step.kind for step in drawn.steps} == {"set-properties"}
    migrated(made, drawn)
    assert made.live is not None
    assert json.loads(made.live.properties[KEY_PROPERTY]) == ["b", "a"]
    assert plan(format, keyed("b", "a"), made.live).steps == ()


@both
@pytest.mark.parametrize("key", [("a",), ("a", "c"), ("a", "b", "c"), ()])
def test_other_key_columns_are_another_key(format: str, key: tuple[str, ...]) -> None:
    made = follow(format, keyed("a", "b"))
    assert [r.change for r in plan(format, keyed(*key), made.live).refusals] == [
        f"change the key from (a, b) to ({', '.join(key)})"
    ]


def commented(table: str | None, column: str | None, field: str | None) -> TableSchema:
    inside = Struct((Field("m", String(), comment=field),))
    columns = (Column("id", Integer(32), id=1), Column("a", inside, comment=column, id=2))
    return TableSchema(columns, (), table)


def history(*schemas: TableSchema) -> TableHistory:
    """One version whose revisions have these schemas."""
    at = [Coordinates("t", 0, n) for n in range(len(schemas))]
    revisions = tuple(Revision(n, schema, at[n]) for n, schema in enumerate(schemas))
    version = SchemaVersion(1, "1", 1, "confirmed", revisions, None, at[0], None, 1, ())
    return TableHistory(TableId("s", "shop", "", "t"), "mysql", (version,))


@both
def test_a_comment_that_the_source_took_away_goes(format: str) -> None:
    before, after = commented("of all", "of a", "of m"), commented(None, None, None)
    made = follow(format, migration_source(history(before)))
    drawn = plan(format, migration_source(history(before, after)), made.live)
    assert {step.kind for step in drawn.steps if step.kind != "set-properties"} == {"change-comment"}
    assert migrated(made, drawn).live is not None
    assert made.live is not None
    assert made.live.schema.comment is None
    assert made.live.schema.column("a") == replace(after.columns[1], id=None)
    assert plan(format, migration_source(history(before, after)), made.live).steps == ()


@both
def test_a_comment_of_the_lake_alone_stays(format: str) -> None:
    """Another hand wrote it, or the policy leaves comments to people."""
    before, after = commented("of all", "of a", "of m"), commented(None, None, None)
    made = follow(format, migration_source(history(after)))
    assert made.live is not None
    made.live = replace(made.live, schema=commented("by hand", "by hand", "by hand"))
    assert plan(format, migration_source(history(before, after)), made.live).steps == ()
    made.live = replace(made.live, schema=before)
    assert plan(format, migration_source(history(before, after)), made.live, comments=False).steps == ()


def respelled() -> tuple[MigrationSource, MigrationSource]:
    """A source, and the same after its column `a` was called `A`."""
    first = replace(source("id INT, a INT, b INT"), id="1")
    first = replace(first, past=(PreviousVersion("1", names={"id": "id", "a": "a", "b": "b"}),))
    past = (
        PreviousVersion("1", names={"id": "id", "a": "A", "b": "b"}),
        PreviousVersion("2", names={"id": "id", "A": "A", "b": "b"}),
    )
    return first, replace(source("id INT, A INT, b INT"), id="2", past=past, former_names={"A": ("a",)})


@both
def test_a_rename_that_changes_case_alone_goes_through_a_third_name(format: str) -> None:
    """Spark takes `A` for the column `a` and refuses a rename from one to the other."""
    first, second = respelled()
    made = follow(format, first)
    number = made.fields["a"]
    drawn = plan(format, second, made.live)
    assert statements(drawn) == [
        "RENAME COLUMN `a` TO `__schemaman_1`",
        "RENAME COLUMN `__schemaman_1` TO `A`",
    ]
    migrated(made, drawn)
    assert made.live is not None
    assert made.live.schema.names == ("id", "A", "b")
    assert made.fields["A"] == number
    assert made.live.properties[VERSION_PROPERTY] == "2"
    assert plan(format, second, made.live).steps == ()


@both
def test_a_name_of_another_case_stays_where_the_lake_never_had_the_old_one(format: str) -> None:
    first, second = respelled()
    made = follow(format, first)
    assert made.live is not None
    upper = replace(made.live, schema=source("id INT, A INT, b INT").schema)
    assert statements(plan(format, second, upper)) == []
    unstamped = LakeTable(made.live.name, first.schema, "i", "0")
    assert statements(plan(format, second, unstamped, upgrades=False)) == []


def test_a_name_of_another_case_is_worth_no_upgrade_and_no_refusal() -> None:
    first, second = respelled()
    made = follow("delta", first)
    assert made.live is not None
    stamps = {k: v for k, v in made.live.properties.items() if k.startswith("schemaman.")}
    plain = replace(made.live, properties=stamps)
    named = {**made.live.properties, "delta.constraints.positive": "a > 0"}
    for live in (plain, replace(made.live, properties=named)):
        drawn = plan("delta", second, live)
        assert (statements(drawn), drawn.refusals) == ([], ())
        assert "`a`: the source calls it `A` now: the lake keeps its own spelling" in drawn.notes


@both
def test_names_in_small_letters_stay_so(format: str) -> None:
    first, second = respelled()
    made = follow(format, first)
    lower = (ProjectionRule((("names", "lower"),)),)
    assert statements(plan(format, second, made.live, projections=lower)) == []
